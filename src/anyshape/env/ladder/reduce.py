"""Atoms that the facts make simpler; the value never changes.

an atom with a one-point range           its value
max(0, a, b)                             without the operands that another one is never below
m*(x // d) with d | m, x % d == r known  (m/d) * (x - r)
(k*y + x) // y with y != 0 known         k + x // y
(x // a) // y with y >= 1 known          x // (a*y)
x // y with 0 <= x < y known             0
ite(c, a, 0) with c decided             a or 0
floor(x / y) with |x| < 2**53            x // y; and what else `fraction.py` states
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.env.knowledge.equality import form
from anyshape.env.knowledge.knowledge import atom_interval
from anyshape.env.knowledge.polynomial import divide
from anyshape.env.knowledge.residue import remainder
from anyshape.env.ladder.fraction import round_fraction
from anyshape.env.ladder.reading import by_congruence, by_reading
from anyshape.expr import boolean
from anyshape.expr.constructor.division import floordiv
from anyshape.expr.constructor.extremum import maximum
from anyshape.expr.constructor.product import as_factors, factors, monomial, multiply
from anyshape.expr.node import Expr
from anyshape.expr.real import Real
from anyshape.expr.rebuild import rebuild
from anyshape.expr.table.op import CHOICE, FLOORDIV, MAXIMUM, PRODUCT, SYMBOL
from anyshape.expr.terms import add_into, from_terms, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.env.ladder.question import Question
    from anyshape.expr.node import Atom
    from anyshape.expr.table.row import Op

MANY: Final = 16
ROUNDS: Final = 64
NOWHERE: Final = 1 << 30


def reduce(q: Question, e: Expr) -> Expr:
    """`e` with its atoms reduced, within the budget of a question."""
    for _ in range(ROUNDS):
        step = _step(q, e)
        if step is e:
            break
        e = step
    return e


def where_defined(e: Expr) -> Expr:
    """`e` with exact quotients for divisions: the same wherever Python has a value of `e`.

    A question may use it, because a condition without a value is no exception to the answer. A
    simplification may not, because it would lose the error of a division by zero.
    """
    out = e
    for atom, m in terms(e).items():
        exact = [_exact_quotient(factor) for factor, _ in factors(atom)]
        if any(exact):
            by = e.pool.const(m)
            for (factor, exponent), quotient in zip(factors(atom), exact, strict=True):
                for _ in range(exponent):
                    by = multiply(by, quotient or factor.node)
            out = out - atom.node.scale(m) + by
    return out


def _exact_quotient(atom: Atom) -> Expr | None:
    """The polynomial that `x // y` is where `y` divides `x`."""
    if atom.op is not FLOORDIV or atom.exprs[1].is_const:
        return None
    whole, rest = divide(*atom.exprs)
    return whole if rest is rest.pool.zero else None


def has_ops(e: Expr, ops: tuple[Op, ...] = ()) -> bool:
    """Whether an atom of `e` is made by one of the ops; by any, if none is given."""
    for atom in terms(e):
        op = atom.op
        if op is not SYMBOL and (not ops or op in ops):
            return True
    return False


def _step(q: Question, e: Expr) -> Expr:
    if not has_ops(e):
        return e
    of_e = terms(e)
    out: dict[Atom, int] = {}
    c = e.c
    for atom, m in of_e.items():
        by = _reduced(q, atom)
        exact = _exact_division(q.knowledge, atom, m) if by is atom.node else None
        if exact is not None:
            c += exact.c
            add_into(out, terms(exact), 1)
        else:
            c += m * by.c
            add_into(out, terms(by), m)
    return e if out == of_e and c == e.c else from_terms(e.pool, out, c)


def _exact_division(k: Knowledge, atom: Atom, m: int) -> Expr | None:
    """`m * (x // d)` without a division, where d divides m and the remainder is known."""
    if atom.op is not FLOORDIV:
        return None
    x, y = atom.exprs
    if not y.is_const or m % y.c:
        return None
    rest = remainder(k, x, y.c)
    return None if rest is None else x.shift(-rest).scale(m // y.c)


def _reduced(q: Question, atom: Atom) -> Expr:
    """The reduction of one atom; the atom itself where the budget does not suffice."""
    if atom.op is SYMBOL:
        return atom.node
    k = q.knowledge
    known = k.reductions.get(atom)
    if known is not None and known[0] == k.version:
        _, result, cost = known
        return result if not cost or q.spend(cost) else atom.node
    under_way = q.reducing.get(atom)
    if under_way is not None:
        q.reentered = min(q.reentered, under_way)
        return atom.node
    depth = q.reducing[atom] = len(q.reducing)
    before = q.steps
    result = _reduce_atom(q, atom)
    del q.reducing[atom]
    cost = before - q.steps
    if cost and q.steps < 0:
        return atom.node
    if q.reentered >= depth:
        q.reentered = NOWHERE
        k.reductions[atom] = (k.version, result, cost)
    return result


def _reduce_atom(q: Question, atom: Atom) -> Expr:
    lo, hi = atom_interval(atom)
    lo, hi = max(lo, atom.lo), min(hi, atom.hi)
    if lo == hi:
        return atom.pool.const(int(lo))
    rule = _RULES.get(atom.op.name)
    return atom.node if rule is None else rule(q, atom)


def _maximum(q: Question, atom: Atom) -> Expr:
    candidates: list[Expr] = [atom.pool.zero, *atom.args]  # type: ignore[list-item]
    if len(candidates) > MANY:
        return atom.node
    kept: list[Expr] = []
    for i, e in enumerate(candidates):
        rivals = kept + candidates[i + 1 :]
        if not any(q.is_nonnegative(rival - e) for rival in rivals):
            kept.append(e)
    return atom.node if len(kept) == len(candidates) else maximum(kept)


def _product(q: Question, atom: Atom) -> Expr:
    operands = [_step(q, factor) for factor in atom.args]  # type: ignore[arg-type]
    same = all(a is b for a, b in zip(operands, atom.args, strict=True))
    return atom.node if same else rebuild(atom, operands)


def _division(q: Question, atom: Atom) -> Expr:
    x, y = atom.exprs
    if y.is_const:
        return atom.node
    positive = q.is_nonnegative(y.shift(-1))
    if not positive and not q.is_nonnegative(-y.shift(1)) and not _is_excluded(q, y):
        return atom.node
    whole, rest = _divided(q, x, y)
    if whole is not None:
        return whole + floordiv(rest, y)
    if not positive:
        return atom.node
    if x.width == 1 and not x.c:
        inner = next(iter(terms(x)))
        if inner.op is FLOORDIV and x is inner.node:
            return floordiv(inner.exprs[0], multiply(inner.exprs[1], y))
    if q.is_nonnegative(x) and q.is_nonnegative((y - x).shift(-1)):
        return atom.pool.zero
    return atom.node


def _is_excluded(q: Question, y: Expr) -> bool:
    """Whether a fact, a range, an excluded value or a congruence says that `y` is not 0."""
    k = q.knowledge
    if boolean.ne0(y) in k.told:
        return True
    y = form(k, y)
    answer = by_reading(q, y, boolean.NE)
    return (by_congruence(q, y, boolean.NE) if answer is None else answer) is True


def _divided(q: Question, x: Expr, y: Expr) -> tuple[Expr | None, Expr]:
    """`x` as `whole * y + rest`, also with a division in `y` of known remainder multiplied out."""
    whole, rest = _split(x, y)
    if whole is None and (y.c or len(terms(y)) > 1):
        whole, rest = _long_division(x, y)
    if whole is not None:
        return whole, rest
    for quotient in terms(y):
        if quotient.op is FLOORDIV and quotient.exprs[1].is_const:
            dividend, d = quotient.exprs[0], quotient.exprs[1].c
            r = remainder(q.knowledge, dividend, d)
            leading = next(iter(terms(dividend)))
            if r is not None and terms(x).get(leading, 0) % terms(dividend)[leading] == 0:
                times = terms(x).get(leading, 0) // terms(dividend)[leading]
                whole, rest = _split(
                    x + (quotient.node.scale(d).shift(r) - dividend).scale(times), y
                )
                if whole is not None:
                    return whole, rest
    return None, x


def _long_division(x: Expr, y: Expr) -> tuple[Expr | None, Expr]:
    """The quotient of polynomials where it leaves a rest of fewer terms."""
    whole, rest = divide(x, y)
    return (whole, rest) if len(terms(rest)) < len(terms(x)) else (None, x)


def _split(x: Expr, y: Expr) -> tuple[Expr | None, Expr]:
    """`x` as `whole * y + rest`, `whole` from the terms that `y` divides; None if there is none."""
    scale, of_y = as_factors(y)
    whole: dict[Atom, int] = {}
    rest: dict[Atom, int] = {}
    whole_c = 0
    for atom, m in terms(x).items():
        powers = dict(factors(atom))
        for factor, exponent in of_y:
            powers[factor] = powers.get(factor, 0) - exponent
        if m % scale or any(n < 0 for n in powers.values()):
            rest[atom] = m
            continue
        quotient = monomial(x.pool, {a: n for a, n in powers.items() if n})
        whole_c += quotient.c * (m // scale)
        add_into(whole, terms(quotient), m // scale)
    if len(rest) == len(terms(x)):
        return None, x
    return from_terms(x.pool, whole, whole_c), from_terms(x.pool, rest, x.c)


def _choice(q: Question, atom: Atom) -> Expr:
    condition, e = atom.args
    assert isinstance(condition, boolean.Bool)
    assert type(e) is Expr
    answer = q.holds(condition)
    if answer is None:
        return atom.node
    return e if answer else atom.pool.zero


def _rounding(_q: Question, atom: Atom) -> Expr:
    r = atom.args[0]
    assert type(r) is Real
    made = round_fraction(atom, r)
    return atom.node if made is None else made


_RULES: Final[dict[str, Callable[[Question, Atom], Expr]]] = {
    MAXIMUM.name: _maximum,
    PRODUCT.name: _product,
    FLOORDIV.name: _division,
    CHOICE.name: _choice,
    "floor": _rounding,
    "ceil": _rounding,
    "trunc": _rounding,
    "round": _rounding,
}
