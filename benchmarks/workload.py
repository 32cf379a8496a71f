"""What a workload is made of: how much to do, what to measure, how it is timed.

A figure is the thread CPU time of one operation, the best of several runs. The runs of a workload
share one environment where each run can ask new questions of it, else each has its own, so that no
run profits from what another one interned or cached. Setting up is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any, NamedTuple

from benchmarks.adapters import Session, Unsupported


class Plan(NamedTuple):
    """How much to do; `limits` are the engine's own sizes of the workloads that explode."""

    quick: bool
    sizes: tuple[int, ...]
    repeats: int
    limits: dict[str, int]


class Figure(NamedTuple):
    """One row of the table for one engine: seconds per operation, and what to say beside it."""

    row: str
    seconds: float | None
    note: str = ""
    share: float | None = None


Engine = type[Session]
Figures = Iterator[Figure]


class Workload(NamedTuple):
    """One letter of the table."""

    letter: str
    about: str
    measure: Callable[[Engine, Plan], Figures]


def best_of(run: Callable[[], float], plan: Plan) -> float:
    """The best of the repeats; a run that takes long is not repeated."""
    best = run()
    for _ in range(plan.repeats - 1):
        if best > 1.0:
            break
        best = min(best, run())
    return best


def whole(row: str, note: str, run: Callable[[], float], plan: Plan) -> Figures:
    """The figure of a run that is one operation."""
    try:
        yield Figure(row, best_of(run, plan), note)
    except Unsupported:
        yield Figure(row, None)


def rate(
    row: str, plan: Plan, questions: list[Any], ask: Callable[[list[Any]], list[object]]
) -> Figure:
    """Seconds per question, best of the repeats, each over its own part of the questions.

    `ask` answers a list of questions. Where one is not answered with yes, the figure says so.
    A part is smaller when the engine is slow.
    """
    try:
        start = thread_time()
        answers = ask(questions[:1])
        pace = max(thread_time() - start, 1e-7)
        part = max(1, min((len(questions) - 1) // plan.repeats, int(0.3 / pace)))
        best = pace
        for i in range(1 if pace > 0.3 else plan.repeats):
            some = questions[1 + i * part : 1 + (i + 1) * part]
            start = thread_time()
            answers += ask(some)
            seconds = (thread_time() - start) / len(some)
            best = min(best, seconds) if i else seconds
    except Unsupported:
        return Figure(row, None)
    return Figure(row, best) if all(answers) else Figure(row, None, "cannot")
