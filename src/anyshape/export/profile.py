"""`export(..., profile="folder")`: where the time of an export goes.

While a profile is taken there is a clock around every row of the table of ops and every question
to the engine; otherwise nothing of this is in the way. The sums become a table, a `profile.json`
and a `profile.speedscope.json` (see `profile_report.py`).
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from anyshape.config import config
from anyshape.env import Env
from anyshape.env import env as asking
from anyshape.env.site import _framework as framework
from anyshape.env.site import user_site
from anyshape.errors import ArgumentError, UnsupportedError
from anyshape.export.profile_report import OP, PHASE, QUESTION, Node, Part, Report
from anyshape.rules.table import Rule
from anyshape.tensor.sym_tensor import ROWS
from anyshape.trace import tracer as tracing
from anyshape.trace.graph import op_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.env.site import Site
    from anyshape.export.program import ExportedProgram

_QUESTIONS: Final = (
    "decide",
    "prove",
    "at_least",
    "at_most",
    "equal",
    "guard",
    "guard_or",
    "defer",
    "assume",
    "learn",
    "require",
)
_TABLE: Final = "table"
_RUNGS: Final = {
    "_run_user": "user's rule",
    "_body": "Python body",
    "_meta_kernel": "meta kernel",
    "_attribute": "attribute",
    "_number_function": "numbers",
}
_busy: Final = threading.Lock()
_thread: Final = threading.get_ident
_frame: Final = sys._getframe
_tracing: Final[Any] = tracing  # where the tracer finds what makes a row, and lines
_asking: Final[Any] = asking  # where questions find lines


class Recorder:
    """Sums up what this thread does: a tree of ops and questions, by the user's lines.

    The line of an op is looked for once, when it starts; what the op itself writes down gets it
    from here. Whatever may call functions of the user's looks for its own lines.
    """

    def __init__(self, name: str) -> None:
        self.root = Node(Part(PHASE, name), None)
        self.report: Report | None = None
        self._now = [self.root]
        self._line: list[Site | None] = [None]  # of the op or question that runs, if it is known
        self._thread = _thread()
        self._rows: dict[Any, Any] = {}
        self._replaced: list[tuple[Any, str, Any]] = []
        self._begin = 0

    def start(self) -> None:
        """Put a clock around all rows and questions."""
        for func, row in list(ROWS.items()):
            ROWS[func] = self._timed_row(func, row)
        resolve, line, own = _tracing.resolve, self._line, self._thread

        def site(skip: int) -> Site | None:
            return (line[0] if _thread() == own else None) or user_site(skip + 1)

        def capture() -> Site | None:
            return None if config.do_not_emit_stack_traces else site(2)

        self._replace(_tracing, "resolve", lambda func: self._timed_row(func, resolve(func)))
        self._replace(_tracing, "user_site", site)
        self._replace(_asking, "capture", capture)
        for name in _QUESTIONS:
            method = getattr(Env, name)
            self._replace(Env, name, self._timed(Part(QUESTION, name), method, known=True))
        self._begin = perf_counter_ns()

    def stop(self) -> None:
        """Take the clocks away."""
        self.root.time = perf_counter_ns() - self._begin
        for func, row in list(ROWS.items()):
            if row in self._rows:
                ROWS[func] = self._rows[row]
        for owner, name, old in self._replaced:
            setattr(owner, name, old)

    def _replace(self, owner: Any, name: str, new: Any) -> None:
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    def _timed_row(self, func: Any, row: Any) -> Any:
        part = _part_of(func, row)
        timed = self._timed(part, row, known=part.rung == _TABLE)
        self._rows[timed] = row
        return timed

    def _timed(self, part: Part, run: Callable[..., Any], *, known: bool) -> Callable[..., Any]:
        """The same with a clock; `known` says that it calls no function of the user's."""
        now, own, root, nodes, line = (
            self._now, self._thread, self.root, self.root.inner, self._line,
        )  # fmt: skip

        def timed(*args: Any, **kwargs: Any) -> Any:
            outer = now[0]
            if _thread() != own or outer.part.kind is QUESTION:
                return run(*args, **kwargs)
            before = line[0]
            try:
                if outer is root:
                    frame: Any = _frame(1)
                    while framework[frame.f_code.co_filename]:
                        frame = frame.f_back
                    node = nodes[id(frame.f_code), frame.f_lasti, part]
                else:
                    node = outer.inner[part]
            except (KeyError, AttributeError):  # the first time here, or a call from nowhere
                node = _child(outer, part, root)
            if outer is root:
                line[0] = node.site if known else None
            elif part.kind is OP:
                line[0] = None
            now[0] = node
            start = perf_counter_ns()
            try:
                return run(*args, **kwargs)
            finally:
                node.time += perf_counter_ns() - start
                node.count += 1
                now[0] = outer
                line[0] = before

        return timed

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Sum up a part of an export."""
        outer = self._now[0]
        node = self._now[0] = outer.inner[name] = Node(Part(PHASE, name), None)
        start = perf_counter_ns()
        try:
            yield
        finally:
            node.time += perf_counter_ns() - start
            node.count += 1
            self._now[0] = outer

    def complete(self, program: ExportedProgram) -> None:
        """Make what is made on demand otherwise, so that its time is known too."""
        with self.phase("guards and asserts"):
            for variant in program.variants:
                _ = variant.guards, variant.runtime_asserts
        with self.phase("code"):
            for variant in program.variants:
                _ = variant.code


def _child(outer: Node, part: Part, root: Node) -> Node:
    """The node of a part inside another one; at the top it belongs to a line of the user's."""
    site = user_site(3) if outer is root else None
    # A node keeps the code of its line, so that the code's id is its own.
    key = part if site is None else (id(site.code), site.instruction, part)
    node = outer.inner.get(key)
    if node is None:
        node = outer.inner[key] = Node(part, site)
    return node


def _part_of(func: Any, row: Any) -> Part:
    """How a row is named in the report."""
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

    An exception in the body goes on, and nothing is written.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, name: str) -> None:
        self._folder = None if folder is None else _folder(folder)
        self._recorder = Recorder(name)

    def __enter__(self) -> Recorder | None:
        if self._folder is None:
            return None
        if not _busy.acquire(blocking=False):
            raise UnsupportedError("two profiles at once", fix="profile one export after the other")
        self._recorder.start()
        return self._recorder

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._folder is None:
            return
        self._recorder.stop()
        _busy.release()
        if kind is None:
            report = self._recorder.report = Report(self._recorder.root)
            report.write(self._folder)
            if sys.stderr is not None and sys.stderr.isatty():
                sys.stderr.write(f"{report}\n")


def _folder(folder: Any) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise ArgumentError(f"profile is a folder, not {type(folder).__name__}")
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise ArgumentError(f"profile={str(folder)!r} cannot be a folder", why=str(e)) from e
    return path
