"""Iterators from outside that a program moves on, and objects of C that it makes, against eager."""

from __future__ import annotations

import copy
import itertools
import types
from typing import Any

import pytest
import torch

import anyshape
from anyshape.errors import DataDependentError
from anyshape.trace.record.effect import effect


class Kept:
    def __init__(self) -> None:
        self.count, self.halves = itertools.count(), itertools.count(0.5, 0.25)
        self.numbers = iter(range(1, 6))

    def state(self) -> Any:
        return repr((self.count, self.halves)), self.numbers.__length_hint__()


KEPT = Kept()


def counted(x: Any) -> Any:
    return x * (next(KEPT.count) + 1), next(KEPT.count)


def halved(x: Any) -> Any:
    return x * next(KEPT.halves), next(KEPT.halves)


def with_a_default(x: Any) -> Any:
    return x + next(KEPT.numbers, -1)


def to_the_end(x: Any) -> Any:
    return x + next(KEPT.numbers)


def caught(x: Any) -> Any:
    try:
        return x + next(KEPT.numbers)
    except StopIteration:
        return x - 1


def sized(x: Any) -> Any:
    return torch.ones(next(KEPT.count)) + x.sum()


def a_loop(x: Any) -> Any:
    while next(KEPT.count) % 3:
        x = x + 1
    return x


def a_branch(x: Any) -> Any:
    a = next(KEPT.count)
    return x + next(KEPT.count) if x.sum() > 2 else x - a


WHOLE = (counted, halved, with_a_default, to_the_end, caught, sized)
BRANCHING = (a_loop, a_branch)


def outcomes(f: Any) -> list[Any]:
    KEPT.__init__()  # type: ignore[misc]  # as new
    found: list[Any] = []
    for n in (3, 1, 0, 5, 2, 7, 4):
        try:
            found.append(repr(f(torch.ones(n))))
        except StopIteration as e:
            found.append(repr(e))
        found.append(KEPT.state())
    return found


@pytest.mark.parametrize("fn", WHOLE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("fullgraph", [True, False])
def test_iterators_move_on_as_in_eager_execution(fn: Any, fullgraph: bool) -> None:
    compiled = anyshape.compile(fn, fullgraph=fullgraph, recompile_limit=20)
    assert outcomes(compiled) == outcomes(fn)
    assert compiled.pieces is None


@pytest.mark.parametrize("fn", BRANCHING, ids=lambda f: f.__name__)
def test_branches_on_items_are_branches_on_data(fn: Any) -> None:
    assert outcomes(anyshape.compile(fn, recompile_limit=20)) == outcomes(fn)
    with pytest.raises(DataDependentError):
        anyshape.compile(fn, fullgraph=True)(torch.ones(2))


def test_an_iterator_that_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effect, "defer", lambda act: None)
    assert outcomes(anyshape.compile(counted, fullgraph=True)) != outcomes(counted)


@pytest.mark.parametrize("fullgraph", [True, False])
def test_an_iterator_may_be_an_argument(fullgraph: bool) -> None:
    compiled = anyshape.compile(lambda x, it: x + next(it), fullgraph=fullgraph)
    it = iter(range(1, 4))
    assert [compiled(torch.zeros(1), it).item() for _ in range(3)] == [1, 2, 3]
    with pytest.raises(StopIteration):
        compiled(torch.zeros(1), it)


def test_a_copy_of_an_iterator_is_one_of_its_state_in_the_call() -> None:
    def fn(x: Any) -> Any:
        return x + next(copy.copy(KEPT.numbers))

    KEPT.__init__()  # type: ignore[misc]  # as new
    compiled = anyshape.compile(fn)
    for n in (2, 1, 0):
        next(KEPT.numbers)
        assert torch.equal(compiled(torch.ones(n)), fn(torch.ones(n)))


class Names(dict[str, Any]):
    pass


OUTSIDE = {"a": 1}


def proxies(x: Any) -> Any:
    own = {"a": 2, "x": x * 2}
    return types.MappingProxyType(own), types.MappingProxyType(OUTSIDE), own


def blank(x: Any) -> Any:
    a, b, c = list.__new__(list), dict.__new__(dict), dict.__new__(Names)
    a.append(x)
    b["x"] = x + 1
    c["x"] = x + 2
    return a, b, c


@pytest.mark.parametrize("fn", [proxies, blank], ids=lambda f: f.__name__)
@pytest.mark.parametrize("fullgraph", [True, False])
def test_objects_of_c_are_made_on_every_call(fn: Any, fullgraph: bool) -> None:
    compiled = anyshape.compile(fn, fullgraph=fullgraph)
    for n in (2, 1, 0, 3):
        got, again, want = compiled(torch.ones(n)), compiled(torch.ones(n)), fn(torch.ones(n))
        assert repr(got) == repr(again) == repr(want)
        assert [type(part) for part in got] == [type(part) for part in want]
        assert got[0] is not again[0]
