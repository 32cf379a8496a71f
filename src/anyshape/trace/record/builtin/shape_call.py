"""torch's functions over symbolic sizes, in terms of ours."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.rules.shared.broadcast import broadcast
from anyshape.symbolic import functions
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize
from anyshape.torch_compat.shape_function import shape_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.trace.record.recorder import Recorder


def _hint(a: Any, fallback: Any = None) -> Any:
    """A likely value: `fallback` is the size of each symbol of which nothing is known."""
    if type(a) is SymInt:
        found = a.env.hint_of(a.expr, fallback)
        return fallback if found is None else found
    return functions.hint(a, fallback)


def _value(x: Any) -> Any:
    """The value, proved or guarded."""
    return bool(x) if type(x) is SymBool else int(x) if type(x) is SymInt else x


def _never(_: Any) -> bool:
    return False


def _equal(a: Any, b: Any) -> Any:
    if isinstance(a, tuple | list):
        return len(a) == len(b) and functions.sym_and(*map(_equal, a, b)) if a else not b
    return operator.eq(a, b)


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "guard_or_false": functions.guard_or_false,
    "guard_or_true": functions.guard_or_true,
    "guard_size_oblivious": functions.guard_or_false,
    "guarding_hint_or_throw": _value,
    "is_nested_int": _never,
    "optimization_hint": _hint,
    "statically_known_false": functions.statically_known_false,
    "statically_known_true": functions.statically_known_true,
    "sym_and": functions.sym_and,
    "sym_eq": _equal,
    "sym_or": functions.sym_or,
}


def shape_calls() -> Iterator[tuple[Any, Any]]:
    """Pairs of a function of torch and what to call in its place, which gets the recorder first."""
    for name, ours in _FUNCTIONS.items():
        found = shape_function(name)
        if found is not None:
            yield found, functools.partial(_without_recorder, call=ours)


def _without_recorder(_: Recorder, *args: Any, call: Any, **named: Any) -> Any:
    return call(*args, **named)


def broadcast_shapes(_: Recorder, *shapes: Any) -> Any:
    """`torch.broadcast_shapes`."""
    given = [tuple(s) if isinstance(s, tuple | list) else (s,) for s in shapes]
    found = broadcast(*given)
    return torch.Size(found) if all(type(n) is int for n in found) else SymSize(found)
