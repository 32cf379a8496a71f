"""Short HTML for notebooks: a title, and rows of a label and a text, all of it escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_ROWS = 40


def rows_html(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A table; rows beyond a screen are counted."""
    shown = [
        f"<tr><th style='text-align:left'>{escape(label)}</th>"
        f"<td style='text-align:left'><code>{escape(text)}</code></td></tr>"
        for label, text in rows[:MOST_ROWS]
    ]
    if len(rows) > MOST_ROWS:
        shown.append(f"<tr><td colspan='2'>and {len(rows) - MOST_ROWS} more</td></tr>")
    return f"<div><b>{escape(title)}</b><table>{''.join(shown)}</table></div>"


def text_html(text: str) -> str:
    """A text as it is."""
    return f"<pre>{escape(text)}</pre>"
