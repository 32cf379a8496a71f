"""Congruences: what is known of a value modulo a constant.

The congruence of an expression is composed from those of its atoms; a division with a known
remainder passes its part on. Facts of the form `x % d == r` are recognised in the normal form,
`x - d * (x // d) - r == 0`, and kept by direction.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

from anyshape.domain import EVERY_INTEGER, congruence, solve
from anyshape.env.fact import ContradictionError
from anyshape.env.knowledge.direction import direction_of
from anyshape.env.knowledge.limit import NARROW
from anyshape.env.knowledge.polynomial import constant_remainder
from anyshape.expr.table.op import FLOORDIV, GROUP, PRODUCT
from anyshape.expr.terms import from_terms, terms

if TYPE_CHECKING:
    from anyshape.domain import Congruence
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr.node import Atom, Expr

NESTING: Final = 4


def residue_of(k: Knowledge, e: Expr, depth: int = NESTING) -> Congruence:
    """The smallest known congruence that holds for `e`."""
    of_e = terms(e)
    total = congruence(0, e.c)
    if len(of_e) <= 2 * NARROW:
        for atom, coefficient in of_e.items():
            total = total.add(_residue_of_atom(k, atom, depth).scale(coefficient))
    else:
        total = EVERY_INTEGER
    if k.residues and of_e:
        key, factor = direction_of(e)
        known = k.residues.get(key)
        if known is not None:
            both = total.meet(known.scale(factor).shift(e.c))
            total = both if both is not None else total
    return total


def _residue_of_atom(k: Knowledge, atom: Atom, depth: int) -> Congruence:
    if atom.lo == atom.hi:
        return congruence(0, int(atom.lo))
    known = k.residues.get(atom.node, EVERY_INTEGER)
    derived = EVERY_INTEGER
    if depth:
        if atom.op is FLOORDIV:
            x, y = atom.exprs
            if y.is_const:
                derived = residue_of(k, x, depth - 1).floordiv(y.c)
        elif atom.op is PRODUCT:
            derived = congruence(0, 1)
            for factor, exponent in zip(atom.exprs, atom.data, strict=True):
                of_factor = residue_of(k, factor, depth - 1)
                for _ in range(exponent):
                    derived = derived.mul(of_factor)
        elif atom.op is GROUP:
            derived = residue_of(k, atom.exprs[0], depth - 1)
    return known.meet(derived) or known


def remainder(k: Knowledge, x: Expr, d: int) -> int | None:
    """`x % d` where that is a known constant, for d > 0.

    What the coefficients of a sum of symbols tell, division takes out by itself. So there is none
    without a learnt congruence or a product.
    """
    if k.residues:
        rest = residue_of(k, x).mod(d)
        if rest.is_point:
            return rest.residue
    if any(atom.op is PRODUCT for atom in terms(x)):
        return constant_remainder(x, d, lambda atom: _values_modulo(k, atom, d))
    return None


def _values_modulo(k: Knowledge, symbol: Atom, d: int) -> range:
    """The values modulo d that a symbol can have."""
    modulus, residue = k.residues.get(symbol.node, EVERY_INTEGER)
    common = gcd(modulus, d)
    return range(residue % common, d, common)


def learn_residues(k: Knowledge, e: Expr) -> list[Atom]:
    """Congruences that follow from `e == 0`; return the atoms that they are about."""
    of_e = terms(e)
    if len(of_e) > NARROW:
        return []
    found: list[Atom] = []
    for atom, coefficient in of_e.items():
        if atom.op is FLOORDIV:
            found += _from_remainder(k, e, atom, coefficient)
    for atom, coefficient in of_e.items():
        others = congruence(0, -e.c)
        for other, m in of_e.items():
            if other is not atom:
                others = others.sub(_residue_of_atom(k, other, NESTING).scale(m))
        found += _learn_direction(k, atom.node, solve(coefficient, others))
    return found


def _from_remainder(k: Knowledge, e: Expr, atom: Atom, coefficient: int) -> list[Atom]:
    """`m*x - m*d*(x // d) - m*r == 0` says that x is r modulo d."""
    x, y = atom.exprs
    if not y.is_const or coefficient % y.c:
        return []
    m = -coefficient // y.c
    rest = {a: v for a, v in terms(e).items() if a is not atom}
    if rest != {a: m * v for a, v in terms(x).items()}:
        return []
    value, odd = divmod(-(e.c - m * x.c), m)
    if odd or not 0 <= value < y.c:
        raise ContradictionError(f"{k.brief(x)} cannot leave the remainder {value} modulo {y.c}")
    return _learn_direction(k, x, congruence(y.c, value))


def _learn_direction(k: Knowledge, e: Expr, residue: Congruence | None) -> list[Atom]:
    """Record that `e` is in `residue`."""
    if residue is None:
        raise ContradictionError(f"no integer {k.brief(e)} solves the equation")
    if residue.is_everything:
        return []
    key, factor = direction_of(e)
    new = solve(factor, residue.shift(-e.c))
    old = k.residues.get(key, EVERY_INTEGER)
    both = None if new is None else new.meet(old)
    if both is None:
        linear = from_terms(e.pool, terms(e), 0)
        raise ContradictionError(
            f"{k.brief(linear)} cannot be {residue.residue} modulo {residue.modulus}"
            f" and {old.residue} modulo {old.modulus}"
        )
    if both == old:
        return []
    k.put(k.residues, key, both)
    return list(terms(e)) if len(terms(e)) == 1 else []
