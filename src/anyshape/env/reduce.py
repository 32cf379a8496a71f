"""Atoms that the facts make simpler; the value never changes.

an atom with a one-point range           its value
max(0, a, b)                             without the operands that another one is never below
m*(x // d) with d | m, x % d == r known  (m/d) * (x - r)
(k*y + x) // y with y != 0 known         k + x // y
x // y with 0 <= x < y known             0
ite(c, a, 0) with c decided by ranges    a or 0
floor(x / y) with |x| < 2**53            x // y; likewise ceil and trunc
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.env.knowledge import atom_interval
from anyshape.env.residue import remainder
from anyshape.expr import boolean
from anyshape.expr.division import floordiv, floordiv_const
from anyshape.expr.extremum import maximum
from anyshape.expr.node import Expr
from anyshape.expr.op import CHOICE, FLOORDIV, MAXIMUM, PRODUCT, SYMBOL
from anyshape.expr.product import as_factors, factors, monomial
from anyshape.expr.real import FLOAT, RATIO, Real
from anyshape.expr.rebuild import rebuild
from anyshape.expr.terms import add_into, from_terms, refresh, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env.knowledge import Knowledge
    from anyshape.expr.node import Atom

    Ask = Callable[[Knowledge, Expr], bool | None]

EXACT: Final = 1 << 53
MANY: Final = 16
ROUNDS: Final = 64


def reduce(k: Knowledge, e: Expr, ask: Ask) -> Expr:
    """`e` with its atoms reduced; `ask` answers whether an expression is at least zero."""
    for _ in range(ROUNDS):
        step = _step(k, e, ask)
        if step is e:
            break
        e = step
    return e


def _step(k: Knowledge, e: Expr, ask: Ask) -> Expr:
    of_e = terms(e)
    if all(a.op is SYMBOL for a in of_e):
        return e
    out: dict[Atom, int] = {}
    c = e.c
    for atom, m in of_e.items():
        by = _reduced(k, atom, ask)
        exact = _exact_division(k, atom, m) if by is atom.node else None
        if exact is not None:
            c += exact.c
            add_into(out, terms(exact), 1)
        else:
            c += m * by.c
            add_into(out, terms(by), m)
    return e if out == of_e and c == e.c else from_terms(k.pool, out, c)


def _exact_division(k: Knowledge, atom: Atom, m: int) -> Expr | None:
    """`m * (x // d)` without a division, where d divides m and the remainder is known."""
    if atom.op is not FLOORDIV:
        return None
    x, y = atom.exprs
    if not y.is_const or m % y.c:
        return None
    rest = remainder(k, x, y.c)
    return None if rest is None else x.shift(-rest).scale(m // y.c)


def _reduced(k: Knowledge, atom: Atom, ask: Ask) -> Expr:
    if atom.op is SYMBOL:
        return atom.node
    known = k.reductions.get(atom)
    if known is not None and known[0] == k.pool.version:
        return known[1]
    k.reductions[atom] = (k.pool.version, atom.node)  # what a question inside this one sees
    lo, hi = atom_interval(atom)
    if max(lo, atom.lo) == min(hi, atom.hi):
        result = k.pool.const(int(max(lo, atom.lo)))
    else:
        result = _RULES.get(atom.op.name, _keep)(k, atom, ask)
    k.reductions[atom] = (k.pool.version, result)
    return result


def _keep(_k: Knowledge, atom: Atom, _ask: Ask) -> Expr:
    return atom.node


def _maximum(k: Knowledge, atom: Atom, ask: Ask) -> Expr:
    candidates: list[Expr] = [k.pool.zero, *atom.args]  # type: ignore[list-item]
    if len(candidates) > MANY:
        return atom.node
    kept: list[Expr] = []
    for i, e in enumerate(candidates):
        rivals = kept + candidates[i + 1 :]
        if not any(ask(k, rival - e) for rival in rivals):
            kept.append(e)
    return atom.node if len(kept) == len(candidates) else maximum(kept)


def _product(k: Knowledge, atom: Atom, ask: Ask) -> Expr:
    operands = [_step(k, factor, ask) for factor in atom.args]  # type: ignore[arg-type]
    same = all(a is b for a, b in zip(operands, atom.args, strict=True))
    return atom.node if same else rebuild(atom, operands)


def _division(k: Knowledge, atom: Atom, ask: Ask) -> Expr:
    x, y = atom.exprs
    if y.is_const:
        return atom.node
    positive = ask(k, y.shift(-1))
    if not positive and not ask(k, -y.shift(1)) and not _is_nonzero(k, y):
        return atom.node
    whole, rest = _split(x, y)
    if whole is not None:
        return whole + floordiv(rest, y)
    if positive and ask(k, x) and ask(k, (y - x).shift(-1)):
        return k.pool.zero
    return atom.node


def _is_nonzero(k: Knowledge, y: Expr) -> bool:
    refresh(y)
    of_y = terms(y)
    if len(of_y) == 1 and not y.c:
        atom = next(iter(of_y))
        return 0 in k.holes.get(atom, ())
    return boolean.ne0(y).verdict is True


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


def _choice(k: Knowledge, atom: Atom, ask: Ask) -> Expr:
    condition, e = atom.args
    assert isinstance(condition, boolean.Bool)
    assert type(e) is Expr
    answer = condition.verdict
    if answer is None and condition.op == boolean.GE:
        answer = ask(k, condition.expr)
    elif answer is None and condition.op in (boolean.EQ, boolean.NE):
        refresh(condition.expr)
        if condition.expr.lo > 0 or condition.expr.hi < 0:
            answer = condition.op == boolean.NE
    if answer is None:
        return atom.node
    return e if answer else k.pool.zero


def _rounding(k: Knowledge, atom: Atom, ask: Ask) -> Expr:
    r = atom.args[0]
    assert type(r) is Real
    if r.op not in (FLOAT, RATIO):
        return atom.node
    x: Expr = r.args[0]
    refresh(x)
    if x.lo <= -EXACT or x.hi >= EXACT:
        return atom.node
    if r.op == FLOAT:
        return x
    y: Expr = r.args[1]
    if not y.is_const or not 0 < y.c < EXACT:
        return atom.node
    up, down = -floordiv_const(-x, y.c), floordiv_const(x, y.c)
    if atom.op.name == "trunc":
        return down if x.lo >= 0 else up if x.hi <= 0 else atom.node
    return {"floor": down, "ceil": up}.get(atom.op.name, atom.node)


_RULES: Final[dict[str, Callable[[Knowledge, Atom, Ask], Expr]]] = {
    MAXIMUM.name: _maximum,
    PRODUCT.name: _product,
    FLOORDIV.name: _division,
    CHOICE.name: _choice,
    "floor": _rounding,
    "ceil": _rounding,
    "trunc": _rounding,
    "round": _rounding,
}
