"""`warnings.catch_warnings` in a program: a block that the program enters and leaves on every run.

Warnings of the program are calls of its graph (`outlet.py`), so they meet the filters of the block
when it runs. What the block has recorded is known only then, and the trace cannot look at it. A
filter that makes errors of warnings is refused: the trace would not see them.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

from anyshape.trace.mode.execution_modes import enter_warnings, filter_warnings, leave_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.graph.graph import Name
    from anyshape.trace.record.recorder import Recorder


def substitutes(recorder: Recorder) -> Iterator[tuple[Any, Any]]:
    """Pairs of a function and what to call in its place."""
    yield warnings.catch_warnings, functools.partial(_caught, recorder)
    for f in (warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings):
        yield f, functools.partial(_filtered, recorder, f)


def _caught(recorder: Recorder, **options: Any) -> Any:
    if not recorder.replays or recorder.tracer.is_segmented or recorder.tracer.bodies:
        raise recorder.refusal("catch_warnings() is called")
    if options.get("module") is not None or options.get("action") == "error":
        raise recorder.refusal("catch_warnings() is called with a module, or makes errors")
    return recorder.born(WarningBlock(recorder, options))


def _filtered(recorder: Recorder, f: Any, *args: Any, **named: Any) -> None:
    """A filter of a block; one outside of a block stays after the call."""
    action = args[0] if args else named.get("action")
    if not recorder.warning_blocks or action == "error":
        raise recorder.refusal(f"{f.__name__}() is called")
    values = (*args, *named.values())
    if not all(x is None or isinstance(x, str | int | type) for x in values):
        raise recorder.refusal(f"{f.__name__}() is called with a value that only the run knows")
    recorder.emit(filter_warnings, f.__name__, args, named)


class WarningBlock:
    """Stands for a `catch_warnings` while a program is traced."""

    __slots__ = ("_name", "_options", "_recorder")

    def __init__(self, recorder: Recorder, options: dict[str, Any]) -> None:
        self._recorder = recorder
        self._options = options
        self._name: Name | None = None

    def made_by(self) -> tuple[Any, tuple[Any, ...]]:
        """What makes the object in its place, and of what."""
        if self._name is not None:
            raise self._recorder.unsupported("the function returns a block that it has entered")
        return functools.partial(warnings.catch_warnings, **self._options), ()

    def __enter__(self) -> Any:
        recorder = self._recorder
        if self._name is not None:
            raise RuntimeError(f"Cannot enter {self!r} twice")
        self._name = recorder.new_name()
        recorder.tracer.emit(enter_warnings, (self._options,)).outs = self._name
        recorder.effects += 1
        recorder.warning_blocks.append(self)
        return _Log(recorder) if self._options.get("record") else None

    def __exit__(self, *_: object) -> None:
        if self._name is None:
            raise RuntimeError(f"Cannot exit {self!r} without entering first")
        self._recorder.warning_blocks.remove(self)
        self._recorder.emit(leave_warnings, self._name)


class _Log:
    """Stands for the warnings that a block has recorded."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def _refuse(self, *_: Any) -> Any:
        raise self._recorder.unsupported(
            "warnings that a block has recorded are looked at",
            why="they are known only when the program runs",
            fix="look at them outside the compiled function",
        )

    __len__ = __iter__ = __bool__ = __getitem__ = __contains__ = __getattr__ = _refuse
    __eq__ = __hash__ = __repr__ = made_by = _refuse
