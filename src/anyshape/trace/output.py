"""What a traced program returns, as the graph holds it."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat import pytree
from anyshape.trace.scan import Scan, hidden_in

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer

_TRACED_TYPES: Final = (SymTensor, SymSize, SymInt, SymFloat, SymBool)
_UNFINISHED: Final = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


def output_of(tracer: Tracer, leaf: Any) -> Any:
    """A leaf of what the program returns, as the graph holds it."""
    if type(leaf) in (SymSize, torch.Size):
        return SymSize(leaf)
    if type(leaf) is str:
        need_plain(tracer, leaf)
    if isinstance(leaf, type) and leaf in _TRACED_TYPES:
        raise refused(UnsupportedError, "the program returns the type of a traced value")
    if isinstance(leaf, _UNFINISHED):
        raise refused(
            UnsupportedError, f"the program returns a {type(leaf).__name__}, which goes on"
        )
    hidden = hidden_in(leaf, (SymTensor, SymInt, SymFloat, SymBool))
    if hidden is not None and type(leaf) is not type(hidden):
        raise refused(
            UnsupportedError,
            f"the program returns a {type(leaf).__name__} with traced values inside",
            why="its structure is not known, so the values cannot be given back in it",
            fix="return tensors in tuples, lists and dicts, or register the class with"
            f" {pytree.REGISTER}",
        )
    return Scan(tracer).freeze(leaf)


def need_plain(tracer: Tracer, text: str) -> None:
    """Refuse text that a symbolic number was formatted into."""
    name = next((shown for shown in tracer.env.asker.shown if shown in text), None)
    if name is not None:
        raise refused(
            UnsupportedError,
            f"the program returns the text {text!r} with the symbolic number {name} in it",
            why="its value is known only when the program runs",
            fix="return the number itself, or use int(n) to specialize on its value",
        )
