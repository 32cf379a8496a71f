"""Objects that a function makes and returns, in an exported program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers

import anyshape
from anyshape import UnsupportedError, export

if TYPE_CHECKING:
    from pathlib import Path


class Box:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self.name = "box"

    def total(self) -> Any:
        return sum(part.sum() for part in self.parts)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a: Any) -> None:
        self.a = a


class Table(dict):  # type: ignore[type-arg]
    pass


KEPT = Box()


def exported(fn: Any) -> Any:
    return export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: Box(x + 1, x.size(0)),
        lambda x: {"a": [Box(x, Box(x * 2))]},
        lambda x: [Slots(x)],
        lambda x: Table(k=x, j=Box(x)),
        lambda x: Box(x) if x.size(0) > 1 else Slots(x),
    ],
)
def test_objects_are_made_anew(fn: Any) -> None:
    program = exported(fn)
    assert program.verify(*[(torch.ones(n),) for n in (0, 1, 4)]).ok
    assert not program.verify((torch.ones(2),), eager=lambda x: fn(x + 1)).ok
    assert program(torch.ones(2)) is not program(torch.ones(2))


def test_methods_work() -> None:
    assert exported(lambda x: Box(x, x))(torch.ones(5)).total().item() == 10


def test_files(tmp_path: Path) -> None:
    exported(lambda x: Box(x + 1, Slots(x))).save(tmp_path / "a")
    found = anyshape.load(tmp_path / "a")(torch.ones(2))
    assert found.name == "box"
    assert torch.equal(found.parts[0], torch.full((2,), 2.0))
    made = anyshape.load(tmp_path / "a", classes=[Box, Slots])(torch.ones(2))
    assert type(made) is Box
    assert type(made.parts[1]) is Slots
    exported(lambda x: Table(k=x))
    with pytest.raises(UnsupportedError, match="cannot save a Table"):
        exported(lambda x: Table(k=x)).save(tmp_path / "b")


def test_one_object_for_all_calls_is_refused() -> None:
    def twice(x: torch.Tensor) -> Any:
        box = Box(x)
        return box, box

    with pytest.raises(UnsupportedError, match="returns a Box twice"):
        exported(twice)
    assert exported(lambda x: (x, KEPT))(torch.ones(1))[1] is KEPT


def test_a_cache_of_transformers() -> None:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 100, (2, 5))
    with torch.no_grad():
        program = export(model, (ids,), dynamic_shapes={"input_ids": {0: "batch", 1: "length"}})
        for shape in ((1, 1), (3, 7)):
            ids = torch.randint(0, 100, shape)
            assert program.verify((ids,)).ok
            cache = program(ids).past_key_values
            assert type(cache) is transformers.DynamicCache
            assert cache.get_seq_length() == shape[1]
