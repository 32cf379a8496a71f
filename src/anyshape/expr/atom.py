"""How a non-linear atom comes to be: interned by op and operands, with bounds and hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.domain.bound import INF, NINF, lower, upper
from anyshape.domain.interval import EVERYTHING, Interval
from anyshape.expr.boolean import Bool
from anyshape.expr.name import check_name
from anyshape.expr.node import Expr, tighten
from anyshape.expr.real import ANY, Real
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.table.row import REAL
from anyshape.expr.terms import refresh, terms

if TYPE_CHECKING:
    from anyshape.domain.bound import Bound
    from anyshape.expr.node import Atom, Operand
    from anyshape.expr.pool import Pool
    from anyshape.expr.table.op_real import Span
    from anyshape.expr.table.row import Op

# The Python-level constructor of a NamedTuple takes longer than the arithmetic on its fields.
_new: Final = tuple.__new__


def symbol(
    pool: Pool, name: str, lo: Bound = NINF, hi: Bound = INF, hint: int | None = None
) -> Expr:
    """A new integer symbol; the name must be an identifier that is free."""
    check_name(pool, name)
    atom = pool.atom(SYMBOL, (), (), (lower(lo), upper(hi)), hint, name)
    pool.by_name[name] = atom.node
    return atom.node


def make_atom(op: Op, *operands: Operand) -> Expr:
    """`op(operands)` for an op without a constructor of its own; constant operands fold."""
    constants = [constant_of(a) for a in operands]
    if None not in constants:
        return operands[0].pool.const(op.value(*constants))
    return intern_atom(operands[0].pool, op, operands).node


def constant_of(operand: Operand) -> Any:
    """The value of an operand that is a constant, else None."""
    if isinstance(operand, Expr):
        return operand.c if operand.is_const else None
    if isinstance(operand, Bool):
        return operand.op.value() if not operand.op.takes else None
    return operand.constant


def intern_atom(pool: Pool, op: Op, args: tuple[Operand, ...], data: tuple[int, ...] = ()) -> Atom:
    """The atom `op(args)`, made on first use."""
    key = (op.name, args, data)
    atom = pool.memo.get(key)
    if atom is None:
        atom = pool.atom(op, args, data, op_interval(op, args, data), _hint(op, args, data))
        pool.memo[key] = atom
        for below in direct_atoms(args):
            below.parents.append(atom)
    return atom


def op_interval(op: Op, args: tuple[Operand, ...], data: tuple[int, ...]) -> Interval:
    """The interval of `op(args)` from the present bounds of the operands."""
    bounds: list[Any] = []
    for operand in args:
        if type(operand) is Expr:
            if operand.version < operand.pool.ranges:
                refresh(operand)
            bounds.append(_new(Interval, (operand.lo, operand.hi)))
        else:
            bounds.append(operand_interval(operand))
    interval: Interval = op.bounds(*bounds, *data)
    return interval


def direct_atoms(args: tuple[Operand, ...]) -> dict[Atom, None]:
    """The atoms that the operands are made of, without what is inside those atoms."""
    found: dict[Atom, None] = {}
    others: list[object] = []
    for operand in args:
        if type(operand) is Expr:
            found.update(dict.fromkeys(terms(operand)))
        else:
            others.append(operand)
    seen: set[object] = set()
    while others:
        item = others.pop()
        if type(item) is Expr:
            found.update(dict.fromkeys(terms(item)))
        elif isinstance(item, Bool | Real) and item not in seen:
            seen.add(item)
            others.extend(item.args)
    return found


def can_raise(node: Atom | Bool | Real) -> bool:
    """Whether Python may raise for some operands, whatever their bounds; constants are known."""
    op = node.op
    if op.partial is None:
        return False
    return op.partial(*[_extent(a, op) for a in node.args], *node.data)


def _extent(operand: Operand, op: Op) -> Interval | Span:
    """The bounds of an operand that is a constant, else those of its kind."""
    value = constant_of(operand)
    if value is None:
        return ANY if isinstance(operand, Real) or op.gives == REAL else EVERYTHING
    return operand_interval(operand)


def operand_interval(operand: Operand) -> Interval | Span:
    """The bounds of an operand: of a real its span, of a condition 0 to 1."""
    if isinstance(operand, Expr):
        return Interval(operand.lo, operand.hi)
    return Interval(0, 1) if isinstance(operand, Bool) else operand.span


def within(e: Expr, interval: Interval) -> Expr:
    """`e` with its bounds tightened to an interval that its value is known to be in."""
    if interval.lo > e.lo or interval.hi < e.hi:
        tighten(e, interval.lo, interval.hi)
    return e


def _hint(op: Op, args: tuple[Operand, ...], data: tuple[int, ...]) -> int | None:
    values: list[Any] = []
    for operand in args:
        value = operand.hint
        if value is None:
            return None
        values.append(value)
    try:
        return op.value(*values, *data)  # type: ignore[no-any-return]  # as the row says
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
