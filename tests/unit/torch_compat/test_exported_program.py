from __future__ import annotations

import warnings

import pytest
import torch
from torch.export import Dim

from anyshape import export
from anyshape.torch_compat import exported_program as ep
from anyshape.torch_compat import fake_tensor as ft


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x)


@pytest.fixture(scope="module")
def program():
    return torch.export.export(Layer(), (torch.ones(2, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_an_exported_program_is_made_of_these_classes(program):
    assert type(program) is ep.ExportedProgram
    assert program.verifiers == [ep.TrainingIRVerifier]
    entry = program.module_call_graph[0]
    assert type(entry) is ep.ModuleCallEntry
    assert type(entry.signature) is ep.ModuleCallSignature
    assert entry.signature.forward_arg_names == ["x"]
    (span,) = program.range_constraints.values()
    assert type(span) is ep.ValueRanges
    value = next(n for n in program.graph.nodes if n.op == "call_function").meta["val"]
    assert isinstance(value, torch.Tensor)


def test_fake_tensors_are_made_of_tensors_without_data():
    mode = ft.FakeTensorMode(shape_env=ft.ShapeEnv())
    made = ep.FakeTensor(mode, torch.empty(2, 3, device="meta"), torch.device("cpu"))
    assert made.shape == (2, 3)
    assert made.device.type == "cpu"


def test_sources_are_those_that_modules_check():
    assert ep.input_source(1, 0).name == "L['flat_args'][1].size()[0]"
    assert ep.input_source(2, None).name == "L['flat_args'][2]"
    assert ep.ConstantSource("n").name == "n"


def test_pending_symbols_are_forgotten():
    shape_env = ft.ShapeEnv()
    shape_env.create_unbacked_symint()
    assert shape_env.pending_fresh_unbacked_symbols
    ep.forget_pending(shape_env)
    assert not shape_env.pending_fresh_unbacked_symbols


def test_stretches_of_a_mode_become_higher_order_calls(program):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(ep.set_grad, (False,))
    y = graph.call_function(torch.ops.aten.sin.default, (x,))
    graph.call_function(ep.set_grad, (True,))
    mode = graph.call_function(ep.enter_autocast, ("cpu", torch.bfloat16, True, True))
    z = graph.call_function(torch.ops.aten.mm.default, (y, y))
    graph.call_function(ep.exit_autocast, (mode,))
    graph.output((z,))
    for node in graph.nodes:
        node.meta["val"] = torch.ones(2, 2) if node.op == "call_function" else None
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    made, _ = ep.with_regions(module, None)
    calls = [str(n.target) for n in made.graph.nodes if n.op == "call_function"]
    assert any("wrap_with_set_grad_enabled" in c for c in calls)
    assert any("wrap_with_autocast" in c for c in calls)
    (result,) = made(torch.ones(2, 2))
    assert result.dtype is torch.bfloat16


def test_names_of_sources_and_constants_that_are_truth_values():
    class Flagged(torch.nn.Module):
        def forward(self, x, flag):
            return x + 1 if flag else x

    made = export(Flagged(), (torch.randn(3, 2), True), dynamic_shapes=({0: "rows"}, None))
    program = made.to_torch()
    env = next(iter(program.graph.nodes)).meta["val"].fake_mode.shape_env
    assert list(env.source_name_to_debug_name.values()) == ["rows"]
    assert env.specialize_zero_one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own
        again = program.run_decompositions()
    x = torch.randn(1, 2)
    assert torch.equal(again.module()(x, True), x + 1)
