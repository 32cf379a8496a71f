"""Text that is made from the top down, so that its cost is bounded by its length.

A `Layout` is how one node is written: pieces of text, and parts that are laid out only when they are
reached. What is too long is never written, however much is below it, and nothing recurses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Piece = str | "Part"

MAX_TEXT: Final = 1 << 22


class Part(NamedTuple):
    """Something yet to be written, in parentheses where it binds less tightly than `level`."""

    content: object
    level: int


class Layout(NamedTuple):
    """The pieces of a text, and how tightly its outermost operator binds."""

    pieces: tuple[Piece, ...]
    level: int


def write(top: Iterable[Piece], layout: Callable[[object], Layout], limit: int) -> str | None:
    """The text of the pieces, or None for one that is longer than `limit`.

    `layout` is asked once for each part; a part whose content is a `Layout` is written as that.
    """
    text, is_complete = write_some(top, layout, limit)
    return text if is_complete else None


def write_some(
    top: Iterable[Piece], layout: Callable[[object], Layout], limit: int
) -> tuple[str, bool]:
    """The first `limit` characters of the text of the pieces, and whether they are all."""
    known: dict[object, Layout] = {}
    out: list[str] = []
    size = 0
    stack = list(top)
    stack.reverse()
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
        else:
            cached = known.get(content)
            if cached is None:
                known[content] = cached = layout(content)
            found = cached
        if found.level < piece.level:
            stack.append(")")
            stack.extend(reversed(found.pieces))
            stack.append("(")
        else:
            stack.extend(reversed(found.pieces))
    return "".join(out), True
