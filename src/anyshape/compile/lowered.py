"""Segments lowered to a backend, or left to generated Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from anyshape.compile.tree.segment_program import lower_segment
from anyshape.interop.histories import has_separate_histories
from anyshape.trace.mode.execution_modes import enter_modes
from anyshape.trace.record.effect.effect import UNLOWERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.compile.tree.segment_program import SegmentProgram
    from anyshape.interop.backend import Backend
    from anyshape.trace.graph.graph import Graph


def lower_segments(parts: Sequence[SegmentProgram], backend: Backend, *, is_part: bool) -> None:
    """Lower the segments of a trace; those with effects run as generated Python."""
    if not backend.is_plain:
        for part in parts:
            stays = is_unlowered(part.captured.graph, is_part=is_part)
            if not stays and not part.modes[-1]:  # settings that a compiler would not make
                lower_segment(part, backend, enter_modes)


def is_unlowered(graph: Graph, *, is_part: bool) -> bool:
    """Whether a program runs as generated Python, whatever the backend is: it has effects, or it is
    part of a function in pieces, where several backward passes may come after it.
    """
    return any(n.func in UNLOWERED for n in graph.nodes) or (
        is_part and torch.is_grad_enabled() and has_separate_histories(graph)
    )
