"""All paths through a function, one trace each: a plain program, or one that branches on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.config import config
from anyshape.errors import AnyshapeError, DataDependentError, EffectError
from anyshape.export.branches.branch_tracer import BranchTracer, Tree
from anyshape.export.branches.branching import Branch, Branching, Part
from anyshape.export.branches.liveness import prune
from anyshape.export.branches.widening import LIMIT, Widening
from anyshape.expr import parse
from anyshape.expr.boolean import Bool
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.capture import capture_call
from anyshape.trace.record.attribute.scratch import need_unread
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.export.branches.branch_tracer import Check
    from anyshape.trace.argument.size_chooser import SizeChooser
    from anyshape.trace.capture import Captured
    from anyshape.trace.options import TraceOptions
    from anyshape.trace.record.read.lazy_table import Fill

_FILLS: Final = 3  # traces that may fill memos
_ASKED = ("asked_layout", "asked_grad", "asked_class", "asked_device", "asked_identity")


class _Wider(Exception):
    """One more loop has counters that are to be symbols."""

    def __init__(self, widening: Widening) -> None:
        super().__init__()
        self.widening = widening


class _Beyond(Exception):
    """There are more segments than may be."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self.tree = tree


class VariantTrace:
    """The trace of one variant. `chooser` makes the choice of its sizes, anew for each path.

    `tracer` is that of what all paths have in common, the start of the program.
    """

    def __init__(
        self,
        fn: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        chooser: Callable[[], SizeChooser],
        *,
        branches: bool,
        options: TraceOptions,
        previous: Tracer | None = None,
    ) -> None:
        self._fn = fn
        self._call = (args, kwargs)
        self._chooser = chooser
        self._branches = branches
        self._options = options
        self.tracer = self._failed = Tracer(options=self._options, previous=previous)
        self._previous = previous
        self._opens_sizes = True
        self._tree: Tree | None = None  # the last one

    def run(self) -> Captured:
        """The program of this variant, traced again once the memos of libraries are filled."""
        filled: list[Fill] = []
        for _ in range(_FILLS):
            try:
                return self._run()
            except EffectError:
                recorder = self._failed.recorder
                new = [] if recorder is None else recorder.memos
                if not new:
                    _undo(filled)
                    raise
                for one in new:
                    one.apply()
                filled += new
                self.tracer = self._failed = Tracer(options=self._options, previous=self._previous)
        try:
            return self._run()
        except EffectError:
            _undo(filled)
            raise

    def _run(self) -> Captured:
        if not self._branches:
            return self._traced(self.tracer)
        try:
            return self._closed()
        except EffectError:
            raise
        except Exception:
            if self._tree is None or not self._tree.opened:
                raise
        self._opens_sizes = False  # as in a trace of a size that is no loop
        return self._closed()

    def _closed(self) -> Captured:
        """The program with as many loops as can be closed."""
        widenings: list[Widening] = []
        unrolled: set[Any] = set()
        failed: Exception | None = None
        while True:
            try:
                return self._widened(widenings, unrolled)
            except _Wider as e:
                widenings.append(e.widening)
                continue
            except _Beyond as e:
                if not widenings:
                    raise _too_many(e.tree, failed) from None
            except Exception as e:
                if not widenings:
                    raise
                failed = failed or e
            unrolled.add(widenings.pop().at)  # as a symbol, the counter does not do

    def _widened(self, widenings: list[Widening], unrolled: set[Any]) -> Captured:
        """The program with loops whose counters are symbols; raises `_Wider` for one more."""
        checks: dict[tuple[Any, ...], Check] = {}
        while True:
            tree = Tree(checks, widenings, unrolled, opens_sizes=self._opens_sizes)
            start = BranchTracer(tree, None, self._options, self._previous)
            self.tracer = self._failed = self._previous = start
            self._tree = tree
            try:
                return self._traced(start, start.raised)
            except Exception:
                if not start.has_ended:
                    raise
            tracers = self._paths(tree)
            if tree.wanted is not None and len(widenings) < LIMIT:
                raise _Wider(tree.wanted)
            if not tree.found:
                break
            checks = {**checks, **tree.found}
        if tree.beyond is not None:
            raise _Beyond(tree)
        for tracer in tracers:
            _need_guards(start, tracer)
        if all(t.error is not None for t in tracers if not t.has_ended):
            self._failed = next(t for t in tracers if t.error is not None)
            assert self._failed.error is not None
            raise self._failed.error
        return _joined(start, tree, tracers)

    def spell(self, error: Exception, *, by_name: bool) -> None:
        """Give the error of a trace its text, with the sizes by name or by their values."""
        if self._failed.recorder is not None:
            self._failed.recorder.texts.spell(error, by_name=by_name)

    def _traced(self, tracer: Tracer, raised: Any = None) -> Captured:
        args, kwargs = self._call
        arguments = Arguments.of(self._fn, args, kwargs, ())
        return capture_call(self._fn, arguments, self._chooser(), tracer, raised)

    def _paths(self, tree: Tree) -> list[BranchTracer]:
        """Trace every path."""
        tracers = []
        while tree.scripts and tree.wanted is None:
            tracer = BranchTracer(tree, tree.scripts.pop(), self._options, self._previous)
            self._previous = tracer
            tracers.append(tracer)
            try:
                captured = self._traced(tracer, tracer.raised)
            except Exception:
                if not tracer.has_ended:
                    self._failed = tracer
                    raise
            else:
                if not tracer.has_ended:
                    tracer.finish(captured.graph.outputs, captured.out_spec)
        return tracers


def _undo(filled: list[Fill]) -> None:
    for one in reversed(filled):
        one.undo()


def _joined(start: BranchTracer, tree: Tree, tracers: list[BranchTracer]) -> Branching:
    """The program of all segments."""
    for tracer in tracers:
        for flag in _ASKED:
            setattr(start, flag, getattr(start, flag) or getattr(tracer, flag))
        start.read_places.update(tracer.read_places)
        start.handles_errors = start.handles_errors or tracer.recorder.catches
    need_unread(tracers)
    prune(tree.made)
    numbers = {id(made.segment): i for i, made in enumerate(tree.made)}
    parts = []
    for segment, captured in tree.made:
        branch = None
        if segment.question is not None:
            targets = {a: numbers[id(child)] for a, child in segment.children.items()}
            branch = Branch(segment.question, segment.site, targets)
        parts.append(Part(captured, branch))
    return Branching(start, start.inputs, parts, tracers)


def _need_guards(start: BranchTracer, tracer: BranchTracer) -> None:
    """Let the start of a program have the guards of a path: what one needs, all need."""
    env = start.env
    known = {str(fact.condition) for fact in env._guards}
    for fact in tracer.env._guards:
        text = str(fact.condition)
        if text not in known:
            known.add(text)
            condition = parse(env.pool, text)
            assert type(condition) is Bool
            env._record(condition, fact.origin, fact.site, fact.message)


def _too_many(tree: Tree, failed: Exception | None) -> AnyshapeError:
    assert tree.beyond is not None
    question, site = tree.beyond
    why = (
        "each side of a branch is a segment, and a loop closes only where the state of the program"
    )
    why += " repeats"
    if variables := tree.varying():
        why += f"; from round to round, another state is in {' and '.join(variables)}"
    if failed is not None:
        text = failed.what if isinstance(failed, AnyshapeError) else repr(failed)
        why += f"; with the numbers that change as symbols: {text}"
    return DataDependentError(
        f"the program branches on data into more than {config.segment_limit} segments: it decides"
        f" {question}" + (f" at {site}" if site else ""),
        why=why,
        fix="let a list that grows hold tensors of one dtype and rank, or numbers of one type; or"
        " keep results of rounds in a tensor, such as torch.cat([out, new]); use torch.where(...),"
        " which does not branch; or raise config.segment_limit",
        code="AS103",
    )
