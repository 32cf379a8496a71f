"""Programs that branch on data: branches as `torch.cond`, loops as `while_loop`.

A segment is written into the graph over the frame before it. The sides of a branch are graphs up to
the segment where they meet, or to the end; what they give is the frame there. A loop is a
`while_loop` over the frame of its first segment: that segment is its test, and all of the round is
its body. After the loop the segment is written once more, for what it computes before the exit.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.domain import INF, NINF
from anyshape.interop.aten.asserts import Asserts
from anyshape.interop.aten.calls import CallWriter
from anyshape.interop.aten.changed_memory import (
    ChangedMemory,
    changes_of,
    left_in,
    share_memory,
    write_back,
)
from anyshape.interop.aten.flow import Flow
from anyshape.interop.aten.higher_order import (
    CLONE,
    SCALAR_TENSOR,
    Graphs,
    Inner,
    as_node,
    outputs_of,
)
from anyshape.interop.aten.memory import memory_of
from anyshape.interop.aten.symbols import refuse
from anyshape.interop.aten.writer import AtenWriter
from anyshape.symbolic.sym_int import SymInt
from anyshape.torch_compat import pytree
from anyshape.torch_compat.higher_order import OPERATORS
from anyshape.torch_compat.pre_dispatch import ITEM
from anyshape.torch_compat.sympy_expression import CallMethodKey
from anyshape.trace.mode.execution_modes import MODE_CHANGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyshape.interop.aten.module_stacks import ModuleStacks
    from anyshape.trace.capture import Captured

_LIMIT: Final = 200
_INTEGERS: Final = (int, torch.SymInt)
_NOT: Final[Any] = torch.ops.aten.logical_not.default


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
        self._flow = Flow(segments)
        self._segments = segments
        self._held = held
        self._stacks = stacks
        self._written = 0
        for captured, _ in segments:
            changes = [s for s in captured.graph.nodes if s.func in MODE_CHANGES]
            if changes:
                raise refuse("a change of grad mode or autocast beside a branch", changes[0])

    def write(self, writer: AtenWriter, frame: Sequence[Any]) -> tuple[list[Any], Any]:
        """Write the program over the values of its inputs; its results and their structure."""
        ended = self._stretch(writer, 0, list(frame), None)
        return ended.frame, ended.spec

    def _stretch(self, writer: AtenWriter, number: int, frame: list[Any], stop: Any) -> Ended:
        while number != stop:
            captured, branch = self._segments[number]
            if branch is None:
                if stop is not None:
                    raise refuse(
                        "a loop that is left in the middle of a round",
                        why="while_loop of torch ends where its test fails",
                    )
                return Ended(self._segment(writer, captured, frame), captured.out_spec)
            inside = [
                a for a, t in branch.targets.items() if self._flow.is_in_loop(t, number, stop)
            ]
            if inside:
                number, frame = self._loop(writer, number, frame, inside)
                continue
            *frame, answer = self._segment(writer, captured, frame)
            if type(answer) is bool or len(branch.targets) == 1:
                number = self._known(writer, branch, answer)
                continue
            join = self._flow.join(list(branch.targets.values()), stop)
            ended = self._branch(writer, branch, answer, frame, join)
            if join is None:
                return ended
            number, frame = join, ended.frame
        return Ended(frame, None)

    def _known(self, writer: AtenWriter, branch: Any, answer: Any) -> int:
        """The segment after a branch of which one side is possible."""
        if answer in branch.targets:
            return int(branch.targets[answer])
        ((only, target),) = branch.targets.items()
        if type(only) is not bool:
            raise self._refuse(branch, "a branch by a number", "torch.cond has two sides")
        wanted = answer if only else _opposite(answer)
        text = f"{branch.question} is {not only}, which was taken to be impossible"
        Asserts(writer, (), ()).write(wanted, text)
        return int(target)

    def _segment(self, writer: AtenWriter, captured: Captured, frame: Sequence[Any]) -> list[Any]:
        """Write the calls of a segment; what it gives."""
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
        calls.write(captured.graph)
        return [writer.arg(x) for x in captured.graph.outputs]

    # ------------------------------------------------------------------ branches

    def _branch(
        self, writer: AtenWriter, branch: Any, answer: Any, frame: list[Any], join: int | None
    ) -> Ended:
        if set(branch.targets) != {True, False}:
            raise self._refuse(branch, "a branch by a number", "torch.cond has two sides")
        test = writer.numbers.test(answer)
        graphs = Graphs(writer)
        sides: list[Ended] = []
        for choice in (True, False):
            inner = _graph_in(writer)
            with inner.recording():
                sides.append(self._stretch(inner, branch.targets[choice], list(frame), join))
            graphs.all.append(Inner(inner, []))
        then, other = sides
        if then.spec != other.spec or len(then.frame) != len(other.frame):
            why = f"one returns {then.spec}, the other {other.spec}"
            raise self._refuse(branch, "sides that return other structures", why)
        kept, results = self._joined(writer, branch, then.frame, other.frame)
        changed = self._changed(branch, graphs, [])
        roots: set[Any] = set()
        for (arm, outputs), side in zip(graphs.all, sides, strict=True):
            given = [side.frame[i] for i in kept]
            roots |= _outer_roots(arm, given)
            with arm.recording():
                outputs.extend(outputs_of(arm, [_as_tensor(arm, x) for x in given]))
                outputs.extend(changes_of(arm).results(changed))
        operands = graphs.operands()
        attributes = graphs.attributes(("true_graph", "false_graph"))
        vals = [_tensor_like(writer, results[i]) for i in kept]
        left = [left_in(writer, outer) for outer in changed]
        node = self._call(writer, "cond", (test, *attributes, operands), [*vals, *left])
        for i, val in zip(kept, vals, strict=True):
            if val is not results[i]:
                _read(writer, val, results[i])
        for outer, val in zip(changed, left, strict=True):
            write_back(writer, outer, val)
        if roots:
            writer.copying[node] = roots
        return Ended(results, then.spec)

    def _changed(self, branch: Any, graphs: Graphs, others: list[Any]) -> list[Any]:
        """The nodes around the graphs of a call that these change; `others` are what else the call
        is given.
        """
        inners = [inner.writer for inner in graphs.all]
        changed = list(dict.fromkeys([n for w in inners for n in changes_of(w).nodes]))
        used = [n for w in inners for n in w.imports if n not in changed]
        tensors = [n for n in (*used, *others) if isinstance(n.meta["val"], torch.Tensor)]
        if changed and share_memory(changed, tensors):
            raise self._refuse(
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
            if x is y or (type(x) in _INTEGERS and type(y) in _INTEGERS and _same(x, y)):
                results.append(x)
                continue
            if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
                results.append(self._tensor(writer, branch, x, y))
            elif type(x) in _INTEGERS and type(y) in _INTEGERS:
                results.append(writer.symbols.unnamed(NINF, INF))
            elif type(x) is type(y) and x == y:
                results.append(x)
                continue
            else:
                kinds = f"{type(x).__name__} and {type(y).__name__}"
                raise self._refuse(
                    branch, f"sides that give {kinds}", "both must give tensors or integers"
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
                raise self._refuse(branch, f"sides that give other {what}", f"{a} and {b}")
        shape = [
            n if _same(n, m) else writer.symbols.unnamed(0, INF)
            for n, m in zip(x.shape, y.shape, strict=True)
        ]
        return writer.fakes.make(shape, None, x.dtype, x.device)

    def _refuse(self, branch: Any, what: str, why: str) -> Exception:
        place = f" at {branch.site}" if branch.site else ""
        return refuse(f"a branch on data{place}: {what}", why=why, fix="use torch.where")

    def _call(self, writer: AtenWriter, name: str, args: tuple[Any, ...], vals: list[Any]) -> Any:
        """Write a higher-order call, and take its results apart."""
        node = writer.emit(OPERATORS[name], args, tuple(vals))
        bindings: dict[Any, Any] = {}
        for i, val in enumerate(vals):
            part = writer.emit(operator.getitem, (node, i), val)
            key: tuple[Any, ...] = (pytree.SequenceKey(i),)
            if not isinstance(val, torch.Tensor):
                writer.numbers.made[val.node.expr] = part
                bindings[val.node.expr] = key
                continue
            writer.note(val, part)
            for dim, n in enumerate(val.shape):
                e = n.node.expr if hasattr(n, "node") else None
                if e is not None and e.is_Symbol and not writer.knows(e):
                    writer.numbers.places[e] = (part, dim)
                    bindings[e] = (*key, CallMethodKey("size"), pytree.SequenceKey(dim))
        if bindings:
            node.meta["unbacked_bindings"] = bindings
        return node

    # ------------------------------------------------------------------ loops

    def _loop(
        self, writer: AtenWriter, header: int, frame: list[Any], inside: list[Any]
    ) -> tuple[int, list[Any]]:
        """Write a loop; the segment after it, and the frame there."""
        captured, branch = self._segments[header]
        if set(branch.targets) != {True, False} or len(inside) != 1:
            raise self._refuse(
                branch,
                "a loop that is not left by its first question",
                "while_loop of torch ends where one test fails, before the round",
            )
        kept = self._flow.unchanged(header, branch.targets[inside[0]])
        carried = [i for i in range(len(frame)) if i not in kept]
        for i in carried:
            if not isinstance(frame[i], torch.Tensor) and type(frame[i]) not in _INTEGERS:
                kind = type(frame[i]).__name__
                raise self._refuse(branch, f"a loop that carries a {kind}", "while_loop cannot")
        starts = [as_node(writer, frame[i]) for i in carried]
        changed: list[Any] = []
        while True:
            graphs, roots = self._rounds(writer, header, frame, carried, inside[0], changed)
            found = self._changed(branch, graphs, starts)
            if found == changed:
                break
            changed = found
        operands = graphs.operands()
        names = ("while_loop_cond_graph", "while_loop_body_graph")
        attributes = graphs.attributes(names, test=True)
        start = [self._start(writer, node) for node in (*starts, *changed)]
        vals = [self._left(writer, frame[i]) for i in carried]
        left = [left_in(writer, outer) for outer in changed]
        args = (*attributes, tuple(start), operands)
        node = self._call(writer, "while_loop", args, [*vals, *left])
        for outer, val in zip(changed, left, strict=True):
            write_back(writer, outer, val)
        tensors = [n for n in starts if isinstance(n.meta["val"], torch.Tensor)]
        writer.copying[node] = roots | {memory_of(n) for n in tensors}
        frame = list(frame)
        for i, val in zip(carried, vals, strict=True):
            frame[i] = val
        *frame, _ = self._segment(writer, captured, frame)
        return branch.targets[not inside[0]], frame

    def _rounds(
        self,
        writer: AtenWriter,
        header: int,
        frame: list[Any],
        carried: list[int],
        inside: bool,
        changed: list[Any],
    ) -> tuple[Graphs, set[Any]]:
        """The graphs of a loop: its test, and a round. They carry the `changed` tensors, too. And
        what its results may have the memory of.
        """
        captured, branch = self._segments[header]
        graphs, roots = Graphs(writer), set[Any]()
        for is_test in (True, False):
            inner = _graph_in(writer)
            inner.is_repeated = True
            given = self._carried(inner, frame, carried)
            for outer in changed:
                inner.given[outer] = inner.placeholder(outer.name, left_in(inner, outer))
                inner.note(outer.meta["val"], inner.given[outer])
            with inner.recording():
                *after, answer = self._segment(inner, captured, given)
                if type(answer) is bool:
                    raise self._refuse(branch, "a loop whose test is known", "it never ends")
                if is_test:
                    outputs = [self._test(inner, answer, inside)]
                else:
                    target = branch.targets[inside]
                    after = self._stretch(inner, target, list(after), header).frame
                    results = [after[i] for i in carried]
                    self._need_same(branch, [given[i] for i in carried], results)
                    roots = _outer_roots(inner, results)
                    if changed and roots:
                        raise self._refuse(
                            branch,
                            "a loop that changes a tensor and carries one from outside of it",
                            "what while_loop of torch carries is copied",
                        )
                    outputs = [*outputs_of(inner, results), *changes_of(inner).results(changed)]
            graphs.all.append(Inner(inner, outputs))
        return graphs, roots

    def _carried(self, inner: AtenWriter, frame: list[Any], carried: list[int]) -> list[Any]:
        """The frame of a round, with placeholders for what changes."""
        given = list(frame)
        for i in carried:
            val = self._left(inner, frame[i])
            node = inner.placeholder(f"arg{i}", val)
            given[i] = val
            if isinstance(val, torch.Tensor):
                inner.show(node, val)
            else:
                inner.numbers.made[val.node.expr] = node
        return given

    def _left(self, writer: AtenWriter, x: Any) -> Any:
        """A value like one that a loop carries."""
        if not isinstance(x, torch.Tensor):
            return writer.symbols.unnamed(NINF, INF)
        return writer.fakes.make(x.shape, None, x.dtype, x.device, own=True)

    def _start(self, writer: AtenWriter, node: Any) -> Any:
        """What a loop begins with; a tensor in the order that every round gives."""
        x = node.meta["val"]
        if not isinstance(x, torch.Tensor):
            return node
        like = writer.fakes.make(x.shape, None, x.dtype, x.device)
        return writer.emit(CLONE, (node,), like, memory_format=torch.contiguous_format)

    def _test(self, inner: AtenWriter, answer: Any, inside: bool) -> Any:
        node = inner.numbers.test(answer)
        if inside:
            return node
        val = node.meta["val"]
        if isinstance(val, torch.Tensor):
            return inner.emit(_NOT, (node,), val)
        return inner.numbers.of(_opposite(answer))

    def _need_same(self, branch: Any, before: list[Any], after: list[Any]) -> None:
        for x, y in zip(before, after, strict=True):
            if not isinstance(x, torch.Tensor):
                if type(y) not in _INTEGERS:
                    raise self._refuse(branch, "a loop whose values change kind", f"{type(y)}")
            elif (
                not isinstance(y, torch.Tensor)
                or x.dtype != y.dtype
                or len(x.shape) != len(y.shape)
                or not all(_same(n, m) for n, m in zip(x.shape, y.shape, strict=True))
            ):
                raise self._refuse(
                    branch,
                    "a loop whose tensors change size or dtype",
                    f"from {tuple(x.shape)} to {tuple(getattr(y, 'shape', ()))}",
                )


def _opposite(answer: Any) -> Any:
    return torch.sym_not(answer)  # type: ignore[no-untyped-call]


def _as_tensor(writer: AtenWriter, x: Any) -> Any:
    """A result of a side; of an integer a tensor, because torch cannot join a number that it knows
    and one that it does not.
    """
    if isinstance(x, torch.Tensor):
        return x
    fake = _tensor_like(writer, x)
    node = writer.emit(SCALAR_TENSOR, (writer.node_arg(x),), fake, dtype=torch.int64)
    writer.note(fake, node)
    return fake


def _tensor_like(writer: AtenWriter, x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x
    return writer.fakes.make([], None, torch.int64, torch.device("cpu"))


def _read(writer: AtenWriter, tensor: Any, number: Any) -> None:
    """Write how an integer is read off a tensor."""
    item = writer.emit(ITEM, (writer.node_arg(tensor),), number)
    item.meta["unbacked_bindings"] = {number.node.expr: ()}
    writer.numbers.made[number.node.expr] = item


def _same(n: Any, m: Any) -> bool:
    """Whether two numbers of torch's are the same expression."""
    a, b = [x.node.expr if hasattr(x, "node") else x for x in (n, m)]
    return bool(a == b)


def _outer_roots(writer: AtenWriter, results: Sequence[Any]) -> set[Any]:
    """The nodes around a graph whose memory its results may have."""
    found = [changes_of(writer).outer_root(x) for x in results]
    return {node for node in found if node is not None}


def _graph_in(writer: AtenWriter) -> AtenWriter:
    """A graph inside that of a writer, which may change the tensors there."""
    inner = AtenWriter(writer.symbols, writer)
    inner.changed = ChangedMemory(inner)
    return inner
