from __future__ import annotations

import pytest
import torch
from torch.fx import symbolic_trace
from torch.overrides import TorchFunctionMode

from anyshape.torch_compat import aten_op


def test_op_overload_is_the_class_of_an_op():
    assert type(torch.ops.aten.add.Tensor) is aten_op.OpOverload


def test_op_overload_packet_is_the_class_of_all_overloads_of_an_op():
    assert type(torch.ops.aten.add) is aten_op.OpOverloadPacket


def test_is_op():
    assert aten_op.is_op(torch.ops.aten.add)
    assert aten_op.is_op(torch.ops.aten.add.Tensor)
    assert not aten_op.is_op(torch.add)


def test_all_op_names():
    names = set(aten_op.all_op_names())
    assert {"aten::add.Tensor", "aten::mm", "aten::relu"} <= names


def test_has_kernel_by_dispatch_key():
    assert aten_op.has_kernel("aten::mm", "AutocastCPU")
    assert not aten_op.has_kernel("aten::add.Tensor", "AutocastCPU")


@pytest.mark.parametrize(
    ("func", "name", "path"),
    [
        (torch.ops.aten.add, "aten::add", "torch.ops.aten.add"),
        (torch.ops.aten.add.Tensor, "aten::add", "torch.ops.aten.add.Tensor"),
        (torch.ops.aten.mm.default, "aten::mm", "torch.ops.aten.mm.default"),
        (torch.add, "", None),
    ],
)
def test_the_name_and_the_path_of_an_op(func, name, path):
    assert aten_op.qualified_name(func) == name
    assert aten_op.op_path(func) == path
    if path is not None:
        assert eval(path) is func


def test_schema_of_tells_what_an_op_writes():
    schema = aten_op.schema_of(torch.ops.aten.add_.Tensor)
    assert [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write] == ["self"]
    assert schema.is_mutable
    assert not aten_op.schema_of(torch.ops.aten.mm.default).is_mutable


def test_schema_of_a_packet_prefers_an_overload_that_writes():
    assert aten_op.schema_of(torch.ops.aten.add).is_mutable  # add.out
    assert aten_op.schema_of(torch.add) is None


def test_schemas_named():
    assert {s.overload_name for s in aten_op.schemas_named("aten::add")} >= {"Tensor", "Scalar"}
    (first, *_) = aten_op.schemas_named("aten::mm")
    assert [(a.name, a.kwarg_only, a.has_default_value()) for a in first.arguments][:2] == [
        ("self", False, False),
        ("mat2", False, False),
    ]
    assert aten_op.schemas_named("aten::no_such_op") == []


def test_namespaces_are_spelled_by_their_paths():
    for path, namespace in aten_op.NAMESPACES.items():
        assert eval(path) is namespace


def test_functions_of_nn_call_the_private_namespace():
    called = []

    class Log(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            called.append(func)
            return func(*args, **(kwargs or {}))

    with Log():
        torch.nn.functional.avg_pool2d(torch.ones(1, 1, 2, 2), 2)
    private = aten_op.NAMESPACES["torch._C._nn"].avg_pool2d
    assert private in called


def test_variable_functions_are_behind_python_functions():
    assert callable(aten_op.VARIABLE_FUNCTIONS.norm)
    assert aten_op.VARIABLE_FUNCTIONS.norm is not torch.norm
    assert aten_op.VARIABLE_FUNCTIONS.relu is not None


def test_assert_true_raises_its_message_and_is_a_node_of_a_graph():
    aten_op.assert_true(True, "never")
    with pytest.raises(AssertionError, match="too small"):
        aten_op.assert_true(False, "too small")

    def program(x):
        aten_op.assert_true(x.sum() > 0, "too small")
        return x

    targets = [n.target for n in symbolic_trace(program).graph.nodes if n.op == "call_function"]
    assert aten_op.assert_true in targets


def test_assert_scalar_raises_its_message():
    aten_op.ASSERT_SCALAR(1, "never")
    with pytest.raises(RuntimeError, match="too small"):
        aten_op.ASSERT_SCALAR(0, "too small")


def test_data_shares_memory_and_no_version():
    x = torch.ones(2, requires_grad=True) * 1
    y = x * x
    data = aten_op.DATA(x)
    data.mul_(3)
    assert x.tolist() == [3.0, 3.0]
    assert (x._version, data.requires_grad) == (0, False)
    y.sum().backward()  # which would raise if the version were another


def test_batch_norm_with_update_changes_the_statistics():
    mean, var = torch.zeros(2), torch.ones(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = aten_op.BATCH_NORM_WITH_UPDATE(x, None, None, mean, var, 1.0, 1e-5)
    assert out[0].shape == (2, 2)
    assert mean.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("name", sorted(aten_op.CALLABLE_PRIVATE_OPS))
def test_a_private_op_exists(name):
    assert aten_op.schemas_named(f"aten::{name}")


def test_enumerations_of_an_op():
    positions, names = aten_op.enumerations(torch.ops.aten.to.dtype)
    assert 1 in positions
    assert names == {"dtype", "memory_format"}
    assert aten_op.enumerations(torch.ops.aten.add.Tensor) == (set(), set())
    assert "dtype" in aten_op.enumerations(torch.ops.aten.sum)[1]


def test_overloads_that_write_into_out():
    assert aten_op.writes_out(torch.ops.aten.add.out)
    assert not aten_op.writes_out(torch.ops.aten.add.Tensor)
    assert not aten_op.writes_out(torch.ops.aten.add_.Tensor)
    assert not aten_op.writes_out(torch.ops.aten.add)


def test_ops_that_ask_for_metadata():
    def asks(func):
        return aten_op.asks_metadata(func, aten_op.schema_of(func))

    assert asks(torch.ops.aten.size.int)
    assert asks(torch.ops.aten.sym_size.int)
    assert not asks(torch.ops.aten._local_scalar_dense.default)
    assert not asks(torch.ops.aten.add.Tensor)


@pytest.mark.parametrize(
    ("func", "kind"),
    [
        (torch.ops.aten.unbind.int, list),
        (torch.ops.aten.split, list),
        (torch.ops.aten.max.dim, tuple),
        (torch.ops.aten.topk, tuple),
        (torch.ops.aten.add, None),
        (torch.topk, None),
    ],
)
def test_container_of_the_results_of_an_op(func, kind):
    assert aten_op.container_of(func) is kind
    if kind is not None:
        given = {"unbind": (), "split": (1,), "max": (0,), "topk": (1,)}
        name = aten_op.qualified_name(func).removeprefix("aten::")
        assert type(func(torch.ones(2, 2), *given[name])) is kind


def test_an_assert_of_nothing_is_a_use():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    dead = graph.call_function(torch.ops.aten.sin.default, (x,))
    used = graph.call_function(torch.ops.aten.cos.default, (x,))
    graph.call_function(aten_op.ASSERT_NOTHING, (used,))
    graph.output((x,))
    graph.eliminate_dead_code()
    assert dead not in graph.nodes
    assert used in graph.nodes
    aten_op.ASSERT_NOTHING(torch.ones(0))
