"""Collectives of `torch.distributed`: calls that write what the other processes have sent.

They run below Python and compute no shapes: a program repeats the call, and what it writes to has
changed.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import distributed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.recorder import Recorder

_NAMES: Final = """
    all_reduce broadcast reduce all_gather all_gather_into_tensor reduce_scatter
    reduce_scatter_tensor all_to_all all_to_all_single scatter all_gather_single
    reduce_scatter_single
"""


def COLLECTIVES() -> Iterator[tuple[Any, Any]]:  # noqa: N802
    """Pairs of a collective and what to call in its place, which gets the recorder first."""
    if distributed.is_available():
        for name in filter(functools.partial(hasattr, distributed), _NAMES.split()):
            f = getattr(distributed, name)
            yield f, functools.partial(_collective, f)


def _collective(f: Any, recorder: Recorder, *args: Any, **named: Any) -> Any:
    """Record a collective, whose first argument is the tensor or the list that it writes to.

    A compiled function runs it between two programs, since the compilers of torch do not take it.
    """
    if recorder.replays:
        raise recorder.refusal(f"{f.__name__} is called")
    given = inspect.signature(f).bind(*args, **named).arguments
    if given.get("async_op"):
        raise recorder.unsupported(
            f"{f.__name__} with async_op=True in a traced function",
            why="what it returns is an object of the run",
            fix="leave async_op out",
        )
    tracer = recorder.tracer
    tracer.emit(f, args, named)
    written = next(iter(given.values()))
    for t in [written] if isinstance(written, torch.Tensor) else written:
        tracer.touch(t)
    return None
