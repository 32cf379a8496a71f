"""Sizes that the spec declares dynamic and the program specializes or narrows.

A name, `Dim.DYNAMIC` and `Dim.UNBACKED` mean the whole declared range: a single value, or sizes
that the program refuses though eager execution takes them, are an error. For specialized sizes it
says what to write instead at every place of the spec that uses them; a spec with these changes
exports.
Sizes for which the function itself raises are no violation. `Dim.AUTO` may narrow, with a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning, ConstraintViolation
from anyshape.export.spec import dim as dims
from anyshape.export.spec.dim import Derived, Dim, Hint
from anyshape.expr.traverse import names_of, symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anyshape.export.explore import Exploration
    from anyshape.export.region import Hole
    from anyshape.export.spec.dynamic_shapes import Spec


def need_no_violation(found: Exploration, spec: Spec) -> None:
    """Raise if a named, `Dim.DYNAMIC` or `Dim.UNBACKED` size has a single possible value, or if the
    program refuses sizes of its range that eager execution takes. Warn of the same for `Dim.AUTO`.
    """
    for violation in violations(found, spec):
        raise violation.error from violation.cause
    for text in narrowed(found, spec):
        warn(AnyshapeWarning(text, code="AS703"))


class Violation(NamedTuple):
    """An error about sizes that must vary, the labels of these sizes, and what it comes from."""

    error: ConstraintViolation
    labels: frozenset[str]
    cause: Exception | None = None


def violations(found: Exploration, spec: Spec) -> Iterator[Violation]:
    """The errors about sizes that must vary."""
    strict = _must_vary(found, spec)
    specialized = _specialized(found, strict)
    if specialized:
        yield Violation(_always(found, spec, specialized), frozenset(specialized))
    for hole in [*found.holes, *found.asserted]:
        labels = _labels(found, hole)
        if labels and labels <= set(strict):
            yield Violation(_refused(found, hole, labels), labels, hole.error)


def _specialized(found: Exploration, labels: Iterable[str]) -> dict[str, int]:
    """The sizes that have one value in all variants."""
    specialized: dict[str, int] = {}
    for label in labels:
        values = {_value(v, label) for v, _ in found.traces}
        (value,) = values if len(values) == 1 else (None,)
        if value is not None:
            specialized[label] = value
    return specialized


def _always(found: Exploration, spec: Spec, specialized: dict[str, int]) -> ConstraintViolation:
    """The error for sizes that have one value."""
    what, why = [], []
    for label, value in specialized.items():
        what.append(f"{label} is dynamic in the spec and always {value} in the program")
        why += _reasons(found, label) or [f"{label} == {value}"]
    instead = [f"{text} for {place}" for place, text in _instead(found, spec, specialized).items()]
    return ConstraintViolation(
        "; ".join(what),
        why="; ".join(why),
        fix=f"write {', '.join(instead)}, or change the lines above",
    )


def _refused(found: Exploration, hole: Hole, labels: frozenset[str]) -> ConstraintViolation:
    """The error for sizes that the program refuses and eager execution takes."""
    names = ", ".join(sorted(labels))
    sizes = ", ".join(f"{name} = {value}" for name, value in hole.sizes.items())
    pinned = {label: _pinned(found, label) for label in labels}
    served = [f"{n} is one of {_listed(v)} in them" for n, v in pinned.items() if v is not None]
    why = [g.describe() for g in hole.guards[:3]]
    if hole.error is not None:
        why.append(f"{type(hole.error).__name__}: {str(hole.error).splitlines()[0]}")
    count, verb = len(found.traces), "is" if len(labels) == 1 else "are"
    ways = [f"give {names} bounds", "change the lines above"]
    if any(hole is other for other in found.asserted):
        ways.insert(0, "declare a name or Dim.DYNAMIC, which may have several variants")
    return ConstraintViolation(
        f"{names} {verb} dynamic in the spec, and the program refuses {sizes};"
        f" it has {count} variants" + "".join(f", {text}" for text in served),
        why="; ".join(why),
        fix=f"{', '.join(ways)}, or use allow_partial=True for a program that refuses these sizes",
        code="AS212",
    )


def _pinned(found: Exploration, label: str) -> list[int] | None:
    """The values of a size that has one in each variant; None for any other size."""
    values = {_value(v, label) for v, _ in found.traces}
    if None in values or _is_bool(found, label):
        return None
    return sorted(v for v in values if v is not None)


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")


def _labels(found: Exploration, hole: Hole) -> frozenset[str]:
    """The sizes that the violated guards are about."""
    sources = found.variants[0].tracer.env.sources
    used = names_of(*[g.condition for g in hole.guards])
    return frozenset(sources.get(name, name) for name in used)


def narrowed(found: Exploration, spec: Spec) -> Iterator[str]:
    """A text about each `Dim.AUTO` size that the program specialized or narrowed."""
    labels = _hinted(found, spec, (dims.AUTO,))
    became = {label: f"is {value}" for label, value in _specialized(found, labels).items()}
    for hole in found.holes:
        for label in _labels(found, hole).intersection(labels) - became.keys():
            values = _pinned(found, label)
            guards = "; ".join(g.describe() for g in hole.guards[:3])
            became[label] = f"is one of {_listed(values)}" if values else f"is narrowed by {guards}"
    for label, text in became.items():
        why = "; ".join(_reasons(found, label)[:3])
        yield f"{label} is Dim.AUTO in dynamic_shapes, and in the program it {text}\n  why: {why}"


def _is_bool(found: Exploration, label: str) -> bool:
    leaves = found.variants[0].inputs.leaves
    return any(leaf.name == label and type(leaf.example) is bool for leaf in leaves)


def _must_vary(found: Exploration, spec: Spec) -> list[str]:
    """The labels of the sizes that the program may not specialize."""
    named = [n for n, d in spec.names.items() if _is_open(d)]
    return named + _hinted(found, spec, (dims.DYNAMIC, dims.UNBACKED))


def _hinted(found: Exploration, spec: Spec, kinds: Sequence[str]) -> list[str]:
    """The labels of the sizes without a name whose hints are of these kinds."""
    labels = []
    env = found.variants[0].tracer.env
    for bind in found.variants[0].inputs.sizes:
        entry = spec.entry(bind.leaf, bind.dim)
        if isinstance(entry, Hint) and entry.kind in kinds and _is_open(entry):
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
    for variant, guards in found.traces:
        env = variant.tracer.env
        names = {n for n, s in env.symbols.items() if s.label == label}
        for o in [*guards, *variant.runtime_asserts]:
            if o.origin != "declared" and names & {s.name for s in symbols_of(o.condition)}:
                reasons.append(o.describe())
    return list(dict.fromkeys(reasons))
