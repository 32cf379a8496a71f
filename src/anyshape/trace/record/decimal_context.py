"""Decimal numbers: what is computed with them depends on a context, which is state in C.

The context is a condition of a program that makes such a number. A program that asks for a context,
or sets one, is refused.
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

from anyshape.symbolic.numpy_scalar import value_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.record import read as reads

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader


def for_decimal(recorder: Reader, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of `Decimal(...)`, which takes no symbolic number."""
    recorder.note(reads.CALL, _context, (), _context())
    return tuple([value_of(a) if type(a) is SymInt else a for a in args])


def _context() -> str:
    return str(decimal.getcontext())
