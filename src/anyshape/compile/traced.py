"""What came of an attempt to trace a call."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from anyshape.errors import AnyshapeError, RuntimeAssertError, ShapeError, UnsupportedError, text_of
from anyshape.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.compile.cache.entry import Entry


class Traced(NamedTuple):
    """A call that was traced: its entry, and the flat outputs if it has run."""

    entry: Entry
    out: list[Any] | None


class Failed(NamedTuple):
    """A call that could not be traced.

    `catches` if the function may handle errors itself; `has_asserts` if effects, or conditions that
    only the run can test, came before the error.
    """

    error: Exception
    catches: bool
    has_asserts: bool

    def drop_values(self) -> None:
        """Empty the frames of the error: what the program held lives no longer than in eager
        execution. The places in the code remain.
        """
        for e in self._errors():
            traceback.clear_frames(e.__traceback__)

    def drop_places(self) -> None:
        """Drop the frames of the error, which the frame of the caller is reachable from."""
        for e in self._errors():
            e.__traceback__ = None

    def _errors(self) -> list[BaseException]:
        found: list[BaseException] = [self.error]
        for e in found:
            found += [c for c in (e.__cause__, e.__context__) if c is not None and c not in found]
        return found

    def refuse(self, run_eagerly: Callable[[], Any]) -> NoReturn:
        """Raise for a call that must be traced whole; an error of the function's own is its."""
        error = self.error
        if isinstance(error, AnyshapeError) and not isinstance(error, ShapeError):
            raise error
        if not getattr(error, "is_refusal", False):
            run_eagerly()  # raises, unless the function handles it
        text = f"{type(error).__name__}: {text_of(error)}"
        raise refused(UnsupportedError, f"an error that eager execution lacks: {text}") from error

    @property
    def is_too_general(self) -> bool:
        """Whether the trace failed for what an op needs of sizes that were not known."""
        error = self.error
        of_rule = isinstance(error, RuntimeAssertError) and error.by_rule
        return of_rule or isinstance(error, ShapeError)


def no_second_run(name: str, error: AnyshapeError) -> UnsupportedError:
    """The error for a call that cannot be traced to its end, nor be run again."""
    return UnsupportedError(
        f"{name} cannot be traced beyond a branch of this call: {error.text}",
        why="it has changed tensors or drawn random numbers before, so it cannot be run again",
        fix="reset() and call it with force_eager, or compile the parts of it",
    )
