"""Example inputs of a traced program: tensors of zeros, of sizes that the program accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.expr import evaluate
from anyshape.expr.traverse import names_of
from anyshape.interop.hints import distinct_hints
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import strides_of
from anyshape.trace import tree
from anyshape.trace.graph.codegen import guard_function

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.trace.argument.inputs import Leaf
    from anyshape.trace.capture import Captured

_USUAL: Final = 5
_LEAST, _MOST = 2, 64  # sizes that are tried are from, and below


def example_hints(captured: Captured) -> dict[str, Any]:
    """Values of the symbols of the inputs that the program accepts: none is 0 or 1, and they are
    distinct if possible.
    """
    inputs, symbols = captured.inputs, captured.tracer.env.symbols
    found: dict[str, Any] = {}
    for bind in inputs.binds:
        symbol = symbols.get(bind.name)
        if symbol is None:
            example = inputs.leaves[bind.leaf].example
            found[bind.name] = float(example) if isinstance(example, int | float) else 1.5
            continue
        hint = symbol.hint if symbol.hint is not None else symbol.optimization_hint
        lo, hi = captured.ranges[bind.name]
        found[bind.name] = int(max(lo, min(hi, _USUAL))) if hint is None else hint
    return _fitting(captured, found)


def _fitting(captured: Captured, found: dict[str, Any]) -> dict[str, Any]:
    """Values like these that the program accepts.

    Sizes without a hint are tried at other values too: with one that an assert refuses, a size
    of a result may be negative.
    """
    binds, symbols = captured.inputs.binds, captured.tracer.env.symbols
    names = {bind.name for bind in binds}
    early = [o for o in captured.runtime_asserts if names.issuperset(names_of(o.condition))]
    fails = guard_function([*captured.guards, *early], list(found))
    free = [
        b.name
        for b in binds
        if b.dim is not None and b.name in symbols and symbols[b.name].hint is None
    ]
    for n in (None, *range(_LEAST, _MOST)) if free else (None,):
        near = found if n is None else {**found, **dict.fromkeys(free, n)}
        for hints in (distinct_hints(captured, near), near):
            if fails(*hints.values()) < 0:
                return hints
    return found


def example_of(captured: Captured, hints: Mapping[str, Any]) -> tuple[Any, Any]:
    """Positional and named arguments with these values of the symbols."""
    args, kwargs = tree.unflatten(flat_example(captured, hints), captured.inputs.spec)
    return args, kwargs


def flat_example(captured: Captured, hints: Mapping[str, Any], *, new: bool = False) -> list[Any]:
    """The inputs with these values of the symbols, as a flat list.

    A tensor of the example stands for itself if it fits and has data, unless all are to be `new`,
    made under the modes that hold.
    """
    values = dict(hints)
    env = captured.tracer.env
    for bind in captured.inputs.sizes:
        if bind.name not in values:
            values[bind.name] = evaluate(env.simplify(env.symbols[bind.name].expr), values)
    numbers = {bind.leaf: bind.name for bind in captured.inputs.binds if bind.dim is None}
    flat = []
    for i, leaf in enumerate(captured.inputs.leaves):
        if leaf.value is None:
            flat.append(values[numbers[i]] if i in numbers else leaf.example)
        else:
            flat.append(_tensor(leaf, values, new))
    return flat


def _tensor(leaf: Leaf, values: Mapping[str, Any], new: bool) -> torch.Tensor:
    shape = [_number(n, values) for n in leaf.shape]
    x: torch.Tensor = leaf.example
    is_plain = type(x) in (torch.Tensor, torch.nn.Parameter)
    if not new and is_plain and list(x.shape) == shape:
        return x
    assert leaf.value is not None
    meta = leaf.value.meta
    strides = [_number(n, values) for n in strides_of(meta)]
    return torch.empty_strided(shape, strides, dtype=meta.dtype, device=meta.device).zero_()


def _number(n: Any, values: Mapping[str, Any]) -> Any:
    return evaluate(n.expr, values) if type(n) is SymInt else n
