"""`match` in twins: the same cases, the same names, the same errors as Python's own."""

from __future__ import annotations

import array
import collections
import types
from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.record.inert import INERT
from anyshape.trace.record.syntax.pattern import PatternReads
from anyshape.trace.twin.hook import HOOKS
from anyshape.trace.twin.twin import twin_code


class Point:
    __match_args__ = ("a", "b")

    def __init__(self, a: Any, b: Any = 0) -> None:
        self.a, self.b = a, b


class Level:
    low, high = 1, 2


def kind_of(subject: Any) -> Any:  # noqa: C901, PLR0911  one case per kind of pattern
    name, rest = "unbound", "unbound"
    match subject:
        case None | True:
            return "singleton"
        case Level.low | 1.5 | "word" | -3:
            return "value"
        case int(name) if name > 100:
            return "large", name
        case [] | ():
            return "empty"
        case [Point(a=1, b=name), *rest]:
            return "points", name, rest
        case [1, [name, 2], *_] | [name, 3]:
            return "nested", name
        case [name, *rest, 9]:
            return "starred", name, rest
        case {"k": int() | float() as name, "deep": {"x": [_, rest]}}:
            return "deep", name, rest
        case {"k": name, **rest}:
            return "rest", name, rest
        case {}:
            return "mapping", name, rest
        case Point(0, name) | Point(name, 0):
            return "point", name
        case Point(b=Level.high as rest):
            return "level", rest
        case str() as name:
            return "text", name
        case name:
            return "other", type(name).__name__, rest


SUBJECTS = [
    None, True, False, 1, 2, 1.5, -3, 101, 7, "word", "other", b"bytes", bytearray(b"x"),
    [], (), [1, [5, 2]], [1, [5, 3]], [4, 3], [4, 5, 6, 9], (4, 9), [9], range(2), range(0),
    collections.deque([4, 3]), array.array("i", [4, 3]), {4, 3}, iter([4, 3]),
    {"k": 1, "deep": {"x": [0, 8]}}, {"k": "s", "deep": {"x": [0, 8]}}, {"k": 1, "z": 2}, {"z": 1},
    {}, collections.OrderedDict(k=3), collections.defaultdict(int), collections.ChainMap({"k": 4}),
    types.MappingProxyType({"k": 5}), Point(0, 5), Point(5, 0), Point(5, 2), Point(5, 6),
    [Point(1, 7), 2, 3], [Point(2, 7), 2, 3], Level, 0.0, 2 + 1j,
]  # fmt: skip


def twin(f: Any) -> Any:
    code = twin_code(f.__code__)
    assert code is not None
    return types.FunctionType(code, {**f.__globals__, HOOKS: INERT}, f.__name__)


@pytest.mark.parametrize("subject", SUBJECTS, ids=range(len(SUBJECTS)))
def test_a_twin_takes_the_same_case(subject: Any) -> None:
    assert str(twin(kind_of)(subject)) == str(kind_of(subject))


HELD: dict[str, Any] = {}


def held_kind(x: Any) -> Any:
    return x + 1, kind_of(HELD["subject"])


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_trace_takes_the_same_case(fullgraph: bool) -> None:
    x = torch.ones(2)
    for subject in [s for s in SUBJECTS if not hasattr(s, "__next__")]:
        HELD["subject"] = subject
        compiled = anyshape.compile(held_kind, fullgraph=fullgraph)
        try:
            assert str(compiled(x)[1]) == str(kind_of(subject))
        except anyshape.AnyshapeError:
            assert fullgraph


def many(p: Any) -> Any:
    match p:
        case Point(a, b, c):
            return a, b, c


def test_too_many_places_are_an_error() -> None:
    with pytest.raises(TypeError) as want:
        many(Point(1, 2))
    with pytest.raises(TypeError) as found:
        anyshape.compile(lambda x: (x, many(Point(1, x.shape[0]))))(torch.ones(2))
    assert str(found.value) == str(want.value)


def test_members_that_go_unrecorded_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: members are read behind the recorder's back."""
    point = Point(2.0, 3.0)

    def scaled(x: Any) -> Any:
        match point:
            case Point(a, b):
                return x * a + b

    def second() -> list[float]:
        point.a = 2.0
        compiled = anyshape.compile(scaled)
        compiled(torch.ones(2))
        point.a = 5.0
        return compiled(torch.ones(2)).tolist()

    assert second() == [8.0, 8.0]
    monkeypatch.setattr(PatternReads, "members_of", INERT.members_of.__func__)
    assert second() == [5.0, 5.0]
