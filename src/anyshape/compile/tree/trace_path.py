"""A trace with graph breaks: it runs its graph so far wherever Python needs a value of the run.

`PathEnv` answers what would be an error by asking its tracer to decide. The tracer ends a segment
there: the calls since the last decision become a program of their own, which runs on real values
and gives the answer. What was answered is known from then on, for this path.

A path whose beginning has run already is replayed: Python runs again from the start with the given
answers, and nothing is run a second time; then the trace goes on as usual.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.tree.loop_state import LoopState, Unsettled, state_of
from anyshape.compile.tree.path_env import PathEnv
from anyshape.compile.tree.segment import Segment, key_of
from anyshape.compile.tree.segment_program import SegmentProgram, as_captured
from anyshape.env.site import capture as capture_site
from anyshape.errors import AnyshapeError, UnsupportedError
from anyshape.events import GraphBreak, emit, listeners
from anyshape.expr import eq0, negate
from anyshape.expr.boolean import Bool
from anyshape.expr.constructor.comparison import equals
from anyshape.expr.node import Expr
from anyshape.expr.traverse import names_of
from anyshape.refusal import refused
from anyshape.rules.dispatch.table import PURE
from anyshape.symbolic.number_asker import NumberAsker
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor import current
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.capture import Captured, as_assert
from anyshape.trace.execution_modes import enter_modes, keep_modes
from anyshape.trace.graph import (
    CONSTANT,
    SYMBOLIC,
    Graph,
    Name,
    Value,
    leaves,
    operand_of,
)
from anyshape.trace.inputs import Bind
from anyshape.trace.record.deferral import Deferral
from anyshape.trace.record.effect import EFFECTS, are_seen
from anyshape.trace.state.snapshot import Snapshot, generators_in
from anyshape.trace.tracer import Tracer
from anyshape.trace.twin.twin import running

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    from anyshape.env import Env
    from anyshape.env.obligation import Obligation
    from anyshape.expr.real import Real
    from anyshape.tensor.meta import Meta
    from anyshape.trace.options import TraceOptions


_CONSTANT: Final = (int, float, bool, str, torch.dtype)


class Diverged(AnyshapeError):
    """A replay took other steps than the segments that have already run."""


class _Moment:
    """A decision of this path; a later one in the same state closes a loop."""

    def __init__(
        self, path: PathTracer, state: LoopState, segment: Segment, rest: list[Any]
    ) -> None:
        self.state = state
        self.segment = segment
        self.rest = rest
        self.facts = len(path.paths.facts)
        self.answers = len(path.answers) + 1
        self.symbols = {str(name) for name in path.names()}

    def is_repeated(self, path: PathTracer, state: LoopState) -> bool:
        """Whether the state repeats and nothing was learned about its symbols in between."""
        if self.state.key != state.key:
            return False
        learned: list[Any] = [fact.condition for fact in path.paths.facts[self.facts :]]
        learned += path.questions[self.answers :]
        return not any(name in self.symbols for q in learned for name in names_of(q))


class PathTracer(Tracer):
    """The trace of one path, whose graph is cut into segments.

    `frame` are the real values after the last decision, `order` the values of the graph and the
    names of symbols that they belong to. Before the first decision the frame is the flat inputs.
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
        super().__init__(env, options)
        env.path = self
        self.paths = env
        self.root = self.segment = root
        self.script = script
        self.answers: list[Any] = []
        self.questions: list[Any] = []
        self.overflow: Segment | None = None  # a question with too many answers
        self.overflown: dict[CodeType, int] = {}  # where the twins were when it was asked
        self.undo: list[Snapshot] = []
        self.parts: list[SegmentProgram] = []  # the segments that were made
        self.failed = False  # whether a segment raised, and not the program
        self.deferral = Deferral() if deferral is None else deferral
        self.settling = False
        self._flat = flat
        self._frame = frame
        self._order: list[Any] | None = None
        self._parent: tuple[Segment, Any] | None = None
        self._asserts = self._deviations = 0  # of earlier segments
        self._alive: list[tuple[Any, Value]] = []
        self._versions: dict[Value, int] = {}
        self._moments: list[_Moment] = []
        self._modes = self.modes

    # ------------------------------------------------------------------ which tensors are alive

    def record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Write a node and track the lifetime of its result."""
        t = super().record(func, args, kwargs, out)
        if type(t) is SymTensor:
            self.track(t)
        return t

    def track(self, t: SymTensor) -> None:
        """See `Tracer`."""
        self._alive.append((weakref.ref(t), t._value))

    def _result(self, node: Any, meta: Meta, scan: Any, outs: list[Any]) -> SymTensor:
        t = super()._result(node, meta, scan, outs)
        self.track(t)
        return t

    @property
    def is_cut(self) -> bool:
        """See `Tracer`."""
        return bool(self.answers)

    def _adopt(self, value: Value, tensor: torch.Tensor) -> None:
        super()._adopt(value, tensor)
        self._alive.append((weakref.ref(tensor), value))

    def _live(self) -> list[Value]:
        """The live tensors: the inputs, and results that Python still references."""
        self._alive = [(ref, v) for ref, v in self._alive if ref() is not None]
        found = {id(v): v for v in self.graph.inputs}
        found.update({id(v): v for _, v in self._alive if v.kind != CONSTANT})
        return list(found.values())

    def names(self) -> list[Name]:
        """The symbols whose values are known at this point."""
        names = {Name(bind.name): None for bind in self.inputs.named}
        for node in self.graph.nodes:
            names.update({leaf: None for leaf in leaves(node.outs) if type(leaf) is Name})
        return list(names)

    # ------------------------------------------------------------------ decisions

    def decide(self, question: Bool | Expr | Real) -> Any:
        """The answer to a question, computed by running the segment that ends here."""
        if self.settling:
            raise Unsettled
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
        """Begin the segment that follows an answer."""
        self.answers.append(answer)
        kind = type(question)
        if kind is Bool:
            self.env.learn(question if answer else negate(question))
        elif kind is Expr:
            self.env.learn(eq0(question.shift(-answer)))
        else:
            self.env.learn(equals(question, answer))
        if segment.joins or segment.settled is not None:
            self.memo.clear()  # a state that repeats must be followed by the same calls
        self._order = order
        self._parent = (segment, answer)
        self.segment = segment.children.get(key_of(answer)) or Segment()
        if self.segment.run is None and segment.is_full:
            self.overflow, self.overflown = segment, running()
        self._start = len(self.graph.nodes)
        self._modes = self.modes
        self._versions = {v: v.version for v in self._outer()}

    def _again(self, segment: Segment) -> list[Any]:
        """End a segment that is replayed; returns what the next frame holds."""
        self._need_same(segment, ends=False)
        order = [self._at(place) for place in segment.outs]
        state = None if segment.joins else self._state()
        if state is not None and len(state.values) == segment.settled:
            self._moments.append(_Moment(self, state, segment, order[segment.settled :]))
        self._asserts = len(self.paths.facts)
        self._deviations = len(self.deviations)
        return order

    def _need_same(self, segment: Segment, *, ends: bool) -> None:
        """Raise if the program diverged from the segment that has already run."""
        if (segment.question is None) is not ends or segment.calls != self._calls():
            raise Diverged("the program took other steps than the last time with the same answers")

    def _calls(self) -> list[Any]:
        return [(n.func, _constants(n.args, n.kwargs)) for n in self.graph.nodes[self._start :]]

    def _end(self, segment: Segment, question: Any) -> list[Any]:
        """End a new segment with a question; returns what the next frame holds."""
        segment.site = capture_site()
        segment.question = self.env.text(question)
        if GraphBreak in listeners:
            emit(GraphBreak(self, segment.question, segment.site))
        state = self._state()
        live = self._live()
        twin = None if state is None else self._repeated(state)
        values = [] if state is None else list(state.values)
        if twin is not None:
            rest = twin.rest
            segment.children = twin.segment.children
            segment.joins = True
        else:
            known = {id(v) for v in values}
            there = self._places_now()
            others = [v for v in live if id(v) not in known] + self.names()
            rest = [x for x in others if _key(x) in there]
            if state is not None:
                segment.settled = len(values)
                self._moments.append(_Moment(self, state, segment, rest))
        order = values + rest
        segment.outs = self._places(order)
        self._build(segment, [*order, _number(question, self.env)])
        return order

    def _repeated(self, state: LoopState) -> _Moment | None:
        """The latest decision of this path in the same state, whose frame can be made here."""
        there = self._places_now()
        for moment in reversed(self._moments):
            if moment.is_repeated(self, state) and all(_key(x) in there for x in moment.rest):
                return moment
        return None

    def _state(self) -> LoopState | None:
        self.settling = True
        try:
            return state_of(self._live, self.graph.nodes[self._start :], self.recorder.state())
        finally:
            self.settling = False

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
        return any(n.func not in PURE and n.func not in EFFECTS for n in self.graph.nodes)

    def _outer(self) -> list[Value]:
        return [*self.graph.inputs, *[v for v, _ in self.graph.constants]]

    def _begin(self) -> list[Any]:
        """What the frame at the start of the segment holds."""
        if self._order is not None:
            return self._order
        return [*self.graph.inputs, *[Name(bind.name) for bind in self.inputs.named]]

    def _places_now(self) -> dict[Any, tuple[int, int]]:
        """Where each value of this segment and of its frame is, as `Segment.outs` says it."""
        places = {
            _key(leaf): (i, k)
            for i, node in enumerate(self.graph.nodes[self._start :])
            for k, leaf in enumerate(leaves(node.outs))
            if leaf is not None
        }
        places.update({_key(x): (-1, i) for i, x in enumerate(self._begin())})
        return places

    def _places(self, order: list[Any]) -> list[tuple[int, int]]:
        """Where each part of the next frame comes from."""
        there = self._places_now()
        return [there[_key(x)] for x in order]

    def _at(self, place: tuple[int, int]) -> Any:
        call, k = place
        if call < 0:
            return self._begin()[k]
        return list(leaves(self.graph.nodes[self._start + call].outs))[k]

    def _build(self, segment: Segment, outputs: list[Any]) -> None:
        graph = Graph()
        graph.nodes = self.graph.nodes[self._start :]
        graph.constants = list(self.graph.constants)
        graph.outputs = outputs
        if self._order is None:
            graph.inputs = list(self.graph.inputs)
            binds = self.inputs.named
            slots = {leaf.value: i for i, leaf in enumerate(self.inputs.leaves) if leaf.value}
        else:
            graph.inputs = [v for v in self._order if type(v) is Value]
            slots = {v: i for i, v in enumerate(self._order) if type(v) is Value}
            binds = [Bind(str(v), i, None) for i, v in enumerate(self._order) if type(v) is Name]
        asserts = self.paths.asserts_since(self._asserts)
        self._asserts = len(self.paths.facts)
        if not self.options.lists_deviations:
            asserts += [as_assert(d, self.env) for d in self.deviations[self._deviations :]]
        self._deviations = len(self.deviations)
        self._need_frame(graph, [Name(bind.name) for bind in binds], asserts)
        segment.calls = self._calls()
        program = segment.build(graph, binds, slots, asserts)
        if self._order is None:
            captured = Captured(self, self.inputs, None, graph)
            captured.guards, captured.runtime_asserts, captured.program = [], asserts, program
        else:
            captured = as_captured(self, graph, self._order, self._frame, asserts, program)
        self.parts.append(SegmentProgram(segment, captured, list(self._frame), self._modes))

    def _need_frame(self, graph: Graph, names: list[Name], asserts: Sequence[Obligation]) -> None:
        """Raise if a segment uses what its frame does not hold, because a repeated state had not
        needed it.
        """
        graph.verify()
        known = {str(name) for name in names}
        operands: list[Any] = [o.condition for o in asserts]
        for node in graph.nodes:
            known.update([str(leaf) for leaf in leaves(node.outs) if type(leaf) is Name])
            used = leaves((node.args, node.kwargs))
            operands += [operand_of(x) for x in used if type(x) in SYMBOLIC]
        operands += [operand_of(x) for x in leaves(graph.outputs) if type(x) in SYMBOLIC]
        if any(name not in known for name in names_of(*operands)):
            raise Diverged("a loop needs a number of an earlier round")

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
            self.undo.append(Snapshot([real[v] for v in changed], named, draws=False))

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
        self.undo, self._moments, self.parts = [], [], []

    # ------------------------------------------------------------------ modes

    def _set_modes(self) -> None:
        """The execution modes at the last decision."""
        enter_modes(self._modes)


def _key(x: Any) -> Any:
    return x if type(x) is Name else id(x)


def _constants(*args: Any) -> list[Any]:
    """The plain values among arguments."""
    return [x.hex() if type(x) is float else x for x in leaves(args) if type(x) in _CONSTANT]


def _number(question: Any, env: Env) -> Any:
    kind = type(question)
    if kind is Bool:
        return SymBool(question, env)
    return SymInt(question, env) if kind is Expr else SymFloat(question, env)
