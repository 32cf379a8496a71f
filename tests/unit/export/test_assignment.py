"""Attributes that a module assigns in its forward, in an exported program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape import (
    AnyshapeWarning,
    EffectError,
    RuntimeAssertError,
    UnsupportedError,
    export,
)

if TYPE_CHECKING:
    from pathlib import Path


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))
        self.mask: Any = None


class Scratch(Counting):
    def forward(self, x: torch.Tensor) -> Any:
        self.reset = x + 1
        self.mask = None
        self.mask = [self.reset, (x.size(0), "text")]
        return self.reset * 2


class Buffer(Counting):
    def forward(self, x: torch.Tensor) -> Any:
        self.count = self.count + x.sum()
        return self.count * 2


class Unread(Counting):
    def forward(self, x: torch.Tensor) -> Any:
        self.count = x + 1
        return self.count * 2


class Seen(Counting):
    def forward(self, x: torch.Tensor) -> Any:
        y = x + 1 if hasattr(self, "last") else x
        self.last = x
        return y


class First(Counting):
    def forward(self, x: torch.Tensor) -> Any:
        if self.mask is None:
            self.mask = x
        return x + self.mask


class Old(Counting):
    def forward(self, x: torch.Tensor) -> Any:
        old = self.count
        self.count = old + x.sum()
        return old[:1]


class Grown(Counting):
    def forward(self, x: torch.Tensor) -> Any:
        self.count = torch.cat([self.count, x])
        return x


class Plain(Counting):
    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(2)
        self.several = [torch.zeros(2), torch.ones(2)]
        self.named = {"a": torch.ones(2)}

    def forward(self, x: torch.Tensor) -> Any:
        old = self.last
        self.last = self.last + x.sum()
        y = self.several[0] + self.several[1]
        self.several[0] = y * 2
        self.several[1] = self.several[1] + 1
        self.named["a"] = self.named["a"] + old
        return x.sum() + old + self.last + y, self.named["a"] * 2


class Swapped(Plain):
    def forward(self, x: torch.Tensor) -> Any:
        self.several[0], self.several[1] = self.several[1], self.several[0] + 1
        return x


class Viewed(Plain):
    def forward(self, x: torch.Tensor) -> Any:
        self.several[1] = self.several[0].view(2)
        self.several[0] = self.several[0] + 1
        return x


class OldOne(Plain):
    def forward(self, x: torch.Tensor) -> Any:
        old = self.last
        self.last = old + 1
        return old


def exported(module: Any) -> Any:
    return export(module, (torch.ones(3),), dynamic_shapes=({0: "n"},))


def test_attributes_are_assigned_on_every_call() -> None:
    ours, eager = Scratch(), Scratch()
    program = exported(ours)
    assert not hasattr(ours, "reset")
    assert ours.mask is None
    for n in (2, 0, 5):
        x = torch.rand(n)
        assert torch.equal(program(x), eager(x))
        assert torch.equal(ours.reset, eager.reset)
        assert ours.mask[0] is ours.reset
        assert ours.mask[1] == (n, "text")


def test_a_loaded_program_has_no_module(tmp_path: Path) -> None:
    program = exported(Scratch())
    program.save(tmp_path / "a")
    loaded = anyshape.load(tmp_path / "a")
    assert torch.equal(loaded(torch.ones(4)), torch.full((4,), 4.0))
    with pytest.warns(AnyshapeWarning, match="leaves out what the program says or assigns"):
        module = program.to_fx()
    assert torch.equal(module(torch.ones(2))[0], torch.full((2,), 4.0))


def test_a_buffer_is_state(tmp_path: Path) -> None:
    ours, eager = Buffer(), Buffer()
    program = exported(ours)
    assert ours.count.tolist() == [0, 0]
    for n in (2, 0, 5):
        assert torch.equal(program(torch.ones(n)), eager(torch.ones(n)))
        assert torch.equal(ours.count, eager.count)
        assert torch.equal(program.state["count"], eager.count)
    assert [d.about for d in program.deviations] == [
        "of the buffer count copies into the old tensor"
    ]
    program.save(tmp_path / "a")
    assert torch.equal(anyshape.load(tmp_path / "a")(torch.ones(3)), eager(torch.ones(3)))
    strict = export(Buffer(), (torch.ones(3),), on_deviation="raise")
    with pytest.raises(RuntimeAssertError, match="assignment of the buffer count copies"):
        strict(torch.ones(3))


def test_a_buffer_that_is_not_read_may_have_any_shape() -> None:
    ours, eager = Unread(), Unread()
    program = exported(ours)
    for n in (2, 0, 5):
        assert torch.equal(program(torch.ones(n)), eager(torch.ones(n)))
        assert torch.equal(ours.count, eager.count)


@pytest.mark.parametrize("module", [Seen, First])
def test_what_a_later_call_reads_is_refused_with_the_line(module: Any) -> None:
    with pytest.raises(EffectError, match=rf"changes {module.__name__}.*test_assignment\.py"):
        exported(module())


@pytest.mark.parametrize("module", [Old, Grown])
def test_buffers_that_cannot_be_copied_into(module: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"buffer|changes a dict"):
        exported(module())


def test_tensors_of_a_module_that_are_no_buffers_are_state(tmp_path: Path) -> None:
    ours, eager = Plain(), Plain()
    program = exported(ours)
    assert len(program.deviations) == 4
    assert {d.op for d in program.deviations} == {"assignment"}
    path = tmp_path / "a"
    for _ in range(2):
        for n in (2, 0, 5):
            x = torch.rand(n)
            for a, b in zip(program(x), eager(x), strict=True):
                assert torch.equal(a, b)
        program.save(path)
        program = anyshape.load(path)
    strict = export(Plain(), (torch.ones(3),), on_deviation="raise")
    with pytest.raises(RuntimeAssertError, match="copies into the old tensor"):
        strict(torch.ones(3))


@pytest.mark.parametrize("module", [Swapped, Viewed, OldOne])
def test_tensors_that_cannot_be_copied_into(module: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"changes a list|another tensor"):
        exported(module())
