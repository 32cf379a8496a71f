"""Files that the list of twinned ones lacks: their functions are refused, or run as twins."""

from __future__ import annotations

import pprint
import sched
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.trace.record.foreign.territory import is_twinned

STATE = {"n": 2.0}


def shows(x: Any) -> Any:
    return x, pprint.pformat(STATE)


def schedules(x: Any) -> Any:
    return x, sched.scheduler().empty()


@pytest.mark.parametrize("fn", [shows, schedules])
def test_a_function_of_python_is_refused(fn: Any) -> None:
    assert not is_twinned(pprint.pformat.__code__)
    with pytest.raises(AnyshapeError):
        anyshape.compile(fn, fullgraph=True)(torch.ones(2))
    assert str(anyshape.compile(fn)(torch.ones(2))) == str(fn(torch.ones(2)))


def mapped(x: Any) -> Any:
    return pytree.tree_map(lambda part: part * STATE["n"], [x, (x + 1,)])


def test_a_function_of_torch_calls_twins_of_what_it_is_given() -> None:
    assert not is_twinned(pytree.tree_map.__code__)
    compiled = anyshape.compile(mapped, fullgraph=True)
    for n in (2.0, 2.0, 3.0):
        STATE["n"] = n
        assert str(compiled(torch.ones(2))) == str(mapped(torch.ones(2)))
