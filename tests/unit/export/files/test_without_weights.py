"""Names, ties and calls of modules in files; programs loaded without weights."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape import LoadError, StateError, export, load
from anyshape.export.files import archive
from anyshape.export.files.skim import skim
from tests.unit.export.files.test_formats import FILES, FOLDER, agree
from tests.unit.export.state.modules import ByData, BySize, Norm, Tied

if TYPE_CHECKING:
    from pathlib import Path

IDS = torch.arange(3)


class Views(nn.Module):
    """Parameters that share memory, and a constant that shares memory with a buffer."""

    def __init__(self) -> None:
        super().__init__()
        both = torch.randn(2, 4)
        self.a, self.b = nn.Parameter(both[0]), nn.Parameter(both[1])
        self.register_buffer("kept", torch.arange(4.0))
        self.seen = self.kept[1:]

    def forward(self, x: torch.Tensor) -> Any:
        self.kept.add_(1)
        return x * self.a + self.b, self.seen + x[:, 1:]


def exported(model: Any) -> Any:
    example = IDS if isinstance(model, Tied) else torch.randn(3, 4)
    return export(model, (example,), dynamic_shapes=({0: "n"},))


def batch(model: Any, n: int) -> torch.Tensor:
    return torch.arange(n) % 10 if isinstance(model, Tied) else torch.randn(n, 4)


@pytest.mark.parametrize("make", [Tied, Norm, BySize, ByData, Views])
def test_a_file_keeps_names_ties_and_modules(make: Any, tmp_path: Path) -> None:
    model = make()
    program = exported(model)
    program.save(tmp_path / "p")
    loaded = load(tmp_path / "p")
    for key in ("name", "kind", "alias_of", "device"):
        ours = [getattr(e, key) for e in program.state.entries]
        assert [getattr(e, key) for e in loaded.state.entries] == ours
    assert loaded.state.mutated == program.state.mutated
    assert loaded.state.shared == program.state.shared
    assert loaded.state.training is program.state.training
    assert loaded.graph_signature == program.graph_signature
    assert loaded.code == program.code
    assert [*map(repr, loaded.module_calls)] == [*map(repr, program.module_calls)]
    for mine, theirs in zip(program.variants, loaded.variants, strict=True):
        for part, other in zip(mine.parts, theirs.parts, strict=True):
            for a, b in zip(part.graph.nodes, other.graph.nodes, strict=True):
                assert [*map(repr, a.module_stack)] == [*map(repr, b.module_stack)]
    module = loaded.module()
    assert [*module.state_dict()] == [*model.state_dict()]
    assert [n for n, _ in module.named_parameters()] == [n for n, _ in model.named_parameters()]
    again = tmp_path / "again"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "p").read_bytes()


@pytest.mark.parametrize("make", [Tied, Norm, BySize, ByData, Views])
def test_without_weights(make: Any, tmp_path: Path) -> None:
    model = make()
    exported(model).save(tmp_path / "p")
    loaded = load(tmp_path / "p", weights=False)
    with pytest.raises(StateError, match=r"(?s)has no values for .*loaded without weights"):
        loaded(batch(model, 2))
    with pytest.raises(StateError, match="has no values for"):
        loaded.module()(batch(model, 2))
    for refused in (loaded.to_torch, loaded.to_fx):
        with pytest.raises(StateError, match="has no values for"):
            refused()
    with pytest.raises(anyshape.UnsupportedError, match="cannot save"):
        loaded.save(tmp_path / "q")
    state = {name: t.clone() for name, t in model.state_dict().items()}
    with pytest.raises(StateError, match="missing: "):
        loaded.load_state_dict({})
    by_module = loaded.module()
    by_module.load_state_dict(state, assign=True)
    loaded.load_state_dict(state)
    assert not loaded.state.is_incomplete
    for n in (0, 1, 2, 5):
        x = batch(model, n)
        if make is Norm and n < 2:
            continue
        want = model(x)
        torch.testing.assert_close(loaded(x), want)
        if make is not Views:
            torch.testing.assert_close(by_module(x), want)


def test_memory_is_shared_again_and_loaded_at_once(tmp_path: Path) -> None:
    model = Views()
    exported(model).save(tmp_path / "p")
    loaded = load(tmp_path / "p", weights=False)
    assert loaded.state.missing() == ["a", "b"]  # the memory of the constant is in the file
    with pytest.raises(StateError, match=r"b shares memory with a, and has no value"):
        loaded.load_state_dict({"a": model.a.detach()}, strict=False)
    loaded.load_state_dict(model.state_dict())
    storages = [loaded.state[n].untyped_storage().data_ptr() for n in ("a", "b")]
    assert storages[0] == storages[1]
    loaded(torch.ones(1, 4))
    assert loaded.state["seen"][0] == loaded.state["kept"][1] == 2


def test_some_weights(tmp_path: Path) -> None:
    model = BySize()
    exported(model).save(tmp_path / "p")
    loaded = load(tmp_path / "p", weights=False)
    one = {n: t for n, t in model.state_dict().items() if n.startswith("one")}
    assert loaded.load_state_dict(one, strict=False).missing_keys == ["many.weight", "many.bias"]
    with pytest.raises(StateError, match=r"has no values for many.weight and 1 more"):
        loaded(torch.ones(1, 4))
    rest = {n: t for n, t in model.state_dict().items() if n.startswith("many")}
    loaded.load_state_dict(rest, strict=False, assign=True)
    for n in (0, 1, 2, 5):
        x = torch.randn(n, 4)
        torch.testing.assert_close(loaded(x), model(x))


@pytest.mark.parametrize("file", FILES)
def test_files_of_all_versions_without_weights(file: str) -> None:
    whole, program = load(FOLDER / file), load(FOLDER / file, weights=False)
    program.load_state_dict(whole.state_dict())
    agree(program, file.partition(".")[0])


def test_copies_and_pickles() -> None:
    for make in (Tied, Norm, BySize, ByData):
        model = make()
        program = exported(model)
        x = batch(model, 5)
        module = pickle.loads(pickle.dumps(program.module()))
        for made in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program), module):
            assert [*made.state_dict()] == [*model.state_dict()]
            for t, own in zip(made.parameters(), model.parameters(), strict=True):
                assert t.data_ptr() != own.data_ptr()
                assert t.requires_grad
            want = copy.deepcopy(model)(x)
            torch.testing.assert_close(made(x), want)


def test_a_damaged_file_is_found_without_weights(tmp_path: Path) -> None:
    exported(Norm()).save(tmp_path / "p")
    data = (tmp_path / "p").read_bytes()
    weights = archive.read_file(tmp_path / "p")[archive.WEIGHTS]
    start = data.index(weights)
    for place in (start, start + 20, start + len(weights) // 2, start + len(weights) - 1):
        bad = bytearray(data)
        bad[place] ^= 1
        (tmp_path / "q").write_bytes(bad)
        with pytest.raises(LoadError):
            load(tmp_path / "q", weights=False)
    (tmp_path / "q").write_bytes(data[: start + len(weights) // 2])
    with pytest.raises(LoadError):
        load(tmp_path / "q", weights=False)


def test_only_wanted_entries_are_kept(tmp_path: Path) -> None:
    exported(Tied()).save(tmp_path / "p")
    members, sizes = archive.skim_file(tmp_path / "p", lambda _: {"scale"})
    whole = archive.read_file(tmp_path / "p")[archive.WEIGHTS]
    assert len(members[archive.WEIGHTS]) < len(whole)
    assert sizes["embed.weight"] == 160
    assert "scale" not in sizes
    with open(tmp_path / "w", "wb") as f:
        f.write(whole)
    with open(tmp_path / "w", "rb") as f:
        assert skim(f, len(whole), {"scale"}).data == members[archive.WEIGHTS]
