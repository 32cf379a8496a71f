"""Asserts by which a program refuses sizes of its inputs that eager execution takes.

Where a size is `Dim.UNBACKED`, a rule does not ask whether it is 0 or 1: it takes the general path,
and asserts what that path needs. At sizes where the assert fails, eager execution may raise too, or
take another path; a trace at these sizes tells which. A trace that raises has guards, and eager
execution raises wherever they hold. An assert is proved if such guards cover all sizes of its
variant at which it fails. If neither a proof nor a size is found within the limits, it is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.env.fact import BY_RULE
from anyshape.export.branches.branching import Branching
from anyshape.export.coverage import coverage
from anyshape.export.region import Hole, Region, is_refusal
from anyshape.export.spec.dim import renamed
from anyshape.expr import Bool, Pool, parse, symbol
from anyshape.expr.atom import can_raise
from anyshape.expr.boolean import negate
from anyshape.expr.evaluate import evaluate
from anyshape.expr.real import Real
from anyshape.expr.text.show import show
from anyshape.expr.traverse import names_of, nodes_below
from anyshape.trace.graph.codegen import guard_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from anyshape.env import Obligation
    from anyshape.export.coverage import Size
    from anyshape.trace.capture import Captured

    Sizes = dict[str, Any]

MAX_TRACES: Final = 24  # of one export
MAX_NEAR: Final = 8  # sizes near the example that are tried for one assert


class Attempt(NamedTuple):
    """A trace at given sizes: its symbols, in the order of the inputs, the guards of its path, and
    its error; None if it succeeded.
    """

    names: Sequence[str]
    guards: Sequence[Obligation]
    error: Exception | None


class Raising(NamedTuple):
    """Sizes for which eager execution raises: as a function, and by the names of the variants."""

    check: Callable[..., int]
    names: Sequence[str]
    conditions: Sequence[Bool]

    def holds(self, sizes: Sizes) -> bool:
        """Whether it is known that eager execution raises for these sizes."""
        return self.check(*[sizes[n] for n in self.names]) < 0


class Served(NamedTuple):
    """A variant, the region that it serves, and sizes in it."""

    variant: Captured
    region: Region
    example: Sizes


class AssertSearch:
    """The search for sizes that only asserts refuse.

    `near` gives sizes that differ from some in the symbols of a condition. `holes` has at most one
    for each assert. `is_proved` if eager execution raises at all other sizes that an assert
    refuses.
    """

    def __init__(
        self,
        sizes: Sequence[Size],
        near: Callable[[Obligation, Sizes], Iterable[Sizes]],
        attempt: Callable[[Sizes], Attempt],
    ) -> None:
        self._sizes = sizes
        self._near = near
        self._attempt = attempt
        self._raising: list[Raising] = []
        self._left = MAX_TRACES
        self.holes: list[Hole] = []
        self.is_proved = True

    def add(self, served: Served) -> None:
        """Search the sizes of one variant."""
        for o in _doubtful(served.variant):
            self.is_proved = self._is_decided(o, served) and self.is_proved
        if isinstance(served.variant, Branching) and _doubtful_later(served.variant):
            self.is_proved = False  # whether such an assert is reached depends on data

    def _is_decided(self, o: Obligation, served: Served) -> bool:
        """Whether sizes that only `o` refuses are found, or it is proved that there are none."""
        names = served.region.names
        allowed = Region([*served.variant.tracer.env.declared, *served.region.guards], names)
        near = self._failing(o, allowed, served.example)
        while True:
            is_proved, sizes = self._covered(o, allowed)
            if is_proved:
                return True
            if sizes is None or not self._is_open(o, allowed, sizes):
                sizes = next((s for s in near if self._is_open(o, allowed, s)), None)
            if sizes is None or not self._left:
                return False
            self._left -= 1
            attempt = self._attempt(sizes)
            if attempt.error is None:
                self.holes.append(Hole(sizes, [o]))
                return True
            raising = self._region(attempt, names)
            if is_refusal(attempt.error) or not raising.holds(sizes):
                return False
            self._raising.append(raising)

    def _region(self, attempt: Attempt, names: Sequence[str]) -> Raising:
        """The sizes for which an attempt raises, by the names of the variants."""
        pool = Pool()
        for size in self._sizes:
            symbol(pool, size.name, size.least, size.most)
        other = dict(zip(attempt.names, names, strict=True))
        conditions = []
        for guard in attempt.guards:
            condition = parse(pool, renamed(show(guard.condition), other))
            assert type(condition) is Bool
            conditions.append(condition)
        return Raising(guard_function(attempt.guards, attempt.names), names, conditions)

    def _covered(self, o: Obligation, allowed: Region) -> tuple[bool, Sizes | None]:
        """Whether eager execution raises wherever `o` fails, or sizes where it perhaps does not."""
        nodes = nodes_below([o.condition])
        if any(type(node) is Real or can_raise(node) for node in nodes):
            return False, None  # where it has no value, neither it nor its negation holds
        given = [*[p.condition for p in allowed.guards], negate(o.condition)]
        return coverage(self._sizes, given, [region.conditions for region in self._raising])

    def _is_open(self, o: Obligation, allowed: Region, sizes: Sizes) -> bool:
        """Whether `o` fails for allowed sizes at which no trace is known to raise."""
        if any(region.holds(sizes) for region in self._raising):
            return False
        is_admitted = all(size.admits(sizes[size.name]) for size in self._sizes)
        return is_admitted and allowed.holds(sizes) and not _holds(o, sizes)

    def _failing(self, o: Obligation, allowed: Region, example: Sizes) -> Iterator[Sizes]:
        count = 0
        for sizes in self._near(o, example):
            if count < MAX_NEAR and self._is_open(o, allowed, sizes):
                count += 1
                yield sizes


def _doubtful(variant: Captured) -> list[Obligation]:
    """The asserts of rules that are about unbacked sizes of the inputs alone."""
    # those of the environment: without those that deviations may become
    return _about_inputs(variant, variant.tracer.env.runtime_asserts)


def _doubtful_later(variant: Branching) -> bool:
    """Whether a segment after a branch on data has such an assert."""
    return any(_about_inputs(variant, part.runtime_asserts) for part in variant.parts[1:])


def _about_inputs(variant: Captured, asserts: Iterable[Obligation]) -> list[Obligation]:
    symbols = variant.tracer.env.symbols
    given = {b.name for b in variant.inputs.binds if b.name in symbols}
    unbacked = {name for name in given if symbols[name].hint is None}
    found = []
    for o in asserts:
        names = set(names_of(o.condition))
        if o.origin in BY_RULE and names <= given and names & unbacked:
            found.append(o)
    return found


def _holds(o: Obligation, sizes: Sizes) -> bool:
    try:
        return bool(evaluate(o.condition, sizes))
    except (ArithmeticError, ValueError):
        return False
