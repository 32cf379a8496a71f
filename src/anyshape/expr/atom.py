"""How a non-linear atom comes to be: interned by op and operands, with bounds and hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.domain.bound import INF, NINF, lower, upper
from anyshape.domain.interval import Interval
from anyshape.expr.boolean import Bool
from anyshape.expr.name import check_name
from anyshape.expr.node import Expr, tighten
from anyshape.expr.op import FLOORDIV, POWER, ROUNDINGS, SYMBOL
from anyshape.expr.real import Real
from anyshape.expr.terms import refresh, terms

if TYPE_CHECKING:
    from anyshape.domain.bound import Bound
    from anyshape.expr.node import Atom, Operand
    from anyshape.expr.op import Op
    from anyshape.expr.pool import Pool

_PARTIAL: Final = frozenset(op.name for op in (POWER, *ROUNDINGS))


def symbol(
    pool: Pool, name: str, lo: Bound = NINF, hi: Bound = INF, hint: int | None = None
) -> Expr:
    """A new integer symbol; the name must be an identifier that is free."""
    check_name(pool, name)
    atom = pool.atom(SYMBOL, (), (), (lower(lo), upper(hi)), hint, name)
    pool.by_name[name] = atom.node
    return atom.node


def intern_atom(pool: Pool, op: Op, args: tuple[Operand, ...], data: tuple[int, ...] = ()) -> Atom:
    """The atom `op(args)`, made on first use."""
    key = (op.name, args, data)
    atom = pool.memo.get(key)
    if atom is None:
        for operand in args:
            if type(operand) is Expr:
                refresh(operand)
        interval = op.bounds([operand_interval(a) for a in args], data)
        atom = pool.atom(op, args, data, (interval.lo, interval.hi), _hint(op, args, data))
        pool.memo[key] = atom
        atom.partial = _is_partial(atom)
        for below in _direct(args):
            below.parents.append(atom)
            if below.partial:
                atom.partial = True
    return atom


def _direct(args: tuple[Operand, ...]) -> dict[Atom, None]:
    """The atoms that the operands are made of, without what is inside those atoms."""
    found: dict[Atom, None] = {}
    if len(args) == 1 and type(args[0]) is Expr:
        return dict.fromkeys(terms(args[0]))
    seen: set[object] = set()
    stack: list[object] = list(args)
    while stack:
        item = stack.pop()
        if type(item) is Expr:
            found.update(dict.fromkeys(terms(item)))
        elif isinstance(item, Bool | Real) and item not in seen:
            seen.add(item)
            stack.extend(item.args)
    return found


def may_be_undefined(atom: Atom) -> bool:
    """Whether Python may raise when it computes the atom or what is inside it."""
    return _is_partial(atom) or any(below.partial for below in _direct(atom.args))


def _is_partial(atom: Atom) -> bool:
    """Whether Python may raise when it computes the atom from the values of its operands."""
    if atom.op is FLOORDIV:
        divisor = atom.exprs[1]
        return divisor.lo <= 0 <= divisor.hi
    return atom.op.name in _PARTIAL


def operand_interval(operand: Operand) -> Interval:
    """The bounds of an operand: of a real its span, of a condition 0 to 1."""
    if isinstance(operand, Expr):
        return Interval(operand.lo, operand.hi)
    if isinstance(operand, Bool):
        return Interval(0, 1)
    return Interval(operand.span.lo, operand.span.hi)


def within(e: Expr, interval: Interval) -> Expr:
    """`e` with its bounds tightened to an interval that its value is known to be in."""
    if interval.lo > e.lo or interval.hi < e.hi:
        tighten(e, interval.lo, interval.hi)
    return e


def _hint(op: Op, args: tuple[Operand, ...], data: tuple[int, ...]) -> int | None:
    values: list[Any] = [a.hint for a in args]
    if None in values:
        return None
    try:
        return op.evaluate(values, data)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
