"""Identities between nodes: what is always equal by these laws is one object.

sums          commutative, associative; -(-x) = x; k(x + y) = kx + ky; x - x = 0
products      commutative; by 0, 1 and constants; distributive while small
remainders    d*(x // d) + x % d = x; (x + k*d) // d = x // d + k
maximum       idempotent, commutative; -max(x, y) = min(-x, -y); where the operands are no maxima
              themselves, associative; max(x + z, y + z) = max(x, y) + z;
              max(x, y) + min(x, y) = x + y
conditions    a lattice with complement: idempotent, commutative, associative, De Morgan
choice        ite(c, x, y) = ite(not c, y, x); ite(c, x, x) = x
bit ops       commutative, idempotent
"""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anyshape.errors import UnsupportedError
from anyshape.expr import (
    Bool,
    Expr,
    choose,
    conj,
    disj,
    evaluate,
    floordiv,
    maximum,
    minimum,
    modulo,
    multiply,
    negate,
)
from anyshape.expr.constructor.bitwise import bit_and, bit_or, bit_xor
from anyshape.expr.constructor.extremum import FLATTEN_LIMIT
from anyshape.expr.table.op import MAXIMUM
from anyshape.expr.terms import terms
from tests.strategies import (
    LAWS,
    SEARCH,
    Meant,
    World,
    conditions,
    integers,
    values_of,
    worlds,
)


@st.composite
def three_integers(draw: st.DrawFn) -> tuple[World, Expr, Expr, Expr]:
    world = draw(worlds())
    x, y, z = (draw(integers(world, 2)).node for _ in range(3))
    return world, x, y, z


@st.composite
def three_conditions(draw: st.DrawFn) -> tuple[World, Bool, Bool, Bool]:
    world = draw(worlds())
    a, b, c = (draw(conditions(world, 2)).node for _ in range(3))
    return world, a, b, c


@LAWS
@given(three_integers(), st.integers(-5, 5))
def test_sums(drawn: tuple[World, Expr, Expr, Expr], k: int) -> None:
    world, x, y, z = drawn
    assert x + y is y + x
    assert (x + y) + z is x + (y + z)
    assert x.scale(-1).scale(-1) is x
    assert x - y is x + (-y)
    assert x - x is world.pool.zero
    assert (x + y).scale(k) is x.scale(k) + y.scale(k)
    assert (x + y).shift(k) is x + y.shift(k)
    assert x.scale(2).scale(k) is x.scale(2 * k)


@LAWS
@given(three_integers(), st.integers(-5, 5))
def test_products(drawn: tuple[World, Expr, Expr, Expr], k: int) -> None:
    world, x, y, z = drawn
    pool = world.pool
    try:
        assert multiply(x, y) is multiply(y, x)
        assert multiply(x, y.scale(k)) is multiply(x, y).scale(k)
        assert multiply(x, pool.const(k)) is x.scale(k)
        small = max(len(terms(e)) + 1 for e in (x, y, z)) <= 5
        if small:
            assert multiply(x, y + z) is multiply(x, y) + multiply(x, z)
    except UnsupportedError:
        assume(False)


@LAWS
@given(three_integers(), st.integers(1, 12), st.integers(-5, 5))
def test_remainders(drawn: tuple[World, Expr, Expr, Expr], d: int, k: int) -> None:
    world, x, y, _ = drawn
    try:
        assert_remainders(world, x, y, d, k)
    except UnsupportedError:
        assume(False)


def assert_remainders(world: World, x: Expr, y: Expr, d: int, k: int) -> None:
    divisor = world.pool.const(d)
    assert floordiv(x, divisor).scale(d) + modulo(x, divisor) is x
    assert floordiv(x + y.scale(k * d), divisor) is floordiv(x, divisor) + y.scale(k)
    assert modulo(x + y.scale(k * d), divisor) is modulo(x, divisor)
    assert modulo(modulo(x, divisor), divisor) is modulo(x, divisor)
    assert floordiv(x, -divisor) is floordiv(-x, divisor)


def operands_of_maxima(*operands: Expr) -> int:
    """How many operands their maximum has when everything in it is flattened."""
    return sum(1 + sum(len(a.args) for a in terms(e) if a.op is MAXIMUM) for e in operands)


@LAWS
@given(three_integers())
def test_maxima(drawn: tuple[World, Expr, Expr, Expr]) -> None:
    assert_maxima(drawn)


def test_control_nested_maxima_that_are_not_flattened_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("anyshape.expr.constructor.extremum._flattened", list)
    with pytest.raises(AssertionError):
        SEARCH(given(three_integers())(assert_maxima))()


def assert_maxima(drawn: tuple[World, Expr, Expr, Expr]) -> None:
    _, x, y, z = drawn
    assume(operands_of_maxima(x, y, z) < FLATTEN_LIMIT)
    assert maximum([x, x]) is maximum([x])
    assert maximum([x, y]) is maximum([y, x])
    assert minimum([x, y]) is -maximum([-x, -y])
    if not _has_maximum(x, y, z):
        assert maximum([maximum([x, y]), z]) is maximum([x, maximum([y, z])])
        assert maximum([x, y, z]) is maximum([maximum([z, x]), y])
        assert maximum([x + z, y + z]) is maximum([x, y]) + z
        assert maximum([x, y]) + minimum([x, y]) is x + y
        assert maximum([x.scale(3), y.scale(3)]) is maximum([x, y]).scale(3)


def _has_maximum(*operands: Expr) -> bool:
    return any(a.op is MAXIMUM for e in operands for a in terms(e))


@LAWS
@given(three_conditions())
def test_conditions(drawn: tuple[World, Bool, Bool, Bool]) -> None:
    world, a, b, c = drawn
    pool = world.pool
    for one, other in ((conj, disj), (disj, conj)):
        assert one(pool, [a, a]) is a
        assert one(pool, [a, b]) is one(pool, [b, a])
        assert one(pool, [one(pool, [a, b]), c]) is one(pool, [a, one(pool, [b, c])])
        assert one(pool, [a, b, c]) is one(pool, [c, a, b])
        assert negate(one(pool, [a, b])) is other(pool, [negate(a), negate(b)])
        assert one(pool, [a, negate(a)]) is one(pool, [b, negate(b)])
    assert negate(negate(a)) is a
    assert negate(a) is not a


@LAWS
@given(st.data())
def test_negation_is_the_complement(data: st.DataObject) -> None:
    world = data.draw(worlds())
    meant: Meant = data.draw(conditions(world))
    for _ in range(3):
        assignment = data.draw(values_of(world))
        value = meant.value(assignment)
        if value is not None:
            assert evaluate(negate(meant.node), assignment) is (not value)


@LAWS
@given(st.data())
def test_choices(data: st.DataObject) -> None:
    world = data.draw(worlds())
    x, y, z = (data.draw(integers(world, 2)).node for _ in range(3))
    c = data.draw(conditions(world, 2)).node
    assert choose(c, x, y) is choose(negate(c), y, x)
    assert choose(c, x, x) is x
    assert choose(c, x + z, y + z) is choose(c, x, y) + z
    assert choose(c, x.scale(-2), y.scale(-2)) is choose(c, x, y).scale(-2)


@LAWS
@given(three_integers())
def test_bit_operations(drawn: tuple[World, Expr, Expr, Expr]) -> None:
    world, x, y, _ = drawn
    for build in (bit_and, bit_or, bit_xor):
        assert build(x, y) is build(y, x)
    assert bit_and(x, x) is bit_or(x, x) is x
    assert bit_xor(x, x) is world.pool.zero
