"""`as_strided` of a view, for backends: the offset is that of the view."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.interop import storage_bounds


def overlapping(x: torch.Tensor) -> torch.Tensor:
    """Windows of four elements that overlap by half."""
    rows = x.view(x.size(0), -1, 2).transpose(1, 2)
    return rows.as_strided((x.size(0), 2, 4), (x.size(1), 2, 1))


def of_a_result(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).unsqueeze(0).as_strided((x.size(0), 3), (x.size(1), 1))


def moved(x: torch.Tensor) -> torch.Tensor:
    return x[1:].as_strided((2,), (1,))


def graph(module: Any, _: Any) -> Any:
    """A backend that runs the graph as it is."""
    return module.forward


@pytest.mark.parametrize("f", [overlapping, of_a_result])
def test_a_view_that_begins_where_its_tensor_begins(f: Any) -> None:
    compiled = anyshape.compile(f, backend=graph, dynamic=True, fullgraph=True)
    for n, m in ((3, 8), (2, 6), (1, 6), (5, 10), (7, 7 * 2)):
        x = torch.arange(n * m).reshape(n, m) + 0.5
        torch.testing.assert_close(compiled(x), f(x))


def test_a_view_that_begins_elsewhere_is_refused() -> None:
    with pytest.raises(anyshape.UnsupportedError, match="without an offset"):
        anyshape.compile(moved, backend=graph, fullgraph=True)(torch.ones(4, 3))


def test_without_the_look_at_the_views_the_check_would_be_of_other_elements(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(storage_bounds, "_starts_at_root", lambda *_: True)
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError):
        moved(x[:2].clone())
    compiled = anyshape.compile(moved, backend=graph, fullgraph=True, dynamic=True)
    compiled(x)
