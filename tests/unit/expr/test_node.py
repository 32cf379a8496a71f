"""Interning, laziness, bounds and hints of sums."""

import itertools
import random
from collections.abc import Callable

import pytest

from anyshape.domain import INF, LIMIT, NINF
from anyshape.errors import UnsupportedError
from anyshape.expr import Expr, Pool, modulo, symbol
from anyshape.expr.node import MAGNITUDE_BITS, STALE, tighten
from anyshape.expr.terms import from_terms, refresh, terms


def made(count: int = 3, **settings: object) -> tuple[Pool, list[Expr]]:
    pool = Pool()
    return pool, [symbol(pool, f"s{i}", **settings) for i in range(count)]  # type: ignore[arg-type]


def test_a_sum_is_one_object_in_any_order_of_summation() -> None:
    _, (a, b, c) = made()
    for x, y, z in itertools.permutations((a, b, c)):
        assert (x + y) + z is a + (b + c)
        assert x + (y + z) is a + (b + c)


@pytest.mark.parametrize("seed", range(20))
def test_all_ways_to_the_same_terms_give_the_same_object(seed: int) -> None:
    """Random trees of + - scale shift against the node made from the terms at once."""
    rng = random.Random(seed)
    pool, symbols = made(4)
    nodes = [(s, {i: 1}, 0) for i, s in enumerate(symbols)]
    for _ in range(60):
        (x, tx, cx), (y, ty, cy) = rng.choice(nodes), rng.choice(nodes)
        k = rng.randint(-3, 3)
        kind = rng.choice("+-ks")
        if kind in "+-":
            sign = 1 if kind == "+" else -1
            e, c = (x + y if sign == 1 else x - y), cx + sign * cy
            of_e = {i: tx.get(i, 0) + sign * ty.get(i, 0) for i in range(4)}
        elif kind == "k":
            e, c, of_e = x.scale(k), k * cx, {i: k * v for i, v in tx.items()}
        else:
            e, c, of_e = x.shift(k), cx + k, tx
        nodes.append((e, of_e, c))
        expected = pool.const(c)
        for i, v in of_e.items():
            expected = expected + symbols[i].scale(v)
        assert e is expected
        assert e.c == c
        assert {a.name: v for a, v in terms(e).items()} == {
            f"s{i}": v for i, v in of_e.items() if v
        }
        assert len(terms(e)) <= e.width


def test_pools_do_not_share() -> None:
    assert made()[1][0] is not made()[1][0]


def test_a_constant_is_found_again_where_terms_cancelled() -> None:
    pool, (a, _, _) = made()
    hidden = (a.shift(12345)) - a
    assert hidden.is_const
    assert hidden.lo == NINF
    assert pool.const(12345) is hidden
    assert (hidden.lo, hidden.hi, hidden.hint, hidden.width) == (12345, 12345, 12345, 0)
    assert pool.zero is a - a


def test_scale_and_shift_by_nothing_are_the_same_object() -> None:
    _, (a, b, _) = made()
    assert (a + b).scale(1) is a + b
    assert (a + b).shift(0) is a + b
    assert (a + b).scale(0) is a.pool.zero
    assert a.shift(2).shift(-2) is a


@pytest.mark.parametrize(
    ("build", "lo", "hi"),
    [
        (lambda a, b: a + b, 1, 14),
        (lambda a, b: a - b, -9, 4),
        (lambda a, b: b - a, -4, 9),
        (lambda a, _: a.shift(-3), -2, 1),
        (lambda a, _: a.scale(3), 3, 12),
        (lambda a, _: a.scale(-3), -12, -3),
        (lambda a, _: -a, -4, -1),
    ],
)
def test_bounds_are_composed(build: object, lo: int, hi: int) -> None:
    pool = Pool()
    e = build(symbol(pool, "a", 1, 4), symbol(pool, "b", 0, 10))  # type: ignore[operator]
    assert (e.lo, e.hi) == (lo, hi)


@pytest.mark.parametrize("first", ["wide", "tight"])
def test_a_known_node_takes_the_tighter_bounds(first: str) -> None:
    pool = Pool()
    a, b, c = (symbol(pool, n, 0, 10) for n in "abc")
    if first == "tight":
        assert (a + b).hi == 20
    loose = (a + c) + (b - c)
    assert loose.hi == (20 if first == "tight" else 30)
    assert (a + b).hi == loose.hi == 20
    difference = (a + c) - (b + c)
    assert (a - b).lo == difference.lo == -10
    assert (a - b).hi == 10


def test_a_node_is_announced_before_its_bounds_change() -> None:
    pool = Pool()
    a = symbol(pool, "a", 0, 10)
    seen: list[object] = []
    pool.on_tighten = lambda node: seen.append((node, node.lo, node.hi))
    tighten(a.shift(1), 3, 5)
    assert (a.shift(1).lo, a.shift(1).hi) == (3, 5)
    assert seen == [(a.shift(1), 1, 11)]


def test_bounds_beyond_floats_next_to_infinities_are_given_up() -> None:
    """An infinity cannot be added to an integer that no float holds; the bound is then infinite."""
    pool = Pool()
    huge = symbol(pool, "huge", -LIMIT, LIMIT)
    loose = huge
    for i in range(4):  # sums that are wide only because nothing was cancelled yet
        z = symbol(pool, f"z{i}", 0, 1)
        loose = loose.scale(1 << 250) + z - loose.scale((1 << 250) - 1)
    assert loose.hi > 1 << 1024
    free = symbol(pool, "free")
    assert ((loose + free).lo, (loose + free).hi) == (NINF, INF)
    assert ((loose - free).lo, (loose - free).hi) == (NINF, INF)


def test_hint_is_none_only_where_an_atom_without_one_is_left() -> None:
    pool = Pool()
    s, t = symbol(pool, "s", hint=5), symbol(pool, "t", hint=7)
    u = symbol(pool, "u")
    assert (s + t).hint == 12
    assert (s + u).hint is None
    assert ((u + s + t) - u).hint == 12
    assert (u.shift(3) - u).hint == 3
    assert (s - u + u.scale(2)).hint is None
    assert ((s.scale(2) + u) - (u + t)).shift(1).scale(2).hint == 8
    assert s.scale(-2).hint == -10
    assert modulo(s, pool.const(3)).hint == 2


def test_hint_of_a_sum_that_cannot_cancel_needs_no_terms() -> None:
    pool = Pool()
    total = pool.zero
    for i in range(50):
        total = total + symbol(pool, f"u{i}")
    assert total.version != STALE
    assert total.hint is None
    assert total.terms is None


@pytest.mark.parametrize(
    "grow",
    [
        lambda e: e + e,
        lambda e: e - (-e),
        lambda e: e.scale(2),
        lambda e: e.shift(e.c),
        lambda e: e.pool.const(2 * e.c),
        lambda e: from_terms(e.pool, {a: 2 * k for a, k in terms(e).items()}, 0),
    ],
)
def test_beyond_the_magnitude_every_way_is_refused(grow: Callable[[Expr], Expr]) -> None:
    e = symbol(Pool(), "a").scale(2).shift(2)
    steps = 0
    with pytest.raises(UnsupportedError, match=r"beyond 2\*\*256"):  # noqa: PT012
        while steps < 300:
            e = grow(e)
            steps += 1
    assert abs(steps - MAGNITUDE_BITS) < 4


def test_untouched_are_the_sums_whose_atoms_did_not_change() -> None:
    """Against the whole history, for ranges of atoms within a block and across several."""
    rng = random.Random(0)
    pool, symbols = made(300)
    atoms = [next(iter(terms(s))) for s in symbols]
    history: list[int] = []
    for _ in range(60):
        for _ in range(3):
            i = rng.choice((rng.randrange(300), rng.randrange(70)))
            pool.changed(atoms[i])
            history.append(i)
        first, last = sorted((rng.randrange(300), rng.randrange(300)))
        since = rng.randrange(len(history))
        e = symbols[first].scale(2) + symbols[last].scale(3)
        e.version = since
        assert pool.is_untouched(e) is not any(first <= i <= last for i in history[since:])
        assert e.version in (since, pool.ranges)
    stale = symbols[0] - symbols[1]
    stale.version = STALE
    assert not pool.is_untouched(stale)
    assert pool.is_untouched(pool.zero)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_is_as_fresh_as_its_operands(sign: int) -> None:
    """Changes elsewhere do not matter; changes inside make it stale until it is refreshed."""
    pool = Pool()
    a, b, c, d, e = (symbol(pool, n, 0, 10) for n in "abcde")
    left, right = a + b, c + d
    pool.changed(next(iter(terms(e))))
    fresh = left + right if sign == 1 else left - right
    assert fresh.version == pool.ranges
    for changed in (left, right):
        pool.changed(next(iter(terms(changed))))
        behind = left.scale(2) + right if sign == 1 else left.scale(2) - right.scale(3)
        assert behind.version < pool.ranges
        for e in (left, right, behind):
            refresh(e)
            assert e.version >= pool.ranges


def test_reprs_are_short_names() -> None:
    pool, (a, _, _) = made()
    atom = next(iter(terms(modulo(a, pool.const(3)) - a)))
    assert repr(next(iter(terms(a)))) == "<atom s0 #1>"
    assert repr(atom) == f"<atom floordiv #{atom.index}>"
    assert repr(a.shift(1)) == "s0 + 1"
