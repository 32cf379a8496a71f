"""Arguments as trees whose containers have identities."""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, deque

import pytest
import torch

from anyshape.trace.argument.argument_tree import (
    Again,
    Elements,
    build_call,
    content_of,
    flatten_call,
    is_plain_class,
    parts_of,
)
from anyshape.trace.tree import Derived, Members


class Plain:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("a",)


class Closing:
    def __del__(self):
        pass


class Items(list):
    pass


@dataclasses.dataclass
class Record:
    a: int


def kinds(*args):
    return [child.type for child in flatten_call(args, {}).spec.children()[0].children()]


def test_kinds():
    slotted = Slotted()
    slotted.a = 1
    found = kinds(
        [1], Plain(a=1), slotted, Record(1), {1}, Items(), Counter(), torch.nn.Linear(1, 1)
    )
    assert found == [list, Members, Members, Members, Elements, Derived, Derived, None]
    assert not is_plain_class(Closing)
    assert not is_plain_class(torch.nn.Module)


def test_a_container_that_is_met_again():
    shared = [1]
    args = (shared, {"a": shared}, Plain(b=shared))
    found = flatten_call(args, {"k": shared})
    assert [type(c) for c in found.containers] == [list, dict, Plain]
    assert [leaf for _, leaf in found.pairs] == [1]
    assert found.spec.children()[1].children()[0].type is Again
    made, named, containers = build_call(["x"], found.spec)
    assert made[0] == ["x"]
    assert made[1]["a"] is made[0] is made[2].b is named["k"]
    assert [type(c) for c in containers] == [list, dict, Plain]
    assert made[0] is not shared


def test_cycles():
    loop = []
    loop.append({"loop": loop})
    found = flatten_call((loop,), {})
    (made,), _, _ = build_call([], found.spec)
    assert made[0]["loop"] is made


@pytest.mark.parametrize(
    "x",
    [
        [1, [2]],
        {"a": 1, 2: "b"},
        OrderedDict(b=1, a=2),
        deque([1, 2], maxlen=3),
        {1, 2.0, "a"},
        bytearray(b"ab"),
        (1, (2,)),
        Counter("aab"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_copy_is_equal(x):
    found = flatten_call((x,), {})
    (made,), _, containers = build_call([leaf for _, leaf in found.pairs], found.spec)
    assert made == x
    assert type(made) is type(x)
    assert made is not x
    assert len(containers) == len(found.containers)
    assert getattr(made, "maxlen", None) == getattr(x, "maxlen", None)


def test_elements_count_with_their_types():
    spec = flatten_call(({1},), {}).spec
    assert spec != flatten_call(({True},), {}).spec
    assert spec == flatten_call(({1},), {}).spec


def test_parts_of_another_container():
    spec = flatten_call((deque([1]),), {}).spec.children()[0].children()[0]
    assert parts_of(deque([5]), spec) == [5]
    for other in (deque([1, 2]), deque([1], maxlen=2), [1], 1):
        with pytest.raises(LookupError):
            parts_of(other, spec)


def test_large_objects_are_known_by_identity():
    large = Plain(items=list(range(5000)))
    found = flatten_call((large,), {})
    assert [leaf for _, leaf in found.pairs] == [large]
    assert not found.containers


def test_attributes_of_plain_objects_are_calm():
    found = flatten_call((Plain(a=1, b=[2]), Record(3), [4]), {})
    values = [leaf for _, leaf in found.pairs]
    assert [values[i] for i in sorted(found.calm)] == [1, 2]


def test_content():
    assert content_of({"a": 1}) == ["a", 1]
    assert content_of(Plain(a=1)) == ["a", 1]
    assert content_of(deque([1])) == [1]
