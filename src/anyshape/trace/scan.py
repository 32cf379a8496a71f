"""One pass over the arguments of a call: freezes them for the graph, and collects the device of the
tensors and whether one requires grad.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.symbolic.numpy_scalar import NumpyBool, NumpyInt
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.graph.graph import Value
from anyshape.trace.record.foreign.territory import is_filled
from anyshape.trace.sequence.list_meta import TENSOR
from anyshape.trace.sequence.sym_list import SymList

if TYPE_CHECKING:
    from anyshape.tensor.meta import Meta

PLAIN: Final = frozenset(
    {
        int,
        float,
        bool,
        str,
        complex,
        type(None),
        type(Ellipsis),
        torch.dtype,
        torch.device,
        torch.memory_format,
        torch.layout,
        SymInt,
        SymBool,
        SymFloat,
        NumpyInt,
        NumpyBool,
        Value,
    }
)


class Scan:
    """The result of the pass: whether an operand requires grad, and the device of the operands."""

    __slots__ = ("device", "grad", "scalar", "tracer")

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer
        self.grad = False
        self.device: torch.device | None = None
        self.scalar = True  # only tensors without dimensions had a device so far

    def args(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments, frozen."""
        frozen: list[Any] = []
        for x in args:
            kind = type(x)
            if kind is SymTensor:
                if x._tracer is not self.tracer:
                    raise _foreign()
                meta = x._meta
                if meta.requires_grad:
                    self.grad = True
                if self.scalar:
                    self._note(meta)
                frozen.append(x._value)
            elif kind in PLAIN:
                frozen.append(x)
            else:
                frozen.append(self.freeze(x))
        return tuple(frozen)

    def named(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The named arguments, frozen."""
        return {k: self.freeze(x) for k, x in kwargs.items()} if kwargs else kwargs

    def freeze(self, x: Any) -> Any:
        """An argument with graph values in place of tensors, and containers of plain types."""
        kind = type(x)
        if kind is SymTensor:
            return self.args((x,))[0]
        if kind in PLAIN:
            return x
        if kind is SymList:
            self._items(x)
            return x._value
        if isinstance(x, torch.Tensor):
            value = self.tracer.lift(x)
            meta = value.meta
            if meta.requires_grad:
                self.grad = True
            if self.scalar:
                self._note(meta)
            return value
        if isinstance(x, tuple):
            return self.args(x)
        self.tracer.consumed(x)
        if isinstance(x, list):
            return list(self.args(x))  # type: ignore[arg-type]  # any sequence will do
        if kind is dict:
            return {k: self.freeze(part) for k, part in x.items()}
        if kind is slice:
            return slice(self.freeze(x.start), self.freeze(x.stop), self.freeze(x.step))
        return x

    def _items(self, items: SymList) -> None:
        """Note the tensors in a list."""
        meta = items._meta
        if items._tracer is not self.tracer:
            raise _foreign()
        if meta.requires_grad:
            self.grad = True
        if self.scalar and meta.items == TENSOR:
            self.scalar = len(meta.shape) == 1
            self.device = meta.device

    def _note(self, meta: Meta) -> None:
        if meta.shape:
            self.scalar = False
            self.device = meta.device
        elif self.device is None:
            self.device = meta.device


def _foreign() -> UnsupportedError:
    return refused(
        UnsupportedError,
        "a traced tensor of another trace",
        why="it is not a value of this graph",
        fix="pass it as an argument, or trace both programs as one",
        code="AS114",
    )


def hidden_in(x: Any, kinds: tuple[type, ...], depth: int = 4) -> Any:
    """An object of one of the types inside `x`: itself, in a container, or in an attribute."""
    if type(x) in kinds:
        return x
    if depth == 0 or isinstance(x, torch.Tensor | type) or type(x) in PLAIN:
        return None
    parts: list[Any] = []
    if isinstance(x, dict):
        parts = list(x.values())
    elif isinstance(x, list | tuple | set | frozenset):
        parts = list(x)
    elif isinstance(x, types.FunctionType):
        parts = [c.cell_contents for c in x.__closure__ or () if is_filled(c)]
        parts += [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    elif isinstance(x, types.MethodType):
        parts = [x.__self__]
    elif isinstance(x, functools.partial):
        parts = [x.func, *x.args, *x.keywords.values()]
    elif not callable(x):
        parts = list(getattr(x, "__dict__", {}).values())
        parts += [getattr(x, name, None) for name in getattr(type(x), "__slots__", ())]
    for part in parts:
        found = hidden_in(part, kinds, depth - 1)
        if found is not None:
            return found
    return None
