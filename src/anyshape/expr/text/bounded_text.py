"""Text that is made from the top down, so that its cost is bounded by its length.

A `Layout` is how one node is written: pieces of text, and parts that are laid out only when they
are reached. What is too long is never written, however much is below it, and nothing recurses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    Piece: TypeAlias = "str | Part"

MAX_TEXT: Final = 1 << 22

# How tightly an operator binds, loosest first; ANY is that of `and` and `or`.
ANY, SUM, TERM, MULTIPLE, UNARY, POWERED, ATOMIC = range(7)


class Part(NamedTuple):
    """Something yet to be written, in parentheses where it binds less tightly than `level`.

    `content` is a `Layout`, or a node that is yet to be laid out.
    """

    content: object
    level: int


class Layout(NamedTuple):
    """The pieces of a text, and how tightly its outermost operator binds."""

    pieces: tuple[Piece, ...]
    level: int


def write(top: object, layout: Callable[[object], Layout], limit: int) -> tuple[str, bool]:
    """The text of a node, cut to `limit` characters, and whether nothing was cut.

    `layout` is asked once for each node that is reached.
    """
    known: dict[object, Layout] = {}
    out: list[str] = []
    size = 0
    stack: list[Piece] = [Part(top, 0)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            size += len(piece)
            if size > limit:
                return "".join(out)[:limit], False
            continue
        content = piece.content
        if isinstance(content, Layout):
            found = content
        elif content in known:
            found = known[content]
        else:
            known[content] = found = layout(content)
        if found.level < piece.level:
            stack.append(")")
            stack.extend(reversed(found.pieces))
            stack.append("(")
        else:
            stack.extend(reversed(found.pieces))
    return "".join(out), True
