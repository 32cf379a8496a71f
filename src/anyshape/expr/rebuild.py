"""An atom, a condition or a real made again from other operands, through the constructors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import UnsupportedError, latest
from anyshape.expr import boolean, division, extremum, opaque, product, real
from anyshape.expr.op import MAXIMUM, PRODUCT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Atom, Expr
    from anyshape.expr.real import Real

CONSTRUCTORS: Final[dict[str, Callable[..., Expr]]] = {
    "floordiv": division.floordiv,
    "power": product.power,
    "bit_and": opaque.bit_and,
    "bit_or": opaque.bit_or,
    "bit_xor": opaque.bit_xor,
    "floor": opaque.floor,
    "ceil": opaque.ceil,
    "round": opaque.nearest,
    "trunc": opaque.trunc,
    "group": lambda e: e,
}


def rebuild(atom: Atom, operands: Sequence[Any]) -> Expr:
    """The atom's op over `operands` instead of its own; not for symbols.

    Where that has no value (a division by zero, a rounded infinity) or is beyond the limits, the
    atom stays as it is: nothing is said of it.
    """
    before = latest.refusal
    try:
        return _rebuild(atom, operands)
    except (ArithmeticError, ValueError, UnsupportedError):
        latest.refusal = before
        return atom.node


def _rebuild(atom: Atom, operands: Sequence[Any]) -> Expr:
    op = atom.op
    if op is PRODUCT:
        result = atom.pool.const(1)
        for base, exponent in zip(operands, atom.data, strict=True):
            result = product.multiply(result, product.power(base, atom.pool.const(exponent)))
        return result
    if op is MAXIMUM:
        return extremum.maximum([atom.pool.zero, *operands])
    if op.name == "choice":
        return opaque.choose(operands[0], operands[1], atom.pool.zero)
    return CONSTRUCTORS[op.name](*operands)


def rebuild_bool(b: Bool, operands: Sequence[Any]) -> Bool:
    """The condition over `operands`: expressions, conditions or reals, as in `b.args`."""
    op = b.op
    if op == boolean.GE:
        return boolean.ge0(operands[0])
    if op == boolean.EQ:
        return boolean.eq0(operands[0])
    if op == boolean.NE:
        return boolean.ne0(operands[0])
    if op == boolean.AND:
        return boolean.conj(b.pool, operands)
    if op == boolean.OR:
        return boolean.disj(b.pool, operands)
    if op == boolean.NOT:
        return boolean.negate(operands[0])
    if op == boolean.REAL:
        return boolean.compare_reals(b.args[0], operands[0], operands[1])
    return b


def rebuild_real(r: Real, operands: Sequence[Any]) -> Real:
    """The real's op over `operands`; symbols and constants are returned as they are."""
    if r.op in (real.CONST, real.SYMBOL):
        return r
    return real.apply(r.op, *operands)
