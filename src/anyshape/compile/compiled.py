"""`Compiled`: a function with its cache of compiled entries."""

from __future__ import annotations

import threading
import types
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from anyshape.compile.audit import audit_call
from anyshape.compile.bound_method import Methods
from anyshape.compile.cache.call_form import CallForm
from anyshape.compile.cache.entry import Entry
from anyshape.compile.cache.guard_function import exact_conditions, need_expected
from anyshape.compile.cache.recompilation import Reason, Stats, most_frequent
from anyshape.compile.described import Described
from anyshape.compile.dynamism.attribute_inputs import attributes_of
from anyshape.compile.dynamism.dynamic_number import plain_numbers
from anyshape.compile.dynamism.policy import Choice, Policy
from anyshape.compile.dynamism.shared_history import SharedHistory
from anyshape.compile.dynamism.store import StoredHistory
from anyshape.compile.dynamism.varying import Varying
from anyshape.compile.explanation import global_name, name_of
from anyshape.compile.lowered import is_unlowered, lower_segments
from anyshape.compile.pieces.cuts import Cuts
from anyshape.compile.traced import Failed, Traced, no_second_run
from anyshape.compile.tree.trace_path import PathTracer
from anyshape.config import config
from anyshape.env.site import warn
from anyshape.errors import (
    AnyshapeError,
    AnyshapeWarning,
    ConfigError,
    ConstraintViolation,
    RecompileLimitError,
    RuntimeAssertError,
    ShapeError,
    text_of,
)
from anyshape.events import Fallback, Recompilation, emit, listeners
from anyshape.interop.backend import EAGER, Lowered, find_backend, lower_program
from anyshape.interop.stance import is_ordinary, is_watched, stance
from anyshape.observe import wanted
from anyshape.refusal import running
from anyshape.torch_compat.tensor_subclass import is_without_data
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.argument.inputs import untraceable
from anyshape.trace.argument.size_chooser import BACKED, STATIC, EachSize
from anyshape.trace.capture import capture_call
from anyshape.trace.options import REPLAYED, TraceOptions
from anyshape.trace.path.segment import Segment, Stop, key_of, walk
from anyshape.trace.record.effect.deferral import Deferral
from anyshape.trace.state.snapshot import Snapshot
from anyshape.trace.tracer import Tracer
from anyshape.trace.tree import unflatten

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.compile.options import Options
    from anyshape.compile.pieces.pieces import Pieces
    from anyshape.trace.argument.condition import Violation
    from anyshape.trace.argument.size_chooser import SizeChooser
    from anyshape.trace.capture import Captured

_KEPT: Final = 256  # events
_HINTS: Final = {"backed_size_oblivious": False, "specialize_zero_one": False}  # sizes decide
_RAISED: Final = (ConstraintViolation, ConfigError)  # errors that an eager fallback cannot fix
_BY_HINT: Final = EachSize(lambda spot: BACKED if type(spot.value) is int else STATIC)
_STATIC: Final = EachSize(lambda spot: STATIC)


class Compiled(Described):
    """A compiled function. Call it like the function.

    Entries are tried from the one used last. Hits take no lock, and no lock is held while code of
    the user's runs: threads that trace the same function do not wait for each other.
    """

    def __init__(
        self, fn: Callable[..., Any], options: Options, *, around: Varying | None = None
    ) -> None:
        self.fn = fn
        self.options = options
        self.entries: list[Entry] = []
        self.stats = Stats()
        self.recompilations: list[Recompilation] = []
        self.eager_because: str | None = None
        self.history = self._new_history()
        self._outdated: list[Reason] = []  # what other processes told, until the next call
        self._varying = Varying(around)
        self._is_part = around is not None  # of a function in pieces
        self._layouts = False  # whether the layouts of inputs are part of every check
        self._backend = find_backend(*options.lowering)
        self._cuts = Cuts(fn, self._part, self.stats, lowers=not self._backend.is_plain)
        self._policy = Policy(options.dynamic, self.history)
        self._form = CallForm(fn)
        self._lock = threading.RLock()
        self._methods = Methods(lambda method: Compiled(method, options))
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            if hasattr(fn, name):
                setattr(self, name, getattr(fn, name))
        self.__wrapped__ = fn
        wanted.follow_environment()

    # ------------------------------------------------------------------ calls

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the first entry that accepts these inputs; trace the call if none does."""
        if running.trace is not None:
            return self.fn(*args, **kwargs)
        ordinary = is_ordinary()
        if self.eager_because is not None or not (ordinary or stance() != "force_eager"):
            self.stats.eager += 1
            return self.fn(*args, **kwargs)
        count, named = len(args), kwargs
        if kwargs or count not in self._form.counts:
            args, kwargs = self._form(args, kwargs)
        entries = self.entries
        for entry in entries:
            flat = entry.check(args, kwargs)
            if type(flat) is list and (entry.holds is None or entry.holds(flat) is None):
                if ordinary and entry.is_final and entry is entries[0]:
                    self.stats.hits += 1
                    return entry.run(flat)
                return self._hit(entry, flat, args, kwargs)
        return self._miss(args, kwargs, self._form.omitted(count, named))

    def _hit(self, entry: Entry, flat: list[Any], args: Any, kwargs: Any) -> Any:
        self.stats.hits += 1
        if config.audit:
            with config.patch(**_HINTS) if entry.choose is _BY_HINT else nullcontext():
                audit_call(self.fn, entry, args, kwargs, self._tracing)
        entries = self.entries
        if entries and entry is not entries[0] and self._lock.acquire(blocking=False):
            try:
                if entry in self.entries:  # unless another thread gave up, or reset it
                    self.entries = [entry, *[e for e in self.entries if e is not entry]]
            finally:
                self._lock.release()
        return self._run(entry, flat, args, kwargs)

    def _run(self, entry: Entry, flat: list[Any], args: Any, kwargs: Any) -> Any:
        may_return = entry.catches or entry.root is not None
        before = entry.snapshot(flat) if may_return else None
        if entry.catches and (before is None or entry.shows_effects):
            return self._eagerly(args, kwargs)
        deferral = Deferral()
        try:
            with deferral if entry.has_effects and may_return else nullcontext():
                result = entry.run(flat)
        except BaseException as e:
            if before is None or not entry.catches or not isinstance(e, Exception):
                deferral.commit()
                raise
            deferral.discard()
            before.restore()  # the function itself may handle it
            return self._eagerly(args, kwargs)
        if type(result) is Stop:
            return self._extend(entry, flat, args, kwargs, result, before, deferral)
        deferral.commit()
        return result

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """Bind as a method: each object has entries of its own, or is an argument like others."""
        if owner is None:
            return self
        found = self._methods.of(owner, self.fn)
        return types.MethodType(self, owner) if found is None else found

    def _eagerly(self, args: Any, kwargs: Any) -> Any:
        self.stats.eager += 1
        return self.fn(*args, **kwargs)

    # ------------------------------------------------------------------ tracing

    def _miss(self, args: Any, kwargs: dict[str, Any], omitted: frozenset[str]) -> Any:  # noqa: C901  one case per stance
        fullgraph = self.options.fullgraph
        if (plain := plain_numbers(self.fn, args, kwargs, self.history)) is not None:
            return self(*plain[0], **plain[1])
        if is_watched(is_lowered=not self._backend.is_plain, fullgraph=fullgraph):
            return self._eagerly(args, kwargs)
        if self._cuts.current() is not None:
            return self._in_pieces(args, kwargs)
        with self._lock:
            reasons, tried, self._outdated = self._outdated, self.entries, []
        for entry in tried:
            reason = entry.why_not(args, kwargs)
            if reason is None:  # another thread was faster
                flat = entry.check(args, kwargs)
                if type(flat) is list:
                    return self._hit(entry, flat, args, kwargs)
            else:
                reasons.append(reason)
        chosen = stance()
        if reasons:
            self._note(reasons)
            if chosen == "fail_on_recompile":
                raise RecompileLimitError(str(self.recompilations[-1]))
            if chosen == "eager_on_recompile":
                return self._eagerly(args, kwargs)
        if len(self.entries) >= self.options.limit and not self._makes_room():
            return self._beyond_limit(args, kwargs)
        if self.options.dynamic is not False:
            self._varying.learn(reasons, self.history)
        named, held = attributes_of(self.fn), self._varying.held()
        named += self._varying.current(named)
        call = Arguments.of(self.fn, args, kwargs, named, owned=True, held=held)
        if any(map(is_without_data if fullgraph else untraceable, call.flat)):
            return self._eagerly(args, kwargs)
        if chosen == "eager_then_compile" and not self.stats.calls:
            self.history.note(call.names, call.flat)
            return self._eagerly(args, kwargs)
        return self._compile(call, omitted, tried, exact=any(reason.exact for reason in reasons))

    def _new_history(self) -> StoredHistory:
        agrees = self.options.dynamic is None
        return SharedHistory(self.fn, self._outdate) if agrees else StoredHistory(self.fn)

    def _outdate(self, violation: Violation) -> bool:
        """Have the next call traced, since a size that is static here varies elsewhere."""
        with self._lock:
            if was_used := bool(self.entries):
                self.entries, self._outdated = [], [Reason(violation)]
        return was_used

    def _makes_room(self) -> bool:
        """Drop programs that differ by an object which calls replace: the next breaks there."""
        reason = most_frequent(self.recompilations)
        if self.options.fullgraph or not self._varying.breaks_at(reason):
            return False
        self.entries = []
        return True

    def _note(self, reasons: list[Reason]) -> None:
        event = Recompilation(name_of(self.fn), tuple(reasons))
        self.recompilations.append(event)
        del self.recompilations[:-_KEPT]
        if Recompilation in listeners:
            emit(event)

    def _beyond_limit(self, args: Any, kwargs: Any) -> Any:
        about = most_frequent(self.recompilations)
        count = len(self.entries)
        limit = RecompileLimitError.of(name_of(self.fn), count, about.text, about.fix)
        if self.options.fullgraph:
            raise limit
        if about.is_object and self._cuts.at_error(limit, about.place):
            return self._in_pieces(args, kwargs)
        self._give_up(f"{limit.what}; what keeps failing: {about}")
        return self._eagerly(args, kwargs)

    def _give_up(self, why: str) -> None:
        """Run eagerly from here on, and free the entries; only a whole function is announced."""
        self.eager_because = why
        self.entries = []
        if Fallback in listeners:
            emit(Fallback(name_of(self.fn), why))
        if not self._is_part:
            warn(AnyshapeWarning(f"{name_of(self.fn)} runs eagerly from now on: {why}"))

    def _compile(
        self, call: Arguments, omitted: frozenset[str], tried: list[Entry], *, exact: bool
    ) -> Any:
        """Trace a call that none of the entries `tried` serves, and run it.

        Its sizes are those of the policy, unless `exact`. A trace at general sizes may fail at an
        op that needs more than is known of them: then the sizes of the call decide the questions of
        the program, and if that fails too, all sizes are static.
        """
        fixed = call.constants(omitted)
        chosen = self._policy.choice(call.names, call.flat, call.attributes, fixed)
        ladder: list[SizeChooser] = [_BY_HINT, _STATIC] if exact else [chosen, _BY_HINT, _STATIC]
        made = self._trace(call, ladder[0], tried)
        for choose in ladder[1:]:
            if isinstance(made, Failed) and made.is_too_general:
                made = self._trace(call, choose, tried)
        if isinstance(made, Traced):
            if made.out is None:
                return self._run(made.entry, call.frame, call.args, call.kwargs)
            return unflatten(made.out, made.entry.captured.out_spec)
        error = made.error
        asserted = isinstance(error, RuntimeAssertError) and not (made.catches or self._is_part)
        eagers = asserted or (isinstance(error, ShapeError) and not error.is_refusal)
        if (eagers and made.has_asserts) or getattr(error, "is_once", False):  # may fail first
            return self._eagerly(call.args, call.kwargs)
        if self.options.fullgraph:
            made.refuse(lambda: self._eagerly(call.args, call.kwargs))
        if asserted or isinstance(error, _RAISED):
            raise error
        made.drop_values()
        if getattr(error, "is_refusal", False) and self._cuts.at_error(error):
            made.drop_places()
            return self._in_pieces(call.args, call.kwargs)
        try:
            result = self._eagerly(call.args, call.kwargs)
            if not self._cuts.at_error(error):
                self._give_up(f"it cannot be traced: {text_of(error)}")
        finally:
            made.drop_places()
        return result

    # ------------------------------------------------------------------ pieces

    @property
    def pieces(self) -> Pieces | None:
        """The function in pieces, if it cannot be traced whole."""
        return self._cuts.pieces

    def _part(self, fn: Any, *, is_plain: bool) -> Compiled:
        return Compiled(fn, self.options.of_part(is_plain), around=self._varying)

    def _in_pieces(self, args: Any, kwargs: Any) -> Any:
        assert self.pieces is not None
        self.stats.in_pieces += 1
        return self.pieces.run(*args, **kwargs)

    def _trace(self, call: Arguments, choose: SizeChooser, tried: list[Entry]) -> Traced | Failed:
        """Trace a call with these sizes and keep the program; after an error, all is as before."""
        flat = call.frame
        tracer = (
            Tracer(options=self._tracing)
            if self.options.fullgraph
            else PathTracer(Segment(), flat, (), list(flat), self._tracing)
        )
        before = Snapshot()
        try:
            with config.patch(**_HINTS) if choose is _BY_HINT else nullcontext():
                captured = capture_call(self.fn, call, choose, tracer)
            captured.raises_on_deviation = self.options.on_deviation == "raise"
            if type(choose) is Choice:
                choose.check(captured)
            need_expected(captured, flat, exact=self.options.on_deviation == "specialize")
            return self._keep(captured, tracer, choose, call, tried)
        except Exception as e:
            if isinstance(tracer, PathTracer):
                before.restore()
                tracer.take_back()
            catches = tracer.recorder is None or tracer.recorder.catches
            has_asserts = bool(tracer.env.runtime_asserts or tracer.has_effects)
            tracer.abandon()
            return Failed(e, catches, has_asserts)

    @property
    def _tracing(self) -> TraceOptions:
        return TraceOptions(
            effects=REPLAYED,
            lists_deviations=self.options.on_deviation == "follow",
            has_draws=self.options.fullgraph or self._backend.is_plain,
            keeps_autograd=self.options.fullgraph or self._backend.is_plain,
            unsteady=self._varying.unsteady,
        )

    def _keep(
        self,
        captured: Captured,
        tracer: Tracer,
        choose: SizeChooser,
        call: Arguments,
        tried: list[Entry],
    ) -> Traced:
        """Make an entry of a trace; with what the call returns, if it has run by now."""
        exact = exact_conditions(captured) if self.options.on_deviation == "specialize" else ()
        program: Segment | Lowered
        out = None
        outside = tracer.recorder.finish(), tracer.recorder.identity()  # which may refuse
        if isinstance(tracer, PathTracer) and tracer.answers:
            out = tracer.finish(captured.graph.outputs, captured.out_spec)
            self.stats.breaks += tracer.breaks
            tracer.deferral.commit()
            lower_segments(tracer.parts, self._backend, is_part=self._is_part)
            program = tracer.root
        else:
            stays = is_unlowered(captured.graph, is_part=self._is_part)
            plan = (find_backend(EAGER) if stays else self._backend, self.options.fullgraph)
            program = lower_program(captured, *plan, call.frame, name_of(self.fn))
        entry = Entry(
            captured, call.places, outside, choose, self._layouts, program, exact, self._is_part
        )
        self.stats.traces += 1
        with self._lock:
            others = [e for e in self.entries if e not in tried]  # of other threads, meanwhile
            if not any(type(e.check(call.args, call.kwargs)) is list for e in others):
                self.entries = [entry, *self.entries]
        return Traced(entry, out)

    # ------------------------------------------------------------------ new branches

    def _extend(
        self,
        entry: Entry,
        flat: list[Any],
        args: Any,
        kwargs: Any,
        stop: Stop,
        before: Snapshot | None,
        deferral: Deferral,
    ) -> Any:
        """Trace a branch that no call of this entry has taken yet, and finish the call."""
        assert entry.root is not None
        segment = entry.root
        for answer in stop.answers[:-1]:
            segment = segment.children[key_of(answer)]
        child = segment.children.get(key_of(stop.answers[-1]))
        if child is not None and not entry.switches:  # another thread was faster
            with deferral:
                result = walk(child, stop.frame)
            if type(result) is not Stop:
                deferral.commit()
                return result
            stop = Stop([*stop.answers, *result.answers], result.frame)
            return self._extend(entry, flat, args, kwargs, stop, before, deferral)
        tracer = PathTracer(entry.root, flat, stop.answers, stop.frame, self._tracing, deferral)
        tracer.caller_flags = None if before is None else before.flags
        call = Arguments.of(self.fn, args, kwargs, entry.attributes, owned=True, held=entry.held)
        self.stats.extensions += 1
        try:
            with config.patch(**_HINTS) if entry.choose is _BY_HINT else nullcontext():
                captured = capture_call(self.fn, call, entry.choose, tracer)
            entry.need_identity(tracer.recorder.identity())
            out = tracer.finish(captured.graph.outputs, captured.out_spec)
        except Exception as e:
            if isinstance(e, AnyshapeError) and not isinstance(e, RuntimeAssertError):
                tracer.take_back()
                return self._half_done(entry, tracer, e, args, kwargs, before)
            if not tracer.failed:
                tracer.flush()
            elif before is not None and (entry.catches or tracer.recorder.catches):
                tracer.take_back()
                before.restore()
                return self._eagerly(args, kwargs)
            deferral.commit()
            raise
        finally:
            self.stats.breaks += tracer.breaks
            entry.renew(tracer)
        entry.watch.add(tracer.recorder.finish())
        deferral.commit()
        lower_segments(tracer.parts, self._backend, is_part=self._is_part)
        if tracer.asked_layout and not entry.checked.layouts:
            self._layouts = True
            self._drop(entry)
        if tracer.overflow is not None:
            question = tracer.overflow
            why = (
                f"{question.question} at {question.site} had {len(question.children)} answers,"
                " each with a program of its own; to keep it symbolic, use it as a value"
            )
            if self._cuts.at_question(why, tracer.overflown):
                self._drop(entry)
            else:
                self._give_up(why)
        return unflatten(out, captured.out_spec)

    def _drop(self, entry: Entry) -> None:
        with self._lock:
            self.entries = [e for e in self.entries if e is not entry]

    def _half_done(
        self,
        entry: Entry,
        tracer: PathTracer,
        error: AnyshapeError,
        args: Any,
        kwargs: Any,
        before: Snapshot | None,
    ) -> Any:
        """Run eagerly a call whose first segments have run, with everything as before it."""
        if before is not None:
            before.restore()
        elif tracer.outer_version or tracer.draws:
            raise no_second_run(name_of(self.fn), error) from error
        result = self._eagerly(args, kwargs)
        if self._cuts.at_error(error):
            self._drop(entry)
        else:
            self._give_up(f"a branch of it cannot be traced: {error.text}")
        return result

    # ------------------------------------------------------------------ what there is

    def reset(self) -> None:
        """Drop all entries and the history of the inputs."""
        with self._lock:
            self.entries = []
            self.recompilations = []
            self.eager_because = None
            self.stats = Stats()
            self._cuts = Cuts(self.fn, self._part, self.stats, lowers=self._cuts.lowers)
            self.history = self._new_history()
            self._outdated = []
            self._policy = Policy(self.options.dynamic, self.history)
            self._varying = Varying()
            self._methods.clear()

    def __reduce__(self) -> Any:
        """Copies and pickles start without entries. What its module knows by the name of the
        function, as a decorated one, is pickled by name, and is its own copy, as functions are.
        """
        return global_name(self) or (Compiled, (self.fn, self.options))
