"""The graph: what it holds, how it prints, and that `verify` finds what is broken."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape import config
from anyshape.errors import AnyshapeError
from anyshape.trace import capture
from anyshape.trace.graph.graph import Name, Node, Value, leaves


def program(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = (x + y).relu()
    count = (z > 0).sum().item()
    return z @ z.t(), count


def traced(dynamic: Any = "unbacked") -> Any:
    return capture(program, (torch.randn(3, 4), torch.randn(3, 4)), dynamic=dynamic)


def test_every_node_knows_its_line() -> None:
    graph = traced().graph
    lines = {node.site.line - program.__code__.co_firstlineno for node in graph.nodes}
    assert lines == {1, 2, 3}
    assert {node.site.file for node in graph.nodes} == {__file__}


def test_lines_are_left_out_on_demand() -> None:
    with config.patch(do_not_emit_stack_traces=True):
        captured = traced()
    assert all(node.site is None for node in captured.graph.nodes)
    assert all(o.site is None for o in captured.runtime_asserts)


def test_it_prints_calls_with_shapes_and_lines() -> None:
    text = str(traced().graph)
    assert "i0: float32[u0, u1] = input" in text
    assert "v0 = Tensor.__add__(i0, i1)  -> float32[u0, u1]  # test_graph.py:" in text
    assert "u4 = Tensor.item(v3)" in text
    assert text.splitlines()[-1] == "return [v5, u4]"


def test_verify_accepts_what_was_traced() -> None:
    traced().graph.verify()


def broken_order(graph: Any) -> None:
    graph.nodes[0], graph.nodes[1] = graph.nodes[1], graph.nodes[0]


def broken_use(graph: Any) -> None:
    stranger = Value(99, "result", graph.inputs[0].meta)
    graph.nodes[1].args = (stranger,)


def broken_twice(graph: Any) -> None:
    graph.nodes.append(graph.nodes[0])


def broken_name(graph: Any) -> None:
    node = Node(torch.Tensor.item, (graph.inputs[0],), {}, None, 0)
    node.outs = Name("u4")
    graph.nodes.append(node)


def broken_output(graph: Any) -> None:
    graph.outputs.append(Value(99, "result", graph.inputs[0].meta))


def broken_nested_use(graph: Any) -> None:
    stranger = Value(99, "result", graph.inputs[0].meta)
    graph.nodes[1].args = ([{"a": (stranger,)}, slice(None)],)


@pytest.mark.parametrize(
    "break_it",
    [broken_order, broken_use, broken_twice, broken_name, broken_output, broken_nested_use],
)
def test_verify_finds_what_is_broken(break_it: Any) -> None:
    graph = traced().graph
    break_it(graph)
    with pytest.raises(AnyshapeError, match=r"not defined yet|already defined|not defined in"):
        graph.verify()


def test_leaves_of_nested_arguments() -> None:
    tree = (1, [2, {"a": 3}], slice(4, None, 5))
    assert list(leaves(tree)) == [1, 2, 3, 4, None, 5]


def test_a_symbolic_size_is_bound_once() -> None:
    def twice(x: torch.Tensor) -> Any:
        mask = x > 0
        return x[mask], torch.nonzero(mask), x[x > 0]

    graph = capture(twice, (torch.randn(5),), dynamic="unbacked").graph
    names = [leaf for node in graph.nodes for leaf in leaves(node.outs) if type(leaf) is Name]
    assert names == ["u1"]
