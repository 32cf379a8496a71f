"""Products and powers.

A product of atoms is one atom, a monomial: factors with exponents, in order of creation. Products
of sums are multiplied out while the result stays small; beyond `EXPAND_LIMIT` terms a sum becomes
one opaque factor (a `group` atom), so that a product of many sums never explodes. A product of more
than MAX_FACTORS atoms, or with an exponent over MAX_EXPONENT, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from anyshape.errors import UnsupportedError
from anyshape.expr.atom import intern_atom
from anyshape.expr.node import MAGNITUDE_BITS, refuse
from anyshape.expr.order import is_negative
from anyshape.expr.table.op import GROUP, POWER, PRODUCT
from anyshape.expr.table.row import builds
from anyshape.expr.terms import add_into, content, from_terms, terms
from anyshape.refusal import refused

if TYPE_CHECKING:
    from anyshape.expr.node import Atom, Expr
    from anyshape.expr.pool import Pool

EXPAND_LIMIT: Final = 64
MAX_EXPONENT: Final = 64
MAX_FACTORS: Final = 256

Factors = tuple[tuple["Atom", int], ...]


def factors(atom: Atom) -> Factors:
    """The factors of an atom with their exponents; itself, when it is no product."""
    if atom.op is not PRODUCT:
        return ((atom, 1),)
    made = []
    for arg, k in zip(atom.exprs, atom.data, strict=True):
        (factor,) = terms(arg)
        made.append((factor, k))
    return tuple(made)


def monomial(pool: Pool, powers: dict[Atom, int]) -> Expr:
    """The product of the atoms to their positive powers."""
    if not powers:
        return pool.const(1)
    if len(powers) == 1:
        ((atom, exponent),) = powers.items()
        if exponent == 1:
            return atom.exprs[0] if atom.op is GROUP else atom.node
    ordered = sorted([(atom.index, atom) for atom in powers])
    args = tuple([atom.node for _, atom in ordered])
    data = tuple([powers[atom] for _, atom in ordered])
    if len(args) > MAX_FACTORS:
        raise refused(
            UnsupportedError,
            f"a product of {len(args)} symbolic integers",
            why=f"over {MAX_FACTORS} factors",
        )
    if max(data) > MAX_EXPONENT:
        _refuse_exponent(max(data))
    return intern_atom(pool, PRODUCT, args, data).node


def _refuse_exponent(exponent: int) -> NoReturn:
    raise refused(
        UnsupportedError,
        f"a symbolic integer to the power {exponent}",
        why=f"exponents over {MAX_EXPONENT} are not tracked",
        fix="compute the power on a tensor instead",
    )


def multiply(x: Expr, y: Expr) -> Expr:
    """Return `x * y`."""
    if y.is_const:
        return x.scale(y.c)
    if x.is_const:
        return y.scale(x.c)
    left, right = terms(x), terms(y)
    size = (len(left) + (x.c != 0)) * (len(right) + (y.c != 0))
    if size > EXPAND_LIMIT or size == 1:
        return _as_one(x, y)
    out: dict[Atom, int] = {}
    pool = x.pool
    for a, k in left.items():
        of_a = factors(a)
        for b, m in right.items():
            powers = dict(of_a)
            for atom, exponent in factors(b):
                powers[atom] = powers.get(atom, 0) + exponent
            add_into(out, terms(monomial(pool, powers)), k * m)
    if y.c:
        add_into(out, left, y.c)
    if x.c:
        add_into(out, right, x.c)
    return from_terms(pool, out, x.c * y.c)


def _as_one(x: Expr, y: Expr) -> Expr:
    """The product with each operand as one factor: the only one of a term, or a group."""
    scale = 1
    powers: dict[Atom, int] = {}
    for e in (x, y):
        k, of_e = as_factors(e)
        scale *= k
        for atom, exponent in of_e:
            powers[atom] = powers.get(atom, 0) + exponent
    return monomial(x.pool, powers).scale(scale)


def as_factors(e: Expr) -> tuple[int, Factors]:
    """`e` as a constant times factors: of its only term, or of the group that it makes."""
    of_e = terms(e)
    if len(of_e) == 1 and not e.c:
        atom, k = next(iter(of_e.items()))
        return k, factors(atom)
    k = content((*of_e.values(), e.c))
    if is_negative(e):
        k = -k
    primitive = from_terms(e.pool, {a: v // k for a, v in of_e.items()}, e.c // k)
    return k, ((intern_atom(e.pool, GROUP, (primitive,)), 1),)


@builds(GROUP)
def _group(e: Expr) -> Expr:
    """A group is what it holds."""
    return e


@builds(PRODUCT)
def _product(*operands: Any) -> Expr:
    """The product of the first half of the operands to the powers in the second half."""
    half = len(operands) // 2
    pool = operands[0].pool
    result: Expr = pool.const(1)
    for base, exponent in zip(operands[:half], operands[half:], strict=True):
        result = multiply(result, power(base, pool.const(exponent)))
    return result


@builds(POWER)
def power(base: Expr, exponent: Expr) -> Expr:
    """Return `base ** exponent` for an exponent that is not negative."""
    if not exponent.is_const:
        if base.is_const and base.c == 1:
            return base
        return intern_atom(base.pool, POWER, (base, exponent)).node
    k = exponent.c
    if k < 0:
        raise ValueError(f"negative exponent {k} of an integer power")
    if base.is_const:
        if abs(base.c) > 1 and k > MAGNITUDE_BITS:
            refuse(base.pool)
        return base.pool.const(base.c**k)
    if k > MAX_EXPONENT:
        _refuse_exponent(k)
    result = base.pool.const(1)
    for bit in f"{k:b}":
        result = multiply(result, result)
        if bit == "1":
            result = multiply(result, base)
    return result
