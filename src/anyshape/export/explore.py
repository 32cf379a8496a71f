"""One variant of a program for each of its branches on sizes.

A guard splits the inputs: those for which it holds take the path that was traced. For the others
the program is traced again with other sizes as hints, until every size that the spec allows is
served by a variant or refused by the program, or the limit of variants is reached.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.env.fact import DECLARED
from anyshape.errors import DataDependentError, UnsupportedError
from anyshape.export.branches.trace_variant import VariantTrace
from anyshape.export.coverage import Size, coverage, first_hole
from anyshape.export.example_env import by_example
from anyshape.export.merge import merge
from anyshape.export.oblivious import AssertSearch, Attempt, Served
from anyshape.export.region import Hole, Refused, Region
from anyshape.export.spec.dim import UNBACKED, Hint
from anyshape.export.spec.size_symbols import SizeSymbols
from anyshape.expr.boolean import EQ, GE
from anyshape.expr.node import Expr
from anyshape.expr.real import Real
from anyshape.expr.terms import terms
from anyshape.expr.traverse import names_of, nodes_below
from anyshape.trace.graph.codegen import guard_function
from anyshape.trace.options import REFUSED, TraceOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyshape.env import Obligation
    from anyshape.export.draft import Problem
    from anyshape.export.spec.dynamic_shapes import Spec
    from anyshape.expr import Bool
    from anyshape.trace.argument.inputs import Bind
    from anyshape.trace.capture import Captured

MAX_VARIANTS: Final = 16
MAX_GUARD_SYMBOLS: Final = 3  # of a guard whose other side is searched
MAX_SEARCH: Final = 16_000_000  # bytes of the code of guards that a search for sizes runs
MAX_PINNED: Final = 16  # values that are tried where each is a variant of its own
_SMALL: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 64, 100, 1000)
_FEW: Final = (0, 1, 2, 3, 7, 16, 100)
_NEGATIVE: Final = (-1, -2, -5, -100)
_REALS: Final = (0.0, 0.5, 1.0, -1.0, 2.0, 100.0, -100.0)


class Trace(NamedTuple):
    """A variant and the guards of its trace."""

    variant: Captured
    guards: list[Obligation]


class Exploration:
    """The result: the variants, the first of which serves the example, and the refusals.

    `is_complete`: it is proved that a variant serves every size that the spec allows, or that the
    exported function raises for it. Otherwise, the program refuses the sizes that no variant
    accepts; `holes` are some of them, if any are known, and `asserted` some that the asserts of
    rules about unbacked sizes exclude. `traces` are all variants, with their own guards, before
    equal ones were merged. `assumed` is what a draft has taken from the data of the example.
    """

    def __init__(self) -> None:
        self.variants: list[Captured] = []
        self.traces: list[Trace] = []
        self.refused: list[Refused] = []
        self.holes: list[Hole] = []
        self.asserted: list[Hole] = []
        self.assumed: list[Problem] = []
        self.is_complete = False

    def rest(self) -> None:
        """Drop what only the exploration needed: what the traces know, and the frames of errors,
        which hold the traces that raised them.
        """
        for tracer in [tracer for variant, _ in self.traces for tracer in variant.tracers]:
            if tracer.recorder is not None:
                tracer.recorder.rest()
        for refused in self.refused:
            refused.drop_frames()


def explore(  # noqa: PLR0913  each is an option of its own
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    spec: Spec,
    limit: int = MAX_VARIANTS,
    *,
    branches: bool = True,
    lists_deviations: bool = True,
    lists_effects: bool = False,
    preserved: Mapping[int, str] | None = None,
) -> Exploration:
    """Trace the program for the example, and for the sizes that the guards exclude.

    With `branches`, it may branch on data; otherwise, that is an error. For the rest see
    `TraceOptions`.
    """
    found = Exploration()
    options = TraceOptions(
        REFUSED,
        lists_deviations,
        is_export=True,
        lists_effects=lists_effects,
        preserved=preserved or {},
    )
    trace_of = functools.partial(VariantTrace, fn, args, kwargs, branches=branches, options=options)
    chooser = functools.partial(SizeSymbols, spec, {})
    try:
        first = _traced(trace_of(chooser))
    except (DataDependentError, UnsupportedError):
        if not lists_effects:
            raise
        limit = 1  # other sizes have no example
        first, found.assumed = by_example(fn, args, kwargs, chooser, options)
    found.variants.append(first)
    search = _Search(first, spec)
    served = [Served(first, search.regions[0], search.examples[0])]
    while (values := search.uncovered()) is not None:
        if len(found.variants) >= limit or len(found.refused) >= 2 * limit:
            found.holes.append(search.hole(values))
            break
        wanted = search.labeled(values)
        chooser = functools.partial(SizeSymbols, spec, wanted)
        last = found.variants[-1].tracer
        trace = trace_of(chooser, previous=last)
        variant = None
        try:
            variant = trace.run()
            guards = variant.guards
            found.variants.append(variant)
        except Exception as e:
            guards = trace.tracer.env.guards  # of the branch that raised
            if not guards:
                raise
            trace.spell(e, by_name=True)
            refused = Refused(guards, e, guard_function(guards, search.names))
            found.refused.append(refused)
            if refused.is_refusal:
                of_user = [g for g in guards if g.origin != DECLARED]
                found.holes.append(Hole(wanted, of_user, e))
        region = Region(guards, search.names)
        if not region.holds(values):  # the trace took another path: so would another attempt
            found.holes.append(search.hole(values))
            break
        search.add(region, values)
        if variant is not None:
            served.append(Served(variant, region, values))
    found.asserted, is_proved = search.asserted(served, trace_of, spec)
    found.is_complete = search.is_proved and is_proved and not (found.holes or found.asserted)
    found.traces = [Trace(v, v.guards) for v in found.variants]
    merge(found, search.sizes)
    return found


def _traced(trace: VariantTrace) -> Captured:
    """The program at the sizes of the example."""
    try:
        return trace.run()
    except Exception as e:
        trace.spell(e, by_name=False)
        raise


class _Search:
    """The regions that were found, and the search for sizes that are in none of them."""

    def __init__(self, first: Captured, spec: Spec) -> None:
        env, binds, flat = first.tracer.env, first.inputs.binds, first.inputs.examples
        self.names = [bind.name for bind in binds]
        self.labels = {name: env.sources.get(name, name) for name in self.names}
        self.sizes = [_size(bind, flat, spec) for bind in binds]
        self.signed = {bind.name for bind in binds if bind.dim is None}
        self.allowed = Region(env.declared, self.names)
        self.regions = [Region(first.guards, self.names)]
        self.examples = [{bind.name: bind.read(flat) for bind in binds}]
        self.is_proved = False
        self._place = 0
        self._likely: Iterator[dict[str, Any]] = iter(())

    def add(self, region: Region, example: dict[str, Any]) -> None:
        """Add a region, which contains the example."""
        self.regions.append(region)
        self.examples.append(example)

    def asserted(
        self, served: Sequence[Served], trace_of: Any, spec: Spec
    ) -> tuple[list[Hole], bool]:
        """Sizes that only the asserts of variants refuse, and whether all such are proved known."""
        attempt = functools.partial(self._attempt, trace_of, spec)
        search = AssertSearch(self.sizes, lambda o, e: _near(o, e, self.signed), attempt)
        for one in served:
            search.add(one)
        holes = [Hole(self.labeled(hole.sizes), hole.guards) for hole in search.holes]
        return holes, search.is_proved

    def _attempt(self, trace_of: Any, spec: Spec, values: dict[str, Any]) -> Attempt:
        """A trace of the program at given sizes, all of which have hints."""
        chooser = functools.partial(SizeSymbols, spec, self.labeled(values), is_backed=True)
        trace, error = trace_of(chooser), None
        try:
            trace.run()
        except Exception as e:
            error = e
        names = [bind.name for bind in trace.tracer.inputs.binds]
        return Attempt(names, trace.tracer.env.guards, error)

    def labeled(self, values: dict[str, Any]) -> dict[str, Any]:
        """Sizes by the user's names for them."""
        return {self.labels[n]: v for n, v in values.items()}

    def hole(self, values: dict[str, Any]) -> Hole:
        """What is known of sizes that the program refuses."""
        first = self.regions[0]
        failed = first.check(*[values[n] for n in first.names])
        return Hole(self.labeled(values), [first.guards[failed]] if failed >= 0 else [])

    def is_hole(self, values: dict[str, Any]) -> bool:
        """Whether the spec allows the sizes and no region contains them."""
        if not all(size.admits(values[size.name]) for size in self.sizes):
            return False
        return self.allowed.holds(values) and not any(r.holds(values) for r in self.regions)

    def uncovered(self) -> dict[str, Any] | None:
        """Sizes in no region: likely ones, then those that a failed proof gives; None if there are
        none, or none are found.

        Regions may be added meanwhile; a value that a region contains stays in it, so each likely
        one is tried once.
        """
        while True:
            for values in self._likely:
                if self.is_hole(values):
                    return values
            if self._place >= len(self.regions):
                return self._unproved()
            place, self._place = self._place, self._place + 1
            guards = [g for g in self.regions[place].guards if g.origin != DECLARED]
            example = self.examples[place]
            near = itertools.chain(*[_near(guard, example, self.signed) for guard in guards])
            tied = _Tied([g.condition for g in guards], example)
            self._likely = itertools.chain.from_iterable((v, *tied.follow(v)) for v in near)

    def _unproved(self) -> dict[str, Any] | None:
        conditions = [[g.condition for g in r.guards] for r in self.regions]
        allowed = [o.condition for o in self.allowed.guards]
        self.is_proved, hole = coverage(self.sizes, allowed, conditions)
        if self.is_proved or (hole is not None and self.is_hole(hole)):
            return hole
        free = [g.condition for r in self.regions for g in r.guards if g.origin != DECLARED]
        used = set(names_of(*free))
        sizes = [size for size in self.sizes if size.name in used]
        if any(type(self.examples[0][size.name]) is float for size in sizes):
            return None
        least = {s.name: max(0, int(s.least)) for s in sizes if s.least >= 0}
        for o in self.allowed.guards:
            least.update(_least(o.condition))
        length = sum(len(r.check.__code__.co_code) for r in self.regions)
        return first_hole(sizes, least, self.examples[0], self.is_hole, MAX_SEARCH // length)


def _least(condition: Bool) -> dict[str, int]:
    """The lower bound that a declared range puts on its symbol."""
    atoms = terms(condition.expr) if condition.op == GE else {}
    return {atom.name: -condition.expr.c for atom, factor in atoms.items() if factor == 1}


def _size(bind: Bind, examples: Sequence[Any], spec: Spec) -> Size:
    """The bounds of an input by its type, and those that the spec gives to an unbacked size: the
    facts about symbols with hints contain theirs.
    """
    if bind.dim is None and type(examples[bind.leaf]) is bool:
        return Size(bind.name, 0, 1)
    least, most = -math.inf if bind.dim is None else 0, math.inf
    entry = spec.entry(bind.leaf, bind.dim)
    if isinstance(entry, Hint) and entry.kind == UNBACKED:
        least = least if entry.min is None else entry.min
        most = most if entry.max is None else entry.max
    return Size(bind.name, least, most)


def _near(guard: Obligation, example: dict[str, Any], signed: set[str]) -> Iterator[dict[str, Any]]:
    """The example with other values for the symbols of a guard."""
    names = [n for n in names_of(guard.condition) if n in example]
    if not names or len(names) > MAX_GUARD_SYMBOLS:
        return
    edges = _edges(guard.condition)
    choices = [_likely(example[n], n in signed, len(names) < 3, edges) for n in names]
    if guard.condition.op == EQ and len(names) == 1:  # one value for each trace, as of a loop
        most = _most(example[names[0]])
        choices = [[n for n in choices[0] if abs(n) <= most]]
    for combination in itertools.product(*choices):
        yield {**example, **dict(zip(names, combination, strict=True))}


class _Tied:
    """The equations among guards, which tie sizes to each other."""

    def __init__(self, guards: Sequence[Bool], example: dict[str, Any]) -> None:
        self._example = example
        equations = [p.expr for p in guards if p.op == EQ]
        self._ties = [e for e in equations if len(names_of(e)) > 1]
        self._most = {n: _most(example[n]) for e in equations for n in _alone(e) if n in example}

    def follow(self, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Sizes with which those change, too, that are tied to the changed ones; none if a size
        that each trace has one value of is larger than is tried.

        A tie e == 0 gives the one symbol of it that is not settled, if its factor in e is 1 or -1.
        """
        found = dict(values)
        settled = {n for n, value in values.items() if value != self._example[n]}
        waiting = list(self._ties)
        while (n := next((n for e in waiting for n in self._given(e, settled)), None)) is not None:
            e = next(e for e in waiting if n in self._given(e, settled))
            factors = {atom.name: m for atom, m in terms(e).items()}
            rest = e.c + sum(m * found[x] for x, m in factors.items() if x != n)
            found[n] = -rest * factors[n]
            settled.add(n)
            waiting.remove(e)
        if found != values and all(abs(found[n]) <= most for n, most in self._most.items()):
            yield found

    def _given(self, e: Expr, settled: set[str]) -> list[str]:
        factors = {atom.name: m for atom, m in terms(e).items()}
        free = [n for n in names_of(e) if n not in settled]
        is_linear = "" not in factors and len(factors) == len(names_of(e))
        return free if len(free) == 1 and is_linear and factors[free[0]] in (1, -1) else []


def _alone(e: Expr) -> Sequence[str]:
    """The symbol of an equation that has but one."""
    names = names_of(e)
    return names if len(names) == 1 else ()


def _most(here: Any) -> Any:
    """The largest value that is tried where each is a variant of its own, as of a loop."""
    return max(MAX_PINNED, 2 * abs(here))


def _edges(condition: Bool) -> set[int]:
    """The constants of a condition and their neighbours, where its truth value may change."""
    found = set()
    for node in nodes_below((condition,)):
        for e in node.args if type(node) is not Real else ():
            if type(e) is Expr:
                found |= {abs(e.c) + d for d in (-1, 0, 1)}
    return found


def _likely(here: Any, signed: bool, many: bool, edges: set[int]) -> list[Any]:
    """Values to try in place of `here`."""
    if type(here) is float:
        return [*_REALS, here - 1, here + 1, -here]
    found = {*(_SMALL if many else _FEW), *edges, here - 1, here, here + 1, 2 * here}
    return sorted({*found, *_NEGATIVE, -here} if signed else {n for n in found if n >= 0})
