"""Checks over many reads: dicts that are read alike, classes, metadata of tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.trace.record.read.read import (
    ABSENT,
    CONTENT,
    EMPTY,
    ITEM,
    META,
    MISSING,
    Read,
    content_of,
    meta_of,
)
from anyshape.trace.record.read.read_check import Check
from anyshape.trace.record.read.watch import Watch


def rows(count: int) -> tuple[list[dict[str, Any]], list[Read]]:
    """Dicts of which the same keys are read, and the reads."""
    dicts = [{"a": i, "hooks": {}, "other": 0} for i in range(count)]
    reads = []
    for d in dicts:
        reads.append(Read(ITEM, d, "a", d["a"]))
        reads.append(Read(EMPTY, d, "hooks", ()))
        reads.append(Read(ABSENT, d, "gone", MISSING))
    return dicts, reads


def change_item(d: dict[str, Any]) -> None:
    d["a"] = float(d["a"])


def remove_item(d: dict[str, Any]) -> None:
    del d["a"]


def add_hook(d: dict[str, Any]) -> None:
    d["hooks"][0] = print


def add_key(d: dict[str, Any]) -> None:
    d["gone"] = None


@pytest.mark.parametrize("change", [change_item, remove_item, add_hook, add_key])
@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_each_change_of_each_dict_is_found(count: int, change: Any) -> None:
    for place in range(count):
        dicts, reads = rows(count)
        check = Check(reads)
        assert check()
        dicts[place]["other"] = 1
        dicts[place]["hooks"] = {}
        dicts[place]["a"] = int(str(dicts[place]["a"]))  # an equal number
        assert check()
        change(dicts[place])
        assert not check()
        failing = check.failing()
        assert failing is not None
        assert failing.owner is dicts[place]


def test_a_class_that_lost_one_name_and_got_another() -> None:
    class Box:
        first = 1

    check = Check([Read(ABSENT, vars(Box), "second", MISSING)])
    assert check()
    del Box.first
    assert check()
    Box.second = 1  # type: ignore[attr-defined]
    assert not check()


CHANGES: list[Any] = [
    lambda t: t.requires_grad_(False),
    lambda t: setattr(t, "data", torch.ones(3, 2)),
    lambda t: setattr(t, "data", torch.ones(2, 3, dtype=torch.float64)),
    lambda t: setattr(t, "data", torch.ones(3, 2).t()),
]


@pytest.mark.parametrize("change", CHANGES)
def test_metadata_of_tensors(change: Any) -> None:
    tensors = [torch.nn.Parameter(torch.ones(2, 3)) for _ in range(3)]
    check = Check([Read(META, t, None, meta_of(t)) for t in tensors])
    assert check()
    with torch.autocast("cpu"):
        assert check()
    with torch.inference_mode():
        assert check()
    with torch.no_grad():
        tensors[1].mul_(2)
        assert check()
        change(tensors[1])
    assert not check()


def test_a_check_that_is_made_anew_tests_for_what_was_read() -> None:
    t = torch.ones(2)
    read = Read(META, t, None, meta_of(t))
    watch = Watch({("meta", id(t), None): read}, {})
    t.requires_grad_()
    other = {"k": 1}
    watch.add(Watch({("item", id(other), "k"): Read(ITEM, other, "k", 1)}, {}))
    assert not watch()
    t.requires_grad_(False)
    assert watch()


@pytest.mark.parametrize("held", [[1, "a"], {"a": 1, "b": 2}, {}, []])
def test_contents_are_compared_in_their_order(held: Any) -> None:
    check = Check([Read(CONTENT, held, None, content_of(held))])
    assert check()
    before = list(held.items()) if type(held) is dict else list(held)
    held.clear()
    assert check() is not bool(before)
    held.update(reversed(before)) if type(held) is dict else held.extend(reversed(before))
    assert check() is not bool(before)
    held.clear()
    held.update(before) if type(held) is dict else held.extend(before)
    assert check()
