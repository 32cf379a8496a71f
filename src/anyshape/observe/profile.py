"""`export(..., profile="folder")`: where the time of an export goes.

A recorder listens to ops, answers and phases, and sums them up; the sums become a table, a
`profile.json` and a `profile.speedscope.json` (see `profile_report.py`).
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import ArgumentError, SaveError
from anyshape.events import Answer, OpCall, Phase, subscribe
from anyshape.observe.profile_report import OP, PHASE, QUESTION, Node, Part, Report
from anyshape.rules.dispatch.table import Rule
from anyshape.trace.graph.graph import op_name

if TYPE_CHECKING:
    from anyshape.events import Site, Subscription

    _Span = tuple[int, Part, Site | None, int, dict[Any, Node]]

_NOTHING: Final[dict[Any, Node]] = {}
_TABLE: Final = "table"
_RUNGS: Final = {
    "_run_user": "user's rule",
    "run_body": "Python body",
    "_meta_kernel": "meta kernel",
    "_attribute": "attribute",
    "_number_function": "numbers",
}


class Recorder:
    """Sums up what this context does: a tree of ops and questions, by the user's lines.

    An event is emitted when it ends. The events that ended since it started, and are not inside
    another one, are inside it. `_ended` has those that may turn out to be inside another one: when
    each started, its part, its line, its time, and the sums of what is inside it.
    """

    def __init__(self, name: str) -> None:
        self.root = Node(Part(PHASE, name), None)
        self._ended: list[_Span] = []
        self._parts: dict[Any, Part] = {}
        self._subscription: Subscription | None = None
        self._begin = 0

    def start(self) -> None:
        """Start to listen."""
        self._subscription = subscribe(self._handle, OpCall, Answer, Phase)
        self._begin = perf_counter_ns()

    def stop(self) -> None:
        """Stop listening; `root` is the tree."""
        self.root.time = perf_counter_ns() - self._begin
        if self._subscription is not None:
            self._subscription.close()
        for span in self._ended:
            _add(self.root.inner, span, by_line=True)
        self._ended = []

    def _handle(self, event: OpCall | Answer | Phase) -> None:
        site: Site | None = None
        if type(event) is OpCall:
            _, op, handler, site, start, nanoseconds = event
            key = (op, handler)
        elif type(event) is Answer:
            _, verb, _, _, site, start, nanoseconds = event
            key = (QUESTION, verb)
        else:
            name, start, nanoseconds = event  # type: ignore[misc]  # a phase
            key = (PHASE, name)
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = (_part_of if type(event) is OpCall else Part)(*key)
        ended = self._ended
        inner = _NOTHING
        if ended and ended[-1][0] >= start:
            first = len(ended) - 1
            while first and ended[first - 1][0] >= start:
                first -= 1
            inner = {}
            for span in ended[first:]:
                _add(inner, span)
            del ended[first:]
        ended.append((start, part, site, nanoseconds, inner))


def _add(nodes: dict[Any, Node], span: _Span, *, by_line: bool = False) -> None:
    """Add a span to the sums of its part; with `by_line`, one sum for each of the user's lines.

    A node keeps its site alive, so the id of the site is unique.
    """
    _, part, site, nanoseconds, inner = span
    key: Any = part
    if not by_line:
        site = None
    elif site is not None:
        key = (id(site), part)
    node = nodes.get(key)
    if node is None:
        node = nodes[key] = Node(part, site)
    node.time += nanoseconds
    node.count += 1
    if inner:
        _merge(node.inner, inner)


def _merge(nodes: dict[Any, Node], others: dict[Any, Node]) -> None:
    for key, other in others.items():
        node = nodes.get(key)
        if node is None:
            nodes[key] = other
        else:
            node.time += other.time
            node.count += other.count
            _merge(node.inner, other.inner)


def _part_of(func: Any, row: Any) -> Part:
    """The part of the report for a handler of calls."""
    run, rule = row, None
    if isinstance(row, functools.partial):
        run = row.func
        rule = row.args[0] if row.args and type(row.args[0]) is Rule else None
    rung = _RUNGS.get(run.__name__, _TABLE if rule is not None else "plain")
    if rule is None:
        return Part(OP, op_name(func), rung, rung)
    code = getattr(rule.function, "__code__", None)
    file = Path(code.co_filename).name if code is not None else "?"
    return Part(OP, op_name(func), f"{file} {rule.function.__name__}", rung)


class Profiled:
    """Take a profile of the body of a `with` block, and write it to a folder; None does nothing.

    It covers the current thread and context. If the body raises, nothing is written.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, name: str) -> None:
        self._folder = None if folder is None else _folder(folder)
        self._recorder = Recorder(name)

    @property
    def tree(self) -> Node | None:
        """Where the time went; None where no profile was taken."""
        return None if self._folder is None else self._recorder.root

    def __enter__(self) -> bool:
        """Whether a profile is taken."""
        if self._folder is not None:
            self._recorder.start()
        return self._folder is not None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._folder is None:
            return
        self._recorder.stop()
        if kind is None:
            report = Report(self._recorder.root)
            report.write(self._folder)
            if sys.stderr is not None and sys.stderr.isatty():
                sys.stderr.write(f"{report}\n")


def _folder(folder: Any) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise ArgumentError(f"profile must be the path of a folder, not {type(folder).__name__}")
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise SaveError(f"cannot create the folder profile={str(folder)!r}", why=str(e)) from e
    return path
