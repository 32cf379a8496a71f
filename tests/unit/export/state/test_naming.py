"""The names of tensors and the paths of modules in exported programs."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from anyshape import export
from anyshape.export.state.call_path import nodes_of
from tests.unit.export.state.modules import ByData, BySize, Tied

WEIGHT = nn.Parameter(torch.ones(4))
LAYER = nn.Linear(4, 4)


def exported(fn: Any, example: Any = None) -> Any:
    example = torch.randn(3, 4) if example is None else example
    return export(fn, (example,), dynamic_shapes=({0: "n"},))


def kinds(program: Any) -> dict[str, str]:
    return {e.name: e.kind for e in program.state.entries}


def paths(program: Any) -> list[str | None]:
    return [node.module_path for node in program.graph.nodes]


def test_every_kind_of_tensor() -> None:
    program = exported(Tied(), torch.arange(3))
    assert kinds(program) == {
        "shift": "non_persistent_buffer",
        "count": "buffer",
        "embed.weight": "parameter",
        "layers.0.weight": "parameter",
        "layers.0.bias": "parameter",
        "layers.1.weight": "parameter",
        "layers.1.bias": "parameter",
        "again.weight": "parameter",
        "again.bias": "parameter",
        "out.weight": "parameter",
        "unused.weight": "parameter",
        "unused.bias": "parameter",
        "scale": "constant",
        "hidden[0].weight": "constant",
        "hidden[0].bias": "constant",
    }
    assert program.state.aliases() == {
        "again.weight": "layers.0.weight",
        "again.bias": "layers.0.bias",
        "out.weight": "embed.weight",
    }
    assert program.state.shared == {"again": "layers.0"}
    assert program.state.mutated == {"count"}
    assert program.state.training is True


def test_all_tensors_of_the_graph_have_an_entry() -> None:
    model = Tied()
    program = exported(model, torch.arange(3))
    for _, tensor in program.graph.constants:
        assert program.state.entry_of(tensor).tensor is tensor
    assert program.state["out.weight"] is model.embed.weight
    assert program.state.entry("out.weight").alias_of == "embed.weight"
    assert "out.weight" not in [*program.state]
    assert len(program.state) == len([*program.state])


def test_names_are_in_the_order_of_the_state_dict() -> None:
    model = Tied()
    program = exported(model, torch.arange(3))
    assert [e.name for e in program.state.entries if e.is_saved] == [*model.state_dict()]


def test_paths_classes_and_numbers_of_calls() -> None:
    program = exported(Tied(), torch.arange(3))
    assert set(paths(program)) == {"", "embed", "layers.0", "layers.1", "hidden[0]", "out"}
    found = [(c.path, c.number, c.class_name.rpartition(".")[2]) for c in program.module_calls]
    assert found == [
        ("", 0, "Tied"),
        ("embed", 0, "Embedding"),
        ("layers.0", 0, "Linear"),
        ("layers.1", 0, "Linear"),
        ("hidden[0]", 0, "Linear"),
        ("layers.0", 1, "Linear"),
        ("out", 0, "Linear"),
    ]
    last = program.graph.nodes[-1]
    assert [call.path for call in last.module_stack] == ["", "out"]
    assert last.module_call.outer is program.module_calls[0]
    assert repr(program.module_calls[5]) == "<layers.0: Linear, call 2>"
    assert repr(program.module_calls[0]) == "<the root: Tied>"


def test_a_function_names_its_variables() -> None:
    model = Tied()

    def run(ids: torch.Tensor, bias: Any = WEIGHT) -> torch.Tensor:
        return LAYER(model.embed(ids)) + WEIGHT

    program = exported(run, torch.arange(3))
    assert kinds(program) == {
        "model.embed.weight": "parameter",
        "model.out.weight": "parameter",
        "LAYER.weight": "parameter",
        "LAYER.bias": "parameter",
        "WEIGHT": "parameter",
    }
    assert paths(program) == ["model.embed", "LAYER", None]
    assert program.state.shared == {}
    assert program.state.training is None


def test_decorated_functions_partials_and_objects() -> None:
    layer, bias = nn.Linear(4, 4), torch.ones(4)

    @torch.no_grad()
    def decorated(x: torch.Tensor) -> torch.Tensor:
        return layer(x) + bias

    assert kinds(exported(decorated)) == {
        "layer.weight": "parameter",
        "layer.bias": "parameter",
        "bias": "constant",
    }

    def given(x: torch.Tensor, *, inner: Any) -> torch.Tensor:
        return inner(x)

    assert [*exported(partial(given, inner=layer)).state] == ["inner.weight", "inner.bias"]

    class Runner:
        def __init__(self) -> None:
            self.net = layer
            self.table = {"a": bias}

        def run(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x) + self.table["a"]

        __call__ = run

    names = ["net.weight", "net.bias", "table['a']"]
    assert [*exported(Runner().run).state] == names
    assert [*exported(Runner()).state] == names


def test_a_method_of_a_module_has_its_names() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = nn.Linear(4, 4), nn.Linear(4, 4)

        def encode(self, x: torch.Tensor) -> torch.Tensor:
            return self.encoder(x)

    model = Model()
    program = exported(model.encode)
    assert [*program.state] == [*model.state_dict()]
    assert paths(program) == ["encoder"]


def test_a_name_that_is_taken_gets_a_number() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("constant_0", torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.constant_0 + hidden()

    kept = [[torch.ones(4)]]

    def hidden() -> torch.Tensor:
        return kept[0][0]

    assert kinds(exported(Model())) == {"constant_0": "buffer", "constant_0_1": "constant"}


def test_a_module_inside_itself() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.layer.owner = self

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    program = exported(Model())
    assert [*program.state] == ["layer.weight", "layer.bias"]
    assert paths(program) == ["layer"]


def test_segments_and_variants_have_one_state() -> None:
    by_data, by_size = ByData(), BySize()
    program = exported(by_data)
    assert len(program.variants[0].parts) > 1
    assert [*program.state] == [*by_data.state_dict()]
    nodes = [n for part in program.variants[0].parts for n in nodes_of(part.graph.nodes)]
    assert {n.module_path for n in nodes} == {"", "first", "second"}
    assert {(c.path, c.number) for c in program.module_calls} == {
        ("", 0),
        ("first", 0),
        ("first", 1),
        ("second", 0),
    }
    program = exported(by_size)
    assert len(program.variants) == 2
    assert [*program.state] == [*by_size.state_dict()]


def test_bodies_of_higher_order_calls_have_paths() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, self.layer, lambda t: t - 1, (x,))

    program = exported(Model())
    assert "layer" in {node.module_path for node in nodes_of(program.graph.nodes)}
    assert "layer" not in paths(program)
