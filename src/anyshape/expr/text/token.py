"""The tokens that the text of an expression is made of."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from anyshape.expr.name import IDENTIFIER

NUMBER, NAME, QUOTED, SIGN, END = "number", "name", "quoted", "sign", "end"

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<name>{IDENTIFIER})"
    r'|"(?P<quoted>\w*)"'
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%()<>,])"
    r"|(?P<end>\Z))"
)


class Token(NamedTuple):
    """A piece of the text: its kind, its characters, where it starts."""

    kind: str
    text: str
    start: int


class Reader:
    """The tokens of a text one by one; `token` is the next one."""

    __slots__ = ("_position", "text", "token")

    def __init__(self, text: str) -> None:
        self.text = text
        self._position = 0
        self.token = Token(END, "", 0)
        self.advance()

    def advance(self) -> Token:
        """Step over the next token and return it; at text that is no token the kind is empty."""
        last = self.token
        match = _TOKEN.match(self.text, self._position)
        if match is None:
            rest = self.text[self._position :]
            start = len(self.text) - len(rest.lstrip())
            self.token = Token("", self.text[start], start)
        else:
            kind = str(match.lastgroup)
            self.token = Token(kind, match[kind], match.start(kind))
            self._position = match.end()
        return last
