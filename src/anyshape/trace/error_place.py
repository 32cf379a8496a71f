"""The user's line in every error that leaves a trace: the raising line says it, or it is added."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from anyshape.config import config
from anyshape.env.site import Site, is_framework, is_torch
from anyshape.errors import AnyshapeError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from anyshape.env.symbol import Symbol


def add_place(error: BaseException, symbols: Iterable[Symbol]) -> None:
    """Tell where an error of ours arose, if its text does not; of shapes that do not fit, also the
    values of the `symbols` that it names.
    """
    if not isinstance(error, AnyshapeError) or config.do_not_emit_stack_traces:
        return
    said = [error.why] if error.why else []
    if isinstance(error, ShapeError):
        said += _values(error.what, symbols)
    site = innermost(error.__traceback__)
    if site is not None and f"{Path(site.file).name}:{site.line}" not in error.text:
        said.append(f"it is at {site}")
    error.because("; ".join(said))


def _values(text: str, symbols: Iterable[Symbol]) -> list[str]:
    """The values of the sizes that matter: where a text ends with "a is not b", those in this."""
    end = text.rpartition(": ")[2]
    text = end if " is not " in end else text
    known = [s for s in symbols if s.hint is not None and s.label in text]
    named = [s for s in known if re.search(rf"(?<![\w.]){re.escape(s.label)}(?![\w.(])", text)]
    return [f"{s.label} is {s.hint}" for s in named]


def innermost(tb: TracebackType | None) -> Site | None:
    """The innermost place of the user in a traceback; of torch, if a module of torch is traced."""
    found = fallback = None
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_framework(code.co_filename):
            found = Site(code, tb.tb_lasti)
        elif is_torch(code.co_filename):
            fallback = Site(code, tb.tb_lasti)
        tb = tb.tb_next
    return found or fallback
