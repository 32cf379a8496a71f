"""Files that the list of twinned ones lacks: their functions are refused, or run as twins."""

from __future__ import annotations

import pprint
import sched
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

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


def checked(x: Any) -> Any:
    return checkpoint(lambda part: part * STATE["n"], x, use_reentrant=False)


def test_a_function_of_torch_calls_twins_of_what_it_is_given() -> None:
    assert not is_twinned(checkpoint.__code__)
    compiled = anyshape.compile(checked, fullgraph=True)
    for n in (2.0, 2.0, 3.0):
        STATE["n"] = n
        assert str(compiled(torch.ones(2))) == str(checked(torch.ones(2)))


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


def test_functions_that_were_registered_with_pytree_are_recorded() -> None:
    log: list[Any] = []

    def taken(pair: Pair) -> tuple[list[Any], None]:
        log.append("taken")
        return [pair.a * STATE["n"], pair.b], None

    pytree.register_pytree_node(Pair, taken, lambda parts, _: Pair(*parts))

    def mapped(x: Any) -> Any:
        found = pytree.tree_map(lambda part: part + STATE["n"], [x, Pair(x, x + 1)])
        return found[0], found[1].a, found[1].b

    compiled = anyshape.compile(mapped, fullgraph=True)
    for n in (2.0, 2.0, 3.0):
        STATE["n"] = n
        for size in (0, 1, 3):
            assert str(compiled(torch.ones(size))) == str(mapped(torch.ones(size)))
    assert log == ["taken"] * 18
