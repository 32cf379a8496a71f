"""Arguments of classes that wrap other tensors: one program per form, equal to eager execution."""

from __future__ import annotations

from collections import namedtuple

import pytest
import torch

from anyshape import ArgumentError, UnsupportedError, compile
from anyshape.tensor.current import is_tracing
from anyshape.trace.argument.wrapper_form import WrapperForm
from tests.unit.export.test_wrapper import Pair

SIZES = (3, 0, 1, 2, 4, 5)


def pair(rows, columns=4, label="pair", requires_grad=False):
    a, b = torch.randn(2, rows, columns)
    return Pair(a.requires_grad_(requires_grad), b.requires_grad_(requires_grad), label)


OUTER = pair(1)


def computed(x):
    return (x * 2 + 1).sin()


def viewed(x):
    return x.view(-1), x.shape[0] * 3


def taken_apart(x):
    return x.a + x.b, x.a.size(0)


def mixed(x):
    return x * x.a + OUTER


def made(x):
    return Pair(x.b, x.a + 1)


def same(x):
    return x, x


def asked(x):
    return isinstance(x, Pair), type(x) is Pair, x.size(1), x.label, x.requires_grad


def branched(x):
    return x + 1 if x.shape[0] > 2 else x - 1


def parts(x):
    if isinstance(x, Pair):
        return type(x), x.requires_grad, parts(x.a), parts(x.b)
    if isinstance(x, torch.Tensor):
        return type(x), tuple(x.shape), x.detach().tolist()
    return [parts(y) for y in x] if isinstance(x, tuple) else x


PROGRAMS = (computed, viewed, taken_apart, mixed, made, same, asked, branched)


@pytest.mark.parametrize("program", PROGRAMS)
def test_wrapped_arguments_give_what_eager_execution_gives(program):
    for dynamic in (None, True):
        compiled = compile(program, fullgraph=True, dynamic=dynamic)
        for rows in SIZES:
            x = pair(rows)
            assert parts(compiled(x)) == parts(program(x))
    assert compiled.stats.traces < len(SIZES)


def test_every_form_has_an_entry_of_its_own():
    compiled = compile(lambda x: x + 1, fullgraph=True)
    wide = torch.zeros(3, 4, dtype=torch.float64)
    examples = [
        pair(3),
        pair(3, label="other"),
        pair(3, requires_grad=True),
        torch.zeros(3, 4),
        Pair(torch.zeros(3, 4), wide),
    ]
    for count, x in enumerate(examples, 1):
        for _ in range(2):
            assert parts(compiled(x)) == parts(x + 1)
        assert compiled.stats.traces == count


def test_a_form_that_is_not_checked_is_caught(monkeypatch):
    monkeypatch.setattr(WrapperForm, "fits", lambda self, x: True)
    compiled = compile(lambda x: x.label, fullgraph=True)
    compiled(pair(3))
    assert compiled(pair(3, label="other")) != "other"


def test_gradients_reach_what_is_wrapped():
    x, y = pair(3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    (compile(lambda x, y: x * y, fullgraph=True)(x, y)).sum().backward()
    expected = y.detach().clone()
    assert torch.equal(x.grad.a, expected)
    assert torch.equal(x.grad.b, expected)


@pytest.mark.filterwarnings("ignore:.*script_method")
def test_a_backend_is_not_given_wrapped_tensors():
    calls = []

    def backend(graph, example):
        calls.append(graph)
        return graph

    x = pair(3)
    with pytest.warns(match="decides itself"):
        result = compile(computed, fullgraph=True, backend=backend)(x)
    assert parts(result) == parts(computed(x))
    assert not calls


def test_jagged_tensors_are_refused_or_run_eagerly():
    values, offsets = torch.randn(10, 5), torch.tensor([0, 3, 6, 10])
    x = torch.nested.nested_tensor_from_jagged(values, offsets)
    with pytest.raises(ArgumentError, match="class NestedTensor"):
        compile(lambda x: x.values() * 2, fullgraph=True)(x)
    assert torch.equal(compile(lambda x: (x * 2).values())(x), values * 2)


def test_an_error_of_the_trace_alone_is_not_hidden_by_eager_execution():
    class Odd(Pair):
        def __tensor_flatten__(self):
            if is_tracing():
                raise KeyError("odd")
            return super().__tensor_flatten__()

    x = Odd(torch.ones(3), torch.ones(3))
    with pytest.raises(UnsupportedError, match="eager execution lacks: KeyError"):
        compile(lambda x: x + 1, fullgraph=True)(x)

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        compile(fails, fullgraph=True)(torch.ones(3))


class Slotted(torch.Tensor):
    """A tensor around another, with slots, that is made with a named tuple."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    __slots__ = ("inner", "kinds", "unset")

    def __new__(cls, inner, kinds):
        self = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=kinds.outer)
        self.inner, self.kinds = inner, kinds
        return self

    def __tensor_flatten__(self):
        return ["inner"], self.kinds

    @staticmethod
    def __tensor_unflatten__(inner, kinds, size, stride):
        return Slotted(inner["inner"], kinds)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*[x.inner if type(x) is Slotted else x for x in args], **(kwargs or {}))


Kinds = namedtuple("Kinds", ["outer", "inner"])


@pytest.mark.parametrize("dynamic", [None, "unbacked"])
def test_attributes_in_slots(dynamic):
    def f(x, y):
        made = Slotted(y, Kinds(torch.float32, torch.float16))
        return x.kinds.inner, x + 1, made, made.kinds, made.kinds.inner, made + y

    compiled = compile(f, fullgraph=True, dynamic=dynamic)
    for n in SIZES:
        args = Slotted(torch.randn(n), Kinds(torch.float32, torch.int8)), torch.randn(n)
        found, expected = compiled(*args), f(*args)
        assert type(found[3]) is Kinds
        assert (found[0], *found[3:5]) == (expected[0], *expected[3:5])
        assert torch.equal(found[1], expected[1])
        assert torch.equal(found[5], expected[5])
        assert torch.equal(found[2].inner, expected[2].inner)
        assert found[2].kinds == expected[2].kinds


def test_a_named_tuple_of_tensors_is_no_argument_of_a_class():
    def f(x):
        return Slotted(x, Kinds(torch.float32, x))

    with pytest.raises(UnsupportedError, match="a Kinds with tensors or symbolic numbers"):
        compile(f, fullgraph=True)(torch.ones(2))
