"""Attributes of modules and objects that the source lists name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from anyshape import mark_dynamic, mark_static, mark_unbacked
from anyshape.compile.dynamism import attribute_inputs
from anyshape.compile.dynamism.attribute_inputs import attributes_of
from anyshape.compile.dynamism.policy import Policy
from anyshape.config import config
from anyshape.trace import capture
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = 3
        self.eps = 0.5
        self.flag = True
        self.weight = torch.nn.Parameter(torch.ones(3, 4))
        self.bias = None


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])
        self.by_name = torch.nn.ModuleDict({"a b": Layer()})
        self.tied = self.layer.weight
        self.register_buffer("buffer", torch.zeros(2))
        self.plain = torch.ones(2)
        self.config = SimpleNamespace(k=5, sizes={"n": 7}, parts=[SimpleNamespace(q=1.5)])
        self.config.loop = self.config

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.layer.k + self.layer.eps + self.layer.weight.sum()


class Plain:
    def __init__(self) -> None:
        self.k = 4
        self.model = Layer()

    def method(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.k


def found(fn: Any, lists: Any) -> list[str]:
    with config.patch(unbacked_sources=lists):
        return [a.name for a in attributes_of(fn)]


PARAMETERS = [
    "self.plain",
    "self.tied",
    "self.buffer",
    "self.layer.weight",
    "self.layers[0].weight",
    "self.layers[1].weight",
    "self.by_name['a b'].weight",
]
TABLE: list[tuple[Any, list[str]]] = [
    (None, []),
    ("x", []),
    ("self", []),
    ("self.layer", []),
    ("self.layer.flag", []),
    ("self.layer.bias", []),
    ("self.layer.k", ["self.layer.k"]),
    ("L['self'].layer.k", ["self.layer.k"]),
    ("L['self']._modules['layer'].k", ["self.layer.k"]),
    ("self.layers[1].k", ["self.layers[1].k"]),
    ("L['self'].layers.1.k", ["self.layers[1].k"]),
    ("L['self']._modules['layers']._modules['0'].eps", ["self.layers[0].eps"]),
    (["L['self'].by_name['a b'].k"], ["self.by_name['a b'].k"]),
    ("self.buffer", ["self.buffer"]),
    ("L['self']._buffers['buffer']:0", ["self.buffer"]),
    ("self.plain", ["self.plain"]),
    ("self.layers[0].weight:1", ["self.layers[0].weight"]),
    ("self.layer.weight", ["self.layer.weight", "self.tied"]),
    ("self.tied", ["self.tied", "self.layer.weight"]),
    ("self.config.k", ["self.config.k"]),
    ("self.config.loop.k", ["self.config.loop.k"]),
    ("self.config.sizes['n']", ["self.config.sizes['n']"]),
    ("self.config.parts[0].q", ["self.config.parts[0].q"]),
    ("self.config.parts[1].q", []),
    ("self.config.parts", []),
    ("self.config.no", []),
    (r"self\.layer\..*k", ["self.layer.k"]),
    (r"L\['self'\]\._modules\['layers'\].*\.k", ["self.layers[0].k", "self.layers[1].k"]),
    (".*", PARAMETERS),
    (r"L\[.*", PARAMETERS),
    (r"self\.l\w+\..*", ["self.layer.k", "self.layer.eps", "self.layer.weight", "self.tied"]),
]


@pytest.mark.parametrize(("lists", "expected"), TABLE)
def test_what_is_named(lists: Any, expected: list[str]) -> None:
    model = Model()
    assert sorted(found(model, lists)) == sorted(expected)
    assert found(model.forward, lists) == found(model, lists)


def test_what_is_named_is_in_the_list_before_its_other_names() -> None:
    assert found(Model(), "self.layer.weight") == ["self.layer.weight", "self.tied"]


def test_marked_tensors_are_named_too() -> None:
    model = Model()
    mark_static(model.plain)
    assert found(model, None) == []
    mark_dynamic(model.buffer, 0)
    mark_unbacked(model.layer.weight, 1)
    assert found(model, None) == ["self.tied", "self.buffer", "self.layer.weight"]
    captured = traced(model, torch.ones(5), dynamic=True)
    assert kinds(captured)[UNBACKED] == ["self.tied.size(1)"]
    assert kinds(captured)[BACKED] == ["x.size(0)", "self.buffer.size(0)"]


def test_objects_that_are_no_modules() -> None:
    layer = ["self.model.k", "self.model.eps", "self.model.weight"]
    assert found(Plain().method, r"self\..*") == ["self.k", *layer]
    assert found(lambda x: x, "self.k") == []
    assert found([].append, "self.k") == []
    assert found(torch.add, ".*") == []


def test_a_module_that_holds_itself() -> None:
    model = Model()
    model.layer.__dict__["above"] = model
    assert found(model, "self.layer.k") == ["self.layer.k"]


# ---------------------------------------------------------------------- while tracing


def traced(model: Any, *args: Any, dynamic: Any = None, **lists: Any) -> Any:
    with config.patch(**lists):
        named = attributes_of(model)
        inputs = Arguments.of(model, args, {}, named)
        choice = Policy(dynamic).choice(inputs.names, inputs.flat, named)
    return capture(model, args, dynamic=choice, attributes=named)


def kinds(captured: Any) -> dict[str, list[str]]:
    env = captured.tracer.env
    found: dict[str, list[str]] = {STATIC: [], BACKED: [], UNBACKED: []}
    for bind in captured.inputs.binds:
        kind = env.symbols[bind.name].kind if bind.name in env.symbols else "float"
        found.setdefault(kind, []).append(env.sources[bind.name])
    return found


def test_one_program_for_all_values_of_an_attribute() -> None:
    model = Model()
    x = torch.ones(5)
    captured = traced(model, x, dynamic_sources="self.layer.k,self.layer.eps")
    assert kinds(captured)[BACKED] == ["self.layer.k"]
    assert kinds(captured)["float"] == ["self.layer.eps"]
    run = captured.program.function()
    for k, eps in ((3, 0.5), (-7, 2.0), (0, -1.0)):
        model.layer.k, model.layer.eps = k, eps
        assert torch.equal(run([x, k, eps])[0], model(x))


@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
def test_parameters_are_static_but_for_the_dimensions_that_are_named(dynamic: Any) -> None:
    captured = traced(Model(), torch.ones(5), dynamic=dynamic, unbacked_sources=["self.tied:0"])
    sizes = [s for kind in kinds(captured).values() for s in kind if s.startswith("self")]
    assert sizes == ["self.tied.size(0)"]
    assert kinds(captured)[UNBACKED][-1] == "self.tied.size(0)"


def test_parameters_that_an_unbacked_pattern_names() -> None:
    captured = traced(Model(), torch.ones(5), unbacked_sources=".*")
    unbacked = kinds(captured)[UNBACKED]
    assert {"x.size(0)", "self.tied.size(0)", "self.tied.size(1)"} <= set(unbacked)
    assert not any(".k" in source for source in unbacked)


# ---------------------------------------------------------------------- a planted bug


def test_a_tied_name_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribute_inputs, "_is_tensor", lambda a: False)
    with pytest.raises(AssertionError):
        test_what_is_named("self.tied", ["self.tied", "self.layer.weight"])
