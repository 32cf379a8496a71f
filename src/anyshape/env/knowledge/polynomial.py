"""Expressions as polynomials over atoms: division, common factors, squares, values modulo d.

A term is a coefficient times a monomial, a product of atoms to positive powers. Every function
is exact or says nothing, and looks at no fact but the ranges of atoms.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, gcd, prod
from typing import TYPE_CHECKING, Final, TypeVar

from anyshape.domain import NINF
from anyshape.expr.constructor.product import factors, monomial, multiply
from anyshape.expr.table.op import PRODUCT, SYMBOL
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.domain import Bound
    from anyshape.expr import Expr
    from anyshape.expr.node import Atom

    Powers = dict[Atom, int]

Key = TypeVar("Key")

DIVISION_STEPS: Final = 16
MOST_TERMS: Final = 32
MOST_VARIABLES: Final = 6
RESIDUE_POINTS: Final = 128


# ---------------------------------------------------------------------- division


def divide(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """`x == whole * y + rest`, by long division with the leading term of `y`.

    `whole` is 0 where nothing divides. A term of `x` is divided where the leading monomial of `y`
    divides it and the coefficients divide exactly.
    """
    pool = x.pool
    whole, rest = pool.zero, x
    leading = max(terms(y), key=_degree)
    scale = terms(y)[leading]
    powers = dict(factors(leading))
    for _ in range(DIVISION_STEPS):
        found = _first_quotient(rest, powers, scale)
        if found is None:
            break
        quotient, coefficient = found
        step = monomial(pool, quotient).scale(coefficient)
        whole = whole + step
        rest = rest - multiply(step, y)
        if len(terms(rest)) > MOST_TERMS:
            return pool.zero, x
    return whole, rest


def _degree(atom: Atom) -> tuple[int, int]:
    return sum(exponent for _, exponent in factors(atom)), atom.index


def _first_quotient(x: Expr, powers: Powers, scale: int) -> tuple[Powers, int] | None:
    """The monomial and coefficient by which the highest term that divides is longer."""
    for atom in sorted(terms(x), key=_degree, reverse=True):
        coefficient = terms(x)[atom]
        if coefficient % scale == 0:
            quotient = _quotient(dict(factors(atom)), powers)
            if quotient is not None:
                return quotient, coefficient // scale
    return None


def _quotient(powers: Powers, by: Powers) -> Powers | None:
    out = dict(powers)
    for atom, exponent in by.items():
        left = out.get(atom, 0) - exponent
        if left < 0:
            return None
        if left:
            out[atom] = left
        else:
            del out[atom]
    return out


# ---------------------------------------------------------------------- common factors


def common_factors(e: Expr) -> list[Atom]:
    """The atoms that divide every term of `e`; none where there is a constant."""
    if e.c or not any(atom.op is PRODUCT for atom in terms(e)):
        return []
    common: set[Atom] | None = None
    for atom in terms(e):
        of_atom = {factor for factor, _ in factors(atom)}
        common = of_atom if common is None else common & of_atom
    return sorted(common or (), key=lambda atom: atom.index)


def without_factor(e: Expr, factor: Atom) -> Expr:
    """`e / factor`, for an atom that divides every term."""
    out = e.pool.zero
    for atom, coefficient in terms(e).items():
        powers = _quotient(dict(factors(atom)), {factor: 1})
        assert powers is not None
        out = out + monomial(e.pool, powers).scale(coefficient)
    return out


# ---------------------------------------------------------------------- squares


def signs_of_squares(e: Expr) -> tuple[bool, bool]:
    """Whether a square in `e` has a positive coefficient, and whether one has a negative one."""
    positive = negative = False
    for atom, k in terms(e).items():
        if atom.op is PRODUCT and atom.data == (2,):
            positive = positive or k > 0
            negative = negative or k < 0
    return positive, negative


def least_value(e: Expr) -> Bound:
    """A number that a polynomial of degree 2 is never below, by completing squares.

    a*x**2 + b*x + g >= g - b**2 / (4*a) for a > 0, where b and g do not contain x, so there should
    be such a square. What is left
    when every square is completed must be linear, and is bounded by the ranges of its atoms; else
    the answer is -inf. The polynomial is an integer, so a real bound is rounded up.
    """
    form = _Quadratic.of(e)
    if form is None:
        return NINF
    while form.complete_square():
        pass
    least = form.c
    for atom, k in form.linear.items():
        end = atom.lo if k > 0 else atom.hi
        if isinstance(end, float):
            return NINF
        least += k * end
    return NINF if form.pairs else ceil(least)


class _Quadratic:
    """A polynomial of degree 2: coefficients of pairs of atoms, of atoms, and a constant."""

    def __init__(self, c: int) -> None:
        self.pairs: dict[tuple[Atom, Atom], Fraction] = {}
        self.linear: dict[Atom, Fraction] = {}
        self.c = Fraction(c)

    @classmethod
    def of(cls, e: Expr) -> _Quadratic | None:
        """The polynomial of `e`; None for other degrees or many atoms."""
        form = cls(e.c)
        variables: set[Atom] = set()
        for atom, coefficient in terms(e).items():
            flat = [a for a, exponent in factors(atom)[:3] for _ in range(min(exponent, 3))]
            variables.update(flat)
            if len(flat) > 2 or len(variables) > MOST_VARIABLES:
                return None
            if len(flat) == 1:
                form.linear[flat[0]] = Fraction(coefficient)
            else:
                form.pairs[flat[0], flat[1]] = Fraction(coefficient)
        return form

    def complete_square(self) -> bool:
        """Eliminate one atom with a positive square; say whether there was one."""
        x = next((a for (a, b), k in self.pairs.items() if a is b and k > 0), None)
        if x is None:
            return False
        a = self.pairs.pop((x, x))
        b: dict[Atom | None, Fraction] = {}
        for pair in [p for p in self.pairs if x in p]:
            b[pair[0] if pair[1] is x else pair[1]] = self.pairs.pop(pair)
        if x in self.linear:
            b[None] = self.linear.pop(x)
        items = list(b.items())
        for i, (y, k) in enumerate(items):
            for z, m in items[i:]:
                self.subtract(y, z, k * m * (1 if z is y else 2) / (4 * a))
        return True

    def subtract(self, y: Atom | None, z: Atom | None, k: Fraction) -> None:
        """Subtract `k*y*z`, where None stands for 1."""
        if y is not None and z is not None:
            _subtract(self.pairs, (y, z) if y.index <= z.index else (z, y), k)
            return
        only = y if z is None else z
        if only is None:
            self.c -= k
        else:
            _subtract(self.linear, only, k)


def _subtract(table: dict[Key, Fraction], key: Key, k: Fraction) -> None:
    total = table.get(key, Fraction(0)) - k
    if total:
        table[key] = total
    else:
        table.pop(key, None)


# ---------------------------------------------------------------------- values modulo d, and powers


def constant_remainder(e: Expr, d: int, residues: Callable[[Atom], Iterable[int]]) -> int | None:
    """`e % d` where it is the same for all values of the symbols, for d > 0.

    A polynomial with integer coefficients modulo d depends on its symbols modulo d alone.
    `residues` gives the values modulo d that a symbol can have.
    """
    of_e = [(k, factors(atom)) for atom, k in terms(e).items()]
    symbols = sorted({a for _, fs in of_e for a, _ in fs}, key=lambda atom: atom.index)
    if d > RESIDUE_POINTS or any(a.op is not SYMBOL for a in symbols):
        return None
    domains = [list(residues(a)) for a in symbols]
    if prod(map(len, domains)) > RESIDUE_POINTS:
        return None
    found: set[int] = set()
    for point in product(*domains):
        value = dict(zip(symbols, point, strict=True))
        total = sum(k * prod(pow(value[a], n, d) for a, n in fs) for k, fs in of_e)
        found.add((total + e.c) % d)
        if len(found) > 1:
            return None
    return found.pop() if found else None


def may_vanish(e: Expr) -> bool:
    """False where `e == 0` would make a number that is no n-th power the n-th power of an integer.

    m*(x*y)**n + c == 0 needs -c/m to be an integer that is an n-th power.
    """
    if len(terms(e)) != 1:
        return True
    ((atom, m),) = terms(e).items()
    n = gcd(*(exponent for _, exponent in factors(atom)))
    if n == 1:
        return True
    value, odd = divmod(-e.c, m)
    return not odd and (_is_power(value, n) if value >= 0 else n % 2 == 1 and _is_power(-value, n))


def _is_power(value: int, n: int) -> bool:
    """Whether a natural number is the n-th power of one."""
    low, high = 0, 1 << (value.bit_length() // n + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**n < value:
            low = middle + 1
        else:
            high = middle
    return bool(low**n == value)
