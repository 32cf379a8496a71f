"""Calls that no garbage collection interrupts: nobody's finalizer runs in the middle of them."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.state.snapshot import Snapshot
from anyshape.trace.state.undisturbed import COLLECTS_ANYWHERE, undisturbed
from anyshape.trace.twin.source import source_of

SECONDS = 20.0


class Cycle:
    """Garbage whose finalizer calls `act`."""

    def __init__(self, act: Any) -> None:
        self.act, self.own = act, self

    def __del__(self) -> None:
        self.act()


@pytest.fixture
def eager_collector() -> Any:
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)


def test_a_finalizer_waits_until_the_call_has_ended(eager_collector: None) -> None:
    events: list[str] = []

    def allocate() -> list[list[int]]:
        events.append("begin")
        Cycle(lambda: events.append("finalizer"))
        made = [*map(list, [()] * 1000)]
        events.append("end")
        return made

    assert len(undisturbed(allocate)) == 1000
    gc.collect()
    assert events == ["begin", "end", "finalizer"]
    events.clear()
    allocate()
    gc.collect()
    if COLLECTS_ANYWHERE:  # what the test looks for
        assert events == ["begin", "finalizer", "end"]


def test_results_errors_and_calls_within_a_collection() -> None:
    assert undisturbed(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        undisturbed(divmod, 7, 0)
    found: list[Any] = []
    Cycle(lambda: found.append(undisturbed(undisturbed, divmod, 9, 2)))
    gc.collect()
    assert found == [(4, 1)]


def test_a_collection_of_another_thread_is_not_waited_for_forever() -> None:
    begun, ended = threading.Event(), threading.Event()

    def linger() -> None:
        begun.set()
        assert ended.wait(SECONDS)

    def collect() -> None:
        Cycle(linger)
        gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    assert begun.wait(SECONDS)
    assert undisturbed(divmod, 7, 2) == (3, 1)
    ended.set()
    thread.join(SECONDS)
    assert not thread.is_alive()


def _functions(count: int) -> list[Any]:
    return [lambda x, _=i: torch.dropout(x, 0.5, True) + 1 for i in range(count)]


def test_finalizers_that_wait_for_another_trace(eager_collector: None) -> None:
    """A finalizer that runs anywhere in a trace waits for a thread that does the same."""
    left, waited = [500], []

    def work() -> None:
        Snapshot().restore()
        source_of(_functions(1)[0].__code__)

    def act() -> None:
        if left[0]:
            left[0] -= 1
            thread = threading.Thread(target=work)
            thread.start()
            thread.join(SECONDS)
            waited.append(thread.is_alive())
            Cycle(act)

    Cycle(act)
    while left[0] and not any(waited):
        work()
    anyshape.compile(_functions(1)[0])(torch.ones(3))
    assert waited
    assert not any(waited)
