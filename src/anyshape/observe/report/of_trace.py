"""The report of trace files (`ANYSHAPE_TRACE`): traces, breaks, recompilations, times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.fact import ORIGINS
from anyshape.errors import LoadError
from anyshape.observe.report.flame import Span, tree
from anyshape.observe.report.report_data import (
    ASSERT,
    BREAK,
    DEVIATION,
    GUARD,
    SPECIALIZED,
    Place,
    ReportData,
    cut,
)
from anyshape.observe.trace_schema import SCHEMA
from anyshape.regular_file import open_to_read

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_SUFFIX: Final = ".jsonl"


def is_trace(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a trace file, or of a folder of them."""
    return Path(path).is_dir() or Path(path).suffix == _SUFFIX


def trace_report(path: str | os.PathLike[str]) -> ReportData:
    """The data of a trace file, or of all trace files in a folder."""
    where = Path(path)
    files = sorted(where.glob(f"*{_SUFFIX}")) if where.is_dir() else [where]
    if not files:
        raise LoadError(
            f"there is no trace file in {str(path)!r}",
            fix="ANYSHAPE_TRACE=folder python your_program.py writes one",
            code="AS506",
        )
    report = ReportData(where.name or str(where), "trace")
    reading = _Reading(report)
    for file in files:
        reading.read(file)
    reading.finish()
    return report


def _records(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, its header first. A last line that is cut off is left out."""
    try:
        with open_to_read(file) as stream:
            broken = 0
            for number, line in enumerate(stream, 1):
                if broken:
                    raise LoadError(
                        f"{file.name}:{broken} is not a line of a trace file", code="AS506"
                    )
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    broken = number
                    continue
                if not isinstance(record, dict):
                    raise LoadError(
                        f"{file.name}:{number} is not a line of a trace file", code="AS506"
                    )
                if number == 1 and record.get("schema") != SCHEMA:
                    raise LoadError(f"{file.name} is not a trace file of anyshape", code="AS506")
                yield record
            if broken == 1:
                raise LoadError(f"{file.name} is not a trace file of anyshape", code="AS506")
    except OSError as e:
        raise LoadError(f"{str(file)!r} cannot be read", why=str(e), code="AS506") from e


class _Reading:
    """Puts the records of files together."""

    def __init__(self, report: ReportData) -> None:
        self.report = report
        self._files = 0
        self._counts: dict[str, int] = {}
        self._programs: dict[tuple[int, Any], int] = {}
        self._names: dict[tuple[int, Any], str] = {}
        self._spans: dict[tuple[int, Any], list[Span]] = {}

    def read(self, file: Path) -> None:
        """Add a file."""
        records = _records(file)
        header = next(records, None)
        if header is None:
            raise LoadError(f"{file.name} is empty", code="AS506")
        about = [f"{key} {header[key]}" for key in ("anyshape", "python") if key in header]
        started = [f"started {header['started']}"] if "started" in header else []
        self.report.overview.append(
            (f"process {header.get('process', '?')}", ", ".join(about + started))
        )
        for record in records:
            self._add(record)
        self._files += 1

    def _add(self, r: dict[str, Any]) -> None:
        kind = str(r.get("event"))
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if isinstance(r.get("start"), int) and isinstance(r.get("nanoseconds"), int):
            key = (self._files, r.get("thread"))
            name = _span_name(kind, r)
            self._spans.setdefault(key, []).append(Span(name, r["start"], r["nanoseconds"]))
        handle = getattr(self, f"_on_{kind.lower()}", None)
        if handle is not None:
            handle(r, _place(r.get("site")))

    def _program(self, r: dict[str, Any]) -> int:
        """The number of the trace that a record belongs to."""
        key = (self._files, r.get("trace"))
        known = self._programs.get(key)
        if known is None:
            known = self._programs[key] = len(self.report.programs)
            title = self._names.get(key, f"trace {r.get('trace')}")
            row = {"title": cut(title), "symbols": [], "graphs": [], "modules": []}
            self.report.programs.append(row)
        return known

    def _happened(
        self, r: dict[str, Any], what: str, text: str, place: Place | None, **more: Any
    ) -> None:
        time = r.get("time")
        row: dict[str, Any] = {"what": what, "text": cut(text), "place": self.report.place(place)}
        row |= {"time": time / 1e9 if isinstance(time, int) else None, "reasons": []}
        self.report.events.append(row | more)

    def _on_tracestart(self, r: dict[str, Any], _: Place | None) -> None:
        self._names[self._files, r.get("trace")] = str(r.get("function"))
        self._program(r)

    def _on_traceend(self, r: dict[str, Any], place: Place | None) -> None:
        error = r.get("error")
        end = "" if not isinstance(error, dict) else f": {error.get('type')}: {error.get('text')}"
        self._happened(r, "trace", f"{r.get('function')}, {_ms(r)}{end}", place)

    def _on_lowering(self, r: dict[str, Any], place: Place | None) -> None:
        error = r.get("error")
        end = "" if not isinstance(error, dict) else f": {error.get('text')}"
        text = f"{r.get('backend')}: {r.get('calls')} calls, {_ms(r)}{end}"
        self._happened(r, "lowering", text, place)

    def _on_recompilation(self, r: dict[str, Any], place: Place | None) -> None:
        given = r.get("reasons")
        reasons = [
            {
                "text": cut(x.get("text", "")),
                "fix": cut(x.get("fix") or ""),
                "place": self.report.place(_place(x.get("site"))),
            }
            for x in (given if isinstance(given, list) else [])
            if isinstance(x, dict)
        ]
        text = f"{r.get('function')} is traced again"
        self._happened(r, "recompilation", text, place, reasons=reasons)

    def _on_fallback(self, r: dict[str, Any], place: Place | None) -> None:
        self._happened(r, "eager", f"{r.get('function')}: {r.get('why')}", place)

    def _on_graphbreak(self, r: dict[str, Any], place: Place | None) -> None:
        question, written = r.get("question"), r.get("written")
        note = f"it means {question}" if written and written != question else None
        self.report.condition(BREAK, written or question, place, note=note)

    def _on_symbolcreation(self, r: dict[str, Any], place: Place | None) -> None:
        hint = r.get("hint")
        row = {"name": str(r.get("name")), "label": cut(r.get("source") or r.get("name"))}
        row |= {"kind": str(r.get("kind")), "hint": "" if hint is None else str(hint)}
        symbols = self.report.programs[self._program(r)]["symbols"]
        symbols.append(row | {"range": "", "place": self.report.place(place)})

    def _on_guard(self, r: dict[str, Any], place: Place | None) -> None:
        self._condition(GUARD, r, str(r.get("condition")), place)

    def _on_assert(self, r: dict[str, Any], place: Place | None) -> None:
        self._condition(ASSERT, r, str(r.get("condition")), place)

    def _on_specialization(self, r: dict[str, Any], place: Place | None) -> None:
        text = f"{r.get('name')} is always {r.get('value')}"
        self._condition(SPECIALIZED, r, text, place)

    def _on_deviation(self, r: dict[str, Any], place: Place | None) -> None:
        text = f"{r.get('op')} where {r.get('condition')}"
        self._condition(DEVIATION, r, text, place, note=str(r.get("about")))

    def _condition(
        self, what: str, r: dict[str, Any], text: str, place: Place | None, note: str = ""
    ) -> None:
        number, origin = self._program(r), str(r.get("origin") or "")
        origin = "" if origin == what else ORIGINS.get(origin, origin)
        self.report.condition(what, text, place, program=number, origin=origin, note=note)

    def finish(self) -> None:
        """Sum up."""
        for kind, label in _COUNTED.items():
            if kind in self._counts:
                self.report.overview.append((label, f"{self._counts[kind]:,}"))
        if self._spans:
            self.report.flame = tree(self.report.title, self._spans.values())


_COUNTED: Final = {
    "TraceEnd": "traces",
    "Recompilation": "recompilations",
    "GraphBreak": "graph breaks",
    "Fallback": "functions that run eagerly",
    "Lowering": "lowerings",
    "OpCall": "ops",
    "Answer": "questions to the engine",
}


def _span_name(kind: str, r: dict[str, Any]) -> str:
    name = {
        "TraceEnd": "function",
        "OpCall": "op",
        "Answer": "verb",
        "Phase": "name",
        "Lowering": "backend",
    }.get(kind)
    words = {"TraceEnd": "trace of", "OpCall": "op", "Answer": "question", "Phase": "phase"}
    return cut(f"{words.get(kind, kind.lower())} {r.get(name or '', '')}")


def _ms(r: dict[str, Any]) -> str:
    found = r.get("nanoseconds")
    return f"{found / 1e6:.2f} ms" if isinstance(found, int) else "?"


def _place(site: Any) -> Place | None:
    if not isinstance(site, dict) or not isinstance(site.get("line"), int):
        return None
    words = [str(site.get(key) or "") for key in ("file", "function", "text")]
    return Place(words[0], site["line"], words[1], words[2])
