"""Random environments whose truth is known by enumeration, and random questions about them.

A `World` has an environment with three symbols and the list `live` of the assignments that the
facts told so far allow. Each expression and condition comes with Python text that means the same;
its values over `live` are the truth. The text is strict: an assignment for which any part of it
raises is outside of what the engine speaks about.

    plain   sums, products, divisions, extrema, bit operations and choices; facts are conditions
    wild    more of it: products of three, rounded ratios, powers, shifts, sizes 0 and 1, equations
            between expressions, remainders, disjunctions, and guards decided by hints

Where there are too many assignments, `live` is a sample with the corners in it and `exact` is
False: a wrong answer still shows, but an open question is then not known to be decidable.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from anyshape import expr as ex
from anyshape.env import Env, Fact
from anyshape.env.learning.learn import learn
from anyshape.expr import Bool, Expr
from anyshape.expr.constructor.bitwise import bit_and, bit_or, bit_xor, left_shift, right_shift
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.constructor.rounding import ceil, floor, nearest, trunc
from anyshape.expr.real import FLOAT, RATIO, Real, apply, real_const

Values = tuple[int, ...]
UNDEFINED: Final = (ZeroDivisionError, ValueError, OverflowError)
ENUMERATED: Final = 10_000
SAMPLED: Final = 1_000
DIVISORS: Final = (2, 3, 4, 8, -2, -3)
FAR: Final = (20, 1000, 10**6, 1 << 31, 1 << 40)
HUGE: Final = 1 << 128


@dataclass(frozen=True, slots=True)
class Term:
    """An expression, and Python text that means the same."""

    expr: Expr
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A condition, and Python text that means the same; `term sign bound` when it is a relation.

    `subjects` are the terms that it compares.
    """

    condition: Bool
    text: str
    subjects: tuple[Term, ...]
    relation: tuple[str, str, int] | None = None


Build = Callable[..., Expr]


def _clamp(e: Expr) -> Expr:
    pool = e.pool
    return ex.minimum([ex.maximum([e, pool.zero]), pool.const(4)])


def _rounded(rounding: Callable[..., Expr]) -> Build:
    return lambda x, y: rounding(apply(RATIO, x, y))


OPS: Final[dict[str, tuple[int, Build, str]]] = {
    "+": (2, lambda x, y: x + y, "({} + {})"),
    "-": (2, lambda x, y: x - y, "({} - {})"),
    "*": (2, ex.multiply, "({} * {})"),
    "x": (2, lambda x, y: ex.maximum([x, y]), "max({}, {})"),
    "n": (2, lambda x, y: ex.minimum([x, y]), "min({}, {})"),
    "D": (2, ex.floordiv, "({} // {})"),
    "M": (2, ex.modulo, "({} % {})"),
    "b": (2, bit_and, "({} & {})"),
    "i": (2, bit_or, "({} | {})"),
    "t": (2, bit_xor, "({} ^ {})"),
    "a": (1, ex.absolute, "abs({})"),
    "2": (1, lambda x: ex.power(x, x.pool.const(2)), "({} ** 2)"),
    "C": (1, lambda x: ex.power(x, x.pool.const(3)), "({} ** 3)"),
    "3": (3, lambda x, y, z: ex.multiply(ex.multiply(x, y), z), "({} * {} * {})"),
    "X": (3, lambda x, y, z: ex.maximum([x, ex.minimum([y, z])]), "max({}, min({}, {}))"),
    "E": (3, lambda x, y, z: ex.maximum([x, y, z]), "max({}, {}, {})"),
    "Q": (
        3,
        lambda x, y, z: ex.floordiv(ex.multiply(x, z), ex.multiply(y, z)),
        "({0}*{2}//({1}*{2}))",
    ),
    "p": (2, lambda x, y: ex.power(x, _clamp(y)), "({} ** min(max({}, 0), 4))"),
    "L": (2, lambda x, y: left_shift(x, _clamp(y)), "({} << min(max({}, 0), 4))"),
    "R": (2, lambda x, y: right_shift(x, _clamp(y)), "({} >> min(max({}, 0), 4))"),
    "f": (2, _rounded(floor), "floor({} / {})"),
    "c": (2, _rounded(ceil), "ceil({} / {})"),
    "r": (2, _rounded(nearest), "round({} / {})"),
    "u": (2, _rounded(trunc), "trunc({} / {})"),
}
DIVIDING: Final = frozenset("DMfcru")
ARITHMETIC: Final = "++--**kkddmmxxnnaDM2?"
PLAIN: Final = ARITHMETIC + "bit"
WILD: Final = PLAIN + "**kkddmmxxnn3XEQDMDMpLRCCfcruFGUV"
BUILTINS: Final = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "ite": lambda c, x, y: x if c else y,
}
REAL_OPS: Final = {"+": "add", "-": "sub", "*": "mul"}


@dataclass(frozen=True, slots=True)
class Axis:
    """One symbol: its declared range, open where None, and a part of it near 0."""

    symbol: Expr
    lo: int | None
    hi: int | None
    near: range
    is_size: bool = False

    @property
    def text(self) -> str:
        """The declared range as Python."""
        name = ex.show(self.symbol)
        low = [f"({self.lo} <= {name})"] if self.lo is not None else []
        high = [f"({name} <= {self.hi})"] if self.hi is not None else []
        return " & ".join(low + high) or "True"

    def pick(self, rng: random.Random) -> int:
        """A number in the range, near 0 or far away where it is open."""
        if self.hi is None and rng.random() < 0.3:
            return rng.choice(FAR) + rng.randint(0, 9)
        if self.lo is None and rng.random() < 0.3:
            return -rng.choice(FAR) - rng.randint(0, 9)
        return rng.choice(self.near)

    def ends(self) -> list[int]:
        """The numbers where a range is likely to be wrong."""
        near = self.near
        return sorted({near[0], near[0] + (len(near) > 1), 0 if 0 in near else near[0], near[-1]})


@dataclass
class World:
    """One environment, its symbols and the assignments that are still possible.

    An `endless` world has symbols without an upper or a lower end. `ops` are the letters of the
    operations to choose from, as often as they stand there.
    """

    seed: int
    width: int = 6
    wild: bool = False
    endless: bool = False
    ops: str = ""
    rng: random.Random = field(init=False)
    env: Env = field(init=False)
    axes: list[Axis] = field(init=False)
    symbols: list[Expr] = field(init=False)
    names: list[str] = field(init=False)
    live: list[Values] = field(init=False)
    exact: bool = field(init=False)
    told: list[str] = field(init=False)
    subjects: list[Term] = field(init=False, default_factory=list)
    _values: dict[str, list[Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.ops = self.ops or (WILD if self.wild else PLAIN)
        self.env = Env()
        self.axes = [
            self._size() if self.wild and self.rng.random() < 0.5 else self._integer()
            for _ in "abc"
        ]
        self.symbols = [axis.symbol for axis in self.axes]
        self.names = [ex.show(e) for e in self.symbols]
        self.told = [axis.text for axis in self.axes]
        near = [axis.near for axis in self.axes]
        self.exact = math.prod(map(len, near)) <= ENUMERATED and not any(
            None in (axis.lo, axis.hi) for axis in self.axes
        )
        self.live = list(itertools.product(*near)) if self.exact else self._sample()

    def _integer(self) -> Axis:
        rng = self.rng
        start = rng.randint(-2, 3)
        stop = start + rng.randint(0, self.width)
        lo, hi = self._open(start, stop)
        if rng.random() < 0.4:
            hint = rng.randint(start, stop)
            e = self.env.backed(hint, size=False, min=lo, max=hi)
        else:
            e = self.env.unbacked(min=lo, max=hi)
        return Axis(e, lo, hi, range(start, stop + 1))

    def _size(self) -> Axis:
        """A size: unbacked from 0, or backed under the policy for 0 and 1."""
        rng = self.rng
        stop = rng.choice([1, 2, self.width, self.width + 2])
        _, hi = self._open(0, stop)
        if rng.random() < 0.5:
            return Axis(self.env.unbacked(size=True, max=hi), 0, hi, range(stop + 1), True)
        hint = rng.randint(0, stop)
        e = self.env.backed(hint, max=hi)
        if hint < 2:
            return Axis(e, hint, hint, range(hint, hint + 1), True)
        return Axis(e, 2, hi, range(2, stop + 1), True)

    def _open(self, lo: int, hi: int) -> tuple[int | None, int | None]:
        """A range with its upper end, its lower end, or both left out in an endless world."""
        kind = self.rng.randrange(6) if self.endless else 5
        return None if kind in (0, 1) else lo, None if kind in (1, 2, 3, 4) else hi

    def _sample(self) -> list[Values]:
        """Corners and their neighbours, some at random, and some with the hints."""
        points = set(itertools.product(*(axis.ends() for axis in self.axes)))
        for i in range(SAMPLED):
            v = [axis.pick(self.rng) for axis in self.axes]
            if i % 4 == 0:
                v = [h if h is not None else x for h, x in zip(self.hints, v, strict=True)]
            points.add(tuple(v))
        return sorted(points)

    @property
    def hints(self) -> list[int | None]:
        """The hint of each symbol."""
        return [e.hint for e in self.symbols]

    # ------------------------------------------------------------------ truth

    def compiled(self, text: str) -> Callable[[Iterable[Values]], list[Any]]:
        """The function from assignments to the values of `text`."""
        code = f"lambda live: [{text} for {', '.join(self.names)} in live]"
        made: Callable[[Iterable[Values]], list[Any]] = eval(code, dict(BUILTINS))
        return made

    def over(self, text: str, points: list[Values]) -> list[Any]:
        """The values of `text` at the points, None where it has none."""
        evaluate = self.compiled(text)
        try:
            return evaluate(points)
        except UNDEFINED:
            return [_value(evaluate, v) for v in points]

    def values(self, text: str) -> list[Any]:
        """The values of `text` over `live`, None where it has none."""
        found = self._values.get(text)
        if found is None:
            found = self._values[text] = self.over(text, self.live)
        return found

    def truths(self, claim: Claim) -> set[bool]:
        """What a claim can be."""
        if claim.relation is None:
            return {t for t in self.values(claim.text) if t is not None}
        text, sign, bound = claim.relation
        return {SIGNS[sign][1](v, bound) for v in set(self.values(text)) if v is not None}

    # ------------------------------------------------------------------ grammar

    def expression(self, depth: int) -> Term:
        """A random expression."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            if rng.random() < 0.7:
                i = rng.randrange(3)
                return Term(self.symbols[i], self.names[i])
            return self.constant(rng.randint(-4, 8))
        op = rng.choice(self.ops)
        if op == "V":
            x, text = self.real(depth - 1)
            rounding, name = rng.choice([(floor, "floor"), (ceil, "ceil"), (nearest, "round")])
            return Term(rounding(x), f"{name}({text})")
        if op in "kdmFGU":
            return self._with_constant(op, self.expression(depth - 1))
        if op == "?":
            claim = self.condition(depth - 1)
            x, y = self.expression(depth - 1), self.expression(depth - 1)
            text = f"ite({claim.text}, {x.text}, {y.text})"
            return Term(ex.choose(claim.condition, x.expr, y.expr), text)
        arity, build, text = OPS[op]
        args = [self.expression(depth - 1) for _ in range(arity)]
        if op in DIVIDING and args[1].expr.is_const and args[1].expr.c == 0:
            _, build, text = OPS["+"]
        if op == "Q" and any(a.expr.is_const for a in args[1:]):
            _, build, text = OPS["3"]
        return Term(build(*(a.expr for a in args)), text.format(*(a.text for a in args)))

    def constant(self, c: int) -> Term:
        """The constant `c`."""
        return Term(self.env.pool.const(c), f"({c})" if c < 0 else f"{c}")

    def _with_constant(self, op: str, x: Term) -> Term:
        rng = self.rng
        if op == "k":
            c = rng.randint(-4, 5)
            return Term(x.expr.scale(c), f"({c} * {x.text})")
        divisor = self.constant(rng.choice(DIVISORS))
        name = {"d": "D", "m": "M", "F": "f", "G": "c", "U": "u"}[op]
        _, build, text = OPS[name]
        return Term(build(x.expr, divisor.expr), text.format(x.text, divisor.text))

    def condition(self, depth: int) -> Claim:
        """A random condition."""
        rng = self.rng
        if depth > 1 and rng.random() < 0.25:
            return self.junction(rng.random() < 0.5, [self.condition(depth - 1) for _ in "ab"])
        if self.wild and rng.random() < 0.05:
            (x, text), (y, other) = self.real(depth - 1), self.real(depth - 1)
            sign = rng.choice(["==", "!=", "<", "<=", ">", ">="])
            return Claim(compare(sign, x, y), f"({text} {sign} {other})", ())
        return self.relation(self.expression(depth))

    def real(self, depth: int) -> tuple[Real, str]:
        """A random floating-point expression."""
        rng = self.rng
        kind = rng.choice("cfrr+-*sn") if depth > 0 else rng.choice("cf")
        if kind == "c":
            c = rng.choice([0.0, 0.5, 1.5, -2.0, 3.25, 1e20])
            return real_const(self.env.pool, c), f"({c})"
        if kind in "+-*":
            (x, text), (y, other) = self.real(depth - 1), self.real(depth - 1)
            return apply(REAL_OPS[kind], x, y), f"({text} {kind} {other})"
        if kind in "sn":
            x, text = self.real(depth - 1)
            return (
                (apply("neg", x), f"(-{text})")
                if kind == "n"
                else (apply("sqrt", x), f"sqrt({text})")
            )
        term, divisor = self.expression(max(0, depth - 1)), self.expression(0)
        if kind == "f" or (divisor.expr.is_const and divisor.expr.c == 0):
            return apply(FLOAT, term.expr), f"float({term.text})"
        return apply(RATIO, term.expr, divisor.expr), f"({term.text} / {divisor.text})"

    def junction(self, every: bool, parts: list[Claim]) -> Claim:
        """All or any of the parts."""
        join, sign = (ex.conj, " & ") if every else (ex.disj, " | ")
        text = sign.join(p.text for p in parts)
        subjects = tuple(s for p in parts for s in p.subjects)
        return Claim(join(self.env.pool, [p.condition for p in parts]), f"({text})", subjects)

    def relation(self, x: Term) -> Claim:
        """A random relation between `x` and a constant near one of its values."""
        rng = self.rng
        values = self.values(x.text)
        value = (rng.choice(values) if values else None) or 0
        c = value * (abs(value) < HUGE) + rng.choice([0, 0, 0, 1, -1, rng.randint(-6, 6)])
        sign = rng.choice([">=", ">=", "<=", "==", "!="])
        build, _ = SIGNS[sign]
        return Claim(build(x.expr.shift(-c)), f"({x.text} {sign} {c})", (x,), (x.text, sign, c))

    def comparison(self, x: Term, y: Term, sign: str) -> Claim:
        """The relation `x sign y`."""
        build, _ = SIGNS[sign]
        difference = Term(x.expr - y.expr, f"({x.text} - {y.text})")
        return Claim(build(difference.expr), f"({x.text} {sign} {y.text})", (difference,))

    def combination(self) -> Term:
        """A linear combination of the symbols."""
        g, c = self.rng.choice([1, 1, 2, -3]), self.rng.randint(-6, 6)
        factors = [g * self.rng.choice([-2, -1, 0, 1, 1, 3]) for _ in self.symbols]
        total = self.env.pool.const(c)
        for k, e in zip(factors, self.symbols, strict=True):
            total = total + e.scale(k)
        text = " + ".join(f"{k}*{n}" for k, n in zip(factors, self.names, strict=True))
        return Term(total, f"({text} + {c})")

    def near(self, term: Term) -> Term:
        """An expression that has the value of `term` for some assignment."""
        other = self.rng.choice([self.combination, lambda: self.expression(1)])()
        values = zip(self.values(term.text), self.values(other.text), strict=True)
        gaps = [a - b for a, b in values if b is not None and abs(b) < HUGE]
        c = self.rng.choice(gaps) if gaps else 0
        return Term(other.expr.shift(c), f"({other.text} + {c})")

    def pairs(self) -> list[Term]:
        """The symbols, their sums and their differences."""
        named = [Term(e, n) for e, n in zip(self.symbols, self.names, strict=True)]
        both = list(itertools.combinations(named, 2))
        sums = [Term(x.expr + y.expr, f"({x.text} + {y.text})") for x, y in both]
        return named + sums + [Term(x.expr - y.expr, f"({x.text} - {y.text})") for x, y in both]

    def multiple(self) -> Term:
        """What a fact was about, longer, turned around and moved; anything when there is none."""
        rng = self.rng
        term = rng.choice(self.subjects) if self.subjects else self.expression(2)
        k, c = rng.choice([-3, -1, -1, 1, 1, 2]), rng.choice([0, 0, 1, -5])
        return Term(term.expr.scale(k).shift(c), f"({k} * {term.text} + {c})")

    def fact(self) -> Claim:
        """A random condition of the kind that programs check."""
        rng = self.rng
        kind = rng.randrange(9) if self.wild else 0
        if kind <= 1:
            return self.condition(2)
        if kind == 2:
            return self.comparison(self.expression(2), self.expression(1), "==")
        if kind == 3:
            sign = rng.choice([">=", "<=", "!="])
            return self.comparison(self.expression(2), self.expression(2), sign)
        if kind == 4:
            parts = [self.condition(rng.randint(1, 2)) for _ in range(rng.randint(2, 3))]
            return self.junction(False, parts)
        if kind in (5, 6):
            return self.relation(self.combination())
        if kind == 7:
            i = rng.randrange(3)
            symbol = Term(self.symbols[i], self.names[i])
            return self.comparison(symbol, self.near(symbol), rng.choice(["==", "==", "!=", ">="]))
        remainder = self._with_constant("m", self.expression(rng.randint(0, 2)))
        return self.comparison(remainder, self.constant(rng.choice([0, 0, 1, -1])), "==")

    # ------------------------------------------------------------------ telling

    def possible(self, claim: Claim) -> list[Values]:
        """The assignments that satisfy a claim; none unless one of them has the hints' values."""
        left = [v for v, t in zip(self.live, self.values(claim.text), strict=True) if t]
        return left if any(self.is_hinted(v) for v in left) or not self.wild else []

    def is_meant(self, v: Values) -> bool:
        """Whether an assignment leaves the sizes natural numbers."""
        return all(x >= 0 or not axis.is_size for axis, x in zip(self.axes, v, strict=True))

    def is_hinted(self, v: Values) -> bool:
        """Whether an assignment gives the backed symbols their hints."""
        return all(h is None or h == x for h, x in zip(self.hints, v, strict=True))

    def tell(self, claim: Claim, left: list[Values]) -> None:
        """Make a claim a fact, true for the assignments `left`."""
        self.told.append(claim.text)
        self.subjects += claim.subjects
        if self.wild:
            self.env.assume(claim.condition)
        else:
            learn(self.env.knowledge, Fact(claim.condition, "check"))
        self.keep(left)

    def keep(self, left: list[Values]) -> None:
        """Go on with these assignments only."""
        if len(left) != len(self.live):
            self.live = left
            self._values.clear()


def _value(evaluate: Callable[[Iterable[Values]], list[Any]], v: Values) -> Any:
    try:
        return evaluate([v])[0]
    except UNDEFINED:
        return None


SIGNS: Final[dict[str, tuple[Callable[[Expr], Bool], Callable[[int, int], bool]]]] = {
    ">=": (ex.ge0, lambda a, b: a >= b),
    "<=": (lambda e: ex.ge0(-e), lambda a, b: a <= b),
    "==": (ex.eq0, lambda a, b: a == b),
    "!=": (ex.ne0, lambda a, b: a != b),
}
