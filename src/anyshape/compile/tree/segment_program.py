"""A segment as a traced program, for backends, which compile whole programs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.errors import AnyshapeWarning, BackendError
from anyshape.interop.backend import Backend, lower
from anyshape.trace.capture import Captured
from anyshape.trace.execution_modes import keep_modes
from anyshape.trace.graph import Value, names_object
from anyshape.trace.inputs import Bind, Inputs, Leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.compile.tree.segment import Segment
    from anyshape.env.obligation import Obligation
    from anyshape.trace.codegen import Program
    from anyshape.trace.graph import Graph
    from anyshape.trace.tracer import Tracer


class SegmentProgram(NamedTuple):
    """A segment with the frame that it ran on, and the modes that it ran in."""

    segment: Segment
    captured: Captured
    frame: list[Any]
    modes: tuple[Any, ...]


def as_captured(
    tracer: Tracer,
    graph: Graph,
    order: Sequence[Any],
    frame: Sequence[Any],
    asserts: list[Obligation],
    program: Program,
) -> Captured:
    """The program of a segment whose frame holds `order`."""
    inputs = Inputs.of_leaves(
        [
            Leaf(str(x), x, value, x.meta.shape) if type(x) is Value else Leaf(str(x), None, value)
            for x, value in zip(order, frame, strict=True)
        ],
        [
            Bind(str(x), i, None)
            for i, x in enumerate(order)
            if type(x) is not Value and not names_object(x)
        ],
    )
    captured = Captured(tracer, inputs, None, graph)
    captured.guards = []
    captured.runtime_asserts = asserts
    captured.program = program
    return captured


def lower_segment(
    part: SegmentProgram, backend: Backend, enter_modes: Callable[[tuple[Any, ...]], None]
) -> None:
    """Lower a segment to a backend; calls that violate its guards run our generated code.

    A segment that changes execution modes for its successors is not lowered.
    """
    plain = part.segment.run
    if plain is None or part.segment.switches:
        return
    try:
        with keep_modes():
            enter_modes(part.modes)
            lowered = lower(part.captured, backend, part.frame)
    except BackendError as e:
        warnings.warn(f"a part of the program runs as plain Python: {e}", AnyshapeWarning, 6)
        return
    run, holds = lowered.run, lowered.holds
    if holds is None:
        part.segment.run = run
        return
    part.segment.run = lambda frame: run(frame) if holds(frame) is None else plain(frame)
