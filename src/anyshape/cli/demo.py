"""`anyshape demo`: the engine at work on the sizes of a small program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from anyshape import (
    DataDependentError,
    ShapeEnv,
    check,
    guard_or_false,
    sym_min,
    sym_sum,
)

if TYPE_CHECKING:
    import argparse

    from anyshape import SymInt

HELP = "show the engine at work"
ITEMS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(arguments: argparse.Namespace) -> int:
    """Print a short session: guards, asserts, proofs, an error, and how long many items take."""
    del arguments
    _branches()
    _data()
    _error()
    _scale()
    return 0


def _branches() -> None:
    print("A backed size may decide a branch; what the branch rests on becomes a guard.")
    env = ShapeEnv()
    n = env.backed(12, source="x.size(0)")
    print(f"  x.size(0) % 4 == 0  ->  {bool(n % 4 == 0)} (seen: 12)")
    print(f"  x.size(0) > 8       ->  {bool(n > 8)}")
    for guard in env.guards:
        print(f"  guard: {guard.text}")
    print(f"  no question any more: {env.prove((n // 4) * 4 == n)}")
    print()


def _data() -> None:
    print("An unbacked size comes from data; what is checked is known, and asserted at run time.")
    env = ShapeEnv()
    n = env.backed(100, source="x.size(0)")
    k = env.unbacked(size=True, source="mask.sum()")
    check(k <= n, "at most one hit per row")
    for condition in (k <= n + 1, sym_min(k, n) == k, (k + 7) // 8 * 8 >= k, k == 1):
        print(f"  {condition!s:30} {env.prove(condition)}")
    print(f"  guard_or_false({k == 1})  ->  {guard_or_false(k == 1)}: one graph for 0, 1 and many")
    for assertion in env.runtime_asserts:
        print(f"  assert {assertion.text}  # {assertion.message}")
    print()


def _error() -> None:
    print("A branch that nothing decides is an error that says what to write.")
    k = ShapeEnv().unbacked(size=True, source="mask.sum()")
    try:
        bool(k > 3)
    except DataDependentError as error:
        print("  " + str(error).replace("\n", "\n  "))
    print()


def _scale() -> None:
    env = ShapeEnv()
    limit = env.unbacked(size=True, source="limit")
    start = time.perf_counter()
    sizes = []
    total: int | SymInt = 0
    for _ in range(ITEMS):
        sizes.append(env.unbacked(size=True))
        total = total + sizes[-1]
        check(total <= limit)
    same = env.prove(sym_sum(sizes[::-1]) == total)
    elapsed = 1000 * (time.perf_counter() - start)
    print(f"{ITEMS} data-dependent sizes, each prefix sum checked against a limit:")
    print(f"  {elapsed:.0f} ms, {len(env.runtime_asserts)} asserts")
    print(f"  the same sizes added backwards make the same total: {same.name}")
