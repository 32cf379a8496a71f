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


def test_graphs_are_called_in_a_mode():
    seen = []

    def graph(x):
        seen.append((torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))
        return (x @ x,)

    x = torch.ones(2, 2, requires_grad=True)
    (of_grad,) = ep.WITH_GRAD_MODE(False, graph, x)
    (of_autocast,) = ep.WITH_AUTOCAST("cpu", torch.bfloat16, True, True, graph, x)
    assert not of_grad.requires_grad
    assert of_autocast.dtype is torch.bfloat16
    assert seen == [(False, False), (True, True)]
    ep.SET_GRAD(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        ep.SET_GRAD(True)


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
