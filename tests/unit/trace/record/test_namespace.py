"""Functions that a twin defines work after the trace, with the globals of their module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.trace.capture import capture

if TYPE_CHECKING:
    import pytest

LEVEL = 1
kept: list[Any] = []


def program(x: Any) -> Any:
    def later(y: Any) -> Any:
        table = {"a": [y, LEVEL]}
        table["a"][0] += 1
        return [v * 2 for v in table["a"] if v is not None], f"{LEVEL}", y in (1, 2)

    kept.append(later)
    return x + len(later(1)[0])


def test_a_function_that_outlives_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    capture(program, (torch.ones(2),))
    assert kept[0](2) == ([6, 2], "1", True)
    monkeypatch.setitem(globals(), "LEVEL", 7)
    assert kept[0](5) == ([12, 14], "7", False)
