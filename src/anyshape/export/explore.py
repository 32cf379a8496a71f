"""All branches that a program takes on its sizes: one variant of the program for each.

A guard splits the inputs: those that it holds for take the path that was traced. For the others the
program is traced again with other sizes in mind, until the variants cover what the spec allows, or
the program refuses it, or there are too many.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import AnyshapeError, UnsupportedError
from anyshape.export.sizes import Sizes
from anyshape.trace.capture import Captured, capture
from anyshape.trace.codegen import guard_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyshape.env import Env, Obligation
    from anyshape.export.spec import Spec

LIMIT: Final = 16
_SMALL: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 64, 100, 1000)
_FEW: Final = (0, 1, 2, 3, 7, 16, 100)


class Refused(NamedTuple):
    """A branch in which the program raises: its guards, the error, and whether sizes are in it."""

    guards: list[Obligation]
    error: Exception
    check: Callable[..., int]

    def holds(self, values: list[int]) -> bool:
        """Whether the values of the symbols, in the order of the inputs, lead there."""
        return self.check(*values) < 0


class Region:
    """The sizes for which some guards hold."""

    def __init__(self, guards: Sequence[Obligation], names: Sequence[str]) -> None:
        self.guards = guards
        self.names = names
        self.check: Callable[..., int] = guard_function(guards, names)

    def holds(self, values: dict[str, int]) -> bool:
        """Whether the sizes are in it."""
        return self.check(*[values[n] for n in self.names]) < 0


class Exploration:
    """What came of it: the variants, the first of which serves the example, and the refusals."""

    def __init__(self) -> None:
        self.variants: list[Captured] = []
        self.refused: list[Refused] = []
        self.is_complete = True


def explore(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: Spec, limit: int = LIMIT
) -> Exploration:
    """Trace the program for the example, and for what the guards leave out."""
    found = Exploration()
    first = capture(fn, args, kwargs, dynamic=Sizes(spec, {}))
    found.variants.append(first)
    names = sorted(_backed(first.tracer.env))
    regions = [Region(first.guards, names)]
    examples = [_example(first.tracer.env)]
    labels = _labels(first.tracer.env)
    while True:
        values = _uncovered(regions, examples, names)
        if values is None:
            return found
        if len(regions) >= limit:
            found.is_complete = False
            return found
        wanted = {labels[n]: v for n, v in values.items()}
        try:
            variant = capture(fn, args, kwargs, dynamic=Sizes(spec, wanted))
            guards = variant.guards
            found.variants.append(variant)
        except Exception as e:
            env = getattr(e, "env", None)
            if env is None or isinstance(e, UnsupportedError):
                if isinstance(e, AnyshapeError):
                    raise
                guards = []
            else:
                guards = env.guards
            if not guards:
                raise
            order = [bind.name for bind in first.inputs.binds]
            found.refused.append(Refused(guards, e, guard_function(guards, order)))
        region = Region(guards, names)
        if not region.holds(values):  # the trace went elsewhere, so nothing new would be learnt
            found.is_complete = False
            return found
        regions.append(region)
        examples.append(values)


def _backed(env: Env) -> list[str]:
    return [name for name, s in env.symbols.items() if s.hint is not None]


def _example(env: Env) -> dict[str, int]:
    return {n: s.hint for n, s in env.symbols.items() if s.hint is not None}


def _labels(env: Env) -> dict[str, str]:
    return {name: s.label for name, s in env.symbols.items()}


def _uncovered(
    regions: list[Region], examples: list[dict[str, int]], names: Sequence[str]
) -> dict[str, int] | None:
    """Sizes that the spec allows and no region holds, found by trying likely ones."""
    allowed = Region([g for g in regions[0].guards if g.origin == "declared"], names)
    for region, example in zip(regions, examples, strict=True):
        for guard in region.guards:
            if guard.origin == "declared":
                continue
            for values in _near(guard, example):
                if allowed.holds(values) and not any(r.holds(values) for r in regions):
                    return values
    return None


def _near(guard: Obligation, example: dict[str, int]) -> Iterator[dict[str, int]]:
    """The example with other values for the symbols of a guard."""
    from anyshape.expr.traverse import symbols_of  # noqa: PLC0415

    names = [s.name for s in symbols_of(guard.condition) if s.name in example]
    if not names or len(names) > 3:
        return
    choices = []
    for name in names:
        here = example[name]
        near = {here - 1, here + 1, 2 * here, here}
        base = _SMALL if len(names) < 3 else _FEW
        choices.append(sorted({*base, *near} - {n for n in near if n < 0}))
    for combination in itertools.product(*choices):
        yield {**example, **dict(zip(names, combination, strict=True))}
