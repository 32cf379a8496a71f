"""`Entry`: one trace of a function with its guard function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.compile.cache.guard_function import GuardFunction, tensor_test
from anyshape.compile.cache.recompilation import Reason
from anyshape.errors import UnsupportedError, shortened
from anyshape.observe.report.notebook import rows_html
from anyshape.rules.dispatch.table import PURE
from anyshape.tensor.observed import OF_LAYOUTS
from anyshape.trace.argument.condition import Violation
from anyshape.trace.mode.execution_modes import keep_modes, set_flag
from anyshape.trace.path.segment import Segment, walk
from anyshape.trace.record.effect.effect import EFFECTS, are_seen
from anyshape.trace.state.generator_state import is_generator
from anyshape.trace.state.snapshot import Snapshot, generators_in
from anyshape.trace.tree import unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

    from anyshape.env.obligation import Obligation
    from anyshape.interop.backend import Lowered
    from anyshape.trace.argument.attribute import Places
    from anyshape.trace.argument.size_chooser import SizeChooser
    from anyshape.trace.capture import Captured
    from anyshape.trace.record.owner import Identity
    from anyshape.trace.record.read.watch import Watch
    from anyshape.trace.tracer import Tracer


class Entry:
    """One program, or a tree of segments, with its guard function. It keeps no tensor of the traced
    call alive.
    """

    def __init__(
        self,
        captured: Captured,
        places: Places,
        outside: tuple[Watch, Identity],
        choose: SizeChooser,
        layouts: bool,
        program: Lowered | Segment,
        exact: Sequence[Obligation],
        is_part: bool,
    ) -> None:
        self.catches = captured.tracer.recorder.catches
        if is_part and (isinstance(program, Segment) or captured.runtime_asserts):
            self.catches = True  # Python around it may handle its errors, which must be eager's
        self.has_effects = False
        self.sets_flags = False  # of the process
        self.shows_effects = False  # to code of the user's, before the call has ended
        self.watch, identity = outside
        tensors = tensor_test(captured.inputs)
        if isinstance(program, Segment):  # branches that are traced later may change what is given
            identity = identity._replace(apart=True)
        self.identity = identity
        captured.inputs.release()
        captured.tracer.release()
        self.captured = captured
        self.attributes, self.held = places
        self.choose = choose
        self.checked = GuardFunction(
            captured, places, self.watch, self.identity, tensors, layouts=layouts, exact=exact
        )
        self.check = self.checked.run
        self.root: Segment | None = None
        self.is_final = not self.catches  # whether a call does nothing after its run
        self.switches = False
        self._draws = False
        self._generators: list[Any] = []
        self._places: set[int] = set()
        self._tensors: dict[int, torch.Tensor] = {}
        self.run: Callable[[list[Any]], Any]
        self.holds: Callable[[list[Any]], str | None] | None = None
        self.premises: tuple[str, ...] = ()  # of compiled code, on sizes
        self.regions: tuple[str, ...] = ()
        self._serve(program)

    def need_identity(self, later: Identity) -> None:
        """Raise if a branch that was traced later compares arguments with other objects."""
        known = [(number, id(x), same) for number, x, same in self.identity.compared]
        if any((number, id(x), same) not in known for number, x, same in later.compared):
            raise UnsupportedError(
                "a branch compares an argument with an object from outside",
                why="the guards of the program are those of the first branch",
                fix="compare them before the branch",
            )

    def _serve(self, program: Lowered | Segment) -> None:
        """Set what a call runs: one lowered program, or a tree of segments."""
        if isinstance(program, Segment):
            self.root, self.is_final = program, False
            self.renew(self.captured.tracer)
            self.run = self._walk
            return
        self.renew(self.captured.tracer)
        build = builder(self.captured.out_spec)
        function = program.run
        self.holds = program.holds
        self.premises, self.regions = program.guards, program.regions
        if self.captured.out_spec.is_leaf():
            self.run = lambda flat: function(flat)[0]
        else:
            self.run = lambda flat: build(function(flat))

    def renew(self, tracer: Tracer) -> None:
        """Update which tensors the entry writes to, whether it draws random numbers, and where it
        may deviate.
        """
        leaves = self.captured.inputs.leaves
        written = [i for i, v in enumerate(tracer.graph.inputs) if v.version]
        places = [i for i, leaf in enumerate(leaves) if leaf.value is not None]
        self._places |= {places[i] for i in written}
        self._tensors.update({id(t): t for v, t in tracer.graph.constants if v.version})
        drawing = [n for n in tracer.graph.nodes if n.func not in PURE]
        self._draws = self._draws or bool(drawing)
        self._generators += generators_in(drawing)
        listed = self.captured.deviations
        known = {(d.op, d.about, str(d.site)) for d in listed}
        listed += [d for d in tracer.deviations if (d.op, d.about, str(d.site)) not in known]
        self.has_effects = self.has_effects or any(n.func in EFFECTS for n in tracer.graph.nodes)
        called = {n.func for n in tracer.graph.nodes}
        handles = tracer.recorder is not None and tracer.recorder.catches
        if handles or set_flag in called or not OF_LAYOUTS.isdisjoint(called):
            self.catches, self.is_final = True, False  # eager goes on, or leaves other flags
            self.sets_flags = self.sets_flags or set_flag in called
        self.shows_effects = self.shows_effects or are_seen(tracer.graph.nodes)
        if self.root is not None:
            self.switches = any(segment.switches for segment in self.root.below())

    def __repr__(self) -> str:
        names = ", ".join(leaf.name for leaf in self.captured.inputs.leaves)
        if self.root is None:
            kind = f"{len(self.captured.graph.nodes)} calls"
        else:
            kind = f"{sum(1 for _ in self.root.below())} segments"
        return shortened(f"<entry for ({names}): {kind}>")

    def _repr_html_(self) -> str:
        rows = [("guard", g.text) for g in self.captured.guards]
        rows += [("assert", a.text) for a in self.captured.runtime_asserts]
        rows += [("deviation", f"{d.op}: {d.about}") for d in self.captured.deviations]
        return rows_html(repr(self), rows)

    def snapshot(self, flat: list[Any]) -> Snapshot | None:
        """What a call may change, as it is; None where it could not be restored."""
        written = [flat[i] for i in sorted(self._places)] + list(self._tensors.values())
        if not Snapshot.can_restore(written):
            return None
        given = [x for x in flat if is_generator(x)]
        generators = [*self._generators, *given]
        return Snapshot(written, generators, draws=self._draws, flags=self.sets_flags)

    def _walk(self, flat: list[Any]) -> Any:
        assert self.root is not None
        if not self.switches:
            return walk(self.root, flat)
        with keep_modes():
            return walk(self.root, flat)

    def why_not(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reason | None:
        """Why this entry rejects a call; None if it accepts it."""
        found = self.check(args, kwargs)
        if type(found) is list:
            failed = self.holds(found) if self.holds is not None else None
            return None if failed is None else Reason(Violation(failed, sentence=failed))
        assert type(found) is int
        condition = self.checked.conditions[found]
        try:
            violation = self.checked.explain(found, args, kwargs)
        except Exception:  # the call may be anything
            violation = Violation("the call", "what was traced", "something else")
        return Reason(violation, condition)

    @property
    def graph(self) -> str:
        """The calls as text: of the whole program, or of all segments."""
        if self.root is None:
            return self.captured.code
        parts = []
        for number, segment in enumerate(self.root.below()):
            ends = "" if segment.question is None else f"  # then: {segment.question}?"
            text = segment.program.text if segment.program is not None else ""
            parts.append(f"# segment {number}{ends}\n{text}")
        return "\n".join(parts)


def builder(spec: Any) -> Callable[[Sequence[Any]], Any]:
    """A function from flat outputs to what the program returns."""
    if spec.is_leaf():
        return lambda out: out[0]
    if all(child.is_leaf() for child in spec.children()):
        if spec.type is tuple:
            return tuple
        if spec.type is list:
            return list
        if spec.type is dict:
            keys = list(spec.context)
            return lambda out: dict(zip(keys, out, strict=True))
    return lambda out: unflatten(list(out), spec)
