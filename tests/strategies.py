"""Hypothesis strategies for expressions: each node comes with the Python function that it means.

    @given(worlds().flatmap(lambda w: st.tuples(st.just(w), integers(w))))
    def test(world_and_meant): ...

A `World` is a pool with symbols. `integers`, `conditions` and `reals` build nodes over its symbols
through all constructors of `anyshape.expr`. A meaning is strict: it raises one of UNDEFINED where
any part of it has no value, and nothing is promised there.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from anyshape.domain import INF, NINF, Bound
from anyshape.errors import UnsupportedError
from anyshape.expr import real
from anyshape.expr.atom import make_atom, symbol
from anyshape.expr.boolean import conj, constant, disj, negate
from anyshape.expr.constructor import bitwise, choice, division, extremum, product, rounding
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.node import Expr
from anyshape.expr.pool import Pool
from anyshape.expr.real import Real, Span, real_const, real_symbol
from anyshape.expr.table.op import COMPARE, OPS
from anyshape.expr.terms import terms

Values = Mapping[str, Any]
Meaning = Callable[[Values], Any]

LAWS = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A planted error must be found anew each time, and need not be shrunk.
SEARCH = settings(
    max_examples=1000,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

UNDEFINED = (ZeroDivisionError, OverflowError, ValueError)
REFUSED = (*UNDEFINED, UnsupportedError)
NEAR = 12
LARGEST_EXPONENT = 8


@dataclass(frozen=True, slots=True)
class Meant:
    """A node, and the function of the symbols' values that it means; `below` are its operands."""

    node: Any
    meaning: Meaning
    below: tuple[Meant, ...] = ()

    def parts(self) -> list[Meant]:
        """The node and everything that it was built from, smallest first."""
        return [part for operand in self.below for part in operand.parts()] + [self]

    def value(self, values: Values) -> Any:
        """The value, or None where there is none."""
        try:
            return self.meaning(values)
        except UNDEFINED:
            return None


@dataclass(frozen=True, slots=True)
class World:
    """A pool and its symbols; `hints` has the hint of each symbol that has one."""

    pool: Pool
    integers: tuple[Expr, ...]
    reals: tuple[Real, ...]
    hints: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """The names of all symbols."""
        return list(self.pool.by_name)


@dataclass(frozen=True, slots=True)
class Row:
    """A constructor: the kinds of its operands, how it builds a node, what that means.

    Kinds: i integer, b condition, r real, k any constant integer, d one that is not 0, n a natural
    one. Constants are handed over as Python integers.
    """

    kinds: str
    build: Callable[..., Any]
    meaning: Callable[..., Any]


# ---------------------------------------------------------------------- tables of constructors


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise ValueError
    if exponent > LARGEST_EXPONENT:
        raise OverflowError
    return int(base**exponent)


def _const(x: Expr, k: int) -> Expr:
    return x.pool.const(k)


def _ite(condition: bool, then: int, otherwise: int) -> int:
    return then if condition else otherwise


def _round_to(x: float, k: int) -> float:
    return round(x, k % 7 - 3)


def _round_down(x: int, digits: int) -> int:
    return round(x, -digits)


def _identity(x: Any) -> Any:
    return x


INTEGER_ROWS = (
    Row("ii", operator.add, operator.add),
    Row("ii", operator.sub, operator.sub),
    Row("i", operator.neg, operator.neg),
    Row("ik", Expr.shift, operator.add),
    Row("ik", Expr.scale, operator.mul),
    Row("ii", product.multiply, operator.mul),
    Row("in", lambda x, n: product.power(x, _const(x, n)), pow),
    Row("ii", product.power, _power),
    Row("id", lambda x, d: division.floordiv(x, _const(x, d)), operator.floordiv),
    Row("id", lambda x, d: division.modulo(x, _const(x, d)), operator.mod),
    Row("ii", division.floordiv, operator.floordiv),
    Row("ii", division.modulo, operator.mod),
    Row("ii", lambda *a: extremum.maximum(a), max),
    Row("iii", lambda *a: extremum.maximum(a), max),
    Row("ii", lambda *a: extremum.minimum(a), min),
    Row("iii", lambda *a: extremum.minimum(a), min),
    Row("i", extremum.absolute, abs),
    Row("ii", bitwise.bit_and, operator.and_),
    Row("ii", bitwise.bit_or, operator.or_),
    Row("ii", bitwise.bit_xor, operator.xor),
    Row("in", lambda x, n: bitwise.left_shift(x, _const(x, n)), operator.lshift),
    Row("in", lambda x, n: bitwise.right_shift(x, _const(x, n)), operator.rshift),
    Row("ii", bitwise.left_shift, lambda x, n: x * _power(2, n)),
    Row("ii", bitwise.right_shift, lambda x, n: x // _power(2, n)),
    Row("bii", choice.choose, _ite),
    Row("r", rounding.floor, math.floor),
    Row("r", rounding.ceil, math.ceil),
    Row("r", rounding.nearest, round),
    Row("r", rounding.trunc, math.trunc),
    Row("i", lambda x: make_atom(OPS["isqrt"], x), math.isqrt),
    Row("i", lambda x: make_atom(OPS["bit_length"], x), int.bit_length),
    Row("i", lambda x: make_atom(OPS["bit_count"], x), int.bit_count),
    Row("ind", lambda x, n, d: make_atom(OPS["power_mod"], x, _const(x, n), _const(x, d)), pow),
    Row("in", lambda x, n: make_atom(OPS["int_round"], x, _const(x, -n)), _round_down),
)
CONDITION_ROWS = (
    *(
        Row("ii", lambda x, y, sign=sign: compare(sign, x, y), meaning)
        for sign, meaning in COMPARE.items()
    ),
    *(
        Row(kinds, lambda x, y, sign=sign: compare(sign, x, y), meaning)
        for kinds in ("rr", "ir", "ri")
        for sign, meaning in COMPARE.items()
    ),
    Row("bb", lambda a, b: conj(a.pool, (a, b)), lambda a, b: a and b),
    Row("bbb", lambda *a: conj(a[0].pool, a), lambda *a: all(a)),
    Row("bb", lambda a, b: disj(a.pool, (a, b)), lambda a, b: a or b),
    Row("bbb", lambda *a: disj(a[0].pool, a), lambda *a: any(a)),
    Row("b", negate, operator.not_),
)
REAL_ROWS = (
    Row("i", lambda x: real.apply("float", x), float),
    Row("ii", lambda x, y: real.apply("ratio", x, y), operator.truediv),
    *(
        Row("r" * arity, lambda *a, op=op: real.apply(op, *a), OPS[op].value)
        for op, arity in (
            ("add", 2),
            ("sub", 2),
            ("mul", 2),
            ("div", 2),
            ("pow", 2),
            ("neg", 1),
            ("abs", 1),
            ("sqrt", 1),
            ("float16", 1),
            ("float32", 1),
            ("real_floordiv", 2),
            ("real_mod", 2),
            ("real_max", 2),
            ("real_min", 3),
            *(
                (name, 1)
                for name in ("log", "log2", "log10", "exp", "sin", "cos", "tan", "sign_of")
            ),
        )
    ),
    Row("ir", lambda x, y: real.apply("real_max", x, y), max),
    Row("ri", lambda x, y: real.apply("real_min", x, y), min),
    Row("rk", lambda x, k: real.apply("round_to", x, x.pool.const(k % 7 - 3)), _round_to),
)
ROWS = {"i": INTEGER_ROWS, "b": CONDITION_ROWS, "r": REAL_ROWS}

FLOATS = (0.0, -0.0, 1.0, -1.5, 0.5, 2.0, 3.7, 1e-9, -7e11, 1e300, 2.0**53, math.inf, -math.inf)
CONSTANTS = {
    "k": st.integers(-9, 9) | st.integers(-9, 9) | st.sampled_from((1 << 53, -(1 << 62), 1 << 63)),
    "d": st.sampled_from((1, 2, 3, 4, 6, 8, -1, -2, -3, -4, 10**9 + 7)),
    "n": st.integers(0, 4),
}

# ---------------------------------------------------------------------- worlds and values


@st.composite
def worlds(
    draw: st.DrawFn, integers: int = 3, reals: int = 1, *, hints: bool | None = None
) -> World:
    """A pool with some symbols; all have hints, none has, or each as drawn."""
    pool = Pool()
    found: dict[str, Any] = {}
    made = []
    for i in range(integers):
        lo: Bound = draw(st.just(NINF) | st.integers(-4, 3))
        hi: Bound = draw(st.just(INF) | st.integers(0 if lo == NINF else int(lo), NEAR))
        name = f"s{i}"
        if draw(st.booleans()) if hints is None else hints:
            found[name] = draw(_between(lo, hi))
        made.append(symbol(pool, name, lo, hi, found.get(name)))
    floats = []
    for i in range(reals):
        name = f"f{i}"
        ends = draw(st.tuples(st.sampled_from(FLOATS), st.sampled_from(FLOATS)))
        lowest, highest = min(ends) + 0.0, max(ends) + 0.0  # an end is never -0.0
        if draw(st.booleans()) if hints is None else hints:
            found[name] = draw(st.floats(lowest, highest, allow_nan=False))
        floats.append(real_symbol(pool, name, found.get(name), Span(lowest, highest, False)))
    return World(pool, tuple(made), tuple(floats), found)


def _between(lo: Bound, hi: Bound) -> st.SearchStrategy[int]:
    return st.integers(int(max(lo, -NEAR)), int(min(hi, NEAR)))


@st.composite
def values_of(draw: st.DrawFn, world: World) -> dict[str, Any]:
    """A value for each symbol, within its declared range."""
    values: dict[str, Any] = {}
    for e in world.integers:
        (atom,) = terms(e)
        values[atom.name] = draw(_between(e.lo, e.hi))
    for r in world.reals:
        lo, hi, _ = r.span
        values[r.args[0]] = draw(st.floats(lo, hi, allow_nan=False))
    return values


# ---------------------------------------------------------------------- nodes


def integers(world: World, depth: int = 3) -> st.SearchStrategy[Meant]:
    """Integer expressions over the symbols, nested up to `depth` constructors."""
    return _nodes(world, "i", depth)


def conditions(world: World, depth: int = 3) -> st.SearchStrategy[Meant]:
    """Conditions over the symbols, nested up to `depth` constructors."""
    return _nodes(world, "b", depth)


def reals(world: World, depth: int = 3) -> st.SearchStrategy[Meant]:
    """Floating-point expressions over the symbols, nested up to `depth` constructors."""
    return _nodes(world, "r", depth)


def operands(world: World, depth: int = 3) -> st.SearchStrategy[Meant]:
    """Nodes of all three kinds."""
    return integers(world, depth) | conditions(world, depth) | reals(world, depth)


@st.composite
def _nodes(draw: st.DrawFn, world: World, kind: str, depth: int, *, top: bool = True) -> Meant:
    if depth == 0 or (not top and draw(st.integers(0, 5)) == 0):
        return draw(_leaves(world, kind))
    row = draw(st.sampled_from(ROWS[kind]))
    args: list[Any] = []
    for letter in row.kinds:
        if letter in CONSTANTS:
            args.append(draw(CONSTANTS[letter]))
        else:
            args.append(draw(_nodes(world, letter, depth - 1, top=False)))
    try:
        node = row.build(*(a.node if isinstance(a, Meant) else a for a in args))
    except REFUSED:  # a constant division by zero, a constant that is too large
        return draw(_leaves(world, kind))
    below = tuple(a for a in args if isinstance(a, Meant))
    return Meant(node, _applied(row.meaning, args), below)


def _applied(function: Callable[..., Any], args: list[Any]) -> Meaning:
    def meaning(values: Values) -> Any:
        return function(*[a.meaning(values) if isinstance(a, Meant) else a for a in args])

    return meaning


def _leaves(world: World, kind: str) -> st.SearchStrategy[Meant]:
    pool = world.pool
    if kind == "b":
        return st.booleans().map(lambda v: Meant(constant(pool, v), lambda _: v))
    if kind == "i":
        symbols = st.sampled_from(world.integers).map(_named)
        constants = CONSTANTS["k"].map(lambda k: Meant(pool.const(k), lambda _: k))
        return symbols | symbols | constants
    symbols = st.sampled_from(world.reals).map(_named)
    constants = st.sampled_from((*FLOATS, math.nan)).map(
        lambda v: Meant(real_const(pool, v), lambda _: v)
    )
    return symbols | constants


def _named(node: Expr | Real) -> Meant:
    name = repr(node)
    return Meant(node, lambda values: values[name])
