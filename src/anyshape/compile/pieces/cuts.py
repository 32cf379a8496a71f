"""`Cuts`: whether a compiled function is in pieces, and how it comes to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.compile.pieces.pieces import NotCut, Pieces
from anyshape.events import GraphBreak, emit, listeners

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from anyshape.compile.cache.recompilation import Stats


class Cuts:
    """The pieces of a function, once it was cut. `part` compiles a function that is one of them;
    `lowers` if that is done by one of torch's compilers.
    """

    def __init__(
        self, fn: Any, part: Callable[..., Any], stats: Stats, *, lowers: bool = False
    ) -> None:
        self.lowers = lowers
        self.pieces: Pieces | None = None
        self._fn = fn
        self._part = part
        self._stats = stats

    def current(self) -> Pieces | None:
        """The pieces, unless the function was replaced since it was cut."""
        pieces = self.pieces
        if pieces is not None and not pieces.is_current:
            pieces = self.pieces = None
        return pieces

    def at_error(self, error: Exception, about: str = "") -> bool:
        """Cut the function where a trace raised an error; False if that is not possible."""
        if not getattr(error, "can_break", True):
            return False
        if self.lowers and getattr(error, "asks_history", False):
            return False  # a compiled piece would have given the tensor another history
        return self._keep(lambda: Pieces.at_error(self._fn, error, self._part, about))

    def at_question(self, why: str, running: dict[CodeType, int]) -> bool:
        """Cut the function where its twins are; False if that is not possible."""
        return self._keep(lambda: Pieces.at_question(self._fn, why, running, self._part))

    def _keep(self, make: Callable[[], Pieces]) -> bool:
        try:
            self.pieces = make()
        except NotCut:
            return False
        self._stats.breaks += 1
        if GraphBreak in listeners:
            emit(GraphBreak(None, self.pieces.why, self.pieces.site))
        return True
