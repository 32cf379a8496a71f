"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT as in a terminal: it is ignored, also by new processes, if the tests run in the
    background of a shell.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
