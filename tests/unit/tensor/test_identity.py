from __future__ import annotations

import collections.abc
import numbers
from typing import Any

import pytest
import torch
from torch import nn

from anyshape.errors import ConstraintError
from anyshape.tensor.identity import identity_of, is_instance, is_same, type_of
from anyshape.trace import capture

MODES = ("static", "backed", "unbacked")


def asked(fn: Any, *args: Any, dynamic: Any = "backed") -> Any:
    """What `fn` finds while it is traced, and the traced program."""
    found: list[Any] = []

    def program(*xs: Any) -> Any:
        found.append(fn(*xs))
        return xs[0] * 1

    captured = capture(program, args, dynamic=dynamic)
    return found[0], captured


@pytest.mark.parametrize("dynamic", MODES)
def test_types_are_those_of_eager_execution(dynamic: str) -> None:
    def types(x: Any, p: Any) -> Any:
        n = x.shape[0]
        values = [x, p, x * 2, x.shape, n, n > 2, n / 2, [x], None, "a"]
        return [type_of(v) for v in values]

    x, p = torch.ones(3), nn.Parameter(torch.ones(3))
    found, _ = asked(types, x, p, dynamic=dynamic)
    plain = [torch.Tensor, nn.Parameter, torch.Tensor, torch.Size, int, bool, float]
    assert found == [*plain, list, type(None), str]


@pytest.mark.parametrize("dynamic", MODES)
def test_isinstance_is_that_of_eager_execution(dynamic: str) -> None:
    classes = [
        torch.Tensor,
        nn.Parameter,
        torch.FloatTensor,
        torch.LongTensor,
        torch.SymInt,
        torch.Size,
        int,
        bool,
        float,
        tuple,
        object,
        (str, torch.Tensor),
        (str, int),
        numbers.Integral,
        numbers.Real,
        collections.abc.Sized,
        collections.abc.Sequence,
    ]

    def answers(x: Any, p: Any, ask: Any = is_instance) -> Any:
        n = x.shape[0]
        values = [x, p, x.long(), x.shape, n, n > 2, n / 2, None]
        return [[ask(v, c) for c in classes] for v in values]

    x, p = torch.ones(3), nn.Parameter(torch.ones(3))
    found, _ = asked(answers, x, p, dynamic=dynamic)
    assert found == answers(x, p, isinstance)


def test_the_class_attribute_is_that_of_eager_execution() -> None:
    p = nn.Parameter(torch.ones(3))
    found, _ = asked(lambda x, p: (x.__class__, p.__class__), torch.ones(3), p)
    assert found == (torch.Tensor, nn.Parameter)


def test_isinstance_of_parameter_needs_no_substitute() -> None:
    found, captured = asked(lambda x: isinstance(x, nn.Parameter), torch.ones(3))
    assert found is False
    with pytest.raises(ConstraintError):
        captured(nn.Parameter(torch.ones(3)))


@pytest.mark.parametrize("dynamic", MODES)
@pytest.mark.parametrize(
    "op",
    [
        lambda x: x,
        lambda x: x.float(),
        lambda x: x.to(torch.float32),
        lambda x: x.to("cpu"),
        lambda x: x.to(x),
        lambda x: x.to(torch.float32, False, True),
        lambda x: x.to(torch.float32, copy=True),
        lambda x: x.double().float(),
        lambda x: x.cpu(),
        lambda x: x.type_as(x),
        lambda x: x.type(torch.float32),
        lambda x: x.contiguous(),
        lambda x: x.contiguous().contiguous(),
        lambda x: x.to(memory_format=torch.contiguous_format),
        lambda x: x.t().contiguous().t(),
        lambda x: x.clone(),
        lambda x: x.detach(),
        lambda x: x.view(x.shape),
        lambda x: x.reshape(x.shape),
        lambda x: x.expand(x.shape),
        lambda x: x.flatten(1),
        lambda x: x.flatten(),
        lambda x: x[:],
        lambda x: x.squeeze(),
        lambda x: x.conj(),
        lambda x: x.resolve_conj(),
        lambda x: x.real,
        lambda x: +x,
        lambda x: x.requires_grad_(False),
        torch.as_tensor,
        torch.asarray,
        lambda x: nn.functional.dropout(x, 0.5, False),
        lambda x: None,
        lambda x: 3,
    ],
)
def test_an_op_returns_its_operand_as_in_eager_execution(op: Any, dynamic: str) -> None:
    dense, transposed = torch.ones(4, 3), torch.ones(3, 4).t()
    for x in (dense, transposed, torch.ones(4, 6)[:, ::2]):
        expected = op(x) is x
        found, _ = asked(lambda x: (is_same(op(x), x), is_same(x, op(x))), x, dynamic=dynamic)
        assert found == (expected, expected)
        same, _ = asked(lambda x: identity_of(op(x)) == identity_of(x), x, dynamic=dynamic)
        assert same is expected


@pytest.mark.parametrize("dynamic", MODES)
@pytest.mark.parametrize("wanted", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("given", [torch.contiguous_format, torch.channels_last])
def test_a_memory_format_that_a_tensor_has_already(given: Any, wanted: Any, dynamic: str) -> None:
    x = torch.ones(2, 3, 4, 5).to(memory_format=given)
    expected = x.to(memory_format=wanted) is x
    found, _ = asked(lambda x: is_same(x.to(memory_format=wanted), x), x, dynamic=dynamic)
    assert found is expected


def test_what_depends_on_the_layout_is_guarded() -> None:
    found, captured = asked(lambda x: is_same(x.contiguous(), x), torch.ones(4, 3))
    assert found is True
    captured(torch.ones(5, 3))
    with pytest.raises(ConstraintError, match="layout"):
        captured(torch.ones(3, 5).t())


def test_an_input_that_is_a_tensor_from_outside_is_guarded() -> None:
    weight, other = torch.ones(3), torch.ones(3)
    found, captured = asked(lambda x: (is_same(x, weight), is_same(other, x)), weight)
    assert found == (True, False)
    captured(weight)
    with pytest.raises(ConstraintError, match="x"):
        captured(torch.ones(3))
    found, captured = asked(lambda x: is_same(x, weight), torch.ones(3))
    assert found is False
    with pytest.raises(ConstraintError, match="knows"):
        captured(weight)


def test_two_inputs_are_the_same_as_in_eager_execution() -> None:
    x = torch.ones(3)
    assert asked(is_same, x, x)[0] is True
    assert asked(is_same, x, torch.ones(3))[0] is False


@pytest.mark.parametrize("dynamic", MODES[:2])
def test_numbers(dynamic: str) -> None:
    def answers(x: Any, ask: Any = is_same) -> Any:
        n, m = x.shape
        yes = True
        return [ask(n, 4), ask(4, n), ask(n, m), ask(n == 4, yes), ask(n > 9, yes), ask(n, None)]

    x = torch.ones(4, 300)
    assert asked(answers, x, dynamic=dynamic)[0] == [True, True, False, True, False, False]
    assert asked(lambda x: is_same(x.shape[1], 300), x, dynamic="backed")[0] is False


def test_objects_that_are_not_traced_are_compared_as_ever() -> None:
    a: list[int] = []
    assert is_same(a, a)
    assert not is_same(a, [])
    assert identity_of(a) == id(a)
