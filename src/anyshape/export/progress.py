"""A line on the terminal while a long export runs: ops, asserts, rate. Quiet elsewhere."""

from __future__ import annotations

import sys
import threading
from time import monotonic
from typing import Any, Final

from anyshape.trace.capture import capture

DELAY: Final = 1.0  # seconds before the first line
PERIOD: Final = 0.2  # seconds between lines
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """Show how far the export in the body of a `with` block has come, where stderr is a terminal.

    A thread of its own looks at the trace now and then, so that the trace has no work with it.
    """

    def __init__(self, name: str, *, delay: float = DELAY, period: float = PERIOD) -> None:
        self._done = threading.Event()
        self._watcher: _Watcher | None = None
        stream = sys.stderr
        if stream is not None and stream.isatty():
            self._watcher = _Watcher(name, stream, self._done, delay, period)

    def __enter__(self) -> None:
        if self._watcher is not None:
            self._watcher.start()

    def __exit__(self, *_: object) -> None:
        if self._watcher is not None:
            self._done.set()
            self._watcher.join()


class _Watcher(threading.Thread):
    def __init__(
        self, name: str, stream: Any, done: threading.Event, delay: float, period: float
    ) -> None:
        super().__init__(name="anyshape progress", daemon=True)
        self._title, self._stream, self._done = name, stream, done
        self._delay, self._period = delay, period
        self._watched = threading.get_ident()
        self._start = monotonic()

    def run(self) -> None:
        """Write a line, again and again, until the export is done; then take it away."""
        if self._done.wait(self._delay):
            return
        while True:
            self._stream.write(_CLEAR + self._line())
            self._stream.flush()
            if self._done.wait(self._period):
                break
        self._stream.write(_CLEAR)
        self._stream.flush()

    def _line(self) -> str:
        seconds = monotonic() - self._start
        tracer = running_tracer(self._watched)
        if tracer is None:
            return f"export of {self._title}: {seconds:.1f} s"
        ops = len(tracer.graph.nodes)
        asserts = len(tracer.env._asserts)
        return (
            f"export of {self._title}: {ops} ops, {asserts} asserts, {seconds:.1f} s,"
            f" {ops / seconds:.0f} ops/s"
        )


def running_tracer(thread: int) -> Any:
    """The tracer of the trace that runs in a thread, or None."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code is capture.__code__:
            return frame.f_locals.get("tracer")
        frame = frame.f_back
    return None
