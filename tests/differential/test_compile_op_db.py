"""Ops of torch's own database, compiled with every size unbacked, against eager execution.

    python -m tests.differential.test_compile_op_db [--part 0/4]

runs all ops. An op passes where all its samples, each in one entry, give what eager gives; at other
sizes it may take more entries, or refuse. Every size of at least 2 is unbacked; `--every` makes 0
and 1 unbacked too, and nothing is known to be stretched.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.rules.dispatch.table import RULES, Rule
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import ROWS
from tests.differential.op_db import (
    BEYOND,
    TABLE,
    Call,
    call_of,
    copies,
    database,
    difference,
    dtype_for,
    one_line,
    resized,
    seeded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY = 7
SAMPLES = 3


def run_op(name: str, op: Any, *, every: bool = False) -> str | None:
    """ "pass", or what went wrong first; None where there is nothing to compile."""
    dtype = dtype_for(op, "unbacked")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(0)
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype), 32))
        except Exception as e:
            return f"no samples: {type(e).__name__}"
        found = None
        for sample in samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]:
            call = call_of(op, sample, "unbacked")
            if call is None or isinstance(seeded(call, copies(call.tensors)), Exception):
                continue
            found = run_call(name, call, every=every)
            if found != "pass":
                return found
    return found


def run_call(name: str, call: Call, *, every: bool = False) -> str:
    """Compile one sample, and call it at its own sizes and at others."""
    dims = [
        [d for d, n in enumerate(t.shape) if every or n >= 2] if t.layout is torch.strided else []
        for t in call.tensors
    ]
    program = anyshape.compile(call, fullgraph=True)

    def compiled(*tensors: Any) -> Any:
        for t, unbacked in zip(tensors, dims, strict=True):
            if unbacked:
                anyshape.mark_unbacked(t, unbacked)
        return program(*tensors)

    sizes = [call.tensors, call.tensors]
    if name not in BEYOND:
        sizes += _others(call)
    for i, tensors in enumerate(sizes):
        wrong = compare(name, call, compiled, tensors, may_refuse=i > 1)
        if wrong:
            return f"call {i}: {wrong}"
        if i == 1 and len(program.entries) != 1:
            return f"{len(program.entries)} entries"
    return "pass"


def _others(call: Call) -> list[Any]:
    found = []
    for by in (1, 3):
        try:
            found.append(resized(call.tensors, by))
        except Exception:  # there is no such index
            continue
    return found


def compare(name: str, call: Call, compiled: Any, tensors: list[Any], *, may_refuse: bool) -> str:
    """What a call does otherwise than eager; at other sizes than the sample's it may refuse."""
    expected = seeded(call, copies(tensors))
    try:
        actual = seeded(compiled, copies(tensors))
    except AnyshapeError as e:
        return "" if may_refuse or isinstance(expected, Exception) else one_line(e)
    if isinstance(expected, Exception):
        same = isinstance(actual, Exception)
        return "" if same else f"a result where eager raises {one_line(expected)}"
    if isinstance(actual, Exception):
        return one_line(actual)
    wrong = difference(name, actual, expected)
    if wrong and difference(name, seeded(call, copies(tensors)), expected):
        return ""  # eager reads what lies beyond the data
    return wrong


def traced() -> list[str]:
    """The ops that capture traces with unbacked sizes."""
    table = json.loads(TABLE.read_text())
    return [name for name, row in table.items() if row.get("unbacked") == "pass"]


@pytest.mark.parametrize("part", range(4))
def test_ops_that_capture_traces_are_compiled(part: int) -> None:
    ops = database()
    names = [name for name in traced() if name in ops]  # torch 2.11 has fewer than the table
    found = {name: run_op(name, ops[name]) for name in names[::EVERY][part::4]}
    assert not {name: wrong for name, wrong in found.items() if wrong not in ("pass", None)}
    assert len(found) > 20


@pytest.fixture
def _rows() -> Iterator[None]:
    """The table of rules that were looked up is made anew, before and after."""
    ROWS.clear()
    yield
    ROWS.clear()


@pytest.mark.usefixtures("_rows")
def test_a_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: sizes that an op does not have."""

    def wrong(x: Any, *_: Any, **__: Any) -> Meta:
        return Meta((*x.shape[:-1], x.shape[-1] + 1), x.dtype)

    sample = next(iter(database()["cumsum"].sample_inputs("cpu", torch.float32)))
    call = Call(lambda x, *_, **__: torch.zeros(x.cumsum(0).shape), sample)
    assert run_call("planted", call) == "pass"
    monkeypatch.setitem(RULES, "cumsum", Rule("cumsum", wrong))
    ROWS.clear()
    assert run_call("planted", call) != "pass"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--every", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    place, parts = map(int, options.part.split("/"))
    names = options.names or list(database())[place::parts]
    ops = database()
    found = {}
    for name in names:
        found[name] = run_op(name, ops[name], every=options.every)
        if found[name] not in ("pass", None):
            print(f"{name}: {str(found[name])[:200]}", flush=True)
    rows = [wrong for wrong in found.values() if wrong is not None]
    print(f"{rows.count('pass')} of {len(rows)} pass")


if __name__ == "__main__":
    main()
