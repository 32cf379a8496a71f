"""Keys only claim that two sums are equal: what is concluded is exact, whatever the keys are."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from anyshape.env import Env
from anyshape.errors import UnsupportedError
from anyshape.expr import Expr, Pool, eq0, evaluate, floordiv, ge0, maximum, show, symbol
from anyshape.expr import node as nodes
from anyshape.expr import pool as pools
from anyshape.expr import terms as terms_module
from anyshape.expr.exact import EXPANSIONS
from anyshape.expr.terms import from_terms, terms

if TYPE_CHECKING:
    from collections.abc import Callable

# A sum that is 0 in a linear hash whose weights come from a generator with a known seed.
CHOSEN = (13, -152, 73, 33, 120, -79, -302, -200, 307, 328, -316, 134, 48, -211)


def chosen(symbols: list[Expr]) -> Expr:
    total = symbols[0].pool.zero
    for u, k in zip(symbols, CHOSEN, strict=True):
        total = total + u.scale(k)
    return total


def test_a_chosen_sum_is_not_zero() -> None:
    env = Env()
    e = chosen([env.unbacked(size=True) for _ in CHOSEN])
    assert show(e).startswith("13*u0 + 73*u2")
    assert not e.is_const
    assert env.prove(eq0(e)).answer is None
    assert env.prove(ge0(e.shift(-5))).answer is None
    assert evaluate(e, {f"u{i}": int(i == 0) for i in range(len(CHOSEN))}) == 13


def output(script: str, seed: str) -> str:
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return found.stdout


def test_weights_differ_from_process_to_process() -> None:
    script = "from anyshape.expr import *; print(symbol(Pool(), 'u').key)"
    assert output(script, "0") != output(script, "0")


TEXTS = """
from anyshape.env import Env
from anyshape.expr import *
from anyshape.expr.constructor.bitwise import bit_and, bit_xor

env = Env()
u = [env.unbacked(size=True) for _ in range(12)]
s = [env.backed(n) for n in (7, 12, 30)]
mixed = u + s
for i, a in enumerate(mixed):
    for b in mixed[i + 1:]:
        for e in (maximum((a, b, a + b)), minimum((b, a)), floordiv(a - b, a + b), bit_xor(b, a),
                  choose(eq0(a - b), a.scale(3) - b, b), bit_and(a - b, b - a),
                  multiply(a - b, multiply(a + b, b.shift(1)))):
            print(show(e), show(eq0(e)), show(ge0(e)))
for a, b in zip(u, u[1:]):
    env.assume(disj(env.pool, [eq0(a - b), ge0(b.scale(2) - a)]))
    env.assume(ge0(maximum((a, b)) - minimum(u[:5])))
env.guard(eq0(s[0].shift(5) - s[1]))
for b in (eq0(u[3] - u[2]), ge0(u[0] - u[11]), ge0(s[1] - s[0])):
    print(env.prove(b))
print(*env.guards, *env.runtime_asserts, sep="\\n")
"""


def test_equal_programs_give_equal_texts_in_every_process() -> None:
    first = output(TEXTS, "1")
    assert first.count("\n") > 500
    assert output(TEXTS, "2") == first


# ---------------------------------------------------------------------- weights that collide


@pytest.fixture
def _tiny_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of a few bits, so that most sums share their key with another one."""
    for module in (nodes, pools, terms_module):
        monkeypatch.setattr(module, "ONE", 3)
    monkeypatch.setattr(pools, "_weights", [5, 9, 11, 23, 38, 71])


def attempt(build: Callable[[], Expr]) -> Expr | None:
    try:
        return build()
    except UnsupportedError:
        return None


def wrong_conclusions(seed: int) -> tuple[int, int]:
    """How many sums were refused, and how many mean something else than they should."""
    rng = random.Random(seed)
    pool = Pool()
    points = [[rng.randint(-50, 50) for _ in range(3)] for _ in range(6)]
    known: list[tuple[Expr, list[int]]] = [
        (symbol(pool, name), [point[i] for point in points]) for i, name in enumerate("abc")
    ]
    refused = wrong = 0
    for _ in range(150):
        (x, at_x), (y, at_y) = rng.choice(known), rng.choice(known)
        k = rng.choice((-3, -1, 0, 1, 2, 7))
        made, expected = rng.choice(
            [
                (lambda x=x, y=y: x + y, [p + q for p, q in zip(at_x, at_y, strict=True)]),
                (lambda x=x, y=y: x - y, [p - q for p, q in zip(at_x, at_y, strict=True)]),
                (lambda x=x, k=k: x.scale(k), [k * p for p in at_x]),
                (lambda x=x, k=k: x.shift(k), [p + k for p in at_x]),
                (lambda k=k: pool.const(k), [k] * len(points)),
                (
                    lambda x=x, k=k: from_terms(pool, dict(terms(x)), x.c + k),
                    [p + k for p in at_x],
                ),
            ]
        )
        e = attempt(made)
        if e is None:
            refused += 1
            continue
        values = [evaluate(e, dict(zip("abc", point, strict=True))) for point in points]
        is_wrong = values != expected
        is_wrong |= e.is_const and values != [e.c] * len(points)
        is_wrong |= [v >= 0 for v in expected] != [
            evaluate(ge0(e), dict(zip("abc", point, strict=True))) for point in points
        ]
        wrong += is_wrong
        known.append((e, expected))
    return refused, wrong


@pytest.mark.usefixtures("_tiny_weights")
def test_collisions_are_refused_and_never_concluded_from() -> None:
    found = [wrong_conclusions(seed) for seed in range(30)]
    assert sum(refused for refused, _ in found) > 100
    assert sum(wrong for _, wrong in found) == 0


@pytest.mark.usefixtures("_tiny_weights")
def test_control_unverified_keys_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "confirm", lambda *_claim: None)
    assert sum(wrong_conclusions(seed)[1] for seed in range(30)) > 100


@pytest.mark.usefixtures("_tiny_weights")
def test_a_lazy_sum_with_the_key_of_a_constant_is_none() -> None:
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")  # of weights 5 and 9
    e = a.scale(-1) + b.shift(100)
    e = e - a  # -2*a + b + 100 has the key -10 + 9 + 300
    assert (e.key, e.c) == (299, 100)
    hidden = e.shift(0) + (a - b.scale(1)).shift(0)
    assert not hidden.is_const
    low = a.scale(3) - b.scale(1)  # 15 - 9 = 6 = 2*ONE, and no constant 2 is made yet
    assert low.key == 6
    assert not low.is_const
    assert low.c == 0
    with pytest.raises(UnsupportedError, match="same key"):
        pool.const(2)


@pytest.mark.usefixtures("_tiny_weights")
def test_an_atom_whose_key_is_taken_is_refused() -> None:
    pool = Pool()
    a = symbol(pool, "a")
    assert (a.scale(3).shift(-2)).key == 9
    with pytest.raises(UnsupportedError, match="same key"):
        symbol(pool, "b")


@pytest.mark.usefixtures("_tiny_weights")
def test_terms_that_share_a_key_are_refused() -> None:
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    (x,), (y,) = terms(a), terms(b)
    e = a.scale(9)
    with pytest.raises(UnsupportedError, match="same key"):
        from_terms(pool, {y: 5}, 0)
    assert from_terms(pool, {x: 9}, 0) is e


@pytest.mark.usefixtures("_tiny_weights")
def test_operands_of_a_maximum_that_share_a_key_are_refused() -> None:
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    x, y = a.scale(9), b.scale(4).shift(1) + b  # 45 and 45 + ONE
    with pytest.raises(UnsupportedError, match="same key"):
        maximum((x, y))


@pytest.mark.usefixtures("_tiny_weights")
def test_nothing_false_is_proved() -> None:
    answers = []
    for seed in range(200):
        rng = random.Random(seed)
        env = Env()
        u = [env.unbacked() for _ in range(3)]
        k = [rng.randint(-4, 4) for _ in range(4)]
        try:
            left = u[0].scale(k[0]) + u[1].scale(k[1]).shift(k[2])
            right = u[1].scale(k[0]) + u[2].scale(k[3])
            verdict = env.prove(eq0(left - right)).answer
        except UnsupportedError:
            continue
        answers.append(verdict)
        common = math.gcd(k[0], k[1] - k[0], k[3])
        if verdict is True:
            assert common == k[2] == 0
        elif verdict is False:
            assert k[2] % common if common else k[2]
    assert answers.count(None) > 30


# ---------------------------------------------------------------------- cost of the proof


def test_sums_that_meet_again_are_compared_by_what_differs() -> None:
    """`(total - prefix) - u` is `total - (prefix + u)`, in a few steps however long they are."""
    pool = Pool()
    symbols = [symbol(pool, f"u{i}", 0) for i in range(8000)]
    prefixes = [pool.zero]
    for u in symbols:
        prefixes.append(prefixes[-1] + u)
    total = prefixes[-1]
    rests = [total - prefix for prefix in prefixes]
    start = time.process_time()
    for u, rest, after in zip(symbols, rests, rests[1:], strict=False):
        assert rest - u is after
    assert time.process_time() - start < 2
    assert rests[4000].terms is None


def test_what_was_proved_is_remembered() -> None:
    pool = Pool()
    a, b, c = (symbol(pool, name) for name in "abc")
    left = a + b + c
    assert a + (b + c) is left
    count = len(pool.confirmed)
    assert (b + c) + a is left
    assert a + (b + c) is left
    assert len(pool.confirmed) == count
    terms(left)
    assert (a + b) + c is left


def test_long_sums_in_another_order_are_compared_by_their_terms() -> None:
    pool = Pool()
    symbols = [symbol(pool, f"u{i}") for i in range(20 * EXPANSIONS)]
    total = pool.zero
    for u in symbols:
        total = total + u
    other = pool.zero
    for u in reversed(symbols):
        other = other + u
    assert other is total
    assert other.scale(2).shift(3) is (total.shift(3) + total)
    assert (-other.scale(-1)) is total
    assert total.scale(0) is pool.zero
    assert (total.shift(5) - total).is_const


def test_shifts_and_multiples_that_meet_again() -> None:
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    e = a + b
    assert e.shift(3).shift(-3) is e
    assert e.shift(3).shift(4) is e.shift(7)
    assert (a.shift(3) + b).shift(-3) is e
    assert e.scale(6) is e.scale(3).scale(2) is e.scale(2) + e.scale(4)
    assert (e + e).shift(2) is e.scale(2).shift(2)
    assert e.scale(-1).scale(-1) is e
    assert floordiv(e.scale(2), pool.const(2)) is e
    assert maximum((e, e.shift(1))) is e.shift(1)


def test_operands_prove_what_is_made_of_them_again() -> None:
    """Nothing is compared, and nothing has to be remembered."""
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    total, difference = a + b, a - b
    assert a + b is b + a is total
    assert (total - a, total - b, difference + b) == (b, a, a)
    assert total - total is pool.zero
    assert total.scale(-3) is total.scale(-3)
    assert total.scale(-1).scale(-1) is total
    assert total.shift(3).shift(-3) is total
    assert total.shift(2).shift(5) is total.shift(7)
    assert not pool.confirmed
    assert total.scale(3).scale(-1) is total.scale(-3)
    assert difference + total is a.scale(2)
    assert len(pool.confirmed) == 2
