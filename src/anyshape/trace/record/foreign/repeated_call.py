"""Functions of torch that call a function again in the backward: `torch.utils.checkpoint`.

A traced program keeps what the backward needs, and calls nothing again. What the function changes
outside of it would change twice in eager execution, so an effect there is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.recorder import Recorder

_MODULE: Final = "torch.utils.checkpoint"


def call_once(recorder: Recorder, f: Any, call: Callable[[], Any]) -> Any:
    """Call a function of torch; refuse what its backward would do again."""
    if f.__module__ != _MODULE or not torch.is_grad_enabled():
        return call()
    tracer = recorder.tracer
    before = recorder.effects, tracer.outer_version
    result = call()
    if (recorder.effects, tracer.outer_version) != before:
        raise recorder.refusal(f"{f.__name__} calls a function that changes something, twice")
    return result
