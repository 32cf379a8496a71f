"""Calls that only graphs of torch hold: ops on copies, and transforms by levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.recorder import Recorder


def on_copies(by_copies: Callable[..., Any], recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    """A call of an op that changes its operands, on copies: the copies and the op are recorded."""
    return recorder.hooks.ready(by_copies)(*args, **kwargs)


def refuse_level(_: Recorder, *args: Any, **kwargs: Any) -> Any:
    """Refuse a transform before torch has begun it, because nothing would end it."""
    raise refused(
        UnsupportedError,
        "a graph of torch with a function of torch.func in it",
        fix="take exported.run_decompositions({}), which has the ops that it transforms to",
        code="AS116",
    )
