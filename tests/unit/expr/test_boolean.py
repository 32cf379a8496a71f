"""Normal forms, negation and hints of conditions."""

import itertools
import math

import pytest

from anyshape.expr import Bool, Pool, conj, disj, eq0, evaluate, ge0, ne0, negate, symbol
from anyshape.expr.boolean import (
    AND,
    EQ,
    FALSE,
    GE,
    NE,
    NOT,
    OR,
    REAL,
    TRUE,
    constant,
    false,
    relation,
    true,
)
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.real import real_const, real_symbol
from anyshape.expr.table.op import COMPARE


def conditions() -> tuple[Pool, list[Bool]]:
    pool = Pool()
    x, y = symbol(pool, "x"), symbol(pool, "y")
    f = real_symbol(pool, "f", None)
    leaves = [
        true(pool),
        false(pool),
        ge0(x),
        eq0(x - y),
        ne0(y.shift(-2)),
        compare("<", f, real_const(pool, 1.5)),
    ]
    pairs = [
        build(pool, [a, b]) for a, b in itertools.combinations(leaves, 2) for build in (conj, disj)
    ]
    return pool, [*leaves, *pairs, *(conj(pool, [a, leaves[3]]) for a in pairs)]


VALUES = [
    {"x": x, "y": y, "f": f} for x in (-1, 0, 2) for y in (-1, 0, 2) for f in (1.0, 2.0, math.nan)
]


def test_negation_is_an_involution_and_a_complement() -> None:
    for b in conditions()[1]:
        opposite = negate(b)
        assert negate(opposite) is b
        assert opposite is not b
        for values in VALUES:
            assert evaluate(opposite, values) is not evaluate(b, values)


def test_junctions_are_flat_and_without_order() -> None:
    pool, found = conditions()
    a, b, c, d = found[2:6]
    for build in (conj, disj):
        whole = build(pool, [a, b, c, d])
        for order in itertools.permutations((a, b, c, d)):
            assert build(pool, order) is whole
        assert build(pool, [build(pool, [a, b]), build(pool, [c, d]), a]) is whole
        assert set(whole.args) == {a, b, c, d}


@pytest.mark.parametrize("op", [AND, OR])
def test_junctions_fold(op: str) -> None:
    pool, found = conditions()
    build, unit, absorbing = (
        (conj, true(pool), false(pool)) if op == AND else (disj, false(pool), true(pool))
    )
    a, b = found[2], found[3]
    assert build(pool, []) is unit
    assert build(pool, [a]) is a
    assert build(pool, [a, unit, a]) is a
    assert build(pool, [a, absorbing, b]) is absorbing
    assert build(pool, [a, b, negate(a)]) is absorbing
    assert build(pool, [a, b]).op == op


def test_a_junction_and_its_negation_fold() -> None:
    pool, found = conditions()
    for b in found:
        assert conj(pool, [b, negate(b)]) is false(pool)
        assert disj(pool, [b, negate(b)]) is true(pool)
        assert conj(pool, [b, found[2], disj(pool, [negate(b), negate(found[2])])]) is false(pool)


def test_de_morgan() -> None:
    pool, found = conditions()
    for a, b in itertools.combinations(found[2:6], 2):
        assert negate(conj(pool, [a, b])) is disj(pool, [negate(a), negate(b)])
        assert negate(disj(pool, [a, b])) is conj(pool, [negate(a), negate(b)])


@pytest.mark.parametrize(
    ("build", "on_constant", "op"),
    [(ge0, lambda c: c >= 0, GE), (eq0, lambda c: c == 0, EQ), (ne0, lambda c: c != 0, NE)],
)
def test_relations(build: object, on_constant: object, op: str) -> None:
    pool = Pool()
    x, y = symbol(pool, "x"), symbol(pool, "y")
    for c in (-2, 0, 3):
        assert build(pool.const(c)) is constant(pool, on_constant(c))  # type: ignore[operator]
    b = build(x - y)  # type: ignore[operator]
    assert b.op == op
    assert build(x - y) is b  # type: ignore[operator]
    assert relation(op, x - y) is b
    assert (build(y - x) is b) is (op != GE)  # type: ignore[operator]


def test_relations_of_cancelled_sums_are_constants() -> None:
    pool = Pool()
    x = symbol(pool, "x")
    assert ge0(x.shift(100) - x).op == TRUE
    assert eq0(x.shift(101) - x).op == FALSE
    assert ne0(x.shift(102) - x).op == TRUE


def test_comparisons_of_reals() -> None:
    pool = Pool()
    f, one, nan = real_symbol(pool, "f", None), real_const(pool, 1.0), real_const(pool, math.nan)
    assert compare(">", f, one) is compare("<", one, f)
    assert compare(">=", f, one) is compare("<=", one, f)
    assert compare("<", f, one).op == REAL
    assert negate(compare("<", f, one)).op == NOT
    for sign, holds in COMPARE.items():
        assert compare(sign, one, nan) is constant(pool, holds(1.0, math.nan))
        assert compare(sign, one, one) is constant(pool, holds(1.0, 1.0))


def test_hints() -> None:
    pool = Pool()
    s, t, u = symbol(pool, "s", hint=3), symbol(pool, "t", hint=3), symbol(pool, "u")
    f, g = real_symbol(pool, "f", 2.5), real_symbol(pool, "g", None)
    one = real_const(pool, 1.0)
    rows: list[tuple[Bool, bool | None]] = [
        (true(pool), True),
        (false(pool), False),
        (ge0(s.shift(-4)), False),
        (ge0(s - t), True),
        (eq0(s - t), True),
        (ne0(s - t), False),
        (ge0(u), None),
        (eq0((u + s) - (u + t)), True),
        (compare("<", f, one), False),
        (compare("<", g, one), None),
        (compare("<", one, g), None),
        (negate(compare("<", f, one)), True),
        (negate(compare("<", g, one)), None),
        (conj(pool, [ge0(s), ge0(t.shift(-5))]), False),
        (disj(pool, [ge0(s), ge0(t.shift(-5))]), True),
        (conj(pool, [ge0(s), disj(pool, [ne0(s), eq0(t)])]), True),
        (disj(pool, [ge0(s), ge0(u)]), None),
        (disj(pool, [conj(pool, [ge0(s), ge0(u)]), eq0(t)]), None),
    ]
    for b, expected in rows:
        assert b.hint is expected, repr(b)


def test_repr_is_the_text() -> None:
    pool = Pool()
    assert repr(ge0(symbol(pool, "x").shift(-1))) == "1 <= x"
