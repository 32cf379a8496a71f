"""Programs that branch on data: branches as `torch.cond`, loops as `while_loop`.

A segment is written into the graph over the frame before it. The sides of a branch are graphs up to
the segment where they meet, or to the end; what they give is the frame there. A loop is a
`while_loop` over the frame of its first segment, its header; see `loops.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.domain import INF
from anyshape.interop.aten.asserts import Asserts
from anyshape.interop.aten.boxed import box, box_like, dtype_of, unbox
from anyshape.interop.aten.calls import CallWriter
from anyshape.interop.aten.changed_memory import (
    changes_of,
    left_in,
    share_memory,
    write_back,
)
from anyshape.interop.aten.graph_calls import (
    call_graphs,
    graph_in,
    has_effects,
    outer_roots,
    same_number,
)
from anyshape.interop.aten.higher_order import Graphs, Inner, outputs_of
from anyshape.interop.aten.loops import LoopWriter
from anyshape.interop.aten.regions import Modes
from anyshape.interop.aten.segment_flow import Flow
from anyshape.interop.aten.symbols import refuse
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.mode.execution_modes import MODE_CHANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyshape.interop.aten.module_stacks import ModuleStacks
    from anyshape.interop.aten.segment_flow import Loop
    from anyshape.interop.aten.writer import AtenWriter

    Verdict = Callable[[int], bool]

_LIMIT: Final = 200


class Ended(NamedTuple):
    """What a stretch of the program gives: the frame at its end, or the results and their spec."""

    frame: list[Any]
    spec: Any


class SegmentWriter:
    """Writes the segments of one program. `held` has the fake tensors of constants by the ids of
    the constants.
    """

    def __init__(
        self,
        writer: AtenWriter,
        segments: Sequence[Any],
        held: Mapping[int, Any],
        stacks: ModuleStacks,
    ) -> None:
        self._root = writer.symbols
        self._segments = segments
        self._held = held
        self._stacks = stacks
        self._written = 0
        self._repeated: set[int] = set()  # segments that are written into a test and a round
        self._modes = _modes_of(segments)

    def write(self, writer: AtenWriter, frame: Sequence[Any]) -> tuple[list[Any], Any]:
        """Write the program over the values of its inputs; its results and their structure."""
        ended = self.stretch(writer, 0, list(frame), Flow(self._segments))
        return ended.frame, ended.spec

    def stretch(
        self,
        writer: AtenWriter,
        number: int,
        frame: list[Any],
        flow: Flow,
        verdict: Verdict | None = None,
    ) -> Ended:
        """Write the program from a segment to the ends of a flow. The stretch of a test gives a
        truth there, the `verdict` of the end.
        """
        while number not in flow.ends:
            captured, branch = self._segments[number]
            if branch is None:
                return Ended(self._segment(writer, number, frame), captured.out_spec)
            if flow.comes_back(number):
                loop = flow.loop(number)
                self._repeated |= loop.tested
                frame = LoopWriter(self, writer, number, loop).write(frame)
                flow = loop.last
            ended = self.step(writer, number, frame, flow, verdict)
            if type(ended) is Ended:
                return ended
            number, frame = ended
        return Ended(frame if verdict is None else [verdict(number)], None)

    def step(
        self,
        writer: AtenWriter,
        number: int,
        frame: list[Any],
        flow: Flow,
        verdict: Verdict | None = None,
    ) -> Any:
        """Write a segment and the branch after it: the next segment and the frame there, or what is
        given at the end.
        """
        branch, targets = self._segments[number][1], flow.targets(number)
        *frame, answer = self._segment(writer, number, frame)
        if type(answer) is bool or len(targets) == 1:
            return self._known(writer, branch, targets, answer), frame
        if verdict is not None and flow.ends.issuperset(targets.values()):
            return Ended([_choice(answer, {a: verdict(t) for a, t in targets.items()})], None)
        join = flow.join(list(targets.values()))
        if join is None:
            return self._branch(writer, branch, answer, frame, targets, flow, verdict)
        ended = self._branch(writer, branch, answer, frame, targets, flow.until(join), None)
        return join, ended.frame

    def round(self, writer: AtenWriter, header: int, frame: list[Any], flow: Flow) -> list[Any]:
        """Write a round of a loop that comes back; the frame that it comes back with."""
        number, frame = self.step(writer, header, frame, flow)
        return self.stretch(writer, number, frame, flow).frame

    def verdict(self, writer: AtenWriter, header: int, frame: list[Any], loop: Loop) -> Any:
        """Write the test of a loop: whether a round comes back."""
        comes_back = loop.returning.__contains__
        ended = self.step(writer, header, frame, loop.test, comes_back)
        if type(ended) is not Ended:
            number, frame = ended
            ended = self.stretch(writer, number, frame, loop.test, comes_back)
        return ended.frame[0]

    def branch_of(self, number: int) -> Any:
        """The branch at the end of a segment."""
        return self._segments[number][1]

    def width_of(self, number: int) -> int:
        """The length of the frame of a segment."""
        return len(self._segments[number][0].inputs.leaves)

    def _known(
        self, writer: AtenWriter, branch: Any, targets: Mapping[Any, int], answer: Any
    ) -> int:
        """The segment after a branch of which one side is possible."""
        if not hasattr(answer, "node") and answer in targets:
            return targets[answer]
        ((only, target),) = targets.items()
        if len(branch.targets) > 1:  # the test of a loop has told
            return target
        if type(only) is not bool:
            raise self.refuse(branch, "a branch by a number", "torch.cond has two sides")
        wanted = answer if only else _opposite(answer)
        text = f"{branch.question} is {not only}, which was taken to be impossible"
        Asserts(writer, (), ()).write(wanted, text)
        return target

    def _segment(self, writer: AtenWriter, number: int, frame: Sequence[Any]) -> list[Any]:
        """Write the calls of a segment; what it gives."""
        captured = self._segments[number][0]
        writer.is_repeated = number in self._repeated
        self._written += 1
        if self._written > _LIMIT:
            raise refuse("branches whose sides do not meet again", why="there are too many paths")
        inputs = captured.inputs
        numbers: dict[str, Any] = {}
        for leaf, x in zip(inputs.leaves, frame, strict=True):
            if leaf.value is None:
                continue
            writer.values[leaf.value] = x
            for n, m in zip(leaf.value.meta.shape, x.shape, strict=True):
                if type(n) is SymInt:
                    numbers.setdefault(str(n.expr), m)
        for bind in inputs.binds:
            x = frame[bind.leaf]
            n = x if bind.dim is None else x.shape[bind.dim]
            plain = bind.factor == 1 and not bind.constant
            numbers[bind.name] = n if plain else (n - bind.constant) // bind.factor
        for value, tensor in captured.graph.constants:
            writer.values[value] = self._held[id(tensor)]
        writer.use(self._root.of_segment(captured, numbers))
        asserts = Asserts(writer, captured.runtime_asserts, numbers)
        calls = CallWriter(writer, asserts, self._stacks)
        calls.prepare(captured.graph)
        calls.write(captured.graph, self._modes[number])
        writer.has_regions |= calls.regions.found
        return [writer.arg(x) for x in captured.graph.outputs]

    # ------------------------------------------------------------------ branches

    def _branch(
        self,
        writer: AtenWriter,
        branch: Any,
        answer: Any,
        frame: list[Any],
        targets: Mapping[Any, int],
        flow: Flow,
        verdict: Verdict | None,
    ) -> Ended:
        if set(targets) != {True, False}:
            raise self.refuse(branch, "a branch by a number", "torch.cond has two sides")
        test = writer.numbers.test(answer)
        graphs = Graphs(writer)
        sides: list[Ended] = []
        for choice in (True, False):
            inner = graph_in(writer)
            with inner.recording():
                sides.append(self.stretch(inner, targets[choice], list(frame), flow, verdict))
            graphs.all.append(Inner(inner, []))
        then, other = sides
        if then.spec != other.spec or len(then.frame) != len(other.frame):
            why = f"one returns {then.spec}, the other {other.spec}"
            raise self.refuse(branch, "sides that return other structures", why)
        kept, results = self._joined(writer, branch, then.frame, other.frame)
        changed = self.changed_in(branch, graphs, [])
        roots: set[Any] = set()
        for (arm, outputs), side in zip(graphs.all, sides, strict=True):
            given = [side.frame[i] for i in kept]
            roots |= outer_roots(arm, given)
            with arm.recording():
                boxed = [box(arm, x) if dtype_of(x) is not None else x for x in given]
                outputs.extend(outputs_of(arm, boxed))
                outputs.extend(changes_of(arm).results(changed))
                if not outputs:  # torch saves no call without results
                    outputs.append(arm.node_arg(box(arm, 0)))
        if not kept and not changed and not any(map(has_effects, graphs.all)):
            return Ended(results, then.spec)
        operands = graphs.operands()
        attributes = graphs.attributes(("true_graph", "false_graph"))
        vals = [results[i] for i in kept]
        left = [left_in(writer, outer) for outer in changed]
        given = [*vals, *left] or [box_like(writer, torch.int64)]
        node = call_graphs(writer, "cond", (test, *attributes, operands), given)
        for i in kept:
            if dtype_of(then.frame[i]) is not None:
                results[i] = unbox(writer, results[i])
        for outer, val in zip(changed, left, strict=True):
            write_back(writer, outer, val)
        if roots:
            writer.copying[node] = roots
        return Ended(results, then.spec)

    def changed_in(self, branch: Any, graphs: Graphs, others: list[Any]) -> list[Any]:
        """The nodes around the graphs of a call that these change; `others` are what else the call
        is given.
        """
        inners = [inner.writer for inner in graphs.all]
        changed = list(dict.fromkeys([n for w in inners for n in changes_of(w).nodes]))
        used = [n for w in inners for n in w.imports if n not in changed]
        tensors = [n for n in (*used, *others) if isinstance(n.meta["val"], torch.Tensor)]
        if changed and share_memory(changed, tensors):
            raise self.refuse(
                branch,
                "a change of a tensor that is used in another way there, too",
                "the graphs of torch's calls cannot share memory",
            )
        return changed

    def _joined(
        self, writer: AtenWriter, branch: Any, then: list[Any], other: list[Any]
    ) -> tuple[list[int], list[Any]]:
        """Which places the sides give, and what is there after the branch."""
        kept: list[int] = []
        results: list[Any] = []
        for i, (x, y) in enumerate(zip(then, other, strict=True)):
            dtype = dtype_of(x)
            if x is y or (dtype is not None and dtype is dtype_of(y) and same_number(x, y)):
                results.append(x)
                continue
            if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
                results.append(self._tensor(writer, branch, x, y))
            elif dtype is not None and dtype is dtype_of(y):
                results.append(box_like(writer, dtype))
            elif type(x) is type(y) and dtype is None and x == y:
                results.append(x)
                continue
            else:
                kinds = f"{type(x).__name__} and {type(y).__name__}"
                raise self.refuse(
                    branch,
                    f"sides that give {kinds}",
                    "both must give tensors, or numbers of a kind",
                )
            kept.append(i)
        return kept, results

    def _tensor(self, writer: AtenWriter, branch: Any, x: Any, y: Any) -> Any:
        """The tensor that stands for those of both sides."""
        for what, a, b in (
            ("dtypes", x.dtype, y.dtype),
            ("devices", x.device, y.device),
            ("numbers of dimensions", len(x.shape), len(y.shape)),
        ):
            if a != b:
                raise self.refuse(branch, f"sides that give other {what}", f"{a} and {b}")
        shape = [
            n if same_number(n, m) else writer.symbols.unnamed(0, INF)
            for n, m in zip(x.shape, y.shape, strict=True)
        ]
        return writer.fakes.make(shape, None, x.dtype, x.device)

    def refuse(self, branch: Any, what: str, why: str) -> Exception:
        """The error for a branch or a loop."""
        place = f" at {branch.site}" if branch.site else ""
        return refuse(f"a branch on data{place}: {what}", why=why, fix="use torch.where")


def _modes_of(segments: Sequence[Any]) -> dict[int, Modes]:
    """The modes that each segment begins in."""
    flow, found, todo = Flow(segments), {0: Modes()}, [0]
    while todo:
        number = todo.pop()
        graph = segments[number][0].graph
        after = found[number].after(graph)
        for target in flow.next_of(number):
            if found.setdefault(target, after) != after:
                changes = [s for s in graph.nodes if s.func in MODE_CHANGES]
                last = changes[-1] if changes else None
                raise refuse("sides of a branch that end in different modes", last)
            todo += [target] if target not in todo and found[target] is after else []
    return found


def _opposite(answer: Any) -> Any:
    return torch.sym_not(answer)  # type: ignore[no-untyped-call]


def _choice(answer: Any, verdicts: Mapping[Any, bool]) -> Any:
    """The verdict of the side that an answer takes."""
    if len(set(verdicts.values())) == 1:
        return verdicts[True]
    return answer if verdicts[True] else _opposite(answer)
