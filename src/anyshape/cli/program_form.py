"""A program as members of an object of JSON, and as lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import anyshape

if TYPE_CHECKING:
    from anyshape.export import ExportedProgram


def load_program(file: str) -> ExportedProgram:
    """The program in a file."""
    return anyshape.load(file)


def members_of(program: ExportedProgram, file: str) -> dict[str, Any]:
    """What `export` and `info` say of a program that is in a file."""
    contract = program.contract()
    return {
        "name": program.name,
        "file": file,
        "bytes": os.path.getsize(file),
        "inputs": [
            {
                "name": i.name,
                "kind": i.kind,
                "shape": None if i.shape is None else list(i.shape),
                "value": None if i.shape is not None else str(i.value)[:2000],
            }
            for i in contract.inputs
        ],
        "sizes": {name: list(bounds) for name, bounds in contract.ranges.items()},
        "variants": contract.variants,
        "asserts": contract.asserts,
        "refused": [
            {"where": where, "error": error}
            for where, error in (*contract.refused, *contract.unexported)
        ],
        "complete": contract.is_complete,
        "branches": contract.branches,
        "deviations": [str(d) for d in program.deviations],
        "calls": calls_of(program),
    }


def calls_of(program: ExportedProgram) -> int:
    """The number of calls in all graphs."""
    return sum(len(part.graph.nodes) for v in program.variants for part in v.parts)


def counted(count: int, what: str) -> str:
    """A number of things, in words."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def size_text(count: int) -> str:
    """A number of bytes, in words."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return counted(count, "byte")
