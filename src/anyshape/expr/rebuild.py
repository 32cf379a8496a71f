"""An atom, a condition or a real made again from other operands, through the constructors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import UnsupportedError
from anyshape.expr import atom as atoms
from anyshape.expr import boolean, real
from anyshape.expr.constructor import (
    bitwise,
    choice,
    comparison,
    division,
    extremum,
    product,
    rounding,
)
from anyshape.expr.table.row import CONDITION, INTEGER, REAL
from anyshape.refusal import forgive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Atom, Expr
    from anyshape.expr.real import Real
    from anyshape.expr.table.row import Op

# Imported for their constructors, which are bound to the rows of their ops.
CONSTRUCTORS: Final = (bitwise, choice, comparison, division, extremum, product, rounding)
_MAKE: Final[dict[str, Callable[..., Any]]] = {
    INTEGER: atoms.make_atom,
    REAL: real.make_real,
    CONDITION: boolean.make_condition,
}


def construct(op: Op, *operands: Any) -> Any:
    """`op` over operands, and then its data, through its constructor if it has one."""
    return op.build(*operands) if op.build is not None else _MAKE[op.gives](op, *operands)


def rebuild(atom: Atom, operands: Sequence[Any]) -> Expr:
    """The atom's op over `operands` instead of its own; not for symbols.

    Where that has no value (a division by zero, a rounded infinity) or is beyond the limits, the
    atom stays as it is: nothing is said of it.
    """
    try:
        made: Expr = construct(atom.op, *operands, *atom.data)
    except UnsupportedError as e:
        forgive(e)
        return atom.node
    except (ArithmeticError, ValueError):
        return atom.node
    return made


def rebuild_bool(b: Bool, operands: Sequence[Any]) -> Bool:
    """The condition over `operands`, as in `b.args`."""
    made: Bool = construct(b.op, *operands, *b.data) if operands else b
    return made


def rebuild_real(r: Real, operands: Sequence[Any]) -> Real:
    """The real's op over `operands`; symbols and constants are returned as they are."""
    if r.op in (real.CONST, real.SYMBOL):
        return r
    made: Real = construct(r.op, *operands)
    return made
