"""Outcomes as a file and as a page of the documentation, with date and versions."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

OUTCOMES = Path(__file__).parent / "outcomes.json"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "zoo.md"

COLUMNS = ("export", "torch.export", "compile", "train", "no_grad", "autocast")
STATUSES = ("right", "eager", "partly", "fails", "hangs", "crashes", "wrong")

HEAD = """# Programs of other libraries

Small models and functions of other libraries, built from their configurations, each called at
several sizes, with 0 and 1 where eager execution takes them. `make zoo` installs the libraries,
runs everything and writes this page. Each result is compared with eager execution.

- **right**: equal to eager execution at all sizes; what eager refuses is refused.
- **eager**: right, but `compile` gave the function up and runs it eagerly.
- **partly**: right where it runs; some size that eager execution takes is refused.
- **fails**, **hangs**, **crashes**: no result. **wrong**: another result than eager execution.

Export marks as `Dim.AUTO` every size that differs between the calls, for `torch.export` too. A
number after an outcome of `compile` counts graph breaks. *train* is training mode with a backward
pass after each call, with gradients compared; *no_grad* and *autocast* call a compiled function
there. An empty cell was not measured, or makes no sense for the program.
"""


def write(found: dict[str, Any]) -> None:
    """Keep the outcomes, and write the page."""
    versions = {name: version(name) for name in ("anyshape", "torch", *sorted(found))}
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    for outcome in _outcomes(found):
        outcome.setdefault("date", date)  # that of an earlier run stays
    record = {"date": date, "versions": versions, "libraries": dict(sorted(found.items()))}
    OUTCOMES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


def version(library: str) -> str:
    """The version of the distribution that provides a module."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(library, [])
        return metadata.version(names[0]) if names else "unknown"


def page(record: dict[str, Any]) -> str:
    """The page of the documentation."""
    versions, libraries = record["versions"], record["libraries"]
    count = sum(len(programs) for programs in libraries.values())
    ours = f"anyshape {versions['anyshape']}, PyTorch {versions['torch']}"
    dates = sorted({outcome["date"] for outcome in _outcomes(libraries)})
    when = dates[0] if len(dates) == 1 else f"measured from {dates[0]} to {dates[-1]}"
    lines = [
        HEAD,
        f"{count} programs of {len(libraries)} libraries, {when}, {ours}.\n",
        *_totals(libraries),
    ]
    for library, programs in libraries.items():
        lines += ["", f"## {library} {versions[library]}", "", *_table(programs)]
    return "\n".join(lines) + "\n"


def _outcomes(libraries: dict[str, Any]) -> list[Any]:
    programs = [found for library in libraries.values() for found in library.values()]
    return [outcome for found in programs for outcome in found.values() if outcome]


def _totals(libraries: dict[str, Any]) -> list[str]:
    runs = [outcomes for programs in libraries.values() for outcomes in programs.values()]
    counts = {c: Counter(o[c]["status"] for o in runs if o.get(c)) for c in COLUMNS}
    rows = [[s, *(str(counts[c][s]) for c in COLUMNS)] for s in STATUSES]
    return _rows(["outcome", *COLUMNS], rows)


def _table(programs: dict[str, Any]) -> list[str]:
    rows = [
        [f"`{name}`", *(_cell(found.get(c)) for c in COLUMNS)] for name, found in programs.items()
    ]
    return _rows(["program", *COLUMNS], rows)


def _cell(outcome: dict[str, Any] | None) -> str:
    if outcome is None:
        return ""
    return f"{outcome['status']} {outcome['breaks'] or ''}".strip()


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
