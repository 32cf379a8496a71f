"""Stretches of a graph in another mode become calls of graphs."""

from __future__ import annotations

import operator

import torch
from torch import fx

from anyshape.interop.aten.stretches import with_stretches
from anyshape.torch_compat.exported_program import SET_GRAD, WITH_AUTOCAST, WITH_GRAD_MODE
from anyshape.torch_compat.thread_state import ENTER_AUTOCAST, EXIT_AUTOCAST

BF16 = ("cpu", torch.bfloat16, True, True)


def call(graph, op, *args):
    return graph.call_function(op, args)


def made_of(graph, root=None):
    for node in graph.nodes:
        if node.op != "output":
            node.meta["val"] = torch.ones(2, 2)
    return with_stretches(root or torch.nn.Module(), graph)


def targets(module):
    return [n.target for n in module.graph.nodes if n.op == "call_function"]


def test_stretches_that_overlap():
    graph = fx.Graph()
    x = graph.placeholder("x")
    call(graph, SET_GRAD, False)
    y = call(graph, torch.ops.aten.sin.default, x)
    mode = call(graph, ENTER_AUTOCAST, *BF16)
    z = call(graph, torch.ops.aten.mm.default, y, x)
    call(graph, SET_GRAD, True)
    w = call(graph, torch.ops.aten.mm.default, z, x)
    call(graph, EXIT_AUTOCAST, mode)
    graph.output((y, z, call(graph, torch.ops.aten.cos.default, w)))
    names = [y.name, z.name, w.name]
    made = made_of(graph)
    assert [t for t in targets(made) if t is not operator.getitem] == [
        WITH_GRAD_MODE,
        WITH_AUTOCAST,
        WITH_AUTOCAST,
        torch.ops.aten.cos.default,
    ]
    assert [n.name for n in made.graph.nodes if n.target is operator.getitem] == names
    given = torch.rand(2, 2, requires_grad=True)
    got = made(given)
    with torch.no_grad():
        first = given.sin()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch.no_grad():
            second = first @ given
        third = second @ given
    for a, b in zip(got, (first, second, third.cos()), strict=True):
        torch.testing.assert_close(a, b)
        assert a.requires_grad == b.requires_grad


def test_a_stretch_without_ops_is_nothing():
    graph = fx.Graph()
    x = graph.placeholder("x")
    call(graph, SET_GRAD, False)
    call(graph, EXIT_AUTOCAST, call(graph, ENTER_AUTOCAST, *BF16))
    call(graph, SET_GRAD, True)
    graph.output((call(graph, torch.ops.aten.sin.default, x),))
    assert targets(made_of(graph)) == [torch.ops.aten.sin.default]


def test_effects_of_stretches_without_results_stay():
    for enter in (True, False):
        graph = fx.Graph()
        x, total = graph.placeholder("x"), graph.placeholder("total")
        mode = call(graph, ENTER_AUTOCAST, *BF16) if enter else call(graph, SET_GRAD, False)
        call(graph, torch.ops.aten.add_.Tensor, total, x)
        call(graph, *((EXIT_AUTOCAST, mode) if enter else (SET_GRAD, True)))
        graph.output((call(graph, torch.ops.aten.sin.default, x),))
        made = made_of(graph)
        total = torch.zeros(2, 2)
        made(torch.ones(2, 2, requires_grad=True), total)
        assert torch.equal(total, torch.ones(2, 2))
        assert not total.requires_grad or enter


def test_graphs_inside_of_stretches_keep_their_graphs():
    inner = fx.Graph()
    inner.output((call(inner, torch.ops.aten.sin.default, inner.placeholder("x")),))
    deep = fx.Graph()
    graph_of_deep = torch.nn.Module()
    graph_of_deep.add_module("deep", fx.GraphModule(torch.nn.Module(), inner))
    x = deep.placeholder("x")
    wrapped = call(deep, WITH_GRAD_MODE, False, deep.get_attr("deep"), x)
    deep.output((call(deep, operator.getitem, wrapped, 0),))
    root = torch.nn.Module()
    root.add_module("middle", fx.GraphModule(graph_of_deep, deep))
    graph = fx.Graph()
    x = graph.placeholder("x")
    middle = graph.get_attr("middle")
    mode = call(graph, ENTER_AUTOCAST, *BF16)
    y = call(graph, WITH_GRAD_MODE, False, middle, x)
    z = call(graph, operator.getitem, y, 0)
    call(graph, EXIT_AUTOCAST, mode)
    graph.output((z,))
    made = made_of(graph, root)
    x = torch.rand(2, 2)
    assert torch.equal(made(x)[0], x.sin())
