"""Formats for numbers, applied to the text of a symbolic value."""

from __future__ import annotations

import re
from typing import Final

_SPEC: Final = re.compile(
    r"(?:(?P<fill>.?)(?P<align>[<>=^]))?[-+ ]?z?#?0?(?P<width>\d*)", re.DOTALL
)


def layout_of(spec: str) -> str:
    """The part of a format for numbers that text has too: fill, alignment and width.

    >>> layout_of("*>+8,d")
    '*>8'
    """
    match = _SPEC.match(spec)
    assert match is not None  # every part may be absent
    align = (match["align"] or "").replace("=", ">")
    return (match["fill"] or "") + align + match["width"]
