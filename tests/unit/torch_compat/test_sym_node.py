"""torch asks the node of a symbolic number by the names of the protocol, and by no others."""

from __future__ import annotations

import math
import operator

import pytest
import torch
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.sym_node import SymNode

from anyshape import ShapeEnv
from anyshape.rules.dispatch.sym_node import BridgeNode, number_of, to_stock
from anyshape.symbolic import torch_calls
from anyshape.torch_compat import sym_node
from anyshape.torch_compat.fake_kernel import enable_python_dispatcher
from anyshape.torch_compat.torch_function import DisableTorchFunction

NAMES = sym_node.BINARY | sym_node.UNARY | sym_node.QUESTIONS | sym_node.LAYOUTS

# Names of torch's node that no meta kernel asks of ours: trigonometry, rounding to digits, and
# what belongs to torch's own environment.
NOT_ASKED = set(
    """
    round sym_acos sym_asin sym_atan sym_cos sym_cosh sym_log2 sym_sin sym_sinh sym_tan sym_tanh
    evaluate require_hint with_shape_env
    """.split()  # noqa: SIM905  a table of names
)


class Recorder:
    """A node that answers one question and remembers that it was asked."""

    def __init__(self, name, answer):
        self.asked = []
        setattr(self, name, lambda *_: self.asked.append(name) or answer)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_torch_has_the_name_and_our_node_answers_it(name):
    assert hasattr(SymNode, name)
    assert callable(getattr(BridgeNode, name))


def test_our_node_answers_everything_that_torch_may_ask():
    asked = {name for name in vars(SymNode) if not name.startswith("_")}
    assert {name for name in asked if not hasattr(BridgeNode, name)} <= NOT_ASKED


def test_sym_sqrt_reaches_the_number():
    class Number(torch.SymFloat):
        def __init__(self):
            pass

        def __sym_sqrt__(self):
            return "root"

    assert sym_node.sym_sqrt(Number()) == "root"
    assert sym_node.sym_sqrt(4) == 2


@pytest.mark.parametrize(
    ("name", "ask", "answer"),
    [
        ("expect_true", torch._check, True),
        ("expect_true", symbolic_shapes.expect_true, True),
        ("bool_", bool, True),
        ("guard_bool", symbolic_shapes.guard_bool, True),
    ],
)
def test_a_condition_is_asked(name, ask, answer):
    node = Recorder(name, answer)
    assert ask(torch.SymBool(node)) in (answer, None)
    assert node.asked == [name]


@pytest.mark.parametrize("fallback", [False, True])
def test_guard_or_asks_the_environment_of_the_node(fallback):
    """By `shape_env.evaluate_sym_node(node, fallback_value=...)`, or by the node's own method."""

    class Node:
        def __init__(self):
            self.shape_env = self

        def evaluate_sym_node(self, node, size_oblivious=False, fallback_value=None):
            assert node is self
            return fallback_value

        def guard_or_false(self, file="", line=0):
            return False

        def guard_or_true(self, file="", line=0):
            return True

        def is_bool(self):
            return True

        def is_int(self):
            return False

        is_float = is_int

    ask = symbolic_shapes.guard_or_true if fallback else symbolic_shapes.guard_or_false
    assert ask(torch.SymBool(Node())) is fallback


@pytest.mark.parametrize(
    ("name", "ask", "answer"),
    [("int_", int, 3), ("guard_float", float, 3.0)],
)
def test_a_number_is_asked(name, ask, answer):
    node = Recorder(name, answer)
    number = torch.SymInt(node) if ask is int else torch.SymFloat(node)
    assert ask(number) == answer
    assert node.asked == [name]


def test_the_parser_takes_the_value_of_a_number_where_nothing_else_will_do():
    class Node(Recorder):
        def is_symbolic(self):
            return True

        def is_int(self):
            return True

        def is_float(self):
            return False

        is_bool = is_float

        def maybe_as_int(self):
            return None

    node = Node("guard_int", 1)
    assert torch.unsqueeze(torch.ones(2), torch.SymInt(node)).shape == (2, 1)
    assert node.asked == ["guard_int"]


@pytest.mark.parametrize(
    ("protocol", "ours"),
    [
        (sym_node.ConditionNode, torch_calls.ConditionNode),
        (sym_node.NumberNode, torch_calls.NumberNode),
    ],
)
def test_our_nodes_follow_the_protocol(protocol, ours):
    names = [name for name in vars(protocol) if name.islower() and not name.startswith("_")]
    assert len(names) >= 7
    assert [name for name in names if not hasattr(ours, name)] == []


OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "truediv": operator.truediv,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "sym_max": torch.sym_max,
    "sym_min": torch.sym_min,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_torch_computes_with_our_numbers(name):
    """An operation on torch's own class gives what it gives on ours."""
    n = ShapeEnv().backed(7)
    operate = OPERATORS[name]
    assert str(number_of(operate(to_stock(n), 3))) == str(operate(n, 3))


@pytest.mark.parametrize("operate", [operator.neg, abs, torch.sym_float, sym_node.sym_sqrt])
def test_torch_computes_with_one_number_of_ours(operate):
    n = ShapeEnv().backed(7)
    assert str(number_of(operate(to_stock(n)))) == str(operate(n))


@pytest.mark.parametrize("operate", [math.floor, math.ceil, math.trunc])
def test_torch_rounds_our_numbers(operate):
    half = ShapeEnv().backed(7) / 2
    assert str(number_of(operate(to_stock(half)))) == str(operate(half))


def test_a_tensor_over_our_numbers_asks_for_its_layout():
    n = to_stock(ShapeEnv().backed(7))
    with DisableTorchFunction(), enable_python_dispatcher():
        x = torch.empty([2, 3, n, 4], device="meta")
        assert x.is_contiguous()
        assert not x.is_contiguous(memory_format=torch.channels_last)
        y = x.to(memory_format=torch.channels_last)
        assert [y.stride(d) for d in (1, 3, 2)] == [1, 3, 12]
        z = torch.empty([2, 3, n, 4, 5], device="meta").permute(1, 0, 2, 3, 4)
        assert z.add(1).stride(4) == 1
