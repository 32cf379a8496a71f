"""`ExportedProgram.report`: one HTML file that shows an exported program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.export.branches.branching import Branching, branches_of
from anyshape.observe.report.flame import of_profile
from anyshape.observe.report.of_program import add_program
from anyshape.observe.report.page import write
from anyshape.observe.report.report_data import ReportData

if TYPE_CHECKING:
    import os

    from anyshape.export.program import ExportedProgram
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Graph


def report(program: ExportedProgram, path: str | os.PathLike[str]) -> None:
    """Write the report of a program."""
    write(report_data(program), path)


def report_data(program: ExportedProgram) -> ReportData:
    """What the report of a program shows."""
    made = ReportData(program.name, "exported program")
    for i, variant in enumerate(program.variants):
        number = add_program(made, f"variant {i}", variant, _parts(variant))
        for branch in branches_of(variant):
            made.branch(branch.question, branch.site, number)
    made.accepts = program.contract().full().splitlines()
    made.held = sorted(map(str, program.constants), key=lambda held: held.endswith("= (absent)"))
    made.overview = _overview(program)
    profile = program.profile
    made.flame = None if profile is None else of_profile(profile)
    return made


def _parts(variant: Captured) -> list[tuple[str, Graph]]:
    if not isinstance(variant, Branching):
        return [("", variant.graph)]
    return [(f"segment {i}", part.graph) for i, part in enumerate(variant.parts)]


def _overview(program: ExportedProgram) -> list[tuple[str, str]]:
    variants = program.variants
    calls = sum(len(part.graph.nodes) for v in variants for part in v.parts)
    symbols = sum(len(v.tracer.env.symbols) for v in variants)
    complete = "yes, which is proved" if program.is_complete else "no: some sizes are refused"
    rows = [
        ("variants", f"{len(variants):,}"),
        ("serves all sizes that it accepts", complete),
        ("calls", f"{calls:,}"),
        ("symbols", f"{symbols:,}"),
        ("guards", f"{sum(len(v.guards) for v in variants):,}"),
        ("runtime asserts", f"{sum(len(p.runtime_asserts) for v in variants for p in v.parts):,}"),
        ("deviations from eager execution", f"{len(program.deviations):,}"),
    ]
    if program.seconds is not None:
        rows.append(("time of the export", f"{program.seconds:.3f} s"))
    rows += [("problem", str(p)) for p in program.problems]
    return rows
