"""Programs do as eager does while other threads run: where a tensor comes from is never guessed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.differential.hostile.known import read
from tests.differential.hostile.run import SILENT, names, run

if TYPE_CHECKING:
    from collections.abc import Iterator

CLASSES = ("arrays", "autograd", "made_inside", "models", "writes")


@pytest.fixture
def _busy() -> Iterator[None]:
    """A thread that makes objects, as long as the test runs."""
    ends = threading.Event()

    def work() -> None:
        while not ends.wait(0.001):
            tuple([[i] for i in range(100)])

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield
    ends.set()
    thread.join()


@pytest.mark.usefixtures("_busy")
@pytest.mark.parametrize("kind", CLASSES)
def test_another_thread_changes_nothing(kind: str) -> None:
    known = read()
    found = {name: run(kind, name, "None") for name in names(kind)}
    silent = {n: o for n, o in found.items() if o.kind in SILENT}
    assert {n: o for n, o in silent.items() if "None" not in known.get(f"{kind}/{n}", ())} == {}
