"""What a console shows: public objects say what they are, in a few lines without addresses."""

from __future__ import annotations

import pydoc
import re
from typing import Any

import pytest
import torch

import anyshape
from anyshape.events import Guard, subscribe

MANY = 300


def split(x: Any, k: Any) -> Any:
    counts = k.tolist()
    for n in counts:
        torch._check(n >= 0)
    return torch.split(x, counts)


def representations() -> dict[str, Any]:
    """Public objects by name, of a program with many symbols and of a compiled function."""
    example = (torch.ones(MANY), torch.ones(MANY, dtype=torch.int64))
    program = anyshape.export(split, example, dynamic_shapes=({0: "n"}, None))
    compiled = anyshape.compile(lambda x: x * 2 if x.size(0) > 4 else x, dynamic=True)
    guards: list[Any] = []
    with subscribe(guards.append, Guard):
        compiled(torch.ones(8))
    compiled(torch.ones(3))
    env = anyshape.ShapeEnv()
    sizes = [env.unbacked(size=True) for _ in range(MANY)]
    total = anyshape.sym_sum(sizes)
    anyshape.check(total > 3)
    linear = anyshape.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),))
    return {
        "program": program,
        "graph": program.graph,
        "variant": program.variants[0],
        "contract": program.contract(),
        "report": program.verify(*[example] * 60),
        "signature": program.graph_signature,
        "assert": program.runtime_asserts[-1],
        "state": linear.state,
        "compiled": compiled,
        "entry": compiled.entries[0],
        "stats": compiled.stats,
        "recompilation": compiled.recompilations[0],
        "reason": compiled.recompilations[0].reasons[0],
        "event": guards[0],
        "env": env,
        "sum": total,
        "sum above": total > 3,
        "obligation": env.runtime_asserts[-1],
    }


SHOWN = {name: repr(value) for name, value in representations().items()}


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_bounded_and_has_no_address(name: str) -> None:
    text = SHOWN[name]
    assert 5 < len(text) < 6000
    assert len(text.splitlines()) <= 45
    assert not re.search(r"0x[0-9a-f]{6}", text)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("graph", "<Graph: "),
        ("variant", "<traced program of (x, k): "),
        ("contract", "inputs:\n  x: float32[n]"),
        ("report", "and 21 more, which str() lists"),
        ("signature", "<GraphSignature: 2 inputs, 300 outputs: x, k>"),
        ("state", "<State: 2 tensors: weight, bias>"),
        ("entry", "<entry for (x): "),
        ("reason", "<Reason: 5 <= x.size(0) does not hold (x.size(0) = 3), at "),
        ("recompilation", " is recompiled: 5 <= x.size(0)"),
        ("event", "<Guard: guard 2 <= x.size(0) (policy) at "),
    ],
)
def test_it_says_what_it_is(name: str, said: str) -> None:
    assert said in SHOWN[name]


def test_help_starts_with_what_people_use() -> None:
    text = pydoc.plain(pydoc.render_doc(anyshape))
    start = text[:1200]
    names = [
        "compile(fn)",
        "export(fn, args)",
        "Dim ",
        "mark_dynamic",
        "check(condition)",
        "config",
    ]
    places = [start.index(name) for name in names]
    assert places == sorted(places)
    assert "Error" not in start[: places[-1]]
