"""The parts of a program: equal calls of modules, outermost first, and what lies between them.

The calls of one module are a candidate if they follow each other without a gap. Candidates of one
class with equal keys are regions. Cutting costs fusions across borders, so that a program is cut
only if the compiler gets much less to compile.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.interop.regions.borders import need_borders, need_plain_calls, uncut
from anyshape.interop.regions.part import LastUses, NoRegionsError, Part
from anyshape.trace.mode.execution_modes import MODE_CHANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.interop.regions.layout import Layouts
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Node

LEAST: Final = 6  # calls of a region
MOST_COMPILED: Final = 0.75  # of the calls of the program


class Candidate(NamedTuple):
    """The calls of one module: from `start` to before `end`."""

    depth: int
    name: str
    start: int
    end: int


class Parts(NamedTuple):
    """The parts in order, and the class of the modules of each region by its key."""

    parts: list[Part]
    regions: dict[str, str]


def choose_parts(captured: Captured, outputs: Sequence[Any], layouts: Layouts) -> Parts:
    """Cut a program whose compiled part computes `outputs`. Raises `NoRegionsError`."""
    nodes, env = captured.graph.nodes, captured.tracer.env
    closed = uncut(nodes)
    groups = _groups(find_candidates(nodes, closed))
    if not groups:
        raise NoRegionsError("no class of modules is called twice with as many ops inside")
    need_plain_calls(captured.graph)
    last = LastUses(nodes, outputs, env, layouts).last

    def part(start: int, end: int) -> Part:
        return Part(nodes[start:end], start, last, env, layouts)

    regions = _regions(groups, closed, part)
    parts: list[Part] = []
    at = 0
    for p in sorted([p for _, made in regions for p in made], key=lambda p: p.start):
        if at < p.start:
            parts.append(part(at, p.start))
        parts.append(p)
        at = p.end
    if at < len(nodes):
        parts.append(part(at, len(nodes)))
    compiled = sum({p.key: len(p.nodes) for p in parts}.values())
    if compiled > MOST_COMPILED * len(nodes):
        raise NoRegionsError(f"{compiled} of {len(nodes)} ops would be compiled all the same")
    need_borders(parts)
    return Parts(parts, {made[0].key: name for name, made in regions})


def _regions(
    groups: list[list[Candidate]], closed: list[bool], part: Callable[[int, int], Part]
) -> list[tuple[str, list[Part]]]:
    """The candidates that are equal and do not overlap, with the class of their modules."""
    taken = [False] * len(closed)
    found: list[tuple[str, list[Part]]] = []
    for group in groups:
        equal: dict[str, list[Part]] = {}
        for c in group:
            if any(taken[c.start : c.end]) or closed[c.start] or closed[c.end]:
                continue
            try:
                made = part(c.start, c.end)
            except NoRegionsError:
                continue
            equal.setdefault(made.key, []).append(made)
        for parts in equal.values():
            if len(parts) > 1:
                found.append((group[0].name, parts))
                for p in parts:
                    taken[p.start : p.end] = [True] * len(p.nodes)
    if not found:
        raise NoRegionsError("no two modules are called alike")
    return found


def find_candidates(nodes: Sequence[Node], closed: Sequence[bool]) -> list[Candidate]:
    """The calls of modules whose nodes are a stretch. The modes that the stretch before has left
    are restored before it.
    """
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    count: Counter[Any] = Counter()
    for place, node in enumerate(nodes):
        for call in node.module_stack:
            first.setdefault(call, place)
            last[call] = place
            count[call] += 1
    found = []
    for call, end in last.items():
        start = first[call]
        if end + 1 - start != count[call]:
            continue
        while start <= end and closed[start] and nodes[start].func in MODE_CHANGES:
            start += 1
        if end + 1 - start >= LEAST:
            found.append(Candidate(len(call.stack), call.class_name, start, end + 1))
    return found


def _groups(candidates: list[Candidate]) -> list[list[Candidate]]:
    """Those of one class with as many calls, outermost first."""
    groups: dict[tuple[int, str, int], list[Candidate]] = {}
    for c in candidates:
        groups.setdefault((c.depth, c.name, c.end - c.start), []).append(c)
    return [groups[key] for key in sorted(groups) if len(groups[key]) > 1]
