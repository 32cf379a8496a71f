"""Asserts by which a program refuses sizes of its inputs that eager execution takes.

Where a size is `Dim.UNBACKED`, a rule does not ask whether it is 0 or 1: it takes the general path,
and asserts what that path needs. At sizes where the assert fails, eager execution may raise too, or
take another path. Which one it is, a trace at these sizes tells.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.fact import BY_RULE
from anyshape.expr.evaluate import evaluate
from anyshape.expr.traverse import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.env import Obligation
    from anyshape.trace.capture import Captured

    Sizes = dict[str, Any]

MAX_ASSERTS: Final = 8
MAX_TRACES: Final = 6  # for each assert


def doubtful(variant: Captured) -> list[Obligation]:
    """The asserts of rules that are about unbacked sizes of the inputs alone."""
    symbols = variant.tracer.env.symbols
    given = {b.name for b in variant.inputs.binds if b.name in symbols}
    unbacked = {name for name in given if symbols[name].hint is None}
    found = []
    for o in variant.tracer.env.runtime_asserts:  # without those that deviations may become
        names = set(names_of(o.condition))
        if o.origin in BY_RULE and names <= given and names & unbacked:
            found.append(o)
    return found[:MAX_ASSERTS]


def refused_sizes(
    o: Obligation, near: Iterator[Sizes], is_traced: Callable[[Sizes], bool]
) -> Sizes | None:
    """Sizes near by at which an assert fails and a trace does not; None if none are found."""
    failing = (sizes for sizes in near if not _holds(o, sizes))
    return next(
        (sizes for sizes in itertools.islice(failing, MAX_TRACES) if is_traced(sizes)), None
    )


def _holds(o: Obligation, sizes: Sizes) -> bool:
    try:
        return bool(evaluate(o.condition, sizes))
    except (ArithmeticError, ValueError):
        return False
