from __future__ import annotations

import sys

import pytest
import torch

from anyshape.env.site import is_torch
from anyshape.torch_compat import call_frame


class Node:
    """The node of a condition, which reads the message of the check that asks it."""

    message = None

    def expect_true(self, file="", line=0):
        self.message = call_frame.message_of_check(sys._getframe(1))
        return True


@pytest.mark.parametrize("check", [torch._check, torch._check_value])
def test_message_of_check(check):
    node = Node()
    check(torch.SymBool(node), lambda: "rows must be even")
    assert node.message == "rows must be even"


def test_a_check_without_a_message_has_none():
    node = Node()
    torch._check(torch.SymBool(node))
    assert node.message is None


def test_a_caller_that_is_no_check_has_no_message():
    message = "mine"
    node = Node()
    node.expect_true()
    assert node.message is None
    assert message == "mine"


def test_torch_is_known_by_its_path():
    assert is_torch(torch.__file__)
    assert is_torch(torch.nn.functional.__file__)
    assert not is_torch(__file__)


def test_apply_is_the_function_behind_every_bound_apply():
    found = []

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            frame = sys._getframe(1)
            found.append((frame.f_code, frame.f_locals["cls"], frame.f_locals["args"]))
            return x * 1

    method = Same.apply
    assert method.__func__ is call_frame.APPLY
    x = torch.ones(2)
    method(x)
    assert found[0][0] is call_frame.APPLY.__code__
    assert found[0][1] is Same
    assert found[0][2][0] is x


class Told(torch.Tensor):
    """A tensor that tells which function it was asked to override."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return call_frame.overridable(func)


def test_a_function_that_asks_is_known_where_its_name_was_replaced(monkeypatch):
    functional = torch.nn.functional
    relu, told = functional.relu, torch.ones(1).as_subclass(Told)
    assert relu(told) is relu
    monkeypatch.setattr(functional, "relu", lambda x, inplace=False: x)
    assert relu(told) is relu
    assert torch.relu(told) is torch.relu


def test_a_function_of_the_users_that_asks_is_itself():
    def mine(x):
        return torch.overrides.handle_torch_function(mine, (x,), x)

    assert mine(torch.ones(1).as_subclass(Told)) is mine
