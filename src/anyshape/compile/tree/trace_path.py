"""A trace with graph breaks: it runs its graph so far wherever Python needs a value of the run.

`PathEnv` answers what would be an error by asking its tracer to decide. The tracer ends a segment
there: the calls since the last decision become a program of their own, which runs on real values
and gives the answer. What was answered is known from then on, for this path.

A path whose beginning has run already is replayed: Python runs again from the start with the given
answers, and nothing is run a second time; then the trace goes on as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.compile.tree.path_env import PathEnv
from anyshape.compile.tree.segment_program import SegmentProgram, give_examples
from anyshape.errors import UnsupportedError
from anyshape.expr.boolean import Bool
from anyshape.refusal import refused
from anyshape.rules.dispatch.table import PURE
from anyshape.symbolic.number_asker import NumberAsker
from anyshape.tensor import current
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.higher_order.body import undecided_in_body
from anyshape.trace.mode.execution_modes import enter_modes, keep_modes, set_flag
from anyshape.trace.path.program_state import Unsettled
from anyshape.trace.path.segment import Segment, key_of
from anyshape.trace.path.segment_tracer import Diverged, SegmentTracer
from anyshape.trace.record.effect.deferral import Deferral
from anyshape.trace.record.effect.effect import DRAWS, EFFECTS, are_seen
from anyshape.trace.state.generator_state import is_generator
from anyshape.trace.state.snapshot import Snapshot, generators_in
from anyshape.trace.twin.twin import running

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    from anyshape.expr.node import Expr
    from anyshape.expr.real import Real
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Value
    from anyshape.trace.options import TraceOptions


class PathTracer(SegmentTracer):
    """The trace of one path, which runs its segments.

    `_frame` are the real values after the last decision. Before the first decision they are the
    flat inputs.
    """

    def __init__(
        self,
        root: Segment,
        flat: Sequence[Any],
        script: Sequence[Any],
        frame: list[Any],
        options: TraceOptions,
        deferral: Deferral | None = None,
    ) -> None:
        env = PathEnv(NumberAsker(is_concrete=True))
        super().__init__(env, root, options)
        env.path = self
        self.script = script
        self.overflow: Segment | None = None  # a question with too many answers
        self.overflown: dict[CodeType, int] = {}  # where the twins were when it was asked
        self.undo: list[Snapshot] = []
        self.parts: list[SegmentProgram] = []  # the segments that were made
        self.failed = False  # whether a segment raised, and not the program
        self.deferral = Deferral() if deferral is None else deferral
        self._flat = flat
        self._frame = frame
        self._versions: dict[Value, int] = {}

    # ------------------------------------------------------------------ decisions

    def decide(self, question: Bool | Expr | Real) -> Any:
        """The answer to a question, computed by running the segment that ends here."""
        if self.settling:
            raise Unsettled
        if self.bodies:
            raise undecided_in_body(self.env.text(question))
        self.settle()
        if are_seen(self.graph.nodes):
            raise refused(
                UnsupportedError,
                "a branch on data after code of the user's that may see effects of the function",
                why="effects wait until the call has ended",
                fix="do them after the branch",
            )
        self.questions.append(question)
        place = len(self.answers)
        segment = self.segment
        replays = place < len(self.script)
        if replays or segment.run is not None:  # or a part of a loop that was traced already
            order = self._again(segment)
        else:
            order = self._end(segment, question)
        if replays:
            answer = self.script[place]
        else:
            self._frame = self._run(segment)
            answer = self._frame.pop()
        if type(question) is Bool:
            answer = bool(answer)
        self._go_on(segment, question, answer, order)
        return answer

    def _go_on(self, segment: Segment, question: Any, answer: Any, order: list[Any]) -> None:
        super()._go_on(segment, question, answer, order)
        if self.segment.run is None and segment.is_full:
            self.overflow, self.overflown = segment, running()
        self._versions = {v: v.version for v in self._outer()}

    def finish(self, outputs: Sequence[Any], out_spec: Any) -> list[Any]:
        """End the last segment with what the program returned, and run it."""
        if len(self.answers) < len(self.script):
            raise Diverged("the program ended before its recorded decisions")
        segment = self.segment
        if segment.run is not None:
            self._need_same(segment, ends=True)
        else:
            segment.out_spec = out_spec
            self._build(segment, list(outputs))
        return self._run(segment)

    def flush(self) -> None:
        """Run what was traced since the last decision for its effects: the program has raised."""
        if len(self.answers) >= len(self.script) and self.segment.run is None:
            self._parent = None
            self.settle()
            segment = Segment()
            self._build(segment, [])
            self._run(segment)

    # ------------------------------------------------------------------ segments

    @property
    def draws(self) -> bool:
        """Whether an op was traced whose result may differ when it runs again."""
        effects = EFFECTS - DRAWS
        return any(n.func not in PURE and n.func not in effects for n in self.graph.nodes)

    def _build(self, segment: Segment, outputs: list[Any]) -> Captured:
        captured = super()._build(segment, outputs)
        if self._order is not None:
            give_examples(captured.inputs, self._frame)
        self.parts.append(SegmentProgram(segment, captured, list(self._frame), self._modes))
        return captured

    def _run(self, segment: Segment) -> list[Any]:
        """Run a segment outside the trace; record it once it has run without an error."""
        self._keep_what_changes()
        before = current.enter(None)
        assert segment.run is not None
        self.failed = True
        try:
            with self.deferral, DisableTorchFunction(), keep_modes():
                self._set_modes()
                out = list(segment.run(self._frame))
        finally:
            current.leave(before)
        self.failed = False
        if self._parent is not None:
            parent, answer = self._parent
            if key_of(answer) in parent.children or not parent.is_full:
                parent.children[key_of(answer)] = segment
        return out

    # ------------------------------------------------------------------ undoing

    def _keep_what_changes(self) -> None:
        """Copy the outer tensors that the segment writes to, for `take_back`."""
        leaves_ = self.inputs.leaves
        real = {leaf.value: self._flat[i] for i, leaf in enumerate(leaves_) if leaf.value}
        real.update(dict(self.graph.constants))
        changed = [v for v in self._outer() if v.version != self._versions.get(v, 0)]
        with DisableTorchFunction():
            named = generators_in(self.graph.nodes[self._start :])
            named += [x for x in self._flat if is_generator(x)]
            flags = any(n.func is set_flag for n in self.graph.nodes[self._start :])
            before = Snapshot([real[v] for v in changed], named, draws=False, flags=flags)
            self.undo.append(before)

    def take_back(self) -> None:
        """Restore the outer tensors and the generators that calls name."""
        for before in reversed(self.undo):
            before.restore()
        self.undo = []
        self.deferral.discard()

    def release(self) -> None:
        """Drop the tensors of the traced call."""
        super().release()
        self._flat, self._frame = (), []
        self.undo, self.parts = [], []

    # ------------------------------------------------------------------ modes

    def _set_modes(self) -> None:
        """The execution modes at the last decision."""
        enter_modes(self._modes)
