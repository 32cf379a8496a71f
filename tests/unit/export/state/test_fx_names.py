"""Names, values and modules in the nodes of `to_fx`, and in the text of a program."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from anyshape import export
from tests.unit.export.state.modules import ByData, Norm, Tied

half = nn.Linear(4, 4)


def exported(model: Any, *args: Any, **options: Any) -> Any:
    return export(model, args or (torch.randn(3, 4),), dynamic_shapes=({0: "n"},), **options)


def test_tensors_are_at_their_names() -> None:
    model = Tied()
    module = exported(model, torch.arange(3)).to_fx()
    targets = [n.target for n in module.graph.nodes if n.op == "get_attr"]
    assert "layers.1.bias" in targets
    assert "hidden[0].weight" in targets
    assert module.get_parameter("layers.1.bias") is model.layers[1].bias
    assert module.get_buffer("count") is model.count
    ids = torch.arange(5)
    want = model(ids)
    for got, own in zip(module(ids), want.values(), strict=True):
        torch.testing.assert_close(got, own)
    run = exported(lambda x: half(x) + 0).to_fx()
    torch.testing.assert_close(run(torch.ones(2, 4))[0], half(torch.ones(2, 4)))


def test_nodes_have_values_modules_and_lines() -> None:
    class Model(Norm):
        def forward(self, x: torch.Tensor) -> Any:
            y = super().forward(x)
            kept = y[y > 0]
            return kept, y.new_zeros(x.size(0) * 2 + kept.size(0))

    program = exported(Model())
    nodes = [*program.to_fx().graph.nodes]
    steps = [n for n in nodes if n.op in ("call_function", "call_method")]
    stacks = [[path for path, _ in n.meta.get("nn_module_stack", {}).values()] for n in steps]
    assert ["", "net", "net.1"] in stacks
    assert any("test_fx_names.py" in n.meta.get("stack_trace", "") for n in steps)
    tensors = [n for n in nodes if "shape" in n.meta]
    assert all(isinstance(n.meta["val"], torch.Tensor) for n in tensors)
    for node in tensors:
        assert node.meta["val"].dtype is node.meta["dtype"]
        assert len(node.meta["val"].shape) == len(node.meta["shape"])
    first = next(n for n in nodes if n.op == "placeholder")
    size = first.meta["val"].shape[0]
    assert isinstance(size, torch.SymInt)
    last = tensors[-1].meta["val"].shape[0]
    assert len(last.node.expr.free_symbols) == 2
    sums = [n for n in nodes if isinstance(n.meta.get("val"), torch.SymInt)]
    assert any(n.meta["val"].node.expr == last.node.expr for n in sums)


def test_segments_and_sizes_that_are_not_served() -> None:
    program = exported(ByData())
    module = program.to_fx(segment=1)
    assert any("second" in str(n.target) for n in module.graph.nodes if n.op == "get_attr")
    fixed = export(Norm(), (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).to_fx()
    assert fixed(torch.randn(5, 4))[0].shape == (5, 2)

    class Big(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if x.size(0) > 4 else x

    with pytest.raises(AssertionError, match="a guard fails"):
        exported(Big()).to_fx(variant=0)(torch.ones(9, 4))


def test_explain_and_code_have_the_names() -> None:
    program = exported(Tied(), torch.arange(3))
    text = program.explain()
    assert "embed.weight: parameter float32[10, 4] on cpu" in text
    assert "out.weight: parameter float32[10, 4] on cpu, tied to embed.weight" in text
    assert "count: buffer float32[1] on cpu, changed" in text
    assert "shift: non persistent buffer" in text
    assert "p_layers_1_bias" in program.code
    assert "p_layers_1_bias" in str(program.graph)
    assert "constant_" not in text + program.code
