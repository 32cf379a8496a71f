"""Ctrl-C while garbage is collected: Python drops what a callback of the collector raises."""

from __future__ import annotations

import gc
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.cli.interrupt import kept_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interrupting:
    """Sends one interrupt at the start of a collection, from a function in Python."""

    def __init__(self) -> None:
        self.is_armed = True

    def at_collection(self, phase: str, _: Any) -> None:
        if self.is_armed and phase == "start":
            self.is_armed = False
            signal.raise_signal(signal.SIGINT)
            time.sleep(0)  # the handler runs here at the latest


@pytest.fixture(autouse=True)
def _no_garbage() -> Iterator[None]:
    """Finalizers of what other tests left would run in the collection, and Python drops what is
    raised in them, too.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def collect_with(callback: Any) -> None:
    gc.callbacks.append(callback)
    try:
        gc.collect()
        time.sleep(5)
    finally:
        gc.callbacks.remove(callback)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_in_a_callback_of_the_collector_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dropped: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    callback = Interrupting().at_collection
    with pytest.raises(KeyboardInterrupt), kept_interrupts():
        collect_with(callback)
    assert dropped == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interrupts")
def test_python_drops_it_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    dropped: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    gc.callbacks.append(callback := Interrupting().at_collection)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(callback)
    assert [d.exc_type for d in dropped] == [KeyboardInterrupt]


@pytest.mark.usefixtures("interrupts")
def test_another_handler_is_left_alone() -> None:
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with kept_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, mine)
