"""Sizes that the spec declares dynamic and the program specialized: all in one error.

The error says what to write instead at every place of the spec that uses a specialized name. A spec
with these changes exports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import ConstraintViolation
from anyshape.export.spec import dim as dims
from anyshape.export.spec.dim import Derived, Dim, Hint
from anyshape.expr.traverse import symbols_of

if TYPE_CHECKING:
    from anyshape.export.explore import Exploration
    from anyshape.export.spec.dynamic_shapes import Spec


def need_no_violation(found: Exploration, spec: Spec) -> None:
    """Raise if a named, `Dim.DYNAMIC` or `Dim.UNBACKED` size has a single possible value, or one in
    each of some variants that do not cover its range.
    """
    specialized: dict[str, int] = {}
    for label in _must_vary(found, spec):
        values = {_value(v, label) for v in found.variants}
        if len(values) == 1 and None not in values:
            (value,) = values
            assert value is not None
            specialized[label] = value
        elif None not in values and not found.is_complete and not _is_bool(found, label):
            raise _pinned(found, label, sorted(v for v in values if v is not None))
    if not specialized:
        return
    what, why = [], []
    for label, value in specialized.items():
        what.append(f"{label} is dynamic in the spec and always {value} in the program")
        why += _reasons(found, label) or [f"{label} == {value}"]
    instead = [f"{text} for {place}" for place, text in _instead(found, spec, specialized).items()]
    raise ConstraintViolation(
        "; ".join(what),
        why="; ".join(why),
        fix=f"write {', '.join(instead)}, or change the lines above",
    )


def _pinned(found: Exploration, label: str, values: list[int]) -> ConstraintViolation:
    """The error for a size whose value the program needs to know."""
    shown = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
    return ConstraintViolation(
        f"{label} is dynamic in the spec, and the program needs its value: it would serve {shown}"
        " and refuse all others",
        why="; ".join(_reasons(found, label)[:3]),
        fix=f"give {label} bounds with few values, or change the lines above",
    )


def _is_bool(found: Exploration, label: str) -> bool:
    leaves = found.variants[0].inputs.leaves
    return any(leaf.name == label and type(leaf.example) is bool for leaf in leaves)


def _must_vary(found: Exploration, spec: Spec) -> list[str]:
    """The labels of the sizes that the program may not specialize."""
    labels = [n for n, d in spec.names.items() if _is_open(d)]
    inputs = found.variants[0].inputs
    env = found.variants[0].tracer.env
    for bind in inputs.sizes:
        entry = spec.entry(bind.leaf, bind.dim)
        strict = isinstance(entry, Hint) and entry.kind in (dims.DYNAMIC, dims.UNBACKED)
        if strict and _is_open(entry):
            labels.append(env.symbols[bind.name].label)
    return labels


def _is_open(entry: Any) -> bool:
    """Whether a spec itself allows more than one size."""
    return entry.min is None or bool(entry.min != entry.max)


def _instead(found: Exploration, spec: Spec, specialized: dict[str, int]) -> dict[str, str]:
    """What to write at each place of the spec that uses a specialized size."""
    written: dict[str, str] = {}
    leaves = found.variants[0].inputs.leaves
    for (leaf, d), entry in spec.entries.items():
        name, example = leaves[leaf].name, leaves[leaf].example
        place = name if d is None else f"{name}.size({d})"
        if isinstance(entry, Dim) and entry.name in specialized:
            written[place] = str(specialized[entry.name])
        elif isinstance(entry, Derived) and specialized.keys() & entry.dims.keys():
            written[place] = _reduced(entry, specialized)
        elif isinstance(entry, Hint) and place in specialized:
            written[place] = "None" if type(example) is bool else str(specialized[place])
    return written


def _reduced(entry: Derived, specialized: dict[str, int]) -> str:
    """An expression with the specialized names replaced by their values."""
    rest = {n: d for n, d in entry.dims.items() if n not in specialized}
    e = dims.read(dims.renamed(entry.text, {n: f"({v})" for n, v in specialized.items()}), rest)
    return str(e.c) if e.is_const else repr(str(e))


def _value(variant: Any, label: str) -> int | None:
    env = variant.tracer.env
    for s in env.symbols.values():
        if s.label == label:
            r = env.range_of(s.expr)
            return int(r.lo) if r.lo == r.hi else None
    return None


def _reasons(found: Exploration, label: str) -> list[str]:
    """The guards and asserts that mention a size, with their lines."""
    reasons = []
    for variant in found.variants:
        env = variant.tracer.env
        names = {n for n, s in env.symbols.items() if s.label == label}
        for o in [*variant.guards, *variant.runtime_asserts]:
            if o.origin != "declared" and names & {s.name for s in symbols_of(o.condition)}:
                reasons.append(o.describe())
    return list(dict.fromkeys(reasons))
