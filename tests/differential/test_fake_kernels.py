"""Our metadata against torch's fake kernels: every op in one column and one way of the tool."""

from __future__ import annotations

import logging
import zlib
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.rules.dispatch.table import RULES, Rule
from anyshape.trace import tracer
from tests.differential.fake_kernels import TRACED, WAYS, check_op, shows, table, unknown
from tests.differential.op_db import database
from tests.differential.test_op_db import _wrong_dtype, _wrong_size, _wrong_strides
from tests.differential.wrong_in_torch import KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNKS = 4


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """One thread, and no log of torch's kernels that fail."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)
    torch.set_num_threads(threads)


def turn(name: str) -> tuple[str, str] | None:
    """The column and the way that are tried in a test run; `make ops` tries all of them."""
    passing = [column for column in TRACED if table().get(name, {}).get(column) == "pass"]
    if not passing:
        return None
    number = zlib.crc32(name.encode())
    return passing[number % len(passing)], WAYS[number // len(passing) % len(WAYS)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_metadata_is_that_of_fake_kernels(chunk: int) -> None:
    wrong = []
    for name, op in list(database().items())[chunk::CHUNKS]:
        tried = turn(name)
        found = check_op(name, op, *tried, count=1) if tried is not None else None
        wrong += [f"{name} {tried}: {d}" for d in unknown(found or [])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.op}-{known.what}")
def test_what_is_listed_still_differs(known: Any) -> None:
    assert known.reason
    assert shows(known)


def test_what_is_listed_is_listed_once() -> None:
    assert len({(known.op, known.what) for known in KNOWN}) == len(KNOWN)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("planted", "what"),
    [(_wrong_size, "shape"), (_wrong_dtype, "dtype"), (_wrong_strides, "strides")],
)
def test_a_wrong_rule_is_found(
    planted: Any, what: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unknown(check_op("cumsum", database()["cumsum"], "unbacked", way, 1) or []) == []
    monkeypatch.setitem(RULES, "cumsum", Rule("cumsum", planted))
    monkeypatch.setattr(tracer, "ROWS", {})
    found = unknown(check_op("cumsum", database()["cumsum"], "unbacked", way, 1) or [])
    assert {(d.op, d.what, d.eager_agrees) for d in found} == {("cumsum", what, False)}
