"""The garbage collector around a trace: it works as always, and is no part of the program."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

from anyshape.errors import EffectError
from anyshape.events import OpCall, subscribe
from anyshape.tensor import current
from anyshape.trace import capture


def collect(_: Any) -> None:
    """Collect at an event, inside of the trace."""
    gc.collect()


class Noisy:
    """An object in a cycle whose finalizer computes."""

    def __init__(self, heard: list[Any]) -> None:
        self.heard, self.own = heard, self

    def __del__(self) -> None:
        self.heard.append((current.is_tracing(), type(torch.ones(2) + 1)))


def test_a_finalizer_that_the_collector_calls_is_not_traced() -> None:
    heard: list[Any] = []
    Noisy(heard)

    def fn(x: Any) -> Any:
        return (x + 1) * 2

    with subscribe(collect, OpCall):
        captured = capture(fn, (torch.ones(3),))
    assert heard == [(False, torch.Tensor)]
    assert [node.func.__name__ for node in captured.graph.nodes] == ["__add__", "__mul__"]


def test_the_collector_is_never_switched_off() -> None:
    enabled: list[bool] = []

    def note(phase: str, _: Any) -> None:
        enabled.append(gc.isenabled() and gc.get_freeze_count() == frozen)

    gc.collect()
    frozen = gc.get_freeze_count()
    gc.callbacks.append(note)
    try:
        with subscribe(collect, OpCall):
            capture(lambda x: x + 1, (torch.ones(3),))
    finally:
        gc.callbacks.remove(note)
    assert enabled
    assert all(enabled)


def test_a_collection_by_the_program_is_an_effect() -> None:
    def fn(x: Any) -> Any:
        gc.collect()
        return x + 1

    with pytest.raises(EffectError, match=r"gc\.collect\(\)"):
        capture(fn, (torch.ones(3),))


def test_dropped_traces_are_collected() -> None:
    found = weakref.ref(capture(lambda x: x + 1, (torch.ones(3),)).tracer)
    gc.collect()
    assert found() is None
