"""One variant of a program for each of its branches on sizes.

A guard splits the inputs: those for which it holds take the path that was traced. For the others
the program is traced again with other sizes as hints, until every size that the spec allows is
served by a variant or refused by the program, or the limit of variants is reached.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.env.fact import DECLARED
from anyshape.errors import UnsupportedError
from anyshape.export.coverage import Size, is_covered
from anyshape.export.spec.size_symbols import SizeSymbols
from anyshape.expr.boolean import EQ
from anyshape.expr.node import Expr
from anyshape.expr.real import Real
from anyshape.expr.traverse import names_of, nodes_below
from anyshape.trace.capture import Captured, capture
from anyshape.trace.codegen import guard_function
from anyshape.trace.options import REFUSED, TraceOptions
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyshape.env import Obligation
    from anyshape.export.spec.dynamic_shapes import Spec
    from anyshape.expr import Bool
    from anyshape.trace.inputs import Bind

MAX_VARIANTS: Final = 16
MAX_GUARD_SYMBOLS: Final = 3  # of a guard whose other side is searched
MAX_PINNED: Final = 16  # values that are tried where each is a variant of its own
_SMALL: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 64, 100, 1000)
_FEW: Final = (0, 1, 2, 3, 7, 16, 100)
_NEGATIVE: Final = (-1, -2, -5, -100)
_REALS: Final = (0.0, 0.5, 1.0, -1.0, 2.0, 100.0, -100.0)


class Refused(NamedTuple):
    """A branch in which the program raises: its guards, the error, and the guards as a function."""

    guards: list[Obligation]
    error: Exception
    check: Callable[..., int]

    def holds(self, values: list[int]) -> bool:
        """Whether the values of the symbols, in the order of the inputs, lead to this branch."""
        return self.check(*values) < 0


class Region:
    """The sizes for which some guards hold."""

    def __init__(self, guards: Sequence[Obligation], names: Sequence[str]) -> None:
        self.guards = guards
        self.names = names
        self.check: Callable[..., int] = guard_function(guards, names)

    def holds(self, values: dict[str, int]) -> bool:
        """Whether the sizes are in the region."""
        return self.check(*[values[n] for n in self.names]) < 0


class Exploration:
    """The result: the variants, the first of which serves the example, and the refusals.

    `is_complete`: it is proved that a variant serves every size that the spec allows, or that the
    exported function raises for it. Otherwise, the program refuses the sizes that no variant
    accepts.
    """

    def __init__(self) -> None:
        self.variants: list[Captured] = []
        self.refused: list[Refused] = []
        self.is_complete = True


def explore(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: Spec, limit: int = MAX_VARIANTS
) -> Exploration:
    """Trace the program for the example, and for the sizes that the guards exclude."""
    found = Exploration()
    tracer = Tracer(options=TraceOptions(effects=REFUSED))
    first = capture(fn, args, kwargs, dynamic=SizeSymbols(spec, {}), tracer=tracer)
    found.variants.append(first)
    env, binds = first.tracer.env, first.inputs.binds
    names = [bind.name for bind in binds]
    allowed = Region(env.declared, names)
    regions = [Region(first.guards, names)]
    examples = [{bind.name: bind.read(first.inputs.examples) for bind in binds}]
    labels = {name: env.sources.get(name, name) for name in names}
    signed = {bind.name for bind in first.inputs.binds if bind.dim is None}
    uncovered = _uncovered(allowed, regions, examples, signed)
    while True:
        values = next(uncovered, None)
        if values is None:
            sizes = [_size(bind, first.inputs.examples) for bind in binds]
            found.is_complete = is_covered(
                sizes,
                [o.condition for o in allowed.guards],
                [[g.condition for g in r.guards] for r in regions],
            )
            return found
        if len(regions) >= limit:
            found.is_complete = False
            return found
        wanted = {labels[n]: v for n, v in values.items()}
        last = found.variants[-1].tracer
        tracer = Tracer(options=TraceOptions(effects=REFUSED), previous=last)
        try:
            variant = capture(fn, args, kwargs, dynamic=SizeSymbols(spec, wanted), tracer=tracer)
            guards = variant.guards
            found.variants.append(variant)
        except Exception as e:
            guards = tracer.env.guards  # of the branch that raised
            if not guards or isinstance(e, UnsupportedError):
                raise
            found.refused.append(Refused(guards, e, guard_function(guards, names)))
        region = Region(guards, names)
        if not region.holds(
            values
        ):  # the trace took another path, so another attempt would do the same
            found.is_complete = False
            return found
        regions.append(region)
        examples.append(values)


def _size(bind: Bind, examples: Sequence[Any]) -> Size:
    """The bounds of the type of an input."""
    if bind.dim is not None:
        return Size(bind.name, 0, math.inf)
    is_bool = type(examples[bind.leaf]) is bool
    return Size(bind.name, 0, 1) if is_bool else Size(bind.name, -math.inf, math.inf)


def _uncovered(
    allowed: Region, regions: list[Region], examples: list[dict[str, Any]], signed: set[str]
) -> Iterator[dict[str, Any]]:
    """Values that the spec allows and no region contains, found by trying likely ones.

    Regions and examples may be added meanwhile; a value that a region contains stays in it, so each
    is tried once.
    """
    place = 0
    while place < len(regions):
        for guard in regions[place].guards:
            if guard.origin == DECLARED:
                continue
            for values in _near(guard, examples[place], signed):
                if allowed.holds(values) and not any(r.holds(values) for r in regions):
                    yield values
        place += 1


def _near(guard: Obligation, example: dict[str, Any], signed: set[str]) -> Iterator[dict[str, Any]]:
    """The example with other values for the symbols of a guard."""
    names = [n for n in names_of(guard.condition) if n in example]
    if not names or len(names) > MAX_GUARD_SYMBOLS:
        return
    edges = _edges(guard.condition)
    choices = [_likely(example[n], n in signed, len(names) < 3, edges) for n in names]
    if guard.condition.op == EQ and len(names) == 1:  # one value for each trace, as of a loop
        most = max(MAX_PINNED, 2 * abs(example[names[0]]))
        choices = [[n for n in choices[0] if abs(n) <= most]]
    for combination in itertools.product(*choices):
        yield {**example, **dict(zip(names, combination, strict=True))}


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
