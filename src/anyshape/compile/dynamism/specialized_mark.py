"""Marked sizes that the program specialized: all in one error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.config import config
from anyshape.domain import INF, Interval
from anyshape.env.fact import DECLARED, POLICY
from anyshape.env.ladder.reason import interval_text
from anyshape.errors import ConstraintViolation
from anyshape.expr.traverse import names_of
from anyshape.trace.argument.size_chooser import BACKED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.env import Obligation
    from anyshape.trace.argument.inputs import Bind
    from anyshape.trace.argument.marks import Mark
    from anyshape.trace.capture import Captured


def need_free(captured: Captured, marks: Mapping[tuple[int, int | None], Mark]) -> None:
    """Raise if the program specialized a marked size; `marks` are by leaf and dimension.

    Specialization to 0 or 1 by policy does not count.
    """
    if not marks:
        return
    found = [
        violation
        for bind in captured.inputs.binds
        if (mark := marks.get((bind.leaf, bind.dim))) is not None
        and (violation := _violation(captured, bind, mark)) is not None
    ]
    if found:
        what, why, fix = (
            "; ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*found, strict=True)
        )
        raise ConstraintViolation(what, why=why, fix=fix)


def _violation(captured: Captured, bind: Bind, mark: Mark) -> tuple[str, str, str] | None:
    """What happened to a size, why, and what to do; None if it was not specialized."""
    env = captured.tracer.env
    symbol = env.symbols[bind.name]
    label = symbol.label
    declared, actual = _declared(mark), env.range_of(symbol.expr)
    if declared.is_point:
        return None
    reasons = [
        o
        for o in [*captured.guards, *captured.runtime_asserts]
        if o.origin not in (DECLARED, POLICY) and bind.name in names_of(o.condition)
    ]
    alone = [o for o in reasons if set(names_of(o.condition)) == {bind.name}]
    leaf = captured.inputs.leaves[bind.leaf].name
    kind = "dynamic" if mark.kind == BACKED else mark.kind
    if actual.is_point:
        loose = "maybe_mark_dynamic" if mark.kind == BACKED else "mark_unbacked"
        return (
            f"{label} is marked {kind} and always {actual.lo} in the program",
            _described(alone or reasons) or f"{label} == {actual.lo}",
            f"use {loose}({leaf}, {bind.dim}), which allows it, or change the lines above",
        )
    if mark.kind != BACKED or (mark.min is None and mark.max is None):
        return None
    if not alone and actual.lo <= declared.lo and declared.hi <= actual.hi:
        return None
    needs = " and ".join(o.text for o in alone) or f"it in {interval_text(*actual)}"
    return (
        f"{label} is marked {kind} in {interval_text(*declared)} and the program needs {needs}",
        _described(alone or reasons),
        f"use mark_dynamic({leaf}, {bind.dim}) without a range, or change the lines above",
    )


def _declared(mark: Mark) -> Interval:
    """The sizes that a mark allows."""
    frozen = config.specialize_zero_one and not config.backed_size_oblivious
    least = 2 if mark.kind == BACKED and frozen else 0
    return Interval(least if mark.min is None else mark.min, INF if mark.max is None else mark.max)


def _described(reasons: list[Obligation]) -> str:
    return "; ".join(dict.fromkeys(o.describe() for o in reasons))
