"""Congruences: the sets `residue + modulus * Z`, with one-number sets as modulus 0.

Invariant of `Congruence(modulus, residue)`: `modulus >= 0`, and `0 <= residue < modulus` unless the
modulus is 0.  Hence equal sets are equal tuples.  Use `congruence` to build one from any numbers.

Every method is tight: it returns the smallest congruence that holds all results on members.
"""

from __future__ import annotations

from math import gcd
from typing import Final, NamedTuple

# The Python-level constructor of a NamedTuple takes longer than the arithmetic on its fields.
_new: Final = tuple.__new__


class Congruence(NamedTuple):
    """The integers congruent to `residue` modulo `modulus`; exactly `residue` for modulus 0.

    >>> Congruence(4, 1).mul(Congruence(6, 3))
    Congruence(modulus=6, residue=3)
    """

    modulus: int
    residue: int

    @property
    def is_point(self) -> bool:
        """Whether there is exactly one member."""
        return self.modulus == 0

    @property
    def is_everything(self) -> bool:
        """Whether every integer is a member."""
        return self.modulus == 1

    def contains(self, number: int) -> bool:
        """Return whether `number` is a member."""
        modulus, residue = self
        return (number - residue) % modulus == 0 if modulus else number == residue

    def meet(self, other: Congruence) -> Congruence | None:
        """Return the common members (Chinese remainder theorem), None if there are none."""
        if self.modulus == 1:
            return other
        if other.modulus == 1:
            return self
        if self.modulus == 0:
            return self if other.contains(self.residue) else None
        if other.modulus == 0:
            return other if self.contains(other.residue) else None
        # residue + modulus * x is a member of both
        steps = solve(self.modulus, other.shift(-self.residue))
        if steps is None:
            return None
        return steps.scale(self.modulus).shift(self.residue)

    def neg(self) -> Congruence:
        """Return the image of `-x`."""
        return congruence(self.modulus, -self.residue)

    def shift(self, offset: int) -> Congruence:
        """Return the image of `x + offset`."""
        return congruence(self.modulus, self.residue + offset)

    def scale(self, factor: int) -> Congruence:
        """Return the image of `factor * x`."""
        return congruence(self.modulus * factor, self.residue * factor)

    def add(self, other: Congruence) -> Congruence:
        """Return the image of `x + y`."""
        return congruence(gcd(self.modulus, other.modulus), self.residue + other.residue)

    def sub(self, other: Congruence) -> Congruence:
        """Return the image of `x - y`."""
        return congruence(gcd(self.modulus, other.modulus), self.residue - other.residue)

    def mul(self, other: Congruence) -> Congruence:
        """Return the smallest congruence that holds every `x * y`."""
        m, r = self
        n, s = other
        return congruence(gcd(m * n, m * s, n * r), r * s)

    def floordiv(self, divisor: int) -> Congruence:
        """Return the smallest congruence that holds every `x // divisor`, divisor positive.

        Where the divisor does not divide the modulus, the quotients of neighbours differ by two
        consecutive numbers, so only "everything" holds them.
        """
        modulus, residue = self
        if modulus % divisor:
            return EVERY_INTEGER
        return congruence(modulus // divisor, residue // divisor)

    def mod(self, divisor: int) -> Congruence:
        """Return the smallest congruence that holds every `x % divisor`, divisor nonzero."""
        modulus, residue = self
        if modulus % divisor == 0:
            return Congruence(0, residue % divisor)
        return congruence(gcd(modulus, divisor), residue)


EVERY_INTEGER: Final = Congruence(1, 0)


def congruence(modulus: int, residue: int) -> Congruence:
    """Return the set `residue + modulus * Z` in normal form.

    >>> congruence(-4, 7)
    Congruence(modulus=4, residue=3)
    """
    if modulus == 0:
        return _new(Congruence, (0, residue))
    modulus = abs(modulus)
    return _new(Congruence, (modulus, residue % modulus))


def solve(factor: int, target: Congruence) -> Congruence | None:
    """Return all x such that `factor * x` is in `target`, None if there are none.

    >>> solve(6, Congruence(4, 2))
    Congruence(modulus=2, residue=1)
    """
    modulus, residue = target
    divisor = gcd(factor, modulus)
    if divisor == 0:  # 0 * x in {residue}
        return EVERY_INTEGER if residue == 0 else None
    if residue % divisor:
        return None
    if modulus == 0:
        return Congruence(0, residue // factor)
    modulus //= divisor
    return congruence(modulus, residue // divisor * pow(factor // divisor, -1, modulus))
