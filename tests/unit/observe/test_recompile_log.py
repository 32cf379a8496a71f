"""`ANYSHAPE_LOGS=recompiles`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.events import Recompilation, listeners
from anyshape.observe import recompile_log

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    recompile_log.stop()
    yield
    recompile_log.stop()


def double(x: Any) -> Any:
    return x * 2


def recompile() -> None:
    compiled = anyshape.compile(double, dynamic=False)
    compiled(torch.ones(7))
    compiled(torch.ones(3))


def test_reasons_are_written_from_every_thread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANYSHAPE_LOGS", "recompiles")
    recompile()
    other = threading.Thread(target=recompile)
    other.start()
    other.join()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all("double" in line and "x.size(0)" in line for line in lines)
    assert len(listeners[Recompilation]) == 1


def test_the_environment_counts_when_something_happens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recompile()
    assert listeners == {}
    monkeypatch.setenv("ANYSHAPE_LOGS", "recompiles")
    compiled = anyshape.compile(double, dynamic=False)
    monkeypatch.setenv("ANYSHAPE_LOGS", "guards")
    compiled(torch.ones(7))
    compiled(torch.ones(3))
    assert capsys.readouterr().err == ""
