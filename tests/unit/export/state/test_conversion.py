"""`program.to(...)`: as eager execution of the converted module."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from anyshape import ArgumentError, UnsupportedError, export, load
from tests.unit.export.state.modules import BySize, Norm, Tied


class Dependent(nn.Module):
    """Constants that come from the dtype, and a branch on it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.layer(x).masked_fill(x > 0, torch.finfo(x.dtype).min)
        z = torch.zeros(x.size(0), 4, dtype=x.dtype) + 1
        return (y * 2 if x.dtype is torch.float64 else y), z, x.sum(dtype=torch.float32)

    def other(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * 2


def exported(fn: Any, example: Any = None) -> Any:
    example = torch.randn(3, 4) if example is None else example
    return export(fn, (example,), dynamic_shapes=({0: "n"},))


@pytest.mark.parametrize("make", [Dependent, Norm, BySize])
def test_another_dtype(make: Any) -> None:
    model = make()
    program = exported(model)
    made = program.to(torch.float64)
    want = copy.deepcopy(model).double()
    for n in (2, 3, 7, *((0, 1) if make is not Norm else ())):
        x = torch.randn(n, 4, dtype=torch.float64)
        torch.testing.assert_close(made(x), want(x))
    assert all(p.dtype is torch.float64 for p in made.parameters())
    assert all(p.dtype is torch.float32 for p in program.parameters())
    program(torch.randn(5, 4))
    assert made.to(torch.float32)(torch.randn(5, 4)) is not None


def test_other_weights_methods_and_integers() -> None:
    model = Dependent()
    program = exported(model.other)
    other = Dependent()
    program.load_state_dict(other.state_dict(), assign=True)
    x = torch.randn(5, 4, dtype=torch.float64)
    torch.testing.assert_close(program.to(dtype=torch.float64)(x), other.double().other(x))
    tied = Tied()
    with pytest.raises(RuntimeError, match="dtype"):  # a plain list of modules, as in eager mode
        exported(tied, torch.arange(3)).to(torch.float64)
    tied.hidden = [nn.Identity()]
    made = exported(tied, torch.arange(3)).to(torch.float64, device="cpu")
    assert made.state.aliases() == exported(tied, torch.arange(3)).state.aliases()
    with pytest.raises(ArgumentError, match="floating-point"):
        program.to(torch.int8)
    with pytest.raises(ArgumentError, match="not a device"):
        program.to("nowhere")


def test_what_cannot_be_converted(tmp_path: Any) -> None:
    program = exported(BySize())
    program.save(tmp_path / "p")
    with pytest.raises(UnsupportedError, match="this program has no function"):
        load(tmp_path / "p").to(torch.float64)
    layer = nn.Linear(4, 4)
    with pytest.raises(UnsupportedError, match="it is no module"):
        exported(lambda x: layer(x) + 1).to(torch.float64)
    made = exported(lambda x: x + 1).to(torch.float64)
    assert made(torch.ones(2, 4, dtype=torch.float64)).dtype is torch.float64
