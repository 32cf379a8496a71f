"""`explain`: everything that an exported program assumes, with the user's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyshape.trace.capture import Captured


def explain(
    name: str, contract: object, variants: Sequence[Captured], state: Sequence[str] = ()
) -> str:
    """The contract of a program, its tensors in words, and what each of its variants assumes."""
    lines = [f"{name}: {counted(len(variants), 'variant', 'variants')}", str(contract)]
    lines += ["state:", *[f"  {line}" for line in state]] if state else []
    for i, variant in enumerate(variants):
        calls = sum(len(part.graph.nodes) for part in variant.parts)
        lines.append(f"variant {i}: {counted(calls, 'call', 'calls')}")
        lines += [f"  {line}" for line in (*_assumptions(variant), *variant.outline())]
    return "\n".join(lines)


def _assumptions(variant: Captured) -> Iterator[str]:
    env = variant.tracer.env
    for name, s in env.symbols.items():
        site = f", made at {s.site}" if s.site else ""
        interval = variant.ranges.get(name) or env.range_of(s.expr)
        label = "" if s.known_as == name else f" = {s.known_as}"
        yield f"{name}{label}: {s.kind}, {interval.words}{site}"
    for title, listed in (("guard", variant.guards), ("assert", variant.runtime_asserts)):
        yield from (f"{title}: {obligation.describe()}" for obligation in listed)
    for name, e in variant.replacements.items():
        if e.is_const:
            yield f"specialized: {env.symbols[name].label} is always {e.c}"
    yield from (f"deviation: {deviation}" for deviation in variant.deviations)
