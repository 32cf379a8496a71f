"""Facts and verdicts: what is known and why, what was asked and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.errors import (
    DivisionAssertError,
    DomainAssertError,
    IndexAssertError,
    OverflowAssertError,
    RuntimeAssertError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Message: TypeAlias = str | Callable[[], str]

    from anyshape.env.site import Site
    from anyshape.expr import Bool

POLICY: Final = "policy"
DECLARED: Final = "declared"
GUARD: Final = "guard"
CHECK: Final = "check"
RULE: Final = "rule"
DIVISION: Final = "division"
DOMAIN: Final = "domain"
OVERFLOW: Final = "overflow"
INDEX: Final = "index"
NATURE: Final = "nature"
ORIGINS: Final = {
    POLICY: "assumed by policy",
    DECLARED: "declared range",
    GUARD: "guard",
    CHECK: "checked condition",
    RULE: "needed by an op",
    DIVISION: "needed by a division",
    DOMAIN: "domain of a function",
    OVERFLOW: "range of a function",
    INDEX: "needed by an index",
    NATURE: "true by nature",
}
BY_RULE: Final = frozenset((RULE, INDEX))
ERRORS: Final[dict[str, type[RuntimeAssertError]]] = {
    DIVISION: DivisionAssertError,
    DOMAIN: DomainAssertError,
    OVERFLOW: OverflowAssertError,
    INDEX: IndexAssertError,
}


class Fact(NamedTuple):
    """A condition that holds, where it comes from, and the message to show when it is violated.

    A message may be a function, which is called when somebody reads it.
    """

    condition: Bool
    origin: str
    site: Site | None = None
    message: Message | None = None

    @property
    def said(self) -> str | None:
        """The message as text."""
        return self.message() if callable(self.message) else self.message

    def describe(self, text: Callable[[Bool], str]) -> str:
        """The condition with its origin and the user's line; `text` writes the condition."""
        place = f" at {self.site}" if self.site is not None else ""
        return f"{text(self.condition)} ({ORIGINS[self.origin]}{place})"


class ContradictionError(Exception):
    """Internal: a statement that cannot hold, and the fact on the other side if one is known."""

    def __init__(self, statement: str, against: Fact | None = None) -> None:
        super().__init__(statement)
        self.statement = statement
        self.against = against


class Verdict:
    """The answer of `prove`: `name` is "YES", "NO" or "UNKNOWN", `reason` a sentence.

    `answer` is the same as True, False or None. The sentence is made when it is read.
    """

    __slots__ = ("_reason", "answer")

    def __init__(self, answer: bool | None, reason: str | Callable[[], str]) -> None:
        self.answer = answer
        self._reason = reason

    @property
    def name(self) -> str:
        """YES, NO or UNKNOWN."""
        return "UNKNOWN" if self.answer is None else "YES" if self.answer else "NO"

    @property
    def reason(self) -> str:
        """Why this is the answer."""
        return self._reason if isinstance(self._reason, str) else self._reason()

    def __repr__(self) -> str:
        return f"Verdict({self.name}: {self.reason})"
