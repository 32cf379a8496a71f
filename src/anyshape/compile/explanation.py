"""What a compiled function consists of, as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from anyshape.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.compile.cache.entry import Entry
    from anyshape.compile.compiled import Compiled


def name_of(fn: Any) -> str:
    """The name of a function or module, for messages."""
    return str(getattr(fn, "__qualname__", None) or type(fn).__name__)


def global_name(x: Any) -> str | None:
    """The qualified name by which the module of a function has exactly this object, if it has."""
    whole: str = getattr(x, "__qualname__", "")
    found: Any = sys.modules.get(getattr(x, "__module__", None) or "")
    for name in whole.split("."):
        found = getattr(found, name, None)
    return whole if found is x else None


def explain(compiled: Compiled) -> str:
    """The entries with their guards, asserts and graph breaks, and all recompilations."""
    count = counted(len(compiled.entries), "entry", "entries")
    lines = [f"{name_of(compiled.fn)}: {count}, {compiled.stats}"]
    if compiled.eager_because:
        lines.append(f"runs eagerly: {compiled.eager_because}")
    for i, entry in enumerate(compiled.entries):
        lines += _of_entry(i, entry)
    pieces = compiled.pieces
    if pieces is not None:
        where = f" at {pieces.site}" if pieces.site else ""
        lines.append(f"break: {pieces.why}{where}")
        for part in pieces.parts:
            lines += [f"  {line}" for line in part.explain().splitlines()]
    lines += [f"again: {event}" for event in compiled.recompilations]
    return "\n".join(lines)


def _of_entry(number: int, entry: Entry) -> Iterator[str]:
    root = entry.root
    kind = "one program"
    if root is not None:
        kind = counted(sum(1 for _ in root.below()), "segment", "segments")
    yield f"entry {number}: {kind}"
    yield from (f"  {name}: {text}" for name, text in entry.input_texts())
    for o in entry.captured.guards:
        yield f"  guard: {o.describe()}"
    for o in entry.captured.runtime_asserts:
        yield f"  assert: {o.describe()}"
    for text in entry.premises:
        yield f"  premise of the lowering: {text}"
    for text in entry.regions:
        yield f"  region: {text}"
    if root is not None:
        for s in root.below():
            if s.question is not None:
                yield f"  break: {s.question}? at {s.site}"
