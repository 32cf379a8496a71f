"""The eight optimizations for a whole export: the same switches as in ablation.py, one at a time.

`table(run, cases)` is for a benchmark that has something to export: `run(name)` exports a case and
gives the seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.ablation import SWITCHES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.ablation import Switch

    Run = Callable[[str], float]


def measure(run: Run, name: str, switch: Switch, repeats: int) -> tuple[float, float]:
    """The best seconds with and without an optimization; both run in turns, so that they share the
    machine's moods.
    """
    on = off = float("inf")
    for _ in range(repeats):
        with switch.on():
            on = min(on, run(name))
        with switch.off():
            off = min(off, run(name))
    return on, off


def table(run: Run, cases: Sequence[tuple[str, int]]) -> list[tuple[str, ...]]:
    """The rows of a table; a case comes with a number of repeats."""
    heads = [f"{name}{what}" for name, _ in cases for what in (" with", " without", " factor")]
    rows: list[tuple[str, ...]] = [("optimization", *heads)]
    for switch in SWITCHES:
        cells = [f"{switch.number} {switch.title}"]
        for name, repeats in cases:
            on, off = measure(run, name, switch, repeats)
            cells += [f"{on:.3f}", f"{off:.3f}", f"{off / on:.2f}x"]
        rows.append(tuple(cells))
    return rows
