"""Memory that an array or a buffer of Python shares with tensors.

What a program reads of an array is a condition, which is tested before a run. A program that has
changed the same memory through a tensor would read what it wrote itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.torch_compat.torch_function import DisableTorchFunction

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader


def need_unwritten(recorder: Reader, x: Any) -> None:
    """Refuse to read an array, or a buffer, of which the program may have changed the memory."""
    tracer = recorder.tracer
    if not tracer.outer_version:
        return
    if any(value.root.version for value in tracer.graph.inputs):
        raise recorder.refusal("an array is read after a tensor of the caller's has changed")
    with DisableTorchFunction():
        start, end = _bounds(x)
        for t in [t for t in recorder.known_outside() if isinstance(t, torch.Tensor)]:
            if t.device.type != "cpu" or t.layout is not torch.strided:
                continue
            storage = t.untyped_storage()
            first = storage.data_ptr()
            if first < end and start < first + storage.nbytes():
                raise recorder.refusal("an array is read after a tensor has changed its memory")


def _bounds(x: Any) -> tuple[int, int]:
    """The first address of an array or a buffer, and the one after its last."""
    if isinstance(x, bytearray):
        if not x:
            return 0, 0
        t = torch.frombuffer(x, dtype=torch.uint8)
        return t.data_ptr(), t.data_ptr() + len(x)
    start = x.__array_interface__["data"][0]
    if 0 in x.shape:
        return start, start
    steps = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
    below, above = sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps)
    return start + below, start + above + x.itemsize
