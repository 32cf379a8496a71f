"""`BranchTracer`: one path through a program that branches on data; nothing is run.

The path follows a script of answers. At a question beyond the script a segment ends, and the tree
gets a script for each possible answer; the path goes on with the last of them.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.config import config
from anyshape.env.data_dependence import data_dependent, without_value
from anyshape.env.site import capture as capture_site
from anyshape.errors import AnyshapeError, ConstraintError
from anyshape.export.branches.branch_env import BranchEnv
from anyshape.export.branches.carried import Carried
from anyshape.export.branches.liveness import Liveness
from anyshape.export.branches.waypoint import Waypoint, comes_before, differing, form_of, met
from anyshape.export.branches.widening import FEW, ROUNDS, Widening, texts_of, widen, widening_of
from anyshape.expr import negate
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Expr
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.trace.graph.graph import Name, Value, leaves, operand_of
from anyshape.trace.higher_order.body import undecided_in_body
from anyshape.trace.path.program_state import Unsettled, position
from anyshape.trace.path.segment import MAX_ANSWERS, Segment, key_of
from anyshape.trace.path.segment_tracer import Diverged, SegmentTracer
from anyshape.trace.record.blame import is_of_program
from anyshape.trace.record.effect.effect import raise_unless
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.object_kind import ATOMS
from anyshape.trace.sequence.item import need_alone
from anyshape.trace.sequence.open_call import need_loop, open_numbers, open_rows
from anyshape.trace.sequence.sym_list import need_unchanged, need_unused, refusal_of
from anyshape.trace.trace_asker import TraceAsker

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from anyshape.env.site import Site
    from anyshape.expr.real import Real
    from anyshape.tensor.sym_tensor import SymTensor
    from anyshape.trace.capture import Captured
    from anyshape.trace.options import TraceOptions
    from anyshape.trace.path.program_state import ProgramState
    from anyshape.trace.sequence.sym_list import SymList
    from anyshape.trace.sequence.walker import Walker
    from anyshape.trace.tracer import Tracer

_BOTH: Final = (True, False)


class PathEnd(AnyshapeError):
    """The path ends here: what follows is known, impossible, or beyond a limit."""

    is_refusal = True
    ends_path = True


class Check(NamedTuple):
    """A question that has to have one answer: with the other, the program raises at once."""

    answer: bool
    error: Exception
    site: Site | None


class Made(NamedTuple):
    """A segment with its program, and the trace that it was made in."""

    segment: Segment
    captured: Captured


class Tree:
    """The segments of one variant so far, and the scripts of the paths that are left to trace.

    `checks` are known from the start, by the answers before them; `found` are new ones. So are
    `widenings`; `wanted` is a new one. No question of `unrolled` may have one. With `opens_sizes`,
    loops over sizes of the inputs are closed, too, and not unrolled at the sizes of the variant.
    """

    def __init__(
        self,
        checks: dict[tuple[Any, ...], Check],
        widenings: Sequence[Widening] = (),
        unrolled: Container[Any] = (),
        *,
        opens_sizes: bool = False,
    ) -> None:
        self.root = Segment()
        self.made: list[Made] = []
        self.checks = checks
        self.found: dict[tuple[Any, ...], Check] = {}
        self.scripts: list[list[Any]] = []
        self.beyond: tuple[str, Site | None] | None = None  # the first question beyond the limit
        self.points: list[Waypoint] = []
        self.widenings = {w.at: w for w in widenings}
        self.unrolled = unrolled
        self.wanted: Widening | None = None
        self.opens_sizes = opens_sizes
        self.opened = False  # whether there is a loop over a size
        self._liveness: tuple[int, Liveness] | None = None  # of so many segments

    @property
    def is_full(self) -> bool:
        """Whether the limit of segments is reached."""
        return len(self.made) >= config.segment_limit

    def liveness(self, tracer: BranchTracer) -> Liveness:
        """What is needed of the frames, as far as a path that is being traced can tell."""
        if self._liveness is None or self._liveness[0] != len(self.made):
            self._liveness = (len(self.made), Liveness(self.made, tracer.trail))
        return self._liveness[1]

    def varying(self) -> list[str]:
        """The variables that differ between the last two rounds of a loop."""
        last = self.points[-1] if self.points else None
        for point in self.points[-2::-1]:
            assert last is not None
            if point.state.at == last.state.at and comes_before(point, last.path):
                return differing(point, last)
        return []

    def exceed(self, question: str, site: Site | None) -> None:
        """Note that a question leads beyond the limit."""
        self.beyond = self.beyond or (question, site)


class BranchTracer(SegmentTracer):
    """The trace of one path. Without a script, it ends at the first question, and the segment that
    ends there is the first of the program.
    """

    joins = closes_loops = True

    def __init__(
        self, tree: Tree, script: list[Any] | None, options: TraceOptions, previous: Tracer | None
    ) -> None:
        env = BranchEnv(TraceAsker())
        super().__init__(env, tree.root, options, previous)
        env.path = self
        self.tree = tree
        self.script = script
        self.path: list[Any] = []  # all answers, those of checks among them
        self.has_ended = False
        self.error: Exception | None = None  # that the program raised
        self.trail: list[Segment] = []  # the segments that the answers follow
        self._starts: list[int] = []  # the calls before each answer
        self._hidden = 0  # blocks whose nodes are forgotten
        self._walker: Walker | None = None  # the iterator that asks
        self._references: dict[int, int] = {}  # to lists, in the last state
        self.listed: set[Value] = set()  # tensors that were put into lists
        self.frozen: dict[int, tuple[list[Any], tuple[Any, ...]]] = {}  # lists, with what they had

    # ------------------------------------------------------------------ questions

    def decide(self, question: Bool | Expr | Real) -> Any:
        """The answer of this path to a question."""
        if self.settling:
            raise Unsettled
        if self.bodies:
            raise undecided_in_body(self.env.text(question))
        if self.has_ended:
            raise self.end()
        if self._hidden or self.whole:
            raise self._undecided(question)
        check = self.tree.checks.get(_place(self.path))
        if check is not None and check.site == capture_site():
            return self._need(question, check)
        self.settle()
        need_unchanged(self)
        self.questions.append(question)
        segment = self.segment
        if self.script is None:
            self._ask(segment, question)
            raise self.end()
        if len(self.path) < len(self.script):
            order, answer = self._again(segment), self.script[len(self.path)]
        else:
            order = self._ask(segment, question)
            answer = self.tree.scripts.pop()[-1]
        self._starts.append(len(self.graph.nodes))
        self.path.append(answer)
        self.trail.append(segment)
        self._go_on(segment, question, answer, order)
        if self.tree.widenings:
            self._widen(answer)
        return answer

    def walk(self, walker: Walker, going: SymBool) -> bool:
        """Whether a loop goes on with one more round, which is the answer of this path."""
        found = going.known()
        if found is not None:
            return found
        if self._walker is not None:
            raise refusal_of("a loop inside of an iterator")
        need_loop(position())
        self._walker = walker
        try:
            return bool(self.decide(going.condition))
        finally:
            self._walker = None

    def _learn_round(self, walker: Walker, answer: bool) -> None:
        """What was answered is known of the symbols that stand for the numbers of a loop, too."""
        going = walker.going()
        if type(going) is SymBool and going.known() is None:
            self.env.learn(going.condition if answer else negate(going.condition))

    def opens_size(self, e: Expr) -> bool:
        """Whether a loop over a size of the inputs is to be closed: no number of variants has all
        values of one that the spec names without an upper bound.
        """
        assert isinstance(self.env, BranchEnv)
        if not self.tree.opens_sizes or self.env.unbounded.isdisjoint(names_of(e)):
            return False
        self.tree.opened = True
        return True

    def open_rows(self, t: SymTensor) -> SymList | None:
        """See `open_rows`."""
        return open_rows(t)

    def open_numbers(self, t: SymTensor) -> SymList | None:
        """See `open_numbers`."""
        return open_numbers(t)

    def touch(self, changed: Any) -> bool:
        """See `Tracer`: where there are lists, items of theirs may be what changed."""
        is_outside = super().touch(changed)
        if not self.has_lists:
            return is_outside
        self._forget()
        self.outer_version = self.epoch
        return True

    def need_alone(self, t: SymTensor) -> None:
        """See `need_alone`."""
        need_alone(t, self._live(), self.graph.nodes[self._start :])

    def _widen(self, answer: Any) -> None:
        """Let the numbers that a loop changes be symbols from here on."""
        now = position()
        widening = self.tree.widenings.get(now.at)
        if widening is not None:
            carried = Carried(now, self.recorder.is_born)
            # behind a loop that ended after no round, and after some, the states are the same
            is_over = self._walker is not None and not answer
            widen(widening, carried, self, self._references, apart=is_over)
            if self._walker is not None:
                self._learn_round(self._walker, answer)

    def _need(self, question: Any, check: Check) -> bool:
        """Write a check into the current segment; its answer.

        The path goes on as it does after a question that ends a segment, so that the places of the
        questions that follow, which other checks are known by, are the same.
        """
        if self._state() is not None:
            self._forget()
        holds = SymBool(question if check.answer else negate(question), self.env)
        self._raise_unless(holds, check.error)
        self._asked = len(self.graph.nodes)
        self._starts.append(len(self.graph.nodes))
        self.path.append(check.answer)
        self._learn_answer(question, check.answer)
        return check.answer

    @property
    def is_cut(self) -> bool:
        """See `Tracer`."""
        return bool(self.path)

    def _ask(self, segment: Segment, question: Any) -> list[Any]:
        """End a new segment; what the next frame holds. The tree gets a script for each answer."""
        if self.tree.is_full:
            for point in reversed(self.tree.points):
                if comes_before(point, self.path):
                    self._find_rounds(point, FEW)
            self.tree.exceed(self.env.text(question), capture_site())
            raise self.end()
        answers = self._possible(question)
        order = self._end(segment, question)
        if segment.joins:
            raise self.end()
        self.tree.scripts += [[*self.path, answer] for answer in reversed(answers)]
        return order

    def _possible(self, question: Any) -> tuple[Any, ...]:
        """The answers that a question may have; raises where there are too many."""
        if type(question) is Bool:
            return _BOTH
        if type(question) is Expr:
            lo, hi = self.env.range_of(question)
            if math.isfinite(lo) and math.isfinite(hi) and hi - lo < MAX_ANSWERS:
                return tuple(range(int(lo), int(hi) + 1))
        raise self._undecided(question)

    def _undecided(self, question: Any) -> AnyshapeError:
        if type(question) is Bool:
            return data_dependent(self.env, question)
        kind = "a Python int" if type(question) is Expr else "a float"
        return without_value(self.env, question, kind)

    def _learn_answer(self, question: Any, answer: Any) -> None:
        try:
            super()._learn_answer(question, answer)
        except ConstraintError:
            raise self.end() from None  # this answer is never given

    def end(self) -> PathEnd:
        """The error that ends this path."""
        self.has_ended = True
        return PathEnd("the path ends at a branch")

    # ------------------------------------------------------------------ where paths meet

    def _state(self) -> ProgramState | None:
        found = super()._state()
        self._references = {} if found is None else found.references
        need_unused(self, self._references)
        return found

    def _repeated(self, state: ProgramState) -> tuple[Segment, list[Any]] | None:
        for point in reversed(self.tree.points):
            rest = met(point, state, self)
            if rest is not None:
                return point.segment, rest
        return None

    def _note_moment(self, state: ProgramState, segment: Segment, rest: list[Any]) -> None:
        if segment.run is not None:
            return  # a replay: it was noted when the segment was made
        order = [*state.values, *rest]
        names = frozenset([str(name) for name in self.names()])
        learned = len(self.paths.learned)
        path = list(self.path)
        numbers = texts_of(Carried(position(), self.recorder.is_born), self)
        self.tree.points.append(
            Waypoint(segment, state, order, path, learned, names, self, numbers, form_of(state))
        )
        self._find_rounds(self.tree.points[-1], ROUNDS if self._walker is None else FEW)

    def _find_rounds(self, last: Waypoint, count: int) -> None:
        """End the path if a loop differs in so many rounds in numbers alone, which are not all
        symbols yet.
        """
        tree, at = self.tree, last.state.at
        if at in tree.unrolled:
            return
        rounds = [
            p
            for p in tree.points
            if p.state.at == at and p.form == last.form and comes_before(p, last.path)
        ]
        if len(rounds) >= count:
            known = tree.widenings.get(at)
            tree.wanted = widening_of(at, [p.numbers for p in rounds], count, self, known)
            if tree.wanted is not None:
                raise self.end()

    def names_before(self, place: int) -> set[str]:
        """The symbols and objects that had names when the answer at a place was given."""
        nodes = self.graph.nodes[: self._starts[place]] if place < len(self._starts) else []
        made = [leaf for node in nodes for leaf in leaves(node.outs) if type(leaf) is Name]
        return {*[bind.name for bind in self.inputs.named], *map(str, made)}

    def same_tensor(self, value: Value) -> Value | None:
        """The tensor of this path that has the number of one of another path."""
        return next((v for v in self._live() if str(v) == str(value)), None)

    def has(self, x: Any) -> bool:
        """Whether the current segment can compute a part of a frame."""
        there = self._places_now()
        if type(x) in (Value, Name):
            return _key(x) in there
        return x is None or all(Name(n) in there for n in names_of(operand_of(x)))

    # ------------------------------------------------------------------ segments

    def _build(self, segment: Segment, outputs: list[Any]) -> Captured:
        captured = super()._build(segment, outputs)
        captured.out_spec = segment.out_spec
        self.tree.made.append(Made(segment, captured))
        if self._parent is not None:
            parent, answer = self._parent
            parent.children[key_of(answer)] = segment
        return captured

    def finish(self, outputs: list[Any], out_spec: Any) -> None:
        """End the last segment with what the program returned."""
        assert self.script is not None
        need_unchanged(self)
        if len(self.path) < len(self.script) or self.segment.run is not None:
            raise Diverged("the program took other steps than the last time with the same answers")
        if self.error is not None and self._only_raised():
            assert self._parent is not None
            check = Check(not self.path[-1], self.error, self._parent[0].site)
            self.tree.found.setdefault(_place(self.path[:-1]), check)
        elif self.tree.is_full:
            assert self._parent is not None
            self.tree.exceed(self._parent[0].question or "", self._parent[0].site)
        self.segment.out_spec = out_spec
        self._build(self.segment, outputs)

    # ------------------------------------------------------------------ errors

    def raised(self, error: Exception) -> None:
        """The program raised, as this path of it does on every run; other errors are raised, ours
        among them.
        """
        refuses = isinstance(error, AnyshapeError) and error.is_refusal
        if self.has_ended or refuses or not self.answers or not is_of_program(error):
            raise error
        self.error = error
        self._raise_unless(False, error)

    def _only_raised(self) -> bool:
        """Whether the last answer was followed by nothing but an error with a known text."""
        assert self._parent is not None
        _, answer = self._parent
        nodes = self.graph.nodes[self._start :]
        return (
            type(answer) is bool
            and self.path[-1] is answer
            and len(nodes) == 1
            and len(self.paths.facts) == self._asserts
            and all(type(x) in ATOMS for x in nodes[0].args[2])
        )

    def _raise_unless(self, holds: Any, error: Exception) -> None:
        """Write the call that raises an error where a condition does not hold."""
        texts = self.recorder.texts
        args = tuple([texts.whole(x) if type(x) is str else x for x in error.args])
        own = {k: v for k, v in vars(error).items() if type(v) in ATOMS}
        state = {k: texts.whole(v) if type(v) is str else v for k, v in own.items()}
        self.emit(raise_unless, (holds, Held(type(error)), args, state))

    # ------------------------------------------------------------------ what cannot be cut

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """See `Tracer`."""
        self._hidden += 1
        try:
            with super().unrecorded():
                yield
        finally:
            self._hidden -= 1


def _place(path: list[Any]) -> tuple[Any, ...]:
    return tuple(map(key_of, path))


def _key(x: Any) -> Any:
    return x if type(x) is Name else id(x)
