"""Literals: tensors whose data the program itself says, such as `torch.arange(2, 4) * 2`.

A value is a literal if deterministic calls made it from numbers of the program and from other
literals, and its memory is as they left it. Its data is computed when the program asks for it: a
number that is read off it is a number of the program, not one that only the run knows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.table import PURE
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.thread_state import is_any_autocast_enabled
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.graph.graph import SYMBOLIC, Value, leaves, op_name

if TYPE_CHECKING:
    from anyshape.trace.graph.graph import Node
    from anyshape.trace.tracer import Tracer

ARRAYS: Final = (torch.Tensor.numpy, torch.Tensor.__array__)
_LARGEST: Final = 4096  # elements of a tensor that is computed
_DEPTH: Final = 50  # calls from the numbers to the value
_UNWRITTEN: Final = ("empty", "new", "resize")  # memory that nobody has written to
_ATOMS: Final = (
    bool, int, float, complex, str, type(None), type(Ellipsis),
    torch.dtype, torch.device, torch.layout, torch.memory_format,
)  # fmt: skip


def literal(tracer: Tracer, value: Value, depth: int = _DEPTH) -> torch.Tensor | None:
    """The data of a value that is a literal; None for others."""
    node = value.node
    if node is None or value.root.version > node.epoch or value.root.node is None:
        return None
    found = tracer.memo.get(("literal", node), tracer)
    if found is tracer:
        found = tracer.memo["literal", node] = _computed(tracer, node, depth)
    if found is None:
        return None
    results = [x for x in leaves(node.outs) if type(x) is Value]
    data: torch.Tensor = found[next(i for i, x in enumerate(results) if x is value)]
    return data


def _computed(tracer: Tracer, node: Node, depth: int) -> list[torch.Tensor] | None:
    """The results of a call on literals; None if an argument is none."""
    results = [x for x in leaves(node.outs) if type(x) is Value]
    if depth == 0 or node.func not in PURE or not all(map(_is_small, results)):
        return None
    if op_name(node.func).rpartition(".")[2].startswith(_UNWRITTEN):
        return None
    args = _data(tracer, (node.args, node.kwargs), depth - 1)
    if args is None or is_any_autocast_enabled():
        return None
    try:
        with DisableTorchFunction(), torch.no_grad():
            result = node.func(*args[0], **args[1])
    except Exception:  # the run raises it
        return None
    made = [x for x in leaves(result) if isinstance(x, torch.Tensor)]
    if len(made) != len(results) or not all(map(_fits, made, results)):
        return None
    return made


def _data(tracer: Tracer, tree: Any, depth: int) -> Any:
    """Arguments with data in place of values; None if there is something else in them."""
    kind = type(tree)
    if kind is Value:
        return literal(tracer, tree, depth)
    if kind is dict:
        parts = _data(tracer, tuple(tree.values()), depth)
        return None if parts is None else dict(zip(tree, parts, strict=True))
    if kind is slice:
        ends = _data(tracer, (tree.start, tree.stop, tree.step), depth)
        return None if ends is None else slice(*ends)
    if kind is tuple or kind is list:
        found = []
        for part in tree:
            known = part if type(part) in _ATOMS else _data(tracer, part, depth)
            if known is None and part is not None:
                return None
            found.append(known)
        return kind(found)
    return None


def _is_small(value: Value) -> bool:
    shape = value.meta.shape
    return not any(type(n) in SYMBOLIC for n in shape) and math.prod(shape) <= _LARGEST


def _fits(made: torch.Tensor, value: Value) -> bool:
    meta = value.meta
    kind = (made.dtype, made.device, tuple(made.shape))
    return kind == (meta.dtype, meta.device, tuple(meta.shape))


def with_data(tracer: Tracer, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """In export, the array of a literal, which cannot be written to; NotImplemented for others.

    In eager execution the array shows the memory of the tensor: see `need_unwritten`.
    """
    if func not in ARRAYS or not tracer.options.is_export or type(args[0]) is not SymTensor:
        return NotImplemented
    value = args[0]._value
    data = literal(tracer, value)
    if data is None or value.meta.requires_grad:
        return NotImplemented
    tracer.births.arrays.append((value, value.root.version))
    with DisableTorchFunction():
        found = func(data.clone(), *args[1:], **kwargs)
    found.setflags(write=False)
    return tracer.recorder.born(found)


def need_unwritten(tracer: Tracer) -> None:
    """Refuse a program that writes to a tensor whose memory an array shows."""
    if any(value.root.version != version for value, version in tracer.births.arrays):
        raise refused(
            UnsupportedError,
            "a tensor is changed after an array of NumPy was made of it",
            fix="make the array of a clone",
        )
