"""How the cost of N facts of one kind grows with N: seconds, and the factor per doubling of N.

    python benchmarks/growth.py                  500 to 8,000 symbols
    python benchmarks/growth.py --most 2000      fewer

Each pattern makes its symbols and conditions first, which is not measured. Then it tells the
environment every condition and asks one question per condition that follows from it. A factor of 2
is linear; the goal is at most 2.3 at every doubling, for every pattern, told and asked. The last
column is the worst factor of the number of calls, of Python's functions and of C's: no load on the
machine, and no cache of the processor that larger tables outgrow, disturbs it.
"""

from __future__ import annotations

import argparse
import gc
import sys
from itertools import accumulate, pairwise
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from anyshape.env import Env  # noqa: E402  after the path is set
from anyshape.errors import ConstraintError  # noqa: E402
from anyshape.expr import (  # noqa: E402
    Bool,
    Expr,
    conj,
    disj,
    eq0,
    ge0,
    maximum,
    modulo,
    ne0,
    negate,
)
from anyshape.expr.constructor.choice import choose  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

FEWEST = 500
MOST = 8_000
GOAL = 2.3
FEWEST_TURNS = 3
MOST_TURNS = 15
SECONDS = 4.0  # for the turns of one pattern

Pairs = list[tuple[Bool, Bool]]


class Pattern(NamedTuple):
    """`make(env, n)` gives n facts, each with a question that it answers.

    Facts that `are_refused` cannot hold after those that `make` told; what was known answers.
    """

    name: str
    make: Callable[[Env, int], Pairs]
    are_refused: bool = False


def _size(env: Env) -> Expr:
    return env.unbacked(size=True)


def below_one(env: Env, n: int) -> Pairs:
    """u_i <= n."""
    most = _size(env)
    gaps = [most - _size(env) for _ in range(n)]
    return [(ge0(e), ge0(e.shift(1))) for e in gaps]


def above_one(env: Env, n: int) -> Pairs:
    """n <= u_i."""
    least = _size(env)
    gaps = [_size(env) - least for _ in range(n)]
    return [(ge0(e), ge0(e.shift(1))) for e in gaps]


def chain(env: Env, n: int) -> Pairs:
    """u_i <= u_(i+1)."""
    us = [_size(env) for _ in range(n + 1)]
    gaps = [b - a for a, b in pairwise(us)]
    return [(ge0(e), ge0(e.shift(1))) for e in gaps]


def complements(env: Env, n: int) -> Pairs:
    """u_i + v_i == n."""
    total = _size(env)
    pairs = [(_size(env), _size(env)) for _ in range(n)]
    return [(eq0(u + v - total), ge0(total - u)) for u, v in pairs]


def _twins(env: Env, n: int) -> Pairs:
    us = [_size(env) for _ in range(n)]
    return [(eq0(u - v), ge0(u - v)) for u, v in ((u, _size(env)) for u in us)]


def twins(env: Env, n: int) -> Pairs:
    """u_i == v_i, oldest first."""
    return _twins(env, n)


def twins_backwards(env: Env, n: int) -> Pairs:
    """u_i == v_i, newest first."""
    return _twins(env, n)[::-1]


def equal_chain(env: Env, n: int) -> Pairs:
    """u_i == u_(i+1), oldest first."""
    us = [_size(env) for _ in range(n + 1)]
    gaps = [b - a for a, b in pairwise(us)]
    return [(eq0(e), ge0(e)) for e in gaps]


def equal_chain_backwards(env: Env, n: int) -> Pairs:
    """u_i == u_(i+1), newest first."""
    return equal_chain(env, n)[::-1]


def multiples(env: Env, n: int) -> Pairs:
    """u_i % 8 == 0."""
    eight = env.pool.const(8)
    four = env.pool.const(4)
    us = [_size(env) for _ in range(n)]
    return [(eq0(modulo(u, eight)), eq0(modulo(u, four))) for u in us]


def prefixes(env: Env, n: int) -> Pairs:
    """prefix_i <= total."""
    total = env.unbacked()
    sums = list(accumulate(_size(env) for _ in range(n)))
    gaps = [total - e for e in sums]
    return [(ge0(e), ge0(e.shift(1))) for e in gaps]


def prefixes_of_sum(env: Env, n: int) -> Pairs:
    """prefix_i <= sum of all, which needs no fact."""
    sums = list(accumulate(_size(env) for _ in range(n)))
    gaps = [sums[-1] - e for e in sums]
    return [(ge0(e), ge0(e.shift(1))) for e in gaps]


def different(env: Env, n: int) -> Pairs:
    """u_i != v_i."""
    gaps = [_size(env) - _size(env) for _ in range(n)]
    return [(ne0(e), ne0(-e)) for e in gaps]


def different_from_one(env: Env, n: int) -> Pairs:
    """u_i != n."""
    one = _size(env)
    gaps = [_size(env) - one for _ in range(n)]
    return [(ne0(e), ne0(-e)) for e in gaps]


def larger_below_one(env: Env, n: int) -> Pairs:
    """max(u_i, v_i) <= n."""
    most = _size(env)
    pairs = [(_size(env), _size(env)) for _ in range(n)]
    return [(ge0(most - maximum((u, v))), ge0(most - u)) for u, v in pairs]


def nested_choices(env: Env, n: int) -> Pairs:
    """u_i <= m, then choices in one another, `x if u_i >= 4 else u_i`, at most m."""
    most, x = _size(env), _size(env)
    us = [_size(env) for _ in range(n - 1)]
    for u in us:
        x = choose(ge0(u.shift(-4)), x, u)
    gaps = [most - u for u in us]
    return [(ge0(e), ge0(e.shift(1))) for e in (*gaps, most - x)]


def alternatives(env: Env, n: int) -> Pairs:
    """u_1 <= m or ... or u_n <= m, then u_i > m for all but one."""
    most = _size(env)
    us = [_size(env) for _ in range(n)]
    one = disj(env.pool, [ge0(most - u) for u in us])
    denials = [(ge0(u - most.shift(1)), ge0(u - most)) for u in us[:-1]]
    return [(one, ge0(most - us[-1])), *denials]


def values(env: Env, n: int) -> Pairs:
    """u == 0 or u == 3 or ..., then u != 3*i for all but one."""
    u = _size(env)
    points = [eq0(u.shift(-3 * i)) for i in range(n)]
    one = disj(env.pool, points)
    return [(one, points[-1]), *((negate(b), negate(b)) for b in points[:-1])]


def pairs_of_alternatives(env: Env, n: int) -> Pairs:
    """u_i <= m or v_i <= m, n/2 times, then u_i > m."""
    most = _size(env)
    pairs = [(_size(env), _size(env)) for _ in range(n // 2)]
    either = [disj(env.pool, [ge0(most - u), ge0(most - v)]) for u, v in pairs]
    denials = [(ge0(u - most.shift(1)), ge0(most - v)) for u, v in pairs]
    return [*((b, b) for b in either), *denials]


def named_prefixes(env: Env, n: int) -> Pairs:
    """t_i == prefix_i."""
    sums = list(accumulate(_size(env) for _ in range(n)))
    gaps = [_size(env) - e for e in sums]
    return [(eq0(e), ge0(e.shift(1))) for e in gaps]


def denied(env: Env, n: int) -> Pairs:
    """u_i > m, where u_i <= m is known."""
    most = _size(env)
    us = [_size(env) for _ in range(n)]
    for u in us:
        env.assume(ge0(most - u))
    return [(ge0(u - most.shift(1)), ge0(most.shift(1) - u)) for u in us]


def contradictory(env: Env, n: int) -> Pairs:
    """u_i == m and u_i == m - 2, where u_i <= m is known: seen when both parts were learnt."""
    most = _size(env)
    us = [_size(env) for _ in range(n)]
    for u in us:
        env.assume(ge0(most - u))
    parts = [(eq0(most - u), eq0(most.shift(-2) - u)) for u in us]
    return [(conj(env.pool, p), ge0(most.shift(1) - u)) for p, u in zip(parts, us, strict=True)]


PATTERNS = (
    Pattern("u_i <= n", below_one),
    Pattern("n <= u_i", above_one),
    Pattern("u_i <= u_(i+1)", chain),
    Pattern("u_i + v_i == n", complements),
    Pattern("u_i == v_i, oldest first", twins),
    Pattern("u_i == v_i, newest first", twins_backwards),
    Pattern("u_i == u_(i+1), oldest first", equal_chain),
    Pattern("u_i == u_(i+1), newest first", equal_chain_backwards),
    Pattern("u_i % 8 == 0", multiples),
    Pattern("prefix_i <= total", prefixes),
    Pattern("prefix_i <= sum of all", prefixes_of_sum),
    Pattern("t_i == prefix_i", named_prefixes),
    Pattern("u_i != v_i", different),
    Pattern("u_i != n", different_from_one),
    Pattern("max(u_i, v_i) <= n", larger_below_one),
    Pattern("choices in choices <= m", nested_choices),
    Pattern("one of n alternatives", alternatives),
    Pattern("one of n values", values),
    Pattern("one of two alternatives", pairs_of_alternatives),
    Pattern("u_i > m, refused", denied, are_refused=True),
    Pattern("u_i == m and u_i == m - 2", contradictory, are_refused=True),
)


class Times(NamedTuple):
    """Seconds to tell all facts and to ask all questions, and how many were answered."""

    told: float
    asked: float
    proved: int


class Calls(NamedTuple):
    """How many calls it takes to tell all facts and to ask all questions."""

    told: int
    asked: int


def tell(env: Env, pattern: Pattern, fact: Bool) -> None:
    """Tell a fact, which must be refused or must not be."""
    try:
        env.assume(fact)
    except ConstraintError:
        if pattern.are_refused:
            return
        raise
    if pattern.are_refused:
        raise AssertionError(f"{fact} was not refused")


def calls(pattern: Pattern, n: int) -> Calls:
    """The calls of one run in a new environment."""
    env = Env()
    pairs = pattern.make(env, n)
    count = 0

    def profile(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        for fact, _question in pairs:
            tell(env, pattern, fact)
        told = count
        for _fact, question in pairs:
            env.prove(question)
    finally:
        sys.setprofile(before)
    return Calls(told, count - told)


def run(pattern: Pattern, n: int) -> Times:
    """One run in a new environment, in processor time and without the garbage collector."""
    env = Env()
    pairs = pattern.make(env, n)
    gc.collect()
    gc.disable()
    start = thread_time()
    for fact, _question in pairs:
        tell(env, pattern, fact)
    told = thread_time()
    proved = sum(env.prove(question).answer is True for _fact, question in pairs)
    asked = thread_time()
    gc.enable()
    return Times(told - start, asked - told, proved)


def measure(pattern: Pattern, sizes: list[int]) -> list[Times]:
    """The best of several runs of each size.

    The sizes take turns, so that a load on the machine that comes and goes slows all of them; short
    patterns, which it disturbs most, get more turns.
    """
    run(pattern, sizes[0])  # to warm up
    best = [run(pattern, n) for n in sizes]
    end = thread_time() + SECONDS
    turns = 1
    while turns < MOST_TURNS and (turns < FEWEST_TURNS or thread_time() < end):
        turns += 1
        for i, n in enumerate(sizes):
            told, asked, proved = run(pattern, n)
            best[i] = Times(min(best[i].told, told), min(best[i].asked, asked), proved)
    return best


def table(most: int) -> str:
    """The whole table as text."""
    sizes = [FEWEST << i for i in range(20) if FEWEST << i <= most]
    heads = "".join(f"{n:>9,}" for n in sizes)
    lines = [f"{'':30}  {'':5}{heads}  worst factor per doubling"]
    for pattern in PATTERNS:
        rows = measure(pattern, sizes)
        counted = [calls(pattern, n) for n in sizes]
        for name, column in (("tell", 0), ("ask", 1)):
            seconds = [row[column] for row in rows]
            worst, steps = (
                max((b / a for a, b in pairwise(values)), default=0.0)
                for values in (seconds, [row[column] for row in counted])
            )
            whole = (seconds[-1] / seconds[0]) ** (1 / max(1, len(seconds) - 1))
            cells = "".join(f"{1000 * s:>7.1f}ms" for s in seconds)
            missed = " MISSED" if max(worst, steps) > GOAL else ""
            open_ = sizes[-1] - rows[-1].proved
            note = f", {open_} not proved" if column and open_ else ""
            lines.append(
                f"{pattern.name if not column else '':30}  {name:5}{cells}"
                f"  {worst:.2f}, mean {whole:.2f}, calls {steps:.2f}{missed}{note}"
            )
    return "\n".join(lines)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--most", type=int, default=MOST, help="the largest number of symbols")
    print(table(parser.parse_args().most))
    return 0


if __name__ == "__main__":
    sys.exit(main())
