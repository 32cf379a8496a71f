"""Programs and segments lowered to a backend, or left to generated Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.compile.tree.segment_program import lower_segment
from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning, BackendError
from anyshape.interop.backend import EAGER, find_backend, lower
from anyshape.trace.execution_modes import enter_modes
from anyshape.trace.record.effect import UNLOWERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.compile.tree.segment_program import SegmentProgram
    from anyshape.interop.backend import Backend, Lowered
    from anyshape.trace.capture import Captured


def lower_program(
    captured: Captured, backend: Backend, strict: bool, flat: list[Any], name: str
) -> Lowered:
    """A program lowered to a backend, or left to generated Python if the backend cannot take it.

    If it is `strict`, a backend that fails is an error; a program that no compiler of torch should
    be given runs as it is.
    """
    try:
        return lower(captured, backend, flat)
    except BackendError as e:
        if strict and not e.is_refusal:
            raise
        told = f"{name} runs as plain Python: {e.text}"
        warn(AnyshapeWarning(told, code="AS702"))
    return lower(captured, find_backend(EAGER), flat)


def lower_segments(parts: Sequence[SegmentProgram], backend: Backend) -> None:
    """Lower the segments of a trace; those with effects run as generated Python."""
    if not backend.is_plain:
        for part in parts:
            is_unlowered = any(n.func in UNLOWERED for n in part.captured.graph.nodes)
            if not is_unlowered and not part.modes[-1]:  # settings that a compiler would not make
                lower_segment(part, backend, enter_modes)
