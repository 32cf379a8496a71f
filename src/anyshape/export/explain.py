"""`explain`: everything that an exported program assumes, with the user's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyshape.export.program import ExportedProgram


def explain(program: ExportedProgram) -> str:
    """The text."""
    lines = [f"{program.name}: {len(program.variants)} variant(s)", str(program.contract())]
    for i, v in enumerate(program.variants):
        env = v.tracer.env
        lines.append(f"variant {i}: {len(v.graph.nodes)} calls")
        for name, s in env.symbols.items():
            r = env.range_of(s.expr)
            site = f", made at {s.site}" if s.site else ""
            lines.append(f"  {name} = {s.label}: {s.kind}, {r}{site}")
        for title, listed in (("guard", v.guards), ("assert", v.runtime_asserts)):
            lines += [f"  {title}: {o.describe()}" for o in listed]
        for name, e in env.replacements.items():
            if e.is_const:
                lines.append(f"  specialized: {env.symbols[name].label} is always {e.c}")
        for d in v.deviations:
            site = f" at {d.site}" if d.site else ""
            lines.append(f"  deviation: {d.op} where {env.text(d.condition)}: {d.about}{site}")
    return "\n".join(lines)
