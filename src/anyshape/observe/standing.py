"""`Standing`: a listener of the whole process, to those kinds of events that somebody wants.

Each `want` counts the kinds that it names until it is closed; a kind that nobody wants any longer
has no listener, so that its events are free again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from anyshape.events import subscribe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.events import Subscription


class Standing:
    """One listener, subscribed once to each kind that is wanted at least once."""

    def __init__(self, listener: Callable[[Any], object]) -> None:
        self._listener = listener
        self._open: dict[type, Subscription] = {}
        self._counts: dict[type, int] = {}
        self._changing = threading.Lock()

    def want(self, kinds: Iterable[type]) -> Want:
        """Listen to these kinds too, until what is returned is closed."""
        wanted = frozenset(kinds)
        with self._changing:
            for kind in wanted:
                self._counts[kind] = self._counts.get(kind, 0) + 1
                if kind not in self._open:
                    self._open[kind] = subscribe(self._listener, kind, everywhere=True)
        return Want(self, wanted)

    def release(self, kinds: frozenset[type]) -> None:
        """Somebody no longer wants these kinds."""
        with self._changing:
            for kind in kinds:
                self._counts[kind] -= 1
                if not self._counts[kind]:
                    self._open.pop(kind).close()


class Want:
    """The kinds of events that somebody wants, until `close`; closing twice is allowed."""

    def __init__(self, standing: Standing, kinds: frozenset[type]) -> None:
        self._standing = standing
        self._kinds = kinds

    def close(self) -> None:
        """Want nothing any longer."""
        kinds, self._kinds = self._kinds, frozenset()
        self._standing.release(kinds)
