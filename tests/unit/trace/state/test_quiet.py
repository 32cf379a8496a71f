"""The garbage of traces: collected before a later trace, and not in the middle of one."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.trace import capture
from anyshape.trace.state import quiet

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def _seldom() -> Iterator[None]:
    """Nothing but a trace starts the collector."""
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(10**9)
    yield
    gc.set_threshold(*before)


def traced() -> weakref.ref[Any]:
    return weakref.ref(capture(lambda x: x + 1, (torch.ones(3),)).tracer)


def garbage(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many of three dropped traces are still there after a fourth one."""
    monkeypatch.setattr(quiet._Shared, "collections", gc.get_stats()[2]["collections"])
    found = [traced() for _ in range(3)]
    monkeypatch.setattr(quiet._Shared, "made", quiet._Shared.allowed + 1)
    traced()
    return sum(ref() is not None for ref in found)


@pytest.mark.usefixtures("_seldom")
def test_dropped_traces_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert garbage(monkeypatch) == 0
    assert quiet._Shared.made < quiet._Shared.allowed


@pytest.mark.usefixtures("_seldom")
def test_dropped_traces_pile_up_where_nothing_collects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "_collect", lambda: None)
    assert garbage(monkeypatch) == 3


@pytest.mark.usefixtures("_seldom")
def test_what_was_collected_since_is_not_collected_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet._Shared, "made", quiet._Shared.allowed + 1)
    monkeypatch.setattr(quiet._Shared, "collections", -1)
    before = gc.get_stats()[2]["collections"]
    traced()
    assert gc.get_stats()[2]["collections"] == before
    assert quiet._Shared.collections == before


@pytest.mark.usefixtures("_seldom")
def test_what_the_user_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        traced()
        assert gc.get_freeze_count() > frozen // 2  # a frozen object may die
    finally:
        gc.unfreeze()
