"""A trace whose graph is cut into segments at questions that only the run can answer.

The calls since the last answer become a program of their own. Its inputs are a frame: the tensors
that Python holds there and the symbols whose values are known. Where the state of Python is that of
an earlier question, the segment goes on with the segments that follow that one: a loop closes.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import AnyshapeError
from anyshape.events import GraphBreak, emit, listeners
from anyshape.expr import eq0, negate
from anyshape.expr.boolean import Bool
from anyshape.expr.constructor.comparison import equals
from anyshape.expr.node import Expr
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.argument.inputs import Bind, Inputs, Leaf
from anyshape.trace.capture import Captured, as_assert
from anyshape.trace.graph.graph import (
    CONSTANT,
    SYMBOLIC,
    Graph,
    Name,
    Value,
    leaves,
    names_object,
    operand_of,
)
from anyshape.trace.path.program_state import ProgramState, state_of
from anyshape.trace.path.segment import Segment, key_of
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.env import Env
    from anyshape.env.obligation import Obligation
    from anyshape.tensor.meta import Meta
    from anyshape.trace.options import TraceOptions
    from anyshape.trace.path.segment_env import SegmentEnv


_COMPUTED: Final = (-2, 0)
_CONSTANT: Final = (int, float, bool, str, torch.dtype)


class Diverged(AnyshapeError):
    """A replay took other steps than the segments that were made before."""


class Moment:
    """A question of this path; a later one in the same state closes a loop."""

    def __init__(
        self, path: SegmentTracer, state: ProgramState, segment: Segment, rest: list[Any]
    ) -> None:
        self.state = state
        self.segment = segment
        self.rest = rest
        self.facts = len(path.paths.facts)
        self.learned = len(path.paths.learned)
        self.answers = len(path.answers) + 1
        self.symbols = {str(name) for name in path.names()}

    def is_repeated(self, path: SegmentTracer, state: ProgramState) -> bool:
        """Whether the state repeats and nothing was learned about its symbols in between."""
        if self.state.key != state.key:
            return False
        learned: list[Any] = [fact.condition for fact in path.paths.facts[self.facts :]]
        learned += path.questions[self.answers :]
        return not any(name in self.symbols for q in learned for name in names_of(q))


class SegmentTracer(Tracer):
    """The trace of one path, whose graph is cut into segments.

    `_order` are the values of the graph and the names of symbols that the frame of the current
    segment holds. None before the first question: there, the frame is the flat inputs.
    """

    is_segmented = True
    joins = False  # whether paths meet at branches outside of loops, too

    def __init__(
        self,
        env: SegmentEnv,
        root: Segment,
        options: TraceOptions,
        previous: Tracer | None = None,
    ) -> None:
        super().__init__(env, options, previous)
        self.paths = env
        self.root = self.segment = root
        self.answers: list[Any] = []
        self.questions: list[Any] = []
        self.settling = False
        self.breaks = 0  # questions that ended a new segment
        self._order: list[Any] | None = None
        self._parent: tuple[Segment, Any] | None = None
        self._asserts = self._deviations = 0  # of earlier segments
        self._alive: list[tuple[Any, Value]] = []
        self._moments: list[Moment] = []
        self._asked = 0  # the calls before the last question
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

    def rebind(self, t: Any, value: Value) -> None:
        """Let a tensor or a list stand for another value of the same memory."""
        self._alive = [(ref, v) for ref, v in self._alive if ref() is not t]
        t._meta, t._value = value.meta, value
        self.track(t)

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

    def _kept(self) -> list[Value]:
        """The live tensors that an earlier frame did not leave out as dead."""
        there = self._places_now()
        return [v for v in self._live() if id(v) in there]

    def names(self) -> list[Name]:
        """The symbols whose values are known at this point."""
        names = {Name(bind.name): None for bind in self.inputs.named}
        for node in self.graph.nodes:
            names.update({leaf: None for leaf in leaves(node.outs) if type(leaf) is Name})
        return list(names)

    # ------------------------------------------------------------------ questions

    def _go_on(self, segment: Segment, question: Any, answer: Any, order: list[Any]) -> None:
        """Begin the segment that follows an answer."""
        self.answers.append(answer)
        self._learn_answer(question, answer)
        if segment.joins or segment.settled is not None:
            self._forget()
        self._order = order
        self._parent = (segment, answer)
        self.segment = segment.children.get(key_of(answer)) or Segment()
        self._start = self._asked = len(self.graph.nodes)
        self._modes = self.modes

    def _forget(self) -> None:
        """Forget what is known of tensors from the calls that made them.

        A state that repeats must be followed by the same calls, and then others made its tensors.
        """
        self.memo.clear()
        self.epoch += 1
        for value in self._live():
            if value.root.node is not None:
                value.root.version = self.epoch

    def _learn_answer(self, question: Any, answer: Any) -> None:
        """What was answered is known from here on, for this path."""
        kind = type(question)
        if kind is Bool:
            self.env.learn(question if answer else negate(question))
        elif kind is Expr:
            self.env.learn(eq0(question.shift(-answer)))
        else:
            self.env.learn(equals(question, answer))

    def _again(self, segment: Segment) -> list[Any]:
        """End a segment that is replayed; returns what the next frame holds."""
        self._need_same(segment, ends=False)
        order = [self._at(place) for place in segment.outs]
        state = None if segment.joins else self._state()
        if state is not None and len(state.values) == segment.settled:
            self._note_moment(state, segment, order[segment.settled :])
        self._asserts = len(self.paths.facts)
        self._deviations = len(self.deviations)
        return order

    def _need_same(self, segment: Segment, *, ends: bool) -> None:
        """Raise if the program diverged from the segment that was made before."""
        if (segment.question is None) is not ends or segment.calls != self._calls():
            raise Diverged("the program took other steps than the last time with the same answers")

    def _calls(self) -> list[Any]:
        return [(n.func, _constants(n.args, n.kwargs)) for n in self.graph.nodes[self._start :]]

    def _end(self, segment: Segment, question: Any) -> list[Any]:
        """End a new segment with a question; returns what the next frame holds."""
        segment.site = capture_site()
        segment.question = self.env.text(question)
        self.breaks += 1
        if GraphBreak in listeners:
            emit(GraphBreak(self, segment.question, segment.site))
        state = self._state()
        live = self._live()
        twin = None if state is None else self._repeated(state)
        values = [] if state is None else list(state.values)
        if twin is not None:
            earlier, rest = twin
            segment.children = earlier.children
            segment.joins = True
        else:
            known = {id(v) for v in values}
            there = self._places_now()
            known |= state.dead if state is not None else set()
            others = [v for v in live if id(v) not in known] + self.names()
            rest = [x for x in others if _key(x) in there]
            if state is not None:
                segment.settled = len(values)
                self._note_moment(state, segment, rest)
        order = values + rest
        segment.outs = self._places(order)
        self._build(segment, [*order, _number(question, self.env)])
        return order

    def _note_moment(self, state: ProgramState, segment: Segment, rest: list[Any]) -> None:
        self._moments.append(Moment(self, state, segment, rest))

    def _repeated(self, state: ProgramState) -> tuple[Segment, list[Any]] | None:
        """The segment before the latest question of this path in the same state, if the frame that
        follows it can be made here, and what that frame holds besides the tensors of the state.
        """
        there = self._places_now()
        for moment in reversed(self._moments):
            if moment.is_repeated(self, state) and all(_key(x) in there for x in moment.rest):
                return moment.segment, moment.rest
        return None

    def _state(self) -> ProgramState | None:
        self.settling = True
        try:
            found = state_of(self, self._kept, self._asked, everywhere=self.joins)
        finally:
            self.settling = False
        if found is None:
            return None
        key = (found.key, self.modes) if self.joins else (found.key, found.roots, self.modes)
        return found._replace(key=key)

    # ------------------------------------------------------------------ segments

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
        """Where each part of the next frame comes from; what is computed here has no place."""
        there = self._places_now()
        return [there.get(_key(x), _COMPUTED) for x in order]

    def _at(self, place: tuple[int, int]) -> Any:
        call, k = place
        if call < 0:
            return self._begin()[k]
        return list(leaves(self.graph.nodes[self._start + call].outs))[k]

    def _build(self, segment: Segment, outputs: list[Any]) -> Captured:
        """Make the program of a segment."""
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
        deviations, self._deviations = self.deviations[self._deviations :], len(self.deviations)
        self._need_frame(graph, [Name(bind.name) for bind in binds], asserts)
        segment.calls = self._calls()
        program = segment.build(graph, binds, slots, asserts)
        inputs = self.inputs if self._order is None else frame_inputs(self._order)
        captured = Captured(self, inputs, None, graph)
        captured.guards, captured.runtime_asserts, captured.program = [], asserts, program
        captured.deviations = deviations
        return captured

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

    def release(self) -> None:
        """Drop what only the trace needed."""
        super().release()
        self._moments = []


def frame_inputs(order: Sequence[Any]) -> Inputs:
    """The inputs of a segment whose frame holds `order`."""
    return Inputs.of_leaves(
        [
            Leaf(str(x), x, None, x.meta.shape) if type(x) is Value else Leaf(str(x), None, None)
            for x in order
        ],
        [
            Bind(str(x), i, None)
            for i, x in enumerate(order)
            if type(x) is not Value and not names_object(x)
        ],
    )


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
