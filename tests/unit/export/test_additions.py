"""What an exported program adds to lists, dicts and sets from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape import AnyshapeWarning, EffectError, UnsupportedError, export
from anyshape.trace.record import addition

if TYPE_CHECKING:
    from pathlib import Path

SIZES = (2, 0, 1, 5)
log: list[Any] = []


class Keeping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bank: list[Any] = ["first"]
        self.table: dict[str, Any] = {"old": 1, "kept": 2}
        self.names: set[str] = {"a"}


class Added(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        y = x + 1
        self.bank.append(y)
        self.bank.extend([(x.size(0), "text"), [x * 2]])
        self.table["old"] = y
        self.table["new"] = {"y": y}
        self.names.add("b")
        return y * self.table["kept"]


class Node:
    def __init__(self, tensor: Any) -> None:
        self.tensor, self.other = tensor, None


class Objects(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        a, b = Node(x + 1), Node(x + 2)
        a.other, b.other = b, a
        self.bank.append(a)

        def later(y: Any) -> Any:
            return x * y

        self.bank.append(later)
        return x - 1


class ByData(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.sum() > 1:
            self.bank.append(x)
            return x + 1
        self.bank.append(-x)
        return x


class Counted(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        self.bank.append(x)
        return x + len(self.bank)


class FirstItem(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        self.bank.append(x)
        return x, self.bank[0]


class OfOtherSize(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.size(0) > 4:
            return x + len(self.bank)
        self.bank.append(1)
        return x


class OfOtherKey(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.size(0) > 4:
            return x + self.table["old"]
        self.table["old"] = 7
        return x


class OfOtherAttribute(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.size(0) > 4:
            return x + (1 if self.bank is None else 2)
        self.bank = None
        return x


class Removed(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        self.bank.clear()
        return x


def exported(module: Any) -> Any:
    return export(module, (torch.ones(3),), dynamic_shapes=({0: "n"},))


def plain(x: Any) -> Any:
    """What can be compared with `==`."""
    if isinstance(x, torch.Tensor):
        return x.tolist()
    if isinstance(x, Node):
        return plain(x.tensor), plain(x.other.tensor), x.other.other is x
    if isinstance(x, list | tuple):
        return type(x)(map(plain, x))
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return plain(x(3)) if callable(x) else x


def state(module: Keeping) -> Any:
    return plain(module.bank), plain(module.table), list(module.table), module.names


@pytest.mark.parametrize("kind", [Added, Objects, ByData])
def test_every_call_adds(kind: Any) -> None:
    ours, eager = kind(), kind()
    program = exported(ours)
    assert state(ours) == state(kind())
    for n in SIZES:
        for sign in (1, -1):
            x = torch.rand(n) * sign
            assert torch.equal(program(x), eager(x))
            assert state(ours) == state(eager)


REFUSED = [Counted, FirstItem, OfOtherSize, OfOtherKey, OfOtherAttribute, Removed]


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_call_reads_of_an_earlier_one_is_refused(kind: Any) -> None:
    module = kind()
    with pytest.raises(EffectError, match=r"test_additions\.py"):
        exported(module)
    assert state(module) == state(kind())


def test_without_the_look_at_reads_a_program_would_differ(monkeypatch: Any) -> None:
    monkeypatch.setattr(addition, "is_looked_at", lambda *_: False)
    ours, eager = Counted(), Counted()
    program, x = exported(ours), torch.ones(2)
    assert not all(torch.equal(program(x), eager(x)) for _ in range(2))


def test_a_list_of_a_module_of_python() -> None:
    def f(x: torch.Tensor) -> Any:
        log.append(x.size(0))
        return x

    program = exported(f)
    assert log == []
    program(torch.ones(4))
    assert log == [4]
    log.clear()


def test_a_file_and_other_programs_have_no_list(tmp_path: Path) -> None:
    program = exported(Added())
    with pytest.raises(UnsupportedError, match="adds to a list from outside"):
        program.save(tmp_path / "a")
    with pytest.warns(AnyshapeWarning, match="leaves out what the program says or assigns"):
        module = program.to_fx()
    assert torch.equal(module(torch.ones(2))[0], torch.full((2,), 4.0))
    with pytest.warns(AnyshapeWarning, match="leaves out what the program says or assigns"):
        program.to_torch()
    with pytest.raises(UnsupportedError, match="has effects"):
        exported(lambda x: program(x) + 1)


def test_compiled_by_torch_it_adds(tmp_path: Path) -> None:
    ours, eager = Added(), Added()
    compiled = anyshape.compile(ours, fullgraph=True)
    for n in SIZES:
        assert torch.equal(compiled(torch.ones(n)), eager(torch.ones(n)))
        assert state(ours) == state(eager)
