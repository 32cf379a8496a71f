"""The renderings of an input contract agree, and agree with a contract written by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import anyshape
from anyshape import config, mark_dynamic
from anyshape.trace import capture
from anyshape.trace.argument.condition import StaticSize


def program(x: torch.Tensor, y: torch.Tensor, k: int, scale: float, name: str | None) -> Any:
    return x * k + (y.sum() if x.is_contiguous() else y.mean()) * scale


def example() -> tuple[Any, ...]:
    return torch.randn(3, 4), torch.randn(5), 2, 0.5, "a"


def changes() -> dict[str, list[Any]]:
    square = torch.randn(4, 4)
    return {
        "x": [
            torch.randn(7, 4),
            torch.randn(1, 4),
            torch.randn(3, 5),
            torch.randn(4, 3).t(),
            torch.randn(4, 4)[1:],
            square,
            torch.randn(3, 4, requires_grad=True),
            torch.nn.Parameter(torch.randn(3, 4), requires_grad=False),
            torch.randn(3, 4).double(),
            torch.randn(3, 4, 1),
            torch.randn(3, 4, device="meta"),
            3.0,
            None,
        ],
        "y": [torch.randn(6), torch.ones(5).int(), torch.randn(()), square, "x"],
        "k": [3, 0, True, 2.0, None],
        "scale": [0.25, float("nan"), 1],
        "name": ["b", None, 3],
    }


def is_float32(t: Any, rank: int) -> bool:
    return isinstance(t, torch.Tensor) and t.dtype is torch.float32 and t.dim() == rank


def accepts(call: list[Any], *, strict: bool) -> bool:
    """The contract of `program`, in which `k` and the first size of `x` are symbols."""
    x, y, k, scale, name = call
    if not (is_float32(x, 2) and is_float32(y, 1)) or x.is_meta:
        return False
    if x.size(0) < 2 or x.size(1) != 4 or y.size(0) != 5:
        return False
    if not x.is_contiguous() or x.storage_offset():
        return False
    if strict and (x.requires_grad or type(x) is not torch.Tensor):
        return False
    return type(k) is int and type(scale) is float and scale == 0.5 and name == "a"


def calls(seed: int) -> list[list[Any]]:
    pick = random.Random(seed)
    found = []
    for _ in range(100):
        pairs = zip(changes().values(), example(), strict=True)
        found.append([pick.choice(v) if pick.random() < 0.25 else x for v, x in pairs])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_contract_of_a_traced_program(seed: int) -> None:
    def choose(spot: Any) -> str:
        return "backed" if spot.source in ("x.size(0)", "k") else "static"

    contract = capture(program, example(), dynamic=choose).contract
    outcomes = set()
    for call in calls(seed):
        condition = contract.violated(call)
        passes = condition is None and contract.failed_guard(call) is None
        outcomes.add(passes)
        assert passes is accepts(call, strict=False), call
        if condition is not None:
            violation = condition.violation(call)
            assert violation.expected != violation.actual
            assert any(word in violation.place for word in changes())
    assert outcomes == {True, False}


def entry_of_program() -> Any:
    args = example()
    mark_dynamic(args[0], 0)
    with config.patch(dynamic_sources="k"):
        compiled = anyshape.compile(program, fullgraph=True)
        compiled(*args)
    return compiled.entries[0]


def check_entry(entry: Any, seed: int) -> None:
    for call in calls(seed):
        reason = entry.why_not(tuple(call), {})
        assert (reason is None) is accepts(call, strict=True), call
        if reason is not None and not reason.violation.sentence:
            assert reason.violation.expected != reason.violation.actual


@pytest.mark.parametrize("seed", range(4))
def test_the_guard_function_of_an_entry(seed: int) -> None:
    check_entry(entry_of_program(), seed)


def test_reasons_name_the_change() -> None:
    entry = entry_of_program()
    x, y, k, scale, name = example()
    table = [
        ((x, torch.randn(6), k, scale, name), "y.size(0) changed from 5 to 6"),
        ((x.double(), y, k, scale, name), "x.dtype changed from torch.float32 to torch.float64"),
        ((x, y, k, scale, "b"), "name changed from 'a' to 'b'"),
        ((x, y, True, scale, name), "k changed from int to bool"),
        (
            (x.t().contiguous().t(), y, k, scale, name),
            "the layout of x changed from strides (4, 1)",
        ),
        ((x[:1], y, k, scale, name), "2 <= x.size(0) does not hold (x.size(0) = 1)"),
        ((x, y, k, scale), "the number of positional arguments changed from 5 to 4"),
    ]
    for args, text in table:
        assert text in str(entry.why_not(args, {}))
    with torch.no_grad():
        assert "grad mode changed from on to off" in str(entry.why_not(example(), {}))


def test_a_reason_names_the_place_at_which_a_structure_differs() -> None:
    compiled = anyshape.compile(lambda a, **rest: a["x"][0] + rest["y"], fullgraph=True)
    x, y = torch.ones(2), torch.ones(2)
    compiled({"x": [x]}, y=y)
    (entry,) = compiled.entries
    for args, kwargs, text in (
        (({"x": (x,)},), {"y": y}, "argument 0['x'] changed from a list of [0] to a tuple of [0]"),
        (({"x": [x], "z": x},), {"y": y}, "argument 0 changed from a dict of ['x'] to a dict of"),
        (({"x": x},), {"y": y}, "argument 0['x'] changed from a list of [0] to a Tensor"),
        (({"x": [x]},), {"y": [y]}, "y changed from a tensor or another single value to a list"),
        (({"x": [x]},), {"z": y}, "the set of keyword arguments changed from y to z"),
        (({"x": [x]}, x), {"y": y}, "the number of positional arguments changed from 1 to 2"),
    ):
        assert text in str(entry.why_not(args, kwargs)), text


def test_inputs_that_must_be_distinct() -> None:
    compiled = anyshape.compile(lambda a, b, c: a + b + c, fullgraph=True)
    x, y = torch.randn(3), torch.randn(3)
    compiled(x, y, torch.randn(3))
    reason = compiled.entries[0].why_not((x, y, x), {})
    assert reason.text == "c changed from another tensor to the same tensor as a"


def test_a_condition_that_is_not_checked_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StaticSize, "source", lambda self, scope: "True")
    with pytest.raises(AssertionError):
        check_entry(entry_of_program(), seed=0)
