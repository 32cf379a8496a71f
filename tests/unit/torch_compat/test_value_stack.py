"""The values on the stack of frames, the same on every version of Python."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest
import torch

from anyshape.torch_compat.branch_stack import branches_of
from anyshape.torch_compat.value_stack import Empty, Unreadable, values_in_call, values_under

seen: list[Any] = []


class Asked:
    """Notes what is on the stack of the frame that asks for its truth, and of its caller."""

    def __bool__(self) -> bool:
        frame = sys._getframe(1)
        branch = branches_of(frame.f_code)[frame.f_lasti]
        caller = frame.f_back
        assert caller is not None
        seen[:] = [values_under(frame, branch.depth), values_in_call(caller, frame)]
        return True


def asks(x: Any, *rest: Any, last: Any = None) -> Any:
    shared = x

    def inner() -> Any:
        return shared

    for i in [7, 8]:
        pair = ("a", i, 1 if x else 2)
        return pair, inner
    return None


def test_operands_and_iterators() -> None:
    def calls(x: Any) -> Any:
        for k in range(4):
            if k == 2:
                return [x, k, asks(Asked())]
        return None

    assert calls("x")[2][0] == ("a", 7, 1)
    (iterator, *rest), (outer, *values) = seen
    assert rest == ["a", 7]
    assert list(iterator) == [8]
    assert list(outer) == [3]
    assert values == ["x", 2]


class Layer(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return asks(x)


def test_arguments_are_not_on_the_stack() -> None:
    rest = (1, 2)
    calls = [
        lambda: [3, asks(Asked(), *rest, last=4)],
        lambda: [3, functools.partial(asks, last=4)(Asked(), 1)],
        lambda: [3, Asker().ask(Asked())],
    ]
    for call in calls:
        call()
        assert [x for x in seen[1] if x is not Empty] == [3]


class Asker:
    ask = asks


def test_exits_are_left_out() -> None:
    def calls() -> Any:
        with torch.no_grad():
            return [5, asks(Asked())]

    calls()
    assert seen[1] == [Empty, 5]


def test_a_function_in_c_has_state_out_of_sight() -> None:
    with pytest.raises(Unreadable):
        sorted([Asked(), Asked()], key=asks)
    with pytest.raises(Unreadable):
        list(map(asks, [Asked()]))
    with pytest.raises(Unreadable):
        max(asks(Asked()) for _ in range(2))
