"""A segment as a traced program, for backends, which compile whole programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning, BackendError
from anyshape.interop.backend import Backend, lower
from anyshape.trace.mode.execution_modes import keep_modes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.trace.argument.inputs import Inputs
    from anyshape.trace.capture import Captured
    from anyshape.trace.path.segment import Segment


class SegmentProgram(NamedTuple):
    """A segment with the frame that it ran on, and the modes that it ran in."""

    segment: Segment
    captured: Captured
    frame: list[Any]
    modes: tuple[Any, ...]


def give_examples(inputs: Inputs, frame: Sequence[Any]) -> None:
    """Let the values of a frame be the examples of the inputs of a segment."""
    inputs.leaves = [leaf._replace(example=x) for leaf, x in zip(inputs.leaves, frame, strict=True)]


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
        told = f"a part of the program runs as plain Python: {e.text}"
        warn(AnyshapeWarning(told, code="AS702"))
        return
    run, holds = lowered.run, lowered.holds
    if holds is None:
        part.segment.run = run
        return
    part.segment.run = lambda frame: run(frame) if holds(frame) is None else plain(frame)
