"""The table of what passes, op by op: it is as the tool would write it, and so it can only grow."""

from __future__ import annotations

import collections
import functools
import json
import zlib
from typing import Any

import pytest
import torch

from anyshape.rules.dispatch.table import RULES, Rule
from anyshape.tensor.layout import Layout
from anyshape.tensor.meta import Meta
from anyshape.trace import tracer
from tests.differential.op_db import COLUMNS, TABLE, database, run_op

CHUNKS = 12
ALWAYS = "unbacked"


def columns_of(name: str) -> list[str]:
    """The columns that are tried in a test run: the hardest one, and one of the others in turn.

    `make ops` tries all of them.
    """
    others = [column for column in COLUMNS if column != ALWAYS]
    return [ALWAYS, others[zlib.crc32(name.encode()) % len(others)]]


@functools.cache
def table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(TABLE.read_text())
    return found


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_an_op_passes_where_the_table_says_so_and_nowhere_else(chunk: int) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    wrong = []
    for name, op in list(database().items())[chunk::CHUNKS]:
        for column in columns_of(name):
            found = run_op(name, op, column, collections.Counter())
            listed = table().get(name, {}).get(column)
            if (found == "pass") != (listed == "pass"):
                wrong.append(f"{name} [{column}]: {found}; the table says {listed}")
    torch.set_num_threads(threads)
    assert not wrong, (
        "\n".join(wrong) + "\nif that is meant: python -m tests.differential.op_db --write"
    )


def test_the_table_lists_only_ops_that_there_are() -> None:
    assert table().keys() <= database().keys()


def _wrong_size(x: Any, *_: Any, **__: Any) -> Meta:
    return Meta((*x.shape[:-1], x.shape[-1] + 1), x.dtype)


def _wrong_dtype(x: Any, *_: Any, **__: Any) -> Meta:
    return Meta(x.shape, torch.float64)


def _wrong_strides(x: Any, *_: Any, **__: Any) -> Meta:
    return Meta(tuple(x.shape), x.dtype, Layout(order=tuple(reversed(range(len(x.shape))))))


def _without_the_check(x: Any, other: Any, **_: Any) -> Meta:
    return Meta(tuple(x.shape), x.dtype)


@pytest.mark.parametrize(
    ("op", "column", "planted"),
    [
        ("cumsum", "unbacked", _wrong_size),
        ("cumsum", "backed", _wrong_dtype),
        ("cumsum", "unbacked", _wrong_strides),
        ("cumsum", "small", _wrong_size),
        ("add", "small", _without_the_check),
    ],
)
def test_a_wrong_rule_is_found(
    op: str, column: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert table()[op][column] == "pass"
    monkeypatch.setitem(RULES, op, Rule(op, planted))
    monkeypatch.setattr(tracer, "ROWS", {})
    assert run_op(op, database()[op], column, collections.Counter()) not in ("pass", None)
