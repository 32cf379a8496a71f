"""z3 as an oracle that shares nothing with the engine: it reads Python text as a statement.

`Oracle.read(text)` evaluates the text with variables that record what is done to them. Division and
remainder have Python's meaning for divisors of either sign. What z3 has no integers for (bit
operations, powers, roundings of ratios) is an unknown function, so that a counterexample has to be
checked with `holds`, which evaluates the same text on Python's integers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import z3

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LIMIT: Final = 3_000_000


class UndecidedError(Exception):
    """z3 reached its limit, or its counterexample is none."""


class Truth:
    """A z3 condition that mixes with Python's truth values."""

    __slots__ = ("term",)
    __hash__ = None  # type: ignore[assignment]  # `==` makes a condition

    def __init__(self, term: Any) -> None:
        self.term = term

    def _of(self, other: Any) -> Any:
        return other.term if isinstance(other, Truth) else z3.BoolVal(other, self.term.ctx)

    def __and__(self, other: Any) -> Truth:
        return Truth(z3.And(self.term, self._of(other)))

    def __or__(self, other: Any) -> Truth:
        return Truth(z3.Or(self.term, self._of(other)))

    def __eq__(self, other: object) -> Any:
        return Truth(self.term == self._of(other))

    __rand__, __ror__ = __and__, __or__


def _unknown(name: str) -> tuple[Callable[..., Number], Callable[..., Number]]:
    """An operator of which only that it is a function is known, and the same with swapped sides."""

    def operator(self: Number, *others: Any) -> Number:
        args = [self.term, *(self._of(o) for o in others)]
        sort = z3.IntSort(self.term.ctx)
        return self._make(z3.Function(name, *(sort for _ in args), sort)(*args))

    def swapped(self: Number, other: Any) -> Number:
        return operator(self._make(self._of(other)), self)

    return operator, swapped


class Number:
    """A z3 integer with the operators of Python's integers."""

    __slots__ = ("_oracle", "term")
    __hash__ = None  # type: ignore[assignment]  # `==` makes a condition

    def __init__(self, term: Any, oracle: Oracle) -> None:
        self.term = term
        self._oracle = oracle

    def _of(self, other: Any) -> Any:
        return other.term if isinstance(other, Number) else z3.IntVal(other, self.term.ctx)

    def _make(self, term: Any) -> Number:
        return Number(term, self._oracle)

    def __add__(self, other: Any) -> Number:
        return self._make(self.term + self._of(other))

    def __radd__(self, other: Any) -> Number:
        return self._make(self._of(other) + self.term)

    def __sub__(self, other: Any) -> Number:
        return self._make(self.term - self._of(other))

    def __rsub__(self, other: Any) -> Number:
        return self._make(self._of(other) - self.term)

    def __mul__(self, other: Any) -> Number:
        return self._make(self.term * self._of(other))

    __rmul__ = __mul__

    def __neg__(self) -> Number:
        return self._make(-self.term)

    def __abs__(self) -> Number:
        return self._make(z3.If(self.term >= 0, self.term, -self.term))

    def __pow__(self, other: Any) -> Number:
        if not isinstance(other, int):
            return self._power(other)
        result = z3.IntVal(1, self.term.ctx)
        for _ in range(other):
            result = result * self.term
        return self._make(result)

    def __floordiv__(self, other: Any) -> Number:
        return self._make(self._oracle.quotient(self.term, self._of(other)))

    def __rfloordiv__(self, other: Any) -> Number:
        return self._make(self._oracle.quotient(self._of(other), self.term))

    def __mod__(self, other: Any) -> Number:
        return self._make(self._oracle.remainder(self.term, self._of(other)))

    def __rmod__(self, other: Any) -> Number:
        return self._make(self._oracle.remainder(self._of(other), self.term))

    __and__, __rand__ = _unknown("and")
    __or__, __ror__ = _unknown("or")
    __xor__, __rxor__ = _unknown("xor")
    __lshift__, __rlshift__ = _unknown("lshift")
    __rshift__, __rrshift__ = _unknown("rshift")
    __truediv__, __rtruediv__ = _unknown("ratio")
    _power, __rpow__ = _unknown("power")
    __round__, _ = _unknown("round")
    __floor__, _ = _unknown("floor")
    __ceil__, _ = _unknown("ceil")
    __trunc__, _ = _unknown("trunc")

    def __ge__(self, other: Any) -> Any:
        return Truth(self.term >= self._of(other))

    def __gt__(self, other: Any) -> Any:
        return Truth(self.term > self._of(other))

    def __le__(self, other: Any) -> Any:
        return Truth(self.term <= self._of(other))

    def __lt__(self, other: Any) -> Any:
        return Truth(self.term < self._of(other))

    def __eq__(self, other: object) -> Any:
        return Truth(self.term == self._of(other))

    def __ne__(self, other: object) -> Any:
        return Truth(self.term != self._of(other))


class Oracle:
    """One z3 context with one integer per name, and what must hold for all to be defined."""

    def __init__(self, names: Sequence[str]) -> None:
        self.context = z3.Context()
        self.names = list(names)
        self.defined: list[Any] = []
        self._divisions: dict[Any, tuple[Any, Any]] = {}
        self._space: dict[str, Any] = {n: Number(z3.Int(n, self.context), self) for n in names} | {
            "max": self._max,
            "min": self._min,
            "ite": self._ite,
        }

    def read(self, text: str) -> Any:
        """The z3 term that the text means."""
        return eval(text, {**FUNCTIONS, **self._space})

    def holds(self, text: str, values: Mapping[str, int]) -> Any:
        """The value of the text for Python's integers; raises where Python does."""
        return eval(text, {**FUNCTIONS, "ite": lambda c, x, y: x if c else y, **values})

    def counterexample(self, given: Sequence[str], claim: str) -> dict[str, int] | None:
        """Values for which all that is given holds and the claim does not; None without any."""
        conditions = [self._truth(text) for text in given]
        conditions.append(z3.Not(self._truth(claim)))
        values = self._solve(conditions)
        if values is None:
            return None
        try:
            if all(self.holds(t, values) for t in given) and not self.holds(claim, values):
                return values
        except (ArithmeticError, ValueError) as error:
            raise UndecidedError(f"undefined at {values}") from error
        raise UndecidedError(f"an unknown number stands for an impossible one at {values}")

    def example(self, given: Sequence[str]) -> dict[str, int] | None:
        """Values for which all that is given holds, None if there are none."""
        return self._solve([self._truth(text) for text in given])

    def _truth(self, text: str) -> Any:
        read = self.read(text)
        return z3.BoolVal(read, self.context) if isinstance(read, bool) else read.term

    def _solve(self, conditions: Sequence[Any]) -> dict[str, int] | None:
        solver = z3.Solver(ctx=self.context)
        solver.set("rlimit", LIMIT)
        solver.add(*self.defined, *conditions)
        answer = solver.check()
        if answer == z3.unknown:
            raise UndecidedError(solver.reason_unknown())
        if answer == z3.unsat:
            return None
        model = solver.model()
        return {
            n: model.eval(self._space[n].term, model_completion=True).as_long() for n in self.names
        }

    def _max(self, *args: Any) -> Number:
        return self._extreme(lambda a, b: a >= b, args)

    def _min(self, *args: Any) -> Number:
        return self._extreme(lambda a, b: a <= b, args)

    def _extreme(self, wins: Callable[[Any, Any], Any], args: Sequence[Any]) -> Number:
        terms = [a.term if isinstance(a, Number) else z3.IntVal(a, self.context) for a in args]
        best = terms[0]
        for term in terms[1:]:
            best = z3.If(wins(best, term), best, term)
        return Number(best, self)

    def _ite(self, condition: Any, x: Any, y: Any) -> Any:
        if isinstance(condition, bool):
            return x if condition else y
        x, y = (v.term if isinstance(v, Number) else z3.IntVal(v, self.context) for v in (x, y))
        return Number(z3.If(condition.term, x, y), self)

    def quotient(self, x: Any, y: Any) -> Any:
        """`x // y`."""
        return self._division(x, y)[0]

    def remainder(self, x: Any, y: Any) -> Any:
        """`x % y`."""
        return self._division(x, y)[1]

    def _division(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Quotient and remainder by their definition: x = y*q + r, r between 0 and y without y."""
        found = self._divisions.get((x, y))
        if found is None:
            q, r = z3.FreshInt(ctx=self.context), z3.FreshInt(ctx=self.context)
            above = z3.And(y > 0, r >= 0, r < y)
            below = z3.And(y < 0, r <= 0, r > y)
            self.defined += [x == y * q + r, z3.Or(above, below)]
            found = self._divisions[x, y] = q, r
        return found


FUNCTIONS: Final = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
