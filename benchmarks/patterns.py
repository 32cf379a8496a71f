"""The 28 patterns that shape code asks about, and two questions that must stay open.

`s` and `t` are backed sizes (at least 2), `u` and `v` unbacked; the facts are learnt before.
"""

from __future__ import annotations

from typing import NamedTuple


class Pattern(NamedTuple):
    """One question, the symbols it is about and what is known of them."""

    question: str
    facts: tuple[str, ...] = ()
    u: str = "size"

    @property
    def kinds(self) -> dict[str, str]:
        """The symbols that the question and the facts mention."""
        text = " ".join((self.question, *self.facts)).replace("max", "").replace("min", "")
        kinds = {"s": "backed", "t": "backed", "u": self.u, "v": "size"}
        return {name: kind for name, kind in kinds.items() if name in text}


EIGHT = ("s % 8 == 0",)

PATTERNS = (
    Pattern("(s * 12) // 4 == 3 * s"),
    Pattern("(64 * s) % 64 == 0"),
    Pattern("(4 * s + 2) // 4 == s"),
    Pattern("((s + 7) // 8) * 8 >= s"),
    Pattern("((s + 7) // 8) * 8 < s + 8"),
    Pattern("(s // 8) * 8 + s % 8 == s"),
    Pattern("s % 8 <= 7"),
    Pattern("s // 2 <= s"),
    Pattern("(s // 2) // 3 == s // 6"),
    Pattern("(s * t) // s == t"),
    Pattern("(4 * s * t) // (2 * t) == 2 * s"),
    Pattern("(s * t) % t == 0"),
    Pattern("s * t >= s"),
    Pattern("s * t + s == s * (t + 1)"),
    Pattern("max(1, u) == u", u="1.."),
    Pattern("max(1, u) >= 1"),
    Pattern("max(1, u) >= u"),
    Pattern("min(s, u) <= s"),
    Pattern("max(s, u) + 1 >= u"),
    Pattern("s - u >= 0", ("u <= s",)),
    Pattern("u <= s + 1", ("u <= s",)),
    Pattern("2 * u <= 2 * s", ("u <= s",)),
    Pattern("u <= s", ("u <= v", "v <= s")),
    Pattern("u <= s", ("u + v == s",)),
    Pattern("s - u == v", ("u + v == s",)),
    Pattern("(s // 8) * 8 == s", EIGHT),
    Pattern("s % 4 == 0", EIGHT),
    Pattern("(s // 2) % 4 == 0", EIGHT),
)

MUST_STAY_OPEN = (Pattern("max(1, u) == u"), Pattern("u == 1"))
