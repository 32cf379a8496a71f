"""Traced tensors that went around the tracer: the error says what happened."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from anyshape.env.site import Site, is_framework
from anyshape.errors import AnyshapeError, UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.sym_tensor import ESCAPED
from anyshape.tensor.wrapper import WrapperOperand
from anyshape.torch_compat.message import TORCHSCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPPED: Final = (ESCAPED, TORCHSCRIPT)


@contextmanager
def escapes_named() -> Iterator[None]:
    """Name what went around the tracer, also where another layer of torch has wrapped the error."""
    try:
        yield
    except WrapperOperand as e:
        site = _site_of(e)
        raise refused(
            UnsupportedError,
            f"a tensor of class {e.kind.__name__} is used" + (f" at {site}" if site else ""),
            why="it wraps other tensors, and only ops on it can be traced",
            fix="use the tensors that it wraps",
        ) from e
    except RuntimeError as e:
        text = str(e)
        if isinstance(e, AnyshapeError) or not any(sign in text for sign in _WRAPPED):
            raise
        site = _site_of(e)
        raise refused(
            UnsupportedError,
            "a traced tensor reached code that is not Python" + (f" at {site}" if site else ""),
            why="the call went around the tracer, as inside torch.jit.script; a traced tensor has"
            " no data to compute with",
            fix="call the ops on the tensors directly, or keep this code out of the function",
            code="AS114",
        ) from e


def _site_of(e: BaseException) -> Site | None:
    """The user's line that an exception came through last."""
    found = None
    trace = e.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_framework(code.co_filename):
            found = Site(code, trace.tb_lasti)
        trace = trace.tb_next
    return found
