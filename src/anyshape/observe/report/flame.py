"""Timed spans as a tree of sums: what is inside what, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.observe.profile_report import Node


class Span(NamedTuple):
    """Something with a name that took time; starts and times are in nanoseconds."""

    name: str
    start: int
    nanoseconds: int


def tree(title: str, threads: Iterable[list[Span]]) -> dict[str, Any]:
    """The sums of spans, nested by time, over all threads. A span is inside the shortest one that
    it lies in.
    """
    root: dict[str, Any] = _row(title)
    for spans in threads:
        open_: list[tuple[int, dict[str, Any]]] = []
        for span in sorted(spans, key=lambda s: (s.start, -s.nanoseconds)):
            end = span.start + span.nanoseconds
            while open_ and open_[-1][0] < end:
                open_.pop()
            above = open_[-1][1] if open_ else root
            row = above["found"].setdefault(span.name, _row(span.name))
            row["time"] += span.nanoseconds / 1e9
            row["count"] += 1
            if not open_:
                root["time"] += span.nanoseconds / 1e9
            open_.append((end, row))
    return _listed(root)


def of_profile(root: Node) -> dict[str, Any]:
    """The tree of a profile of an export."""

    def row(node: Node, name: str) -> dict[str, Any]:
        inner = [row(n, _name(n)) for n in node.inner.values()]
        return {"name": name, "time": node.time / 1e9, "count": node.count, "inner": inner}

    return row(root, root.part.name)


def _name(node: Node) -> str:
    text = f"{node.part.kind} {node.part.name}"
    return text if node.site is None else f"{text}  {node.site}"


def _row(name: str) -> dict[str, Any]:
    return {"name": name, "time": 0.0, "count": 0, "found": {}}


def _listed(row: dict[str, Any]) -> dict[str, Any]:
    inner = [_listed(r) for r in row.pop("found").values()]
    inner.sort(key=lambda r: -r["time"])
    return row | {"inner": inner}
