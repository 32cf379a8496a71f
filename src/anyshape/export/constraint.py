"""Sizes that the spec calls dynamic and the program pins: all of them in one error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import ConstraintViolation
from anyshape.export import dim as dims
from anyshape.export.dim import Hint
from anyshape.expr.traverse import symbols_of

if TYPE_CHECKING:
    from anyshape.export.explore import Exploration
    from anyshape.export.spec import Spec


def need_no_violation(found: Exploration, spec: Spec) -> None:
    """Raise if a named or `Dim.DYNAMIC` size can have one value only."""
    pinned: dict[str, tuple[int, list[str]]] = {}
    for label in _must_vary(found, spec):
        values = {_value(v, label) for v in found.variants}
        if len(values) == 1 and None not in values:
            (value,) = values
            assert value is not None
            pinned[label] = (value, _reasons(found, label))
    if not pinned:
        return
    what, why, fix = [], [], []
    for label, (value, reasons) in pinned.items():
        what.append(f"{label} is dynamic in the spec and always {value} in the program")
        why += reasons or [f"{label} == {value}"]
        fix.append(f"write {value} for {label}, or change the lines above")
    raise ConstraintViolation("; ".join(what), why="; ".join(why), fix="; ".join(fix))


def _must_vary(found: Exploration, spec: Spec) -> list[str]:
    """The labels of the sizes that the spec does not allow to be pinned."""
    labels = list(spec.names)
    inputs = found.variants[0].inputs
    env = found.variants[0].tracer.env
    for bind in inputs.sizes:
        entry = spec.entry(bind.leaf, bind.dim)
        if isinstance(entry, Hint) and entry.kind in (dims.DYNAMIC, dims.UNBACKED):
            labels.append(env.symbols[bind.name].label)
    fixed = {n for n, d in spec.names.items() if d.min is not None and d.min == d.max}
    return [label for label in labels if label not in fixed]


def _value(variant: Any, label: str) -> int | None:
    env = variant.tracer.env
    for s in env.symbols.values():
        if s.label == label:
            r = env.range_of(s.expr)
            return int(r.lo) if r.lo == r.hi else None
    return None


def _reasons(found: Exploration, label: str) -> list[str]:
    """The guards and asserts that speak of a size, with their lines."""
    reasons = []
    for variant in found.variants:
        env = variant.tracer.env
        names = {n for n, s in env.symbols.items() if s.label == label}
        for o in [*variant.guards, *variant.runtime_asserts]:
            if o.origin != "declared" and names & {s.name for s in symbols_of(o.condition)}:
                reasons.append(o.describe())
    return list(dict.fromkeys(reasons))
