"""The report of a profile: sums by line, op, rule, rung and question; a table, JSON, speedscope."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from anyshape.regular_file import replace_text

if TYPE_CHECKING:
    from pathlib import Path

    from anyshape.env.site import Site

    Place = tuple[str, int, str]  # a file, a line, and its text

OP: Final = "op"
QUESTION: Final = "question"
PHASE: Final = "phase"
VERSION: Final = 1
_TABLE_ROWS: Final = 12
_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


class Part:
    """A consumer of time: a kind and a name; for an op also its rule and its rung.

    Compared by identity.
    """

    __slots__ = ("kind", "name", "rule", "rung")

    def __init__(self, kind: str, name: str, rule: str = "", rung: str = "") -> None:
        self.kind = kind
        self.name = name
        self.rule = rule
        self.rung = rung


class Node:
    """Calls and nanoseconds of a part inside another one; at the top, of a part on one line."""

    __slots__ = ("count", "inner", "part", "site", "time")

    def __init__(self, part: Part, site: Site | None) -> None:
        self.part = part
        self.site = site
        self.count = 0
        self.time = 0
        self.inner: dict[Any, Node] = {}


class _Sums:
    """Calls and nanoseconds by key."""

    def __init__(self) -> None:
        self.found: dict[Any, list[int]] = {}

    def add(self, key: Any, count: int, time: int) -> None:
        entry = self.found.setdefault(key, [0, 0])
        entry[0] += count
        entry[1] += time

    def sorted(self) -> list[tuple[Any, int, float]]:
        """Keys with calls and seconds, by decreasing time."""
        found = [(key, count, time / 1e9) for key, (count, time) in self.found.items()]
        return sorted(found, key=lambda row: -row[2])


class Report:
    """The sums over one export.

    The time of an op excludes the ops inside it and includes its questions. The time of a line is
    that of the ops and questions that start there. The rest, outside of ops, questions and phases,
    is `elsewhere`: the user's Python, torch's, and the setup of a trace.
    """

    def __init__(self, root: Node) -> None:
        self.name = root.part.name
        self.seconds = root.time / 1e9
        self.elsewhere = (root.time - sum(node.time for node in root.inner.values())) / 1e9
        self.lines, self.ops, self.rules = _Sums(), _Sums(), _Sums()
        self.rungs, self.questions, self.phases = _Sums(), _Sums(), _Sums()
        self._root = root
        self._by_line: dict[Place | None, list[Node]] = {}
        for node in root.inner.values():
            place = None
            if node.site is not None:
                place = (node.site.file, node.site.line, node.site.text)
                self.lines.add(place, node.count, node.time)
            self._by_line.setdefault(place, []).append(node)
            self._sum_up(node)

    def _sum_up(self, node: Node) -> None:
        part = node.part
        if part.kind == OP:
            own = node.time - sum(n.time for n in node.inner.values() if n.part.kind == OP)
            self.ops.add(part.name, node.count, own)
            self.rules.add(part.rule, node.count, own)
            self.rungs.add(part.rung, node.count, own)
        else:
            sums = self.questions if part.kind == QUESTION else self.phases
            sums.add(part.name, node.count, node.time)
        for inner in node.inner.values():
            self._sum_up(inner)

    # ------------------------------------------------------------------ text and data

    def __str__(self) -> str:
        """The table for the terminal."""
        count = sum(n for _, n, _ in self.ops.sorted())
        lines = [
            f"export of {self.name}: {_ms(self.seconds)} ms, {count} ops,"
            f" {_ms(self.elsewhere)} ms elsewhere"
        ]
        by_line = [
            (f"{file.rpartition('/')[2]}:{line}  {text}"[:70], n, s)
            for (file, line, text), n, s in self.lines.sorted()
        ]
        for title, rows in (
            ("line", by_line),
            ("op", self.ops.sorted()),
            ("rule", self.rules.sorted()),
            ("rung", self.rungs.sorted()),
            ("question", self.questions.sorted()),
            ("phase", self.phases.sorted()),
        ):
            if rows:
                lines.append(f"\n{'ms':>10} {'%':>5} {'calls':>8}  by {title}")
            for name, n, seconds in rows[:_TABLE_ROWS]:
                share = 100 * seconds / self.seconds if self.seconds else 0.0
                lines.append(f"{_ms(seconds):>10} {share:>5.1f} {n:>8}  {name}")
            if len(rows) > _TABLE_ROWS:
                rest = sum(s for *_, s in rows[_TABLE_ROWS:])
                lines.append(f"{_ms(rest):>10} {'':>5} {'':>8}  {len(rows) - _TABLE_ROWS} more")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """The sums as plain data."""
        found: dict[str, Any] = {
            "version": VERSION,
            "name": self.name,
            "seconds": self.seconds,
            "elsewhere": self.elsewhere,
            "lines": [
                {"file": file, "line": line, "text": text, "calls": n, "seconds": s}
                for (file, line, text), n, s in self.lines.sorted()
            ],
        }
        for title, sums in (
            ("ops", self.ops),
            ("rules", self.rules),
            ("rungs", self.rungs),
            ("questions", self.questions),
            ("phases", self.phases),
        ):
            found[title] = [{"name": k, "calls": n, "seconds": s} for k, n, s in sums.sorted()]
        return found

    def write(self, folder: Path) -> None:
        """Write `profile.txt`, `profile.json` and `profile.speedscope.json`."""
        for name, text in (
            ("profile.txt", str(self)),
            ("profile.json", json.dumps(self.data())),
            ("profile.speedscope.json", json.dumps(self.speedscope())),
        ):
            replace_text(folder / name, f"{text}\n")

    # ------------------------------------------------------------------ speedscope

    def speedscope(self) -> dict[str, Any]:
        """The tree in the evented format of speedscope, with equal stacks merged.

        Lines are in the order of their first events, and the time of a line is one block.
        """
        writer = _Writer()
        writer.open(f"export of {self.name}", at=0)
        at = 0
        for place, nodes in self._by_line.items():
            if place is None:
                for node in nodes:
                    at = writer.tree(node, at)
                continue
            file, line, text = place
            writer.open(text or f"line {line}", at=at, file=file, line=line)
            for node in nodes:
                at = writer.tree(node, at)
            writer.close(at)
        writer.close(self._root.time)
        profile = {
            "type": "evented",
            "name": self.name,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": self._root.time,
            "events": writer.events,
        }
        return {
            "$schema": _SCHEMA,
            "exporter": "anyshape",
            "name": f"export of {self.name}",
            "activeProfileIndex": 0,
            "shared": {"frames": [dict(frame) for frame in writer.frames]},
            "profiles": [profile],
        }


class _Writer:
    """Frames, and the events that open and close them."""

    def __init__(self) -> None:
        self.frames: dict[Any, int] = {}
        self.events: list[dict[str, Any]] = []
        self._opened: list[int] = []

    def open(self, name: str, *, at: int, **more: Any) -> None:
        key = (("name", name), *more.items())
        frame = self.frames.setdefault(key, len(self.frames))
        self._opened.append(frame)
        self.events.append({"type": "O", "frame": frame, "at": at})

    def close(self, at: int) -> None:
        self.events.append({"type": "C", "frame": self._opened.pop(), "at": at})

    def tree(self, node: Node, at: int) -> int:
        """Write a node and its inner nodes; return the time at its end."""
        more = {"file": node.part.rule} if node.part.rule else {}
        self.open(f"{node.part.kind} {node.part.name}", at=at, **more)
        inner = at
        for part in node.inner.values():
            inner = self.tree(part, inner)
        self.close(at + node.time)
        return at + node.time


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}"
