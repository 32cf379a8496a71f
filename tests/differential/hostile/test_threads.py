"""No thread sees that another one traces, none waits for another, and all get what eager gives."""

from __future__ import annotations

import pytest

from tests.differential.hostile.known import read
from tests.differential.hostile.threads import CHECKS, complaints, together

KNOWN = read()


@pytest.mark.parametrize("name", list(CHECKS))
def test_threads(name: str) -> None:
    found = complaints()[name]
    assert bool(found) == (f"threads/{name}" in KNOWN), found


def test_a_deadlock_is_found() -> None:
    import threading

    never = threading.Event()
    assert together(lambda: never.wait(2.0), lambda: None, patience=0.1) == [
        "1 threads did not end"
    ]


def test_an_error_in_a_thread_is_found() -> None:
    assert together(lambda: 1 // 0, lambda: None)[0].startswith("ZeroDivisionError")
