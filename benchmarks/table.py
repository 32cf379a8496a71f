"""The table of `engine.py`: our times with their goals, the other engines as multiples of ours."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.workloads_engine import WORKLOADS


class Result(NamedTuple):
    """One figure of one engine; without a row, a remark on the whole workload."""

    engine: str
    title: str
    letter: str
    row: str
    seconds: float | None
    note: str
    share: float | None


class Goal(NamedTuple):
    """What the bare engine and `SymInt` should stay below, or the share they should reach."""

    start: str
    ours: float | None = None
    symint: float | None = None
    share: float | None = None


US = 1e-6
MS = 1e-3

GOALS = (
    Goal("s = s + u", 1 * US, 3 * US),
    Goal("sum >= -k", 1 * US, 3 * US),
    Goal("sum <= 1000N", 1 * US, 3 * US),
    Goal("same sum in another order", 1 * US, 3 * US),
    Goal("28 patterns", 15 * US, None, 1.0),
    Goal("check(prefix <= m)", 50 * MS, 50 * MS),
    Goal("check of an OR", 10 * MS, 10 * MS),
    Goal("guard_or_false(product", 10 * MS, 10 * MS),
    Goal("random questions", share=0.97),
    Goal("tests/soundness", share=0.97),
)
NO_GOAL = Goal("")


def render(results: list[Result], *, quick: bool) -> str:
    """The whole table as text."""
    engines = list(dict.fromkeys(r.engine for r in results))
    titles = {r.engine: r.title for r in results}
    absent = {r.engine for r in results if r.note == "not installed"}
    shown = [e for e in engines if e not in absent]
    cells = {(r.letter, r.row, r.engine): r for r in results}
    lines = [["", "", "goal", *(titles[e] for e in shown)]]
    for workload in WORKLOADS:
        for row in _rows(results, workload.letter):
            goal = next((g for g in GOALS if row.startswith(g.start)), NO_GOAL)
            ours = cells.get((workload.letter, row, "ours"))
            line = [workload.letter, row or workload.about, _goal_text(goal)]
            for e in shown:
                result = cells.get((workload.letter, row, e))
                remark = cells.get((workload.letter, "", e))
                line.append(_cell(e, result, remark, ours, goal))
            lines.append(line)
    text = [_aligned(lines), "", _legend(quick=quick)]
    text += [f"{e} is not installed and was left out." for e in engines if e in absent]
    return "\n".join(text)


def _rows(results: list[Result], letter: str) -> list[str]:
    """The rows of a workload, those that differ by N only next to each other."""
    of_letter = [r.row for r in results if r.letter == letter]
    rows = dict.fromkeys(row for row in of_letter if row) or dict.fromkeys(of_letter)
    kinds = list(dict.fromkeys(row.partition(", N=")[0] for row in rows))
    return sorted(rows, key=lambda row: kinds.index(row.partition(", N=")[0]))


def _cell(
    engine: str, result: Result | None, remark: Result | None, ours: Result | None, goal: Goal
) -> str:
    if result is None:
        return remark.note if remark else "-"
    if result.seconds is None:
        return result.note or "-"
    note = f" ({result.note})" if result.note else ""
    if engine in ("ours", "symint"):
        limit = goal.ours if engine == "ours" else goal.symint
        missed = limit is not None and result.seconds >= limit
        if goal.share is not None and result.share is not None:
            missed = missed or result.share < goal.share
        return _duration(result.seconds) + note + (" MISSED" if missed else "")
    if ours is None or not ours.seconds or "=" in result.note:  # a case of another size
        return _duration(result.seconds) + note
    ratio = result.seconds / ours.seconds
    digits = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
    return f"{digits}x{note}"


def _goal_text(goal: Goal) -> str:
    parts = []
    if goal.ours is not None:
        same = goal.symint in (None, goal.ours)
        parts.append(
            "< " + _duration(goal.ours, 0) + ("" if same else f" / {goal.symint / US:.0f}")
        )
    if goal.share is not None:
        parts.append("all" if goal.share == 1.0 else f"{100 * goal.share:.0f}%")
    return ", ".join(parts)


def _duration(seconds: float, digits: int = 2) -> str:
    if seconds < MS:
        return f"{seconds / US:.{digits if seconds < 100 * US else 0}f} us"
    return f"{seconds / MS:.{min(digits, 1)}f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    texts = [
        "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(pairs)).rstrip()
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    ]
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:]])


def _legend(*, quick: bool) -> str:
    runs = "3 runs of ours, 2 of the others" if quick else "7 runs of ours, 3 of the others"
    return f"""\
Thread CPU time of one operation, best of {runs}; a run over a second is not repeated.
Times for anyshape and SymInt, for the others multiples of anyshape's (20x: twenty times slower).
(n=..., k=...) is the size at which an engine was asked. Others explode at the size of ours, so
theirs is a time, not a multiple. A dash: the engine cannot state it, or was not asked. `cannot`: it
did not prove it. `> ... s`: given up at the time limit of the workload."""
