"""`program.to(...)`: as eager execution of the converted module."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from anyshape import (
    ArgumentError,
    ConstraintError,
    StateError,
    UnsupportedError,
    export,
    load,
)
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


class Buffered(nn.Module):
    """Buffers of two dtypes, and two names for one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.tied = self.layer
        self.register_buffer("shift", torch.ones(4))
        self.register_buffer("places", torch.arange(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tied(x) + self.shift * self.places


MOVED = {
    "double": (lambda p: p.double(), torch.float64, "cpu"),
    "half": (lambda p: p.half(), torch.float16, "cpu"),
    "bfloat16": (lambda p: p.bfloat16(), torch.bfloat16, "cpu"),
    "float": (lambda p: p.double().float(), torch.float32, "cpu"),
    "cpu": (lambda p: p.cpu(), torch.float32, "cpu"),
    "like": (lambda p: p.to(torch.ones(1).double(), non_blocking=True), torch.float64, "cpu"),
    "meta": (lambda p: p.to(device="meta"), torch.float32, "meta"),
}


@pytest.mark.parametrize("how", MOVED)
@pytest.mark.parametrize("is_loaded", [False, True])
def test_a_moved_program_takes_what_it_was_moved_to(how: str, is_loaded: bool, tmp_path) -> None:
    move, dtype, device = MOVED[how]
    net = Buffered()
    moved = move(exported(net))
    if is_loaded:
        moved.save(tmp_path / "moved.shape")
        moved = load(tmp_path / "moved.shape")
    assert moved.contract().inputs[0].device == device
    shown = str(dtype).removeprefix("torch.") + "[n, 4]" + " on meta" * (device == "meta")
    assert f"x: {shown}\n" in str(moved.contract())
    want = copy.deepcopy(net).to(device, dtype)
    for n in (0, 1, 2, 5):
        x = torch.randn(n, 4).to(device, dtype)
        found, wanted = moved(x), want(x)
        assert (found.dtype, found.device, found.shape) == (dtype, wanted.device, wanted.shape)
        if device == "cpu":
            torch.testing.assert_close(found, wanted)
    other = torch.float32 if dtype is not torch.float32 else torch.float64
    with pytest.raises(
        ConstraintError, match=rf"x(\.dtype)? is {other}.*; the program was traced for {dtype}"
    ):
        moved(torch.randn(3, 4, dtype=other))


def test_tensors_without_data_share_memory_after_a_load(tmp_path) -> None:
    moved = exported(Buffered()).to("meta")
    moved.save(tmp_path / "moved.shape")
    assert (tmp_path / "moved.shape").stat().st_size < 20_000
    loaded = load(tmp_path / "moved.shape", weights=False)
    assert loaded.graph_signature.tied == moved.graph_signature.tied
    assert not loaded.state.missing()
    loaded(torch.ones(2, 4, device="meta"))
    with pytest.raises(UnsupportedError, match="cannot convert Buffered"):
        moved.to("cpu")


def test_a_program_without_its_weights_is_not_saved(tmp_path) -> None:
    exported(Buffered()).save(tmp_path / "program.shape")
    loaded = load(tmp_path / "program.shape", weights=False)
    with pytest.raises(UnsupportedError, match="loaded without weights"):
        loaded.save(tmp_path / "again.shape")


def test_a_module_of_another_form_says_what_to_convert() -> None:
    program = exported(Buffered())
    with pytest.raises(StateError, match=r"float64\[4\].*\n.*program.to\(torch.float64\)"):
        program.module().double()(torch.randn(2, 4).double())
    with pytest.raises(StateError, match=r"on meta, and .*\n.*program.to\('meta'\)"):
        program.module().to("meta")(torch.randn(2, 4, device="meta"))
