"""How a non-linear atom comes to be: interned by op and operands, with bounds and hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.domain.bound import INF, NINF
from anyshape.domain.interval import Interval
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Atom, Expr, Pool
from anyshape.expr.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import atoms_below

if TYPE_CHECKING:
    from anyshape.domain.bound import Bound
    from anyshape.expr.node import Operand
    from anyshape.expr.op import Op


def symbol(
    pool: Pool, name: str, lo: Bound = NINF, hi: Bound = INF, hint: int | None = None
) -> Expr:
    """A new integer symbol; the name must be free."""
    atom = pool.atom(SYMBOL, (), (), (lo, hi), hint, name)
    pool.by_name[name] = atom.node
    return atom.node


def intern_atom(
    pool: Pool, op: Op, args: tuple[Operand, ...], data: tuple[int, ...]
) -> Atom:
    """The atom `op(args)`, made on first use."""
    key = (op.name, args, data)
    atom = pool.memo.get(key)
    if atom is None:
        interval = op.bounds([operand_interval(a) for a in args], data)
        atom = pool.atom(op, args, data, (interval.lo, interval.hi), _hint(op, args, data))
        pool.memo[key] = atom
        for below in _direct(args):
            below.parents.append(atom)
    return atom


def _direct(args: tuple[Operand, ...]) -> list[Atom]:
    """The atoms that the operands are made of, without what is inside those atoms."""
    found: dict[Atom, None] = {}
    for arg in args:
        if type(arg) is Expr:
            found.update(dict.fromkeys(terms(arg)))
        else:
            found.update(dict.fromkeys(atoms_below(arg)))
    return list(found)


def operand_interval(operand: Operand) -> Interval:
    """The bounds of an operand: of a real its span, of a condition 0 to 1."""
    if type(operand) is Expr:
        return Interval(operand.lo, operand.hi)
    if type(operand) is Bool:
        return Interval(0, 1)
    span = operand.span  # type: ignore[union-attr]  # the third kind of operand is a Real
    return Interval(span.lo, span.hi)


def _hint(op: Op, args: tuple[Operand, ...], data: tuple[int, ...]) -> int | None:
    values: list[Any] = [a.hint for a in args]
    if None in values:
        return None
    try:
        return op.evaluate(values, data)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
