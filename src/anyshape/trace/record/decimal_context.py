"""Decimal numbers: what is computed with them depends on a context, which is state in C.

The context is a condition of every program that meets such a number: one from outside, or one that
it makes. What counts is the context after the trace, since arithmetic raises flags in it: a program
that would raise one again is traced again. To ask for a context, or to set one, is refused.
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

from anyshape.symbolic.numpy_scalar import value_of
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from collections.abc import Iterable


def for_decimal(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of `Decimal(...)`, which takes no symbolic number."""
    return tuple([value_of(a) if type(a) is SymInt else a for a in args])


def has_decimals(*objects: Iterable[Any]) -> bool:
    """Whether there is a decimal number among these objects."""
    kinds = {kind for some in objects for kind in set(map(type, some))}
    return any(issubclass(kind, decimal.Decimal) for kind in kinds)


def context_text() -> str:
    """The context of this thread, with its flags."""
    return str(decimal.getcontext())
