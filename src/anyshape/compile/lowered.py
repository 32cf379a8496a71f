"""Segments lowered to a backend, or left to generated Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.compile.tree.segment_program import lower_segment
from anyshape.trace.execution_modes import enter_modes
from anyshape.trace.record.effect import UNLOWERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.compile.tree.segment_program import SegmentProgram
    from anyshape.interop.backend import Backend


def lower_segments(parts: Sequence[SegmentProgram], backend: Backend) -> None:
    """Lower the segments of a trace; those with effects run as generated Python."""
    if not backend.is_plain:
        for part in parts:
            is_unlowered = any(n.func in UNLOWERED for n in part.captured.graph.nodes)
            if not is_unlowered and not part.modes[-1]:  # settings that a compiler would not make
                lower_segment(part, backend, enter_modes)
