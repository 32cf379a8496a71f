"""Maxima and minima: one object for all orders, nestings, shifts and positive multiples."""

import itertools

import pytest

from anyshape.expr import Expr, Pool, absolute, evaluate, maximum, minimum, parse, show, symbol
from anyshape.expr.constructor.extremum import FLATTEN_LIMIT
from anyshape.expr.terms import terms


def abc() -> tuple[Pool, Expr, Expr, Expr]:
    pool = Pool()
    return pool, *(symbol(pool, n) for n in "abc")  # type: ignore[return-value]


@pytest.mark.parametrize("build", [maximum, minimum])
def test_all_orders_and_nestings_are_one_object(build: object) -> None:
    _, a, b, c = abc()
    for scale in (1, 2, 3):
        operands = [a.scale(scale), b.scale(scale).shift(scale), c.scale(-scale), a.shift(5)]
        whole = build(operands)  # type: ignore[operator]
        for x, y, z, w in itertools.permutations(operands):
            assert build([x, y, z, w]) is whole  # type: ignore[operator]
            assert build([x, build([y, z]), w]) is whole  # type: ignore[operator]
            assert build([build([x, y]), build([z, w]), x]) is whole  # type: ignore[operator]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("max(a, a)", "a"),
        ("max(a, a + 3, a - 1)", "a + 3"),
        ("min(a, a + 3, a - 1)", "a - 1"),
        ("max(2, 7, 3)", "7"),
        ("max(a + c, b + c)", "max(a, b) + c"),
        ("max(2*a, 2*b)", "2*max(a, b)"),
        ("max(2*max(0, a), 2*b)", "2*max(0, a, b)"),
        ("max(a, b) + min(a, b)", "a + b"),
        ("-max(-a, -b)", "min(a, b)"),
        ("abs(-a)", "abs(a)"),
        ("abs(3*a)", "3*abs(a)"),
        ("abs(a - b)", "max(a, b) - min(a, b)"),
        ("max(a, abs(b))", "max(a, b, -b)"),
        ("max(a, a + max(b, 0))", "a + max(b, 0)"),
    ],
)
def test_identities(left: str, right: str) -> None:
    pool, *_ = abc()
    assert parse(pool, left) is parse(pool, right)


def test_one_operand_is_itself() -> None:
    _, a, _, _ = abc()
    assert maximum([a]) is minimum([a]) is a


def test_more_operands_than_are_flattened() -> None:
    pool = Pool()
    symbols = [symbol(pool, f"s{i}", 0, i) for i in range(FLATTEN_LIMIT + 20)]
    whole = maximum(symbols)
    one_by_one = symbols[0]
    for s in symbols[1:]:
        one_by_one = maximum([one_by_one, s])
    values = {f"s{i}": (i * 37) % 101 for i in range(len(symbols))}
    for e in (whole, one_by_one):
        assert evaluate(e, values) == max(values.values())
        assert e.hi == FLATTEN_LIMIT + 19
        assert parse(pool, show(e)) is e
    assert maximum(reversed(symbols)) is whole


def test_two_maxima_in_one_operand_stay() -> None:
    pool, a, b, c = abc()
    e = maximum([maximum([a, pool.zero]) + maximum([b, pool.zero]), c])
    assert len([x for x in terms(e) if x.op.name == "maximum"]) >= 1
    for va, vb, vc in itertools.product((-1, 0, 2), repeat=3):
        expected = max(max(va, 0) + max(vb, 0), vc)
        assert evaluate(e, {"a": va, "b": vb, "c": vc}) == expected
    assert absolute(e).lo >= 0 or parse(pool, show(absolute(e))) is absolute(e)


def test_nested_minima_and_maxima_do_not_gather_operands() -> None:
    pool = Pool()
    symbols = [symbol(pool, f"u{i}") for i in range(40)]
    for s in (symbols, symbols[::-1]):
        e, values = s[0], {f"u{i}": i * 7 % 40 for i in range(40)}
        expected = values[show(s[0])]
        for i, x in enumerate(s[1:]):
            e, expected = (
                (maximum((e, x)), max(expected, values[show(x)]))
                if i % 2
                else (minimum((e, x)), min(expected, values[show(x)]))
            )
        assert evaluate(e, values) == expected
        assert max(len(atom.args) for atom in terms(e)) <= 1


def test_maxima_beside_others_are_flattened() -> None:
    pool, a, b, c = abc()
    d = symbol(pool, "d")
    other = maximum((c, d))
    assert maximum((maximum((a, b)) - other, d)) is maximum((a - other, b - other, d))
