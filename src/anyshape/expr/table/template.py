"""Texts with places for operands, as the table of ops writes them.

    {0}          the first operand
    {1:TERM}     the second one, in parentheses where it binds less tightly than a TERM
    {*, }        all operands, with ", " between them; `{* and :SUM}` gives each the level SUM

A level is the name of a constant of `anyshape.expr.text.bounded_text`; without one there are no
parentheses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.expr.text import bounded_text as layout
from anyshape.expr.text.bounded_text import ANY, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.expr.text.bounded_text import Piece

_PLACE: Final = re.compile(r"\{(\d+|\*[^}:]*)(?::(\w+))?\}")


class _Place(NamedTuple):
    """Where operand number `number` stands, or all of them with `between` as separator."""

    number: int
    between: str | None
    level: int


class Template:
    """A text with places; `fill` puts operands there."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str) -> None:
        self._pieces: list[str | _Place] = []
        end = 0
        for place in _PLACE.finditer(text):
            what, level = place.groups()
            self._pieces.append(text[end : place.start()])
            between = what[1:] if what[0] == "*" else None
            number = 0 if between is not None else int(what)
            self._pieces.append(_Place(number, between, getattr(layout, level) if level else ANY))
            end = place.end()
        self._pieces.append(text[end:])

    def fill(self, operands: Sequence[Any]) -> list[Piece]:
        """The text with its operands; an operand that is text already stands as it is."""
        pieces: list[Piece] = []
        for piece in self._pieces:
            if isinstance(piece, str):
                if piece:
                    pieces.append(piece)
            elif piece.between is None:
                operand = operands[piece.number]
                pieces.append(operand if type(operand) is str else Part(operand, piece.level))
            else:
                pieces += joined(piece.between, [Part(o, piece.level) for o in operands])
        return pieces


def joined(between: str, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with a text between each two."""
    out: list[Piece] = []
    for piece in pieces:
        out += (between, piece)
    return out[1:]
