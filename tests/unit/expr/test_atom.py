"""Symbols and atoms: names, interning, parents, bounds."""

import pytest

from anyshape.domain import INF, LIMIT, NINF, Interval
from anyshape.expr import (
    Expr,
    Pool,
    choose,
    disj,
    floordiv,
    ge0,
    maximum,
    modulo,
    parse,
    power,
    symbol,
)
from anyshape.expr.atom import intern_atom, operand_interval, within
from anyshape.expr.boolean import Bool
from anyshape.expr.constructor.bitwise import bit_and
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.constructor.rounding import floor
from anyshape.expr.name import RESERVED
from anyshape.expr.node import Atom
from anyshape.expr.real import Real, Span, apply, real_symbol
from anyshape.expr.table.op import FLOORDIV
from anyshape.expr.terms import terms


def inverse(x: Expr) -> Real:
    return apply("ratio", x.pool.const(1), x)


def below(x: Real, y: Real) -> Bool:
    return compare("<", x, y)


def atom_of(e: Expr) -> Atom:
    (atom,) = terms(e)
    return atom


@pytest.mark.parametrize("name", ["s0", "_", "größe", "x_1", "max", "raw"])
def test_identifiers_name_symbols(name: str) -> None:
    pool = Pool()
    x = symbol(pool, name)
    assert pool.by_name[name] is x
    assert parse(pool, f"{name} + 1") is x.shift(1)


@pytest.mark.parametrize(
    "name", [*sorted(RESERVED), "", "1x", "x.y", "a b", "x\n", "x-y", "²", "a·b"]
)
def test_other_texts_do_not(name: str) -> None:
    with pytest.raises(ValueError, match="identifier"):
        symbol(Pool(), name)
    with pytest.raises(ValueError, match="identifier"):
        real_symbol(Pool(), name, None)


def test_a_name_is_taken_once() -> None:
    pool = Pool()
    symbol(pool, "x")
    with pytest.raises(ValueError, match="taken"):
        symbol(pool, "x")
    with pytest.raises(ValueError, match="taken"):
        real_symbol(pool, "x", 1.0)


def test_declared_ranges_are_clamped_outward() -> None:
    x = symbol(Pool(), "x", -(10**400), 10**400)
    assert (x.lo, x.hi) == (NINF, INF)
    y = symbol(Pool(), "y", 10**400)
    assert (y.lo, y.hi) == (LIMIT, INF)


def test_atoms_are_interned_by_op_and_operands() -> None:
    pool = Pool()
    x, y = symbol(pool, "x"), symbol(pool, "y")
    assert intern_atom(pool, FLOORDIV, (x, y)) is atom_of(floordiv(x, y))
    assert floordiv(x, y) is not floordiv(y, x)


def test_parents_are_the_atoms_directly_above() -> None:
    pool = Pool()
    x, y = symbol(pool, "x"), symbol(pool, "y")
    f = real_symbol(pool, "f", None)
    half = floordiv(x, pool.const(2))
    above = bit_and(half + y, y)
    either = disj(pool, [ge0(half), compare("<", f, apply("float", y))])
    choice = choose(either, x, pool.zero)
    rounded = floor(apply("add", apply("float", x), apply("float", x)))
    assert atom_of(half).parents == [atom_of(above), atom_of(choice)]
    assert atom_of(y).parents == [atom_of(above), atom_of(choice)]
    assert atom_of(x).parents == [atom_of(half), atom_of(choice), atom_of(rounded)]
    assert atom_of(x).exprs == ()
    assert set(atom_of(above).exprs) == {half + y, y}


def test_operand_intervals() -> None:
    pool = Pool()
    assert operand_interval(symbol(pool, "x", 1, 5)) == Interval(1, 5)
    assert operand_interval(ge0(symbol(pool, "y"))) == Interval(0, 1)
    assert operand_interval(real_symbol(pool, "f", None, Span(-1.5, 2.0, False))) == (
        Span(-1.5, 2.0, False)
    )


def test_within_only_tightens() -> None:
    x = symbol(Pool(), "x", 0, 10).shift(1)
    assert within(x, Interval(-5, 20)) is x
    assert (x.lo, x.hi) == (1, 11)
    assert (within(x, Interval(3, 20)).lo, x.hi) == (3, 11)
    assert (within(x, Interval(-5, 7)).lo, x.hi) == (3, 7)


@pytest.mark.parametrize(
    ("build", "lo", "hi"),
    [
        (lambda x, _: modulo(x, x.pool.const(4)), 0, 3),
        (lambda x, _: modulo(x, x.pool.const(-4)), -3, 0),
        (modulo, 0, 7),
        (lambda x, y: maximum([x, y]), 2, 100),
        (floordiv, -50, 50),
    ],
)
def test_bounds_of_what_is_built_of_several_atoms(build: object, lo: int, hi: int) -> None:
    pool = Pool()
    e = build(symbol(pool, "x", -100, 100), symbol(pool, "y", 2, 8))  # type: ignore[operator]
    assert (e.lo, e.hi) == (lo, hi)


def test_where_the_hints_have_no_value_there_is_no_hint() -> None:
    pool = Pool()
    x, zero = symbol(pool, "x", hint=4), symbol(pool, "zero", hint=0)
    assert floordiv(x, zero).hint is None
    assert power(x, zero.shift(-1)).hint is None
    assert power(x, x.scale(10**6)).hint is None
    assert floor(real_symbol(pool, "f", INF)).hint is None
