"""Which parts of the frames between segments are needed, as live variables between basic blocks.

Segments with the same `children` give frames of one form. A part of a frame is needed if a segment
that takes it computes with it, or hands it on to where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.argument.inputs import Bind
from anyshape.trace.graph.graph import SYMBOLIC, Graph, Name, Value, leaves, operand_of
from anyshape.trace.path.segment_tracer import frame_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.export.branches.branch_tracer import Made
    from anyshape.trace.capture import Captured
    from anyshape.trace.path.segment import Segment


class Liveness:
    """The needed parts of all frames, by number. Those of `unfinished` segments, from which not all
    paths are traced, are all needed.
    """

    def __init__(self, made: Sequence[Made], unfinished: Iterable[Segment] = ()) -> None:
        self._uses: dict[int, set[Any]] = {}
        self._needed: dict[int, set[int]] = {}
        self._made = made
        open_ = {id(segment) for segment in unfinished}
        for segment, captured in made:
            self._uses[id(segment)] = _used(captured)
            if id(segment) in open_:
                self._needed[id(segment.children)] = set(range(len(captured.graph.outputs) - 1))
        self._solve()

    def of(self, segment: Segment) -> set[int]:
        """The needed parts of the frame that a segment gives."""
        return self._needed.get(id(segment.children), set())

    def _solve(self) -> None:
        """The least solution: each round adds what the last one showed to be needed."""
        captured = {id(m.segment): m.captured for m in self._made}
        changes = True
        while changes:
            changes = False
            for segment, _ in self._made:
                needed = self._needed.setdefault(id(segment.children), set())
                before = len(needed)
                for child in segment.children.values():
                    part = captured[id(child)]
                    used = self._uses[id(child)] | self._handed_on(child, part)
                    needed.update([i for i, x in enumerate(_frame(part)) if _key(x) in used])
                    _add_sizes(needed, _frame(part))
                changes |= len(needed) > before

    def _handed_on(self, segment: Segment, captured: Captured) -> set[Any]:
        """What a segment needs for what it gives."""
        outputs = captured.graph.outputs
        if segment.question is not None:
            needed = self.of(segment)
            outputs = [x for i, x in enumerate(outputs[:-1]) if i in needed] + outputs[-1:]
        return _operands(outputs)


def prune(made: Sequence[Made]) -> None:
    """Leave out of all frames what is not needed."""
    live = Liveness(made)
    captured = {id(m.segment): m.captured for m in made}
    done: set[int] = set()
    for segment, part in made:
        if segment.question is None:
            continue
        needed = sorted(live.of(segment))
        outputs = part.graph.outputs
        part.graph.outputs = [outputs[i] for i in needed] + outputs[-1:]
        for child in segment.children.values():
            if id(child) not in done:
                done.add(id(child))
                _take(captured[id(child)], [_frame(captured[id(child)])[i] for i in needed])
    for segment, part in made:
        slots = {leaf.value: i for i, leaf in enumerate(part.inputs.leaves) if leaf.value}
        binds = part.inputs.named
        if id(segment) in done:
            binds = [Bind(str(x), i, None) for i, x in enumerate(_frame(part)) if type(x) is Name]
        part.program = segment.build(part.graph, binds, slots, part.runtime_asserts)


def _take(captured: Captured, order: list[Any]) -> None:
    """Let a segment take this frame."""
    graph = Graph()
    graph.nodes, graph.outputs = captured.graph.nodes, captured.graph.outputs
    graph.constants = captured.graph.constants
    graph.inputs = [x for x in order if type(x) is Value]
    captured.graph, captured.inputs = graph, frame_inputs(order)


def _frame(captured: Captured) -> list[Any]:
    """What the frame holds that a segment takes."""
    return [Name(x.name) if x.value is None else x.value for x in captured.inputs.leaves]


def _used(captured: Captured) -> set[Any]:
    """What the calls and the asserts of a segment use."""
    found: set[Any] = set()
    for node in captured.graph.nodes:
        found |= _operands((node.args, node.kwargs))
    for o in captured.runtime_asserts:
        found.update(names_of(o.condition, *[fact.condition for fact in o.recorded]))
    return found


def _operands(arguments: Any) -> set[Any]:
    """The values, by id, and the names among arguments."""
    found: set[Any] = set()
    numbers = []
    for x in leaves(arguments):
        if type(x) is Value or type(x) is Name:
            found.add(_key(x))
        elif type(x) in SYMBOLIC:
            numbers.append(operand_of(x))
    return found.union(names_of(*numbers)) if numbers else found


def _add_sizes(needed: set[int], frame: list[Any]) -> None:
    """Add the names in the sizes of the needed tensors."""
    tensors = [frame[i] for i in needed if type(frame[i]) is Value]
    sizes = names_in_metas(tensors)
    needed.update([i for i, x in enumerate(frame) if type(x) is Name and str(x) in sizes])


def names_in_metas(tensors: Iterable[Value]) -> set[str]:
    """The names of the symbols in the sizes, strides and offsets of tensors."""
    found: list[Any] = []
    for v in tensors:
        layout = v.meta.layout.found()
        offset = layout.offset() if callable(layout.offset) else layout.offset
        numbers = [*v.meta.shape, *(layout.strides or ()), offset]
        found += [n.expr for n in numbers if type(n) is SymInt]
    return set(names_of(*found)) if found else set()


def _key(x: Any) -> Any:
    return str(x) if type(x) is Name else id(x)
