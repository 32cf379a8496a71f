"""Objects with a `__getattribute__` of the user's: every read of an attribute asks it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.record.attribute.own_getter import OwnGetters


class Doubled:
    """What it holds under x is half of what it shows."""

    def __init__(self) -> None:
        self.x = 3

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return 2 * found if name == "x" else found


held = Doubled()


def branches(t: Any) -> Any:
    return t + held.x if t.shape[0] == 1 else t * 5 + held.x


def goes_around_it(t: Any) -> Any:
    return t * object.__getattribute__(held, "x") + held.x


def reads_the_dict(t: Any) -> Any:
    return t * vars(held)["x"] + held.x


def assigns_around_it(t: Any) -> Any:
    object.__setattr__(held, "x", 4)
    return t + held.x


def deletes(t: Any) -> Any:
    held.y = 5
    del held.y
    return t + hasattr(held, "y")


def deletes_what_was_there(t: Any) -> Any:
    del held.x
    try:
        found = object.__getattribute__(held, "x")
    except AttributeError:
        found = 100
    object.__setattr__(held, "x", 3)
    return t + found


@pytest.fixture(autouse=True)
def _as_before() -> Any:
    vars(held)["x"] = 3
    yield
    vars(held)["x"] = 3


def outcome(call: Any, n: int) -> Any:
    vars(held)["x"] = 3
    return call(torch.ones(n)).tolist()


@pytest.mark.parametrize("f", [branches, goes_around_it, reads_the_dict])
def test_every_variant_of_an_export_asks_it(f: Any) -> None:
    program = anyshape.export(f, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    for n in (0, 1, 2, 5):
        assert outcome(program, n) == outcome(f, n)


@pytest.mark.parametrize(
    "f",
    [
        branches,
        goes_around_it,
        reads_the_dict,
        assigns_around_it,
        deletes,
        deletes_what_was_there,
    ],
)
def test_compiled_functions_ask_it(f: Any) -> None:
    call = anyshape.compile(f, dynamic=True)
    for n in (2, 1, 5, 0):
        assert outcome(call, n) == outcome(f, n)


def test_a_planted_trace_that_forgets_them_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnGetters, "__contains__", lambda self, kind: False)
    program = anyshape.export(goes_around_it, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    assert outcome(program, 2) != outcome(goes_around_it, 2)
