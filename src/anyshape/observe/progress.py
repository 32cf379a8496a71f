"""A line on the terminal while a long export runs: ops, asserts, rate."""

from __future__ import annotations

import sys
import threading
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from anyshape.events import Assert, TraceEnd, TraceStart, subscribe

if TYPE_CHECKING:
    from anyshape.events import Subscription

DELAY: Final = 1.0  # seconds before the first line
PERIOD: Final = 0.2  # seconds between lines
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """Show the progress of the export in the body of a `with` block, if stderr is a terminal.

    A separate thread writes the line, so that the trace does not wait for the terminal.
    """

    def __init__(self, name: str, *, delay: float = DELAY, period: float = PERIOD) -> None:
        self._done = threading.Event()
        self._writer: _Writer | None = None
        self._subscription: Subscription | None = None
        stream = sys.stderr
        if stream is not None and stream.isatty():
            self._writer = _Writer(name, stream, self._done, delay, period)

    def __enter__(self) -> None:
        if self._writer is not None:
            kinds = (TraceStart, TraceEnd, Assert)
            self._subscription = subscribe(self._writer.handle, *kinds)
            self._writer.start()

    def __exit__(self, *_: object) -> None:
        if self._writer is not None and self._subscription is not None:
            self._subscription.close()
            self._done.set()
            self._writer.join()


class _Writer(threading.Thread):
    def __init__(
        self, name: str, stream: Any, done: threading.Event, delay: float, period: float
    ) -> None:
        super().__init__(name="anyshape progress", daemon=True)
        self._title, self._stream, self._done = name, stream, done
        self._delay, self._period = delay, period
        self._start = monotonic()
        self._tracer: Any = None  # of the current trace
        self._asserts = 0

    def handle(self, event: TraceStart | TraceEnd | Assert) -> None:
        """Follow the current trace."""
        if type(event) is Assert:
            self._asserts += 1
        else:
            self._tracer = event.tracer if type(event) is TraceStart else None
            self._asserts = 0

    def run(self) -> None:
        """Update the line until the export is done, then clear it."""
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
        tracer = self._tracer
        if tracer is None:
            return f"export of {self._title}: {seconds:.1f} s"
        ops = len(tracer.graph.nodes)
        return (
            f"export of {self._title}: {ops} ops, {self._asserts} asserts, {seconds:.1f} s,"
            f" {ops / seconds:.0f} ops/s"
        )
