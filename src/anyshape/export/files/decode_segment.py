"""The segments of a program that branches on data, from plain data that may be hostile.

A frame goes from one segment to the next: tensors and numbers by place. Every segment whose answer
leads to another gives a frame of the kinds that the other takes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import LoadError
from anyshape.export.branches.branching import Branch, Branching, Part
from anyshape.export.files import checked, structure
from anyshape.export.files.decode_graph import GraphReader
from anyshape.trace.argument.inputs import Bind, Leaf
from anyshape.trace.graph.codegen import Program
from anyshape.trace.graph.graph import INPUT, RESULT, Value

if TYPE_CHECKING:
    from anyshape.export.files.decode_graph import Shared
    from anyshape.trace.capture import Captured

_SEGMENT: Final = (
    "asserts", "branch", "constants", "deviations", "frame", "nodes", "out_tree", "outputs",
    "recorded", "terms",
)  # fmt: skip
_VALUE: Final = re.compile(r"([iv])([0-9]{1,9})")
_MAX_SEGMENTS: Final = 4096


def branching(first: Captured, branch: Any, data: list[Any], reader: GraphReader) -> Branching:
    """The program whose first segment was read, and ends with `branch`; `data` are the others."""
    where, shared = reader.where, reader.shared
    if len(data) > _MAX_SEGMENTS:
        raise LoadError(f"{where} has {len(data)} segments")
    readers = [_Segment(part, shared, f"{where}, segment {i + 1}") for i, part in enumerate(data)]
    last = len(readers)
    parts = [Part(first, _branch(branch, last, reader))]
    parts += [Part(r.program, _branch(r.branch, last, r)) for r in readers]
    for part in parts:
        _without_restoring(part.captured)
    for captured, way in parts:
        for target in way.targets.values() if way is not None else ():
            _need_frame(captured, readers[target - 1])
    program = Branching(first.tracer, first.inputs, parts, [r.tracer for r in readers])
    program.guards = first.guards
    return program


def _without_restoring(captured: Captured) -> None:
    """Let the program of a segment leave the modes that it enters to the next one."""
    slots = {leaf.value: i for i, leaf in enumerate(captured.inputs.leaves) if leaf.value}
    program = Program(captured.graph, captured.inputs.named, slots, restores=False)
    program.write(captured.runtime_asserts)
    captured.program = program


def _branch(data: Any, last: int, reader: GraphReader) -> Branch | None:
    where = f"{reader.where}, branch"
    if data is None:
        return None
    at, question, targets_ = checked.fields(data, ("at", "question", "targets"), where)
    targets: dict[Any, int] = {}
    for pair in checked.items(targets_, where):
        answer, target = checked.items(pair, where, 2)
        if type(answer) not in (bool, int) or answer in targets:
            checked.refuse(where, "an answer", answer)
        targets[answer] = checked.number(target, where, 1, last)
    return Branch(checked.text(question, where), reader.scope.site(at), targets)


def _need_frame(captured: Captured, following: _Segment) -> None:
    """Raise unless a segment gives what another takes, and the answer after it."""
    given, taken = captured.graph.outputs, following.inputs.leaves
    kinds = [_kind(x) if type(x) is Value else None for x in given[:-1]]
    if not given or kinds != [_kind(leaf.value) for leaf in taken]:
        raise LoadError(f"{following.where} takes another frame than it is given")


def _kind(value: Value | None) -> type | None:
    """Whether a value is a tensor or a list; None for a number."""
    return None if value is None else type(value.meta)


class _Segment(GraphReader):
    """Reads one segment, into `program`."""

    def __init__(self, data: Any, shared: Shared, where: str) -> None:
        part = dict(zip(_SEGMENT, checked.fields(data, _SEGMENT, where), strict=True))
        super().__init__(part["terms"], shared, where)
        for i, x in enumerate(checked.items(part["frame"], f"{where}, frame")):
            self.inputs.leaves.append(self._entry(x, i, f"{where}, frame"))
        self.inputs.names = [leaf.name for leaf in self.inputs.leaves]
        if len(set(self.inputs.names)) != len(self.inputs.names):
            raise LoadError(f"{where} has a name twice in its frame")
        self.branch = part["branch"]
        out_spec = None
        if self.branch is None:
            out_spec = structure.decode(part["out_tree"], f"{where}, out_tree", self.classes)
        elif part["out_tree"] is not None:
            raise LoadError(f"{where} goes on and has an out_tree")
        self.program = self.captured({**part, "replacements": []}, [], out_spec)

    def _entry(self, data: Any, i: int, where: str) -> Leaf:
        """A tensor or a number of the frame."""
        if type(data) is dict and "symbol" in data:
            (name,) = checked.fields(data, ("symbol",), where)
            if type(name) is not str or not self._is_symbol(name):
                checked.refuse(where, "the name of a symbol", name)
            self.inputs.binds.append(Bind(name, i, None))
            return Leaf(name, None, None)
        if type(data) is dict and "made" in data:
            made = self.outlets.know(data, where)
            self.inputs.owners.append(Bind(made, i, None))
            return Leaf(made, None, None)
        meta, text = self.meta(data, where)
        found = _VALUE.fullmatch(checked.text(text, where))
        if found is None:
            checked.refuse(where, "a tensor", text)
        value = Value(int(found[2]), INPUT if found[1] == "i" else RESULT, meta)
        self.graph.inputs.append(value)
        self.values[repr(value)] = value
        return Leaf(repr(value), value, None, meta.shape)
