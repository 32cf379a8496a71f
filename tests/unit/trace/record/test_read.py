"""Equality is exact, and a check finds every change of what was read."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict, deque
from typing import Any

import numpy as np
import pytest
import torch

from anyshape.trace.record.read.exact_equality import same
from anyshape.trace.record.read.read import (
    ABSENT,
    ATTRIBUTE,
    CALL,
    CONTENT,
    ITEM,
    KIND,
    LENGTH,
    META,
    MISSING,
    Read,
    content_of,
    meta_of,
)
from anyshape.trace.record.read.read_check import Check

VALUES = [
    0, 1, True, False, 0.0, -0.0, 1.0, math.nan, math.inf, "1", b"1", None, 1j, -1j, (1,), (1.0,),
    (True,), (0.0,), (-0.0,), frozenset({1}), frozenset({1.0}), "", (), torch.float32,
]  # fmt: skip


class Box:
    pass


class Other(Box):
    pass


def test_values_are_the_same_as_themselves_alone() -> None:
    for i, j in itertools.product(range(len(VALUES)), repeat=2):
        assert same(VALUES[i], VALUES[j]) is (i == j), (VALUES[i], VALUES[j])
    assert same(float("nan"), math.nan)
    assert same(10**30, 10**30)
    assert not same([1], [1])


def changes() -> Any:
    """A read, and a change after which it does not hold."""
    d: dict[Any, Any] = {"k": 1}
    yield Read(ITEM, d, "k", 1), lambda: d.update(k=True)
    e: dict[Any, Any] = {"k": 1}
    yield Read(ITEM, e, "k", 1), e.clear
    f: dict[Any, Any] = {}
    yield Read(ABSENT, f, "k", MISSING), lambda: f.update(k=None)
    box = Box()
    yield Read(ATTRIBUTE, box, "a", MISSING), lambda: setattr(box, "a", 1)
    yield Read(KIND, box, None, Box), lambda: setattr(box, "__class__", Other)
    ordered = OrderedDict(a=1, b=2)
    yield Read(CONTENT, ordered, None, content_of(ordered)), lambda: ordered.move_to_end("a")
    line = deque([1, 2])
    yield Read(CONTENT, line, None, content_of(line)), line.rotate
    array = np.array([1.0])
    yield Read(CONTENT, array, None, content_of(array)), lambda: array.fill(2)
    items = [1.0]
    yield Read(CONTENT, items, None, content_of(items)), lambda: items.__setitem__(0, 1)
    short = [1]
    yield Read(LENGTH, short, None, 1), short.clear
    level = [1]
    yield Read(CALL, level.__getitem__, (0,), 1), lambda: level.__setitem__(0, 2)
    t = torch.ones(2)
    yield Read(META, t, None, meta_of(t)), t.requires_grad_
    yield Read(ABSENT, vars(Box), "later", MISSING), lambda: setattr(Box, "later", 1)


def test_every_change_is_found() -> None:
    for read, change in changes():
        check = Check([read])
        assert check()
        assert check.failing() is None
        change()
        assert not check(), read
        assert check.failing() is read
    del Box.later  # type: ignore[attr-defined]


def test_a_change_beside_is_not() -> None:
    d = {"k": 1, "u": 1}
    check = Check([Read(ITEM, d, "k", 1), Read(ABSENT, d, "other", MISSING)])
    d["u"] = 2
    assert check()
    Box.new = 1  # type: ignore[attr-defined]
    try:
        beside = Check([Read(ABSENT, vars(Other), "k", MISSING)])
        Other.u = 1  # type: ignore[attr-defined]
        assert beside()
    finally:
        del Box.new, Other.u  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", ["k", 1, None, (1, 2)])
def test_what_is_gone_does_not_hold(key: Any) -> None:
    d = {key: 1}
    check = Check([Read(ITEM, d, key, 1)])
    del d[key]
    assert not check()
    failing = check.failing()
    assert failing is not None
    assert failing.now() is MISSING
