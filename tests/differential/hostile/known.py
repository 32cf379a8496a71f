"""The differences that are known, kept in `known.json`: by program, the modes that differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.differential.hostile.run import SILENT

if TYPE_CHECKING:
    from tests.differential.hostile.run import Outcome

KNOWN = Path(__file__).parent / "known.json"


def read() -> dict[str, list[str]]:
    """By `class/program`, the modes in which it is known to differ."""
    return json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {}


def write(found: dict[tuple[str, str, str], Outcome], *, grow: bool) -> None:
    """Remove what does not differ any more; with `grow`, add what does."""
    known = {program: set(modes) for program, modes in read().items()}
    for (kind, name, mode), outcome in found.items():
        modes = known.setdefault(f"{kind}/{name}", set())
        if outcome.kind not in SILENT:
            modes.discard(mode)
        elif grow:
            modes.add(mode)
    rows = [
        f"  {json.dumps(program)}: {json.dumps(sorted(modes))}"
        for program, modes in sorted(known.items())
        if modes
    ]
    text = "{\n" + ",\n".join(rows) + "\n}\n" if rows else "{}\n"
    KNOWN.write_text(text, encoding="utf-8")
