"""One spelling for quotients that are always equal."""

import itertools

import pytest

from anyshape.expr import Expr, Pool, evaluate, floordiv, modulo, multiply, parse, show, symbol
from anyshape.expr.constructor.bitwise import bit_and
from anyshape.expr.constructor.division import LARGEST_DIVISOR, divide_exactly, floordiv_const
from anyshape.expr.terms import terms

SMALL = range(-5, 6)


def xyz() -> tuple[Pool, Expr, Expr, Expr]:
    pool = Pool()
    return pool, *(symbol(pool, n) for n in "xyz")  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("(x + 6) // 3", "x // 3 + 2"),
        ("(4*x + 6*y) // 2", "2*x + 3*y"),
        ("(2*x + 5) // 4", "(x + 2) // 2"),
        ("x // -3", "-x // 3"),
        ("(x // 2 + 1) // 3", "(x + 2) // 6"),
        ("(-(x // 2)) // 3", "-((x + 4) // 6)"),
        ("((x // 2) // 3) // 5", "x // 30"),
        ("-(-x // 4)", "(x + 3) // 4"),
        ("(x - y) // 2 + y", "(x + y) // 2"),
        ("2*x // (2*y)", "x // y"),
        ("-x // (-y)", "x // y"),
        ("(4*x + 2) // (6*y - 8)", "(2*x + 1) // (3*y - 4)"),
        ("x // x", "1"),
        ("0 // y", "0"),
        ("x // 1", "x"),
        ("x % 1", "0"),
        ("(x + 7*y) % 7", "x % 7"),
        ("x % 7 % 7", "x % 7"),
        ("(x - x % 4) // 4", "x // 4"),
        ("4*(x // 4) + x % 4", "x"),
        ("y*(x // y) + x % y", "x"),
        ("12 // 5", "2"),
        ("-12 % 5", "3"),
    ],
)
def test_identities(left: str, right: str) -> None:
    pool, *_ = xyz()
    assert parse(pool, left) is parse(pool, right)


def test_division_by_a_constant_zero_raises() -> None:
    pool, x, _, _ = xyz()
    with pytest.raises(ZeroDivisionError, match="symbolic integer by zero"):
        floordiv(x, pool.zero)
    with pytest.raises(ZeroDivisionError):
        modulo(x, pool.zero)


def test_factors_that_may_be_zero_are_not_cancelled() -> None:
    _, x, y, z = xyz()
    assert floordiv(multiply(x, z), multiply(y, z)) is not floordiv(x, y)


@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_every_small_quotient_is_exact_and_spelled_once(d: int) -> None:
    """All (a*x + b*y + c) // d: right everywhere, and the atom is its own normal form."""
    pool, x, y, _ = xyz()
    points = list(itertools.product(range(-3, 4), repeat=2))
    for a, b, c in itertools.product(SMALL, repeat=3):
        e = floordiv_const(x.scale(a) + y.scale(b).shift(c), d)
        for vx, vy in points[:: 1 + (a + b) % 3]:
            assert evaluate(e, {"x": vx, "y": vy}) == (a * vx + b * vy + c) // d
        for atom in terms(e):
            if atom.name:
                continue
            numerator, divisor = atom.exprs
            assert all(0 < k < divisor.c for k in terms(numerator).values())
            assert 0 <= numerator.c < divisor.c
            assert floordiv(numerator, divisor) is atom.node
        assert e is floordiv_const(-(x.scale(-a) + y.scale(-b).shift(-c)), d)
    assert len(pool.atoms) < 700


def test_nested_divisions_stay_nested_beyond_the_largest_divisor() -> None:
    pool, x, _, _ = xyz()
    e = x
    for _ in range(300):
        e = floordiv(e, pool.const(2))
    assert evaluate(e, {"x": 1 << 310}) == 1 << 10
    assert all(a.op.name == "symbol" or a.exprs[1].c < LARGEST_DIVISOR for a in pool.atoms)
    assert parse(pool, show(e)) is e


def test_divide_exactly() -> None:
    _, x, y, _ = xyz()
    assert divide_exactly(x.scale(6) - y.scale(9).shift(-3), -3) is x.scale(-2) + y.scale(3).shift(
        -1
    )


def test_remainders_of_opaque_atoms() -> None:
    pool, x, y, _ = xyz()
    e = modulo(bit_and(x, y).shift(9), pool.const(4))
    assert e is modulo(bit_and(x, y).shift(1), pool.const(4))
    assert (e.lo, e.hi) == (0, 3)
