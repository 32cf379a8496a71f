"""Generators that a program leaves suspended in a `try` or `with`.

Python closes a generator when nothing refers to it, which runs the rest of these blocks. A trace
keeps iterators that it made, and an error keeps the variables of its frames: what is open when the
trace ends was closed earlier in eager execution. Such a trace is refused; and all are closed before
the hooks end, so that nothing of the user's is written to by what the trace left behind.
"""

from __future__ import annotations

import gc
import inspect
from contextlib import suppress
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from anyshape.trace.twin.function_body import is_told_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class OpenGenerators:
    """Counts the generators that are suspended where code would run if they were closed."""

    def __init__(self) -> None:
        self._count = 0

    def generator_starts(self) -> None:
        """The first step of a generator."""
        self._count += 1

    def generator_ends(self) -> None:
        """The last step of a generator, or its close."""
        self._count -= 1

    def close(self, spaces: Iterable[Any]) -> bool:
        """Close those whose globals are among `spaces`; whether there was one."""
        if self._count <= 0:
            return False
        own = {id(space) for space in spaces}
        found = [x for x in gc.get_objects() if type(x) is GeneratorType and _is_open(x, own)]
        for generator in found:
            with suppress(BaseException):
                generator.close()
        return bool(found)


def _is_open(generator: Any, own: set[int]) -> bool:
    frame = generator.gi_frame
    if frame is None or id(frame.f_globals) not in own or not is_told_of(frame.f_code):
        return False
    return inspect.getgeneratorstate(generator) == inspect.GEN_SUSPENDED
