"""A program of the kind that made the eight optimizations necessary, as calls of the public API.

Many data-dependent sizes: each is made, checked, added to a running total; the totals are tested
for 0, 1 and at least 2, as allocation and broadcasting do; prefixes are compared with the total, as
slicing does; the same sum is built in other orders, as splitting and concatenating do; a few
equalities are learnt, and everything is read again. Backed sizes branch on their hints.
"""

from __future__ import annotations

import random
from itertools import accumulate
from time import thread_time
from typing import Any

import anyshape
from anyshape import SymInt, check, guard_or_false, statically_known_true

PHASES = ("create", "learn", "sum", "test", "prefix", "reorder", "equate", "read", "branch")


def trace(n: int) -> dict[str, float]:
    """Run the program with `n` sizes; seconds of thread CPU time by phase."""
    times: dict[str, float] = {}
    clock = thread_time()

    def phase(name: str) -> None:
        nonlocal clock
        now = thread_time()
        times[name] = now - clock
        clock = thread_time()

    env = anyshape.ShapeEnv()
    backed = [env.backed(8 + i % 7) for i in range(n // 10)]
    clock = thread_time()

    sizes = [env.unbacked() for _ in range(n)]
    phase("create")
    for u in sizes:
        check(u >= 0)
    phase("learn")
    prefixes = list(accumulate(sizes))
    total = prefixes[-1]
    phase("sum")
    for p in prefixes[:: max(1, n // 100)]:
        guard_or_false(p == 0)
        guard_or_false(p == 1)
        guard_or_false(p >= 2)
        assert statically_known_true(p >= 0)
    phase("test")
    for p in prefixes[:: max(1, n // 100)]:
        assert statically_known_true(p <= total)
    phase("prefix")
    _reorder(sizes, total)
    phase("reorder")
    check(sizes[5] == backed[0] + 3)
    check(sizes[7] == sizes[8])
    check(sizes[9] == sizes[10] + sizes[11])
    phase("equate")
    _read(env, sizes)
    phase("read")
    _branch(backed)
    phase("branch")
    return times


def _reorder(sizes: list[SymInt], total: SymInt) -> None:
    half = len(sizes) // 2
    left = sum(sizes[1:half], start=sizes[0])
    right = sum(sizes[half + 1 :], start=sizes[half])
    assert statically_known_true(left + right == total)
    shuffled = sizes.copy()
    random.Random(0).shuffle(shuffled)
    again = sum(shuffled[1:], start=shuffled[0])
    assert statically_known_true(again == total)


def _read(env: anyshape.ShapeEnv, sizes: list[SymInt]) -> None:
    """Each expression is asked about three times, as kernels that share a shape do."""
    numbers: list[Any] = [sizes[5] + 2 * u + 1 for u in sizes]
    for _ in range(3):
        for e in numbers:
            env.simplify(e)


def _branch(backed: list[SymInt]) -> None:
    """Branches on backed sizes: by the hint, with a guard."""
    for p in accumulate(backed):
        bool(p > 40)
        bool(p % 2 == 0)
