"""`Segment`: the calls between two graph breaks as a program, with its possible successors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import AnyshapeError
from anyshape.trace.graph.codegen import Program
from anyshape.trace.mode.execution_modes import MODE_CHANGES
from anyshape.trace.tree import unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyshape.env.obligation import Obligation
    from anyshape.env.site import Site
    from anyshape.trace.argument.inputs import Bind
    from anyshape.trace.graph.graph import Graph, Value

MAX_ANSWERS: Final = 8  # of one question


class Segment:
    """One segment. `run` takes the frame, a flat list, and gives the next frame and the answer to
    `question`; without a question it gives what the program returns, flat.

    `outs` says where each part of the next frame comes from: (-1, place in this frame), or (number
    of the call, number of its result). Segments that end in the same state share their `children`.
    """

    __slots__ = (
        "calls",
        "children",
        "joins",
        "out_spec",
        "outs",
        "program",
        "question",
        "run",
        "settled",
        "site",
        "switches",
    )

    def __init__(self) -> None:
        self.run: Callable[[list[Any]], Sequence[Any]] | None = None
        self.program: Program | None = None
        self.question: str | None = None
        self.site: Site | None = None
        self.calls: list[Any] = []
        self.outs: list[tuple[int, int]] = []
        self.children: dict[Any, Segment] = {}
        self.settled: int | None = None  # tensors of the state that it ends in, where it was seen
        self.joins = False  # whether it ends in the state of an earlier one
        self.out_spec: Any = None
        self.switches = False  # whether it changes grad mode, autocast and the like

    @property
    def is_full(self) -> bool:
        """Whether the question has reached the limit of recorded answers."""
        return len(self.children) >= MAX_ANSWERS

    def build(
        self,
        graph: Graph,
        binds: Sequence[Bind],
        slots: dict[Value, int],
        asserts: Sequence[Obligation],
    ) -> Program:
        """Make the program."""
        self.switches = any(node.func in MODE_CHANGES for node in graph.nodes)
        self.program = Program(graph, binds, slots, restores=False)
        self.program.write(asserts)
        self.run = self.program.function()
        return self.program

    def below(self) -> Iterator[Segment]:
        """This segment and all its descendants, each once."""
        seen: set[int] = set()
        todo = [self]
        while todo:
            segment = todo.pop()
            if id(segment) not in seen:
                seen.add(id(segment))
                yield segment
                todo += segment.children.values()


def key_of(answer: Any) -> Any:
    """An answer as a key: floats by their bits, so that NaN and the sign of 0 count."""
    return answer.hex() if type(answer) is float else answer


class Stop:
    """Where the walk through a tree ended without a program for the rest: after these answers, with
    this frame.
    """

    __slots__ = ("answers", "frame")

    def __init__(self, answers: list[Any], frame: list[Any]) -> None:
        self.answers = answers
        self.frame = frame


def walk(segment: Segment, frame: list[Any]) -> Any:
    """Run a tree of segments from its root: what the program returns, or the `Stop`."""
    answers: list[Any] = []
    while True:
        if segment.run is None:
            raise AnyshapeError("a segment without a program")
        out = segment.run(frame)
        if segment.question is None:
            return unflatten(out, segment.out_spec)
        frame = list(out)
        answer = frame.pop()
        answers.append(answer)
        child = segment.children.get(key_of(answer))
        if child is None:
            return Stop(answers, frame)
        segment = child
