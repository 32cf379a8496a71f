"""`Compiled.report`: one HTML file that shows a compiled function."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

from anyshape.compile.explanation import name_of
from anyshape.observe.report.of_program import add_program
from anyshape.observe.report.page import write
from anyshape.observe.report.report_data import BREAK, Place, ReportData, cut

if TYPE_CHECKING:
    import os

    from anyshape.compile.cache.entry import Entry
    from anyshape.compile.compiled import Compiled
    from anyshape.compile.pieces.pieces import Pieces
    from anyshape.events import Recompilation
    from anyshape.trace.graph.graph import Graph


def report(compiled: Compiled, path: str | os.PathLike[str]) -> None:
    """Write the report of a compiled function."""
    write(report_data(compiled), path)


def report_data(compiled: Compiled) -> ReportData:
    """What the report of a compiled function shows."""
    made = ReportData(name_of(compiled.fn), "compiled function")
    _add(made, compiled, "")
    stats = compiled.stats
    made.overview = [
        ("programs", f"{len(made.programs):,}"),
        ("calls", f"{stats.calls:,}"),
        ("served by a program that was there", f"{stats.hits:,}"),
        ("traces", f"{stats.traces:,}, and {stats.extensions:,} of further branches"),
        ("in pieces", f"{stats.in_pieces:,}"),
        ("run eagerly", f"{stats.eager:,}"),
        ("recompilations", f"{sum(e['what'] == 'recompilation' for e in made.events):,}"),
        ("breaks", f"{sum(c['what'] == BREAK for c in made.conditions):,}"),
    ]
    if compiled.eager_because:
        made.overview.append(("runs eagerly", compiled.eager_because))
    made.accepts = _accepts(compiled)
    return made


def _accepts(compiled: Compiled) -> list[str]:
    lines = [] if compiled.stats.calls else ["it has not been called"]
    for i, entry in enumerate(compiled.entries):
        lines.append(f"program {i}:")
        lines += [f"  {name}: {text}" for name, text in entry.input_texts()]
        lines += [f"  where {guard.text}" for guard in entry.captured.guards]
    return lines


def _add(made: ReportData, compiled: Compiled, within: str) -> None:
    for i, entry in enumerate(compiled.entries):
        root, title = entry.root, f"{within}program {i}"
        is_path = root is not None
        number = add_program(made, title, entry.captured, _graphs(entry), is_path=is_path)
        for segment in () if root is None else root.below():
            if segment.question is not None:
                made.branch(segment.question, segment.site, number)
    for event in compiled.recompilations:
        made.events.append(_recompilation(made, event))
    if compiled.eager_because:
        row = {"what": "eager", "text": cut(compiled.eager_because), "place": None}
        made.events.append(row | {"time": None, "reasons": []})
    pieces = compiled.pieces
    if pieces is not None:
        made.condition(BREAK, pieces.why, _place(pieces, name_of(compiled.fn)))
        for part in pieces.parts:
            _add(made, part, f"{within}{name_of(part.fn)}, ")


def _place(pieces: Pieces, function: str) -> Place | None:
    site = pieces.site
    if site is None:
        return None
    return Place(site.file, site.line, function, linecache.getline(site.file, site.line).strip())


def _recompilation(made: ReportData, event: Recompilation) -> dict[str, Any]:
    reasons: list[dict[str, Any]] = []
    for r in event.reasons:  # of several programs: often the same
        row = {"text": cut(r.text), "fix": cut(r.fix), "place": made.place(r.site)}
        if row not in reasons:
            reasons.append(row)
    text = f"{event.function} is traced again"
    return {
        "what": "recompilation",
        "text": text,
        "place": None,
        "time": None,
        "reasons": reasons,
    }


def _graphs(entry: Entry) -> list[tuple[str, Graph]]:
    if entry.root is None:
        return [("", entry.captured.graph)]
    programs = [segment.program for segment in entry.root.below()]
    return [(f"segment {i}", p.graph) for i, p in enumerate(programs) if p is not None]
