"""Loops on data as `while_loop`.

A loop may be left anywhere in a round. Its test is all of a round up to where it is known whether
the round comes back to the header; its body is a round that does. What the last round computes
before it leaves is written once more after the loop, where no round can come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.domain import INF, NINF
from anyshape.interop.aten.boxed import box, dtype_of, unbox
from anyshape.interop.aten.changed_memory import changes_of, left_in, write_back
from anyshape.interop.aten.graph_calls import call_graphs, graph_in, outer_roots, same_number
from anyshape.interop.aten.higher_order import CLONE, Graphs, Inner, as_node, outputs_of
from anyshape.interop.aten.memory import memory_of

if TYPE_CHECKING:
    from anyshape.interop.aten.segment_flow import Loop
    from anyshape.interop.aten.segments import SegmentWriter
    from anyshape.interop.aten.writer import AtenWriter

_INTEGERS: Final = (int, torch.SymInt)


class LoopWriter:
    """Writes one loop of a program into a graph."""

    def __init__(self, program: SegmentWriter, writer: AtenWriter, header: int, loop: Loop) -> None:
        self._program = program
        self._writer = writer
        self._header = header
        self._loop = loop
        self._branch = program.branch_of(header)
        kept = loop.round.unchanged(header)
        self._carried = [i for i in range(program.width_of(header)) if i not in kept]

    def write(self, frame: list[Any]) -> list[Any]:
        """Write the rounds that come back; the frame of the header in the last one."""
        writer, frame = self._writer, list(frame)
        if self._loop.test.ends <= self._loop.returning:
            raise self._refuse("a loop whose test is known", "it never ends")
        starts = [as_node(writer, self._start_of(frame[i])) for i in self._carried]
        changed: list[Any] = []
        while True:
            graphs, roots = self._graphs(frame, changed)
            found = self._program.changed_in(self._branch, graphs, starts)
            if found == changed:
                break
            changed = found
        operands = graphs.operands()
        names = ("while_loop_cond_graph", "while_loop_body_graph")
        attributes = graphs.attributes(names, test=True)
        start = [self._in_order(node) for node in (*starts, *changed)]
        vals = [self._left(writer, frame[i]) for i in self._carried]
        left = [left_in(writer, outer) for outer in changed]
        args = (*attributes, tuple(start), operands)
        node = call_graphs(writer, "while_loop", args, [*vals, *left])
        for outer, val in zip(changed, left, strict=True):
            write_back(writer, outer, val)
        tensors = [n for n in starts if isinstance(n.meta["val"], torch.Tensor)]
        writer.copying[node] = roots | {memory_of(n) for n in tensors}
        for i, val in zip(self._carried, vals, strict=True):
            frame[i] = unbox(writer, val) if _is_boxed(frame[i]) else val
        return frame

    def _start_of(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor) or type(x) in _INTEGERS:
            return x
        if not _is_boxed(x):
            raise self._refuse(f"a loop that carries a {type(x).__name__}", "while_loop cannot")
        return box(self._writer, x)

    def _graphs(self, frame: list[Any], changed: list[Any]) -> tuple[Graphs, set[Any]]:
        """The graphs of a loop: its test, and a round. They carry the `changed` tensors, too. And
        what its results may have the memory of.
        """
        program, loop, header = self._program, self._loop, self._header
        graphs, roots = Graphs(self._writer), set[Any]()
        for is_test in (True, False):
            inner = graph_in(self._writer)
            places = self._placeholders(inner, frame)
            for outer in changed:
                inner.given[outer] = inner.placeholder(outer.name, left_in(inner, outer))
                inner.note(outer.meta["val"], inner.given[outer])
            with inner.recording():
                given = list(frame)
                for i, val in zip(self._carried, places, strict=True):
                    given[i] = unbox(inner, val) if _is_boxed(frame[i]) else val
                if is_test:
                    outputs = [self._test(inner, given)]
                else:
                    after = program.round(inner, header, given, loop.round)
                    results = [
                        box(inner, after[i]) if _is_boxed(frame[i]) else after[i]
                        for i in self._carried
                    ]
                    self._need_same(places, results)
                    roots = outer_roots(inner, results)
                    if changed and roots:
                        raise self._refuse(
                            "a loop that changes a tensor and carries one from outside of it",
                            "what while_loop of torch carries is copied",
                        )
                    outputs = [*outputs_of(inner, results), *changes_of(inner).results(changed)]
            graphs.all.append(Inner(inner, outputs))
        return graphs, roots

    def _test(self, inner: AtenWriter, given: list[Any]) -> Any:
        comes_back = self._program.verdict(inner, self._header, given, self._loop)
        if type(comes_back) is bool:
            raise self._refuse("a loop whose test is known", "it never ends")
        return inner.numbers.test(comes_back)

    def _placeholders(self, inner: AtenWriter, frame: list[Any]) -> list[Any]:
        """What a round gets for the parts of the frame that change."""
        given = []
        for i in self._carried:
            val = self._left(inner, frame[i])
            node = inner.placeholder(f"arg{i}", val)
            given.append(val)
            if isinstance(val, torch.Tensor):
                inner.show(node, val)
            else:
                inner.numbers.made[val.node.expr] = node
        return given

    def _left(self, writer: AtenWriter, x: Any) -> Any:
        """A value like one that a loop carries."""
        if type(x) in _INTEGERS:
            return writer.symbols.unnamed(NINF, INF)
        dtype = dtype_of(x)
        if dtype is not None:
            return writer.fakes.make([], None, dtype, torch.device("cpu"), own=True)
        return writer.fakes.make(x.shape, None, x.dtype, x.device, own=True)

    def _in_order(self, node: Any) -> Any:
        """What a loop begins with; a tensor in the order that every round gives."""
        x = node.meta["val"]
        if not isinstance(x, torch.Tensor):
            return node
        like = self._writer.fakes.make(x.shape, None, x.dtype, x.device)
        return self._writer.emit(CLONE, (node,), like, memory_format=torch.contiguous_format)

    def _need_same(self, before: list[Any], after: list[Any]) -> None:
        for x, y in zip(before, after, strict=True):
            if not isinstance(x, torch.Tensor):
                if type(y) not in _INTEGERS:
                    raise self._refuse("a loop whose values change kind", f"{type(y)}")
            elif (
                not isinstance(y, torch.Tensor)
                or x.dtype != y.dtype
                or len(x.shape) != len(y.shape)
                or not all(same_number(n, m) for n, m in zip(x.shape, y.shape, strict=True))
            ):
                raise self._refuse(
                    "a loop whose tensors change size or dtype",
                    f"from {tuple(x.shape)} to {tuple(getattr(y, 'shape', ()))}",
                )

    def _refuse(self, what: str, why: str) -> Exception:
        return self._program.refuse(self._branch, what, why)


def _is_boxed(x: Any) -> bool:
    return type(x) not in _INTEGERS and dtype_of(x) is not None
