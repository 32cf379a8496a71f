"""`SegmentEnv`: an environment whose runtime asserts are divided among segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.env import Env
from anyshape.expr.text.show import brief

if TYPE_CHECKING:
    from anyshape.env.asker import Asker
    from anyshape.env.fact import Fact
    from anyshape.env.obligation import Obligation
    from anyshape.expr import Bool

_LENGTH: Final = 10_000  # of texts to compare


def whole_text(operand: Any) -> str | None:
    """The text of an expression or a condition; None where it is too long."""
    text = brief(operand, limit=_LENGTH)
    return None if text.endswith("...") else text


class SegmentEnv(Env):
    """An environment whose runtime asserts are divided among segments.

    `learned` are all conditions that it knows, in order.
    """

    def __init__(self, asker: Asker | None = None) -> None:
        super().__init__(asker)
        self.learned: list[Bool] = []
        self._texts: list[str | None] = []

    def _learn(self, fact: Fact) -> None:
        super()._learn(fact)
        self.learned.append(fact.condition)

    def texts(self) -> list[str | None]:
        """The text of each condition that it knows; None where that is too long."""
        self._texts += [whole_text(p) for p in self.learned[len(self._texts) :]]
        return self._texts

    @property
    def facts(self) -> list[Fact]:
        """The conditions that are asserted, as they were recorded."""
        return self._asserts

    def asserts_since(self, place: int) -> list[Obligation]:
        """The runtime asserts that were recorded after the first `place` ones."""
        return self._listed(self._asserts[place:])
