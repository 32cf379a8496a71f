"""`SymRange`: a range whose number of steps only the run knows."""

from __future__ import annotations

from typing import Any

from anyshape.tensor.identity import stand_for
from anyshape.tensor.size import larger, plain
from anyshape.trace.sequence.walker import Counting


class SymRange:
    """`range(start, stop, step)`; the step is a number other than 0."""

    __slots__ = ("_tracer", "start", "step", "stop")

    def __init__(self, tracer: Any, start: Any, stop: Any, step: int) -> None:
        self._tracer = tracer
        self.start, self.stop, self.step = start, stop, step

    @property
    def length(self) -> Any:
        """The number of steps."""
        ahead = self.stop - self.start if self.step > 0 else self.start - self.stop
        size = abs(self.step)
        return larger(plain((ahead + (size - 1)) // size if size > 1 else ahead), 0)

    def state(self) -> Any:
        """All that it does depends on."""
        return (self.start, self.stop, self.step)

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __iter__(self) -> Counting:
        return Counting(self._tracer, self.start, self.stop, self.step)

    def __reversed__(self) -> Counting:
        last = plain(self.start + (self.length - 1) * self.step)
        return Counting(self._tracer, last, plain(self.start - self.step), -self.step)

    def __contains__(self, x: Any) -> bool:
        inside = self.start <= x < self.stop if self.step > 0 else self.stop < x <= self.start
        return bool(inside) and bool((x - self.start) % abs(self.step) == 0)


stand_for(SymRange, range(0))
