"""Dicts of which a program reads the same keys, such as those of the layers of a model.

The reads of one dict are a row of a table; one generated loop tests all rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from anyshape.trace.record.read.read import Read

_FEWEST: Final = 4  # rows for which code is generated
_KINDS: Final = (reads.ITEM, reads.EMPTY, reads.ABSENT)

Shape: TypeAlias = tuple[tuple[str, str], ...]  # the kinds and keys of the reads of one dict


def split(all_reads: list[Read]) -> tuple[list[Callable[[], bool]], list[Read]]:
    """Tests for dicts that are read alike, and the reads that these do not cover."""
    by_owner: dict[int, list[Read]] = {}
    singles = []
    for read in all_reads:
        if read.kind in _KINDS and type(read.owner) is dict and type(read.key) is str:
            by_owner.setdefault(id(read.owner), []).append(read)
        else:
            singles.append(read)
    by_shape: dict[Shape, list[list[Read]]] = {}
    for some in by_owner.values():
        some.sort(key=lambda r: (r.kind, r.key))
        by_shape.setdefault(tuple([(r.kind, r.key) for r in some]), []).append(some)
    tests = []
    for shape, rows in by_shape.items():
        if len(rows) < _FEWEST:
            singles += [read for row in rows for read in row]
        else:
            tests.append(_test(shape, rows))
    return tests, singles


def _test(shape: Shape, rows: list[list[Read]]) -> Callable[[], bool]:
    table = [(row[0].owner, *[r.value for r in row if r.kind == reads.ITEM]) for row in rows]
    scope: dict[str, Any] = {"table": table, "rows": rows, "all_hold": _all_hold}
    exec(_code(shape), scope)  # our own text
    made: Callable[[], bool] = scope["test"]
    return made


@lru_cache(maxsize=256)
def _code(shape: Shape) -> CodeType:
    """A function that goes through the table; where an identity differs, values are compared."""
    values = [f"v{i}" for i, (kind, _) in enumerate(shape) if kind == reads.ITEM]
    differs = []
    for i, (kind, key) in enumerate(shape):
        if kind == reads.ITEM:
            differs.append(f"o[{key!r}] is not v{i}")
        else:
            differs.append(f"o[{key!r}]" if kind == reads.EMPTY else f"{key!r} in o")
    lines = [
        "def test():",
        f"    for o, {''.join(f'{v}, ' for v in values)}in table:",
        f"        if {' or '.join(differs)}:",
        "            return all_hold(rows)",
        "    return True",
    ]
    return compile("\n".join(lines), "<watch>", "exec")


def _all_hold(rows: list[list[Read]]) -> bool:
    return all(read.holds() for row in rows for read in row)
