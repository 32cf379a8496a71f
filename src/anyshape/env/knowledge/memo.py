"""Memoized results with the stamp of the state in which they were computed.

A stamp is the value of a counter that rises when something changes that results depend on. A result
is valid while the counter still has its stamp. Whoever keeps a result picks the counter; see
`anyshape.env.knowledge.knowledge` for the two of an environment.
"""

from __future__ import annotations

from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V", bound=tuple[Any, ...])


class Memo(dict[K, V]):
    """Results by key; each is a tuple that begins with its stamp."""

    __slots__ = ()

    def forget(self, after: int) -> None:
        """Drop the results whose stamp is larger than `after`."""
        for key in [key for key, entry in self.items() if entry[0] > after]:
            del self[key]
