"""`SegmentEnv`: an environment whose runtime asserts are divided among segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.env import Env

if TYPE_CHECKING:
    from anyshape.env.asker import Asker
    from anyshape.env.fact import Fact
    from anyshape.env.obligation import Obligation
    from anyshape.expr import Bool


class SegmentEnv(Env):
    """An environment whose runtime asserts are divided among segments.

    `learned` are all conditions that it knows, in order.
    """

    def __init__(self, asker: Asker | None = None) -> None:
        super().__init__(asker)
        self.learned: list[Bool] = []

    def _learn(self, fact: Fact) -> None:
        super()._learn(fact)
        self.learned.append(fact.condition)

    @property
    def facts(self) -> list[Fact]:
        """The conditions that are asserted, as they were recorded."""
        return self._asserts

    def asserts_since(self, place: int) -> list[Obligation]:
        """The runtime asserts that were recorded after the first `place` ones."""
        return self._listed(self._asserts[place:])
