"""`Branching`: a variant of a program that branches on data, as a graph of segments."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.errors import AnyshapeError
from anyshape.trace.capture import Captured
from anyshape.trace.mode.execution_modes import MODE_CHANGES, keep_modes
from anyshape.trace.path.segment import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from anyshape.env.site import Site
    from anyshape.events import Deviation
    from anyshape.trace.argument.inputs import Inputs
    from anyshape.trace.capture import Call
    from anyshape.trace.graph.codegen import Program
    from anyshape.trace.tracer import Tracer


class Branch(NamedTuple):
    """A question that a segment ends with, and the number of the segment that follows each answer.

    An answer that is not among the `targets` is impossible.
    """

    question: str
    site: Site | None
    targets: dict[Any, int]


class Part(NamedTuple):
    """One segment: its program, and the branch at its end; None where the program ends.

    A segment with a branch gives the frame of the next one, and then the answer.
    """

    captured: Captured
    branch: Branch | None


class Branching(Captured):
    """A variant of several segments, of which the first takes the inputs.

    `tracer` knows what holds for all segments: the inputs, the guards, the input contract. The
    graph, the asserts and the program are those of the first segment.
    """

    def __init__(
        self, tracer: Tracer, inputs: Inputs, segments: list[Part], tracers: Sequence[Tracer] = ()
    ) -> None:
        first = segments[0].captured
        super().__init__(tracer, inputs, None, first.graph)
        self.runtime_asserts = first.runtime_asserts
        self.segments = segments
        self.tracers = [tracer, *tracers]
        nodes = [node for part in self.parts for node in part.graph.nodes]
        self._switches = any(node.func in MODE_CHANGES for node in nodes)

    @property
    def parts(self) -> list[Captured]:
        """See `Captured`."""
        return [part.captured for part in self.segments]

    @cached_property
    def program(self) -> Program:
        """See `Captured`."""
        return self.parts[0].program

    def rebound(self, tensors: Mapping[int, torch.Tensor]) -> Branching:
        """See `Captured`."""
        made = super().rebound(tensors)
        assert isinstance(made, Branching)
        made.segments = [Part(c.rebound(tensors), branch) for c, branch in self.segments]
        made.graph = made.parts[0].graph
        vars(made).pop("program", None)
        return made

    @cached_property
    def deviations(self) -> list[Deviation]:
        """Where the program may differ from eager execution."""
        found = [d for part in self.parts for d in part.deviations]
        return list({(d.op, d.about, str(d.site)): d for d in found}.values())

    @property
    def branches(self) -> list[Branch]:
        """The branches on data."""
        return [part.branch for part in self.segments if part.branch is not None]

    @property
    def code(self) -> str:
        """The text of the generated code of all segments."""
        return "".join([self._text(i) for i in range(len(self.segments))])

    def _text(self, number: int) -> str:
        captured, branch = self.segments[number]
        text = captured.code.replace("def run(", f"def segment_{number}(", 1)
        if branch is None:
            return text
        ways = [f"{answer}: segment_{target}" for answer, target in branch.targets.items()]
        return f"{text}# {branch.question}: {', '.join(ways)}\n"

    def outline(self) -> list[str]:
        """See `Captured`."""
        lines = []
        for i, (captured, branch) in enumerate(self.segments):
            lines.append(f"segment {i}: {len(captured.graph.nodes)} calls")
            lines += [f"  assert: {o.describe()}" for o in captured.runtime_asserts] if i else []
            if branch is not None:
                ways = [f"{answer}: segment {to}" for answer, to in branch.targets.items()]
                place = f" at {branch.site}" if branch.site else ""
                lines.append(f"  branch: {branch.question}{place}: {', '.join(ways)}")
        return lines

    def run(self, flat: list[Any], call: Call | None = None) -> tuple[Sequence[Any], Any]:
        """See `Captured`."""
        with keep_modes() if self._switches else nullcontext():
            return self._walk(flat, call)

    def _walk(self, frame: list[Any], call: Call | None) -> tuple[Sequence[Any], Any]:
        segments, number = self.segments, 0
        while True:
            captured, branch = segments[number]
            out = captured.program.function()(frame) if call is None else call(captured, frame)
            if branch is None:
                return out, captured.out_spec
            *frame, answer = out
            target = branch.targets.get(key_of(answer))
            if target is None:
                raise AnyshapeError(
                    f"{branch.question} is {answer}, which was taken to be impossible",
                    why=f"the branch is at {branch.site}",
                )
            number = target


def branches_of(variant: Captured) -> list[Branch]:
    """The branches of a variant on data; none of a variant of one segment."""
    return variant.branches if isinstance(variant, Branching) else []
