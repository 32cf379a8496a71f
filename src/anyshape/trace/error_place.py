"""The user's line in every error that leaves a trace: the raising line says it, or it is added."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anyshape.config import config
from anyshape.env.site import Site, is_framework, is_torch
from anyshape.errors import AnyshapeError

if TYPE_CHECKING:
    from types import TracebackType


def add_place(error: BaseException) -> None:
    """Tell where an error of ours arose, if its text does not."""
    if not isinstance(error, AnyshapeError) or config.do_not_emit_stack_traces:
        return
    site = innermost(error.__traceback__)
    if site is not None and f"{Path(site.file).name}:{site.line}" not in error.text:
        error.because(f"{error.why}; it is at {site}" if error.why else f"it is at {site}")


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
