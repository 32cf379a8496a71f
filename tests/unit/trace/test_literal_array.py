"""Arrays of NumPy that a program makes of tensors whose data it says itself."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

from anyshape import UnsupportedError, export


def computed(x: torch.Tensor) -> Any:
    steps = torch.linspace(0.1, 0.5, 4)
    s = np.concatenate([np.array((1 - steps) / steps), [0.0]]).astype(np.float32)
    return x * torch.from_numpy(s)[:, None]


def branches(x: torch.Tensor) -> Any:
    n = np.asarray(torch.arange(3))
    if x.sum() > 0:
        x = x + float(n.max())
    return x * len(n)


def changes_tensor(x: torch.Tensor) -> Any:
    t = torch.arange(3)
    n = t.numpy()
    t.add_(1)
    return x + int(n.sum())


def changes_view(x: torch.Tensor) -> Any:
    t = torch.arange(3)
    n = np.asarray(t)
    t[1:].mul_(2)
    return x + float(n.max())


def changes_array(x: torch.Tensor) -> Any:
    t = torch.arange(3)
    t.numpy()[0] = 5
    return x + t.sum()


def of_input(x: torch.Tensor) -> Any:
    return x + (x.sum() + torch.arange(3)).numpy().sum()


def of_size(x: torch.Tensor) -> Any:
    return x + torch.zeros(x.size(0)).numpy().size


def returned(x: torch.Tensor) -> Any:
    return x, torch.arange(3).numpy()


def program_of(fn: Any) -> Any:
    return export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},))


@pytest.mark.filterwarnings("ignore:__array__ implementation")
@pytest.mark.parametrize("fn", [computed, branches])
def test_has_data(fn: Any) -> None:
    program = program_of(fn)
    for n in (0, 1, 2, 5):
        for x in (torch.rand(n), -torch.rand(n)):
            assert torch.equal(program(x), fn(x))


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (changes_tensor, "changed after an array"),
        (changes_view, "changed after an array"),
        (of_input, "needs the data"),
        (of_size, "needs the data"),
        (returned, "returns a ndarray"),
    ],
)
def test_refused(fn: Any, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        program_of(fn)


def test_array_is_not_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        program_of(changes_array)


def test_planted_write_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["anyshape.trace.capture"], "need_unwritten", lambda _: None)
    x = torch.ones(3)
    assert torch.equal(program_of(changes_tensor)(x), x + 3)
    assert torch.equal(changes_tensor(x), x + 6)
