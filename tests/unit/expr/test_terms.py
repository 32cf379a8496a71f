"""Terms of sums of any shape, and bounds made fresh."""

import random

import pytest

from anyshape.errors import UnsupportedError
from anyshape.expr import Expr, Pool, symbol
from anyshape.expr.node import STALE
from anyshape.expr.terms import (
    LONG,
    add_into,
    content,
    from_terms,
    has_more_terms,
    is_fresh,
    refresh,
    terms,
)


def chain(pool: Pool, count: int) -> tuple[Expr, list[Expr]]:
    symbols = [symbol(pool, f"s{i}", 0, 1) for i in range(count)]
    total = symbols[0]
    for s in symbols[1:]:
        total = total + s
    return total, symbols


def named(e: Expr) -> dict[str, int]:
    return {a.name: k for a, k in terms(e).items()}


def test_long_chains_in_both_directions() -> None:
    pool = Pool()
    total, symbols = chain(pool, 5000)
    assert len(terms(total)) == 5000
    other = symbols[-1]
    for s in reversed(symbols[:-1]):
        other = s + other
    assert other is total


def test_shared_operands_are_walked_once() -> None:
    """A graph with 2**60 paths."""
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    e = a + b
    for _ in range(60):
        e = (e + a) + (e - b)
    assert named(e) == {"a": 2**61 - 1, "b": 1}


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda a, b, c: (a + b) + c, {"a": 1, "b": 1, "c": 1}),
        (lambda a, b, c: (a + b).scale(2) - c, {"a": 2, "b": 2, "c": -1}),
        (lambda a, b, c: (a + b).shift(1).scale(-2) + (b + c), {"a": -2, "b": -1, "c": 1}),
        (lambda a, b, c: (a + b + c) - (a + b), {"c": 1}),
        (lambda a, b, c: ((a + b) + c).shift(2) - ((c + a) + b).shift(1), {}),
        (lambda a, b, c: (a - b) + ((b - c) + (c - a)).scale(3), {"a": -2, "b": 2}),
        (lambda a, b, c: ((a + b) - (b + c)).scale(5).shift(9) - (a - c).scale(5), {}),
    ],
)
def test_every_shape_of_pending_sum(build: object, expected: dict[str, int]) -> None:
    pool = Pool()
    a, b, c = (symbol(pool, n) for n in "abc")
    e = build(a, b, c)  # type: ignore[operator]
    assert named(e) == expected
    assert e.width == len(expected)
    assert terms(e) is terms(e)


def test_a_long_dictionary_is_copied_and_not_rebuilt() -> None:
    pool = Pool()
    total, symbols = chain(pool, 40)
    terms(total)
    extended = total + symbols[0]
    assert named(extended)["s0"] == 2
    assert named(total)["s0"] == 1


def test_operands_that_cancel_in_a_graph_are_skipped() -> None:
    pool = Pool()
    a, b, c = (symbol(pool, n) for n in "abc")
    pending = (a + b) + (b + c)
    doubled = pending + pending.shift(3)
    assert named((doubled - pending.scale(2)) + a) == {"a": 1}


def test_add_into_drops_what_cancels() -> None:
    pool = Pool()
    a, b = (next(iter(terms(symbol(pool, n)))) for n in "ab")
    out = {a: 2}
    add_into(out, {a: 1, b: 3}, -2)
    assert out == {b: -6}


def test_from_terms_finds_the_node_and_its_bounds() -> None:
    pool = Pool()
    a, b = symbol(pool, "a", 0, 3, hint=1), symbol(pool, "b", 1, 2, hint=2)
    (of_a,), (of_b,) = terms(a), terms(b)
    made = from_terms(pool, {of_a: 2, of_b: -1}, 5)
    assert made is a.scale(2).shift(5) - b
    assert (made.lo, made.hi, made.hint, made.sign) == (3, 10, 5, 0)
    assert from_terms(pool, {of_a: 3, of_b: 4}, 0).sign == 1
    assert from_terms(pool, {of_a: -3, of_b: -4}, 0).sign == -1
    assert from_terms(pool, {}, 77) is pool.const(77)
    with pytest.raises(UnsupportedError):
        from_terms(pool, {of_a: 1 << 300}, 0)


def test_from_terms_has_no_hint_where_an_atom_has_none() -> None:
    pool = Pool()
    (of_a,), (of_b,) = terms(symbol(pool, "a", hint=1)), terms(symbol(pool, "b"))
    assert from_terms(pool, {of_a: 1, of_b: 1}, 0).hint is None


def test_refresh_makes_bounds_as_tight_as_those_of_the_atoms() -> None:
    pool = Pool()
    a, b, c = (symbol(pool, n, 0, 10) for n in "abc")
    e = (a + c) + (b - c)
    assert e.version == STALE
    assert not is_fresh(e)
    refresh(e)
    assert (e.lo, e.hi, e.sign) == (0, 20, 1)
    assert is_fresh(e)
    (of_b,) = terms(b)
    of_b.lo = 4
    pool.changed(of_b)
    assert not is_fresh(e)
    refresh(e)
    assert (e.lo, e.hi) == (4, 20)
    refresh(e)  # which changes nothing
    pool.changed(of_b)
    refresh(e)  # neither does this: the bounds are as tight as before
    assert (e.lo, e.hi) == (4, 20)
    d = symbol(pool, "d")
    pool.changed(next(iter(terms(d))))
    assert is_fresh(e)  # what changed is younger than all of its atoms
    assert e.version == pool.ranges


@pytest.mark.parametrize(
    ("numbers", "expected"), [([], 0), ([6, -9], 3), ([4, 7, 0], 1), ([0, 5], 5), ([2, 3, 4], 1)]
)
def test_content_is_the_gcd(numbers: list[int], expected: int) -> None:
    assert content(numbers) == expected


def inexact(count: int) -> tuple[Pool, list[Expr]]:
    """A pool whose widths may count too many, and symbols of it."""
    pool = Pool()
    total, symbols = chain(pool, count)
    _ = (total + symbols[0]) - total
    assert not pool.is_exact
    return pool, symbols


def plain_sum(parts: list[Expr]) -> Expr:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def test_a_sum_above_a_long_one_is_long() -> None:
    _, symbols = inexact(60)
    long = plain_sum(symbols[1:50])
    assert has_more_terms(long, LONG)
    assert has_more_terms(long + symbols[55] + symbols[56].scale(2), LONG)
    assert has_more_terms(long.shift(3), LONG)


def test_a_sum_of_two_that_are_not_long() -> None:
    _, symbols = inexact(80)
    few, many = plain_sum(symbols[1:21]), plain_sum(symbols[30:55])
    assert has_more_terms(few + many.scale(3), LONG)
    crossed = (few + symbols[25]) - few  # its width counts terms that cancel
    assert not has_more_terms(crossed + symbols[60], LONG)


@pytest.mark.parametrize("seed", range(60))
def test_the_length_of_a_sum_does_not_depend_on_what_was_asked(seed: int) -> None:
    draw = random.Random(seed)
    _, symbols = inexact(90)
    sums = [plain_sum(symbols[i : i + 15]) for i in range(0, 90, 15)] + symbols[:5]
    for _ in range(25):
        left, right = draw.sample(sums, 2)
        sums.append(left + right.scale(draw.choice([-2, -1, 1, 1, 3])).shift(draw.choice([0, 4])))
    draw.shuffle(sums)
    asked = [(e, has_more_terms(e, LONG)) for e in sums]
    assert [e for e, more in asked if more != (len(terms(e)) > LONG)] == []
