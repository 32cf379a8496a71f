"""The program that `make type` checks also runs."""

from __future__ import annotations

from tests.typing import sample


def test_the_sample_runs() -> None:
    sample.compiled()
    sample.exported()
