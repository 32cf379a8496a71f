"""What has changed between calls, and that alone."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anyshape.compile.dynamism import history as module
from anyshape.compile.dynamism.history import History, Place


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


def story(*calls: Any) -> list[set[Place]]:
    """What each call of a function of `x` changes."""
    history = History()
    return [history.note(["x"], [x]) for x in calls]


ROW = Place("x", 0)
COLUMN = Place("x", 1)
NUMBER = Place("x", None)
NOTHING: set[Place] = set()
NAN = float("nan")


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([tensor(4, 5), tensor(4, 5)], [NOTHING, NOTHING]),
        ([tensor(4, 5), tensor(6, 5), tensor(7, 5)], [NOTHING, {ROW}, NOTHING]),
        ([tensor(4, 5), tensor(6, 5), tensor(7, 8)], [NOTHING, {ROW}, {COLUMN}]),
        ([tensor(4, 5), tensor(6, 7)], [NOTHING, {ROW, COLUMN}]),
        ([tensor(4, 5), tensor(1, 5)], [NOTHING, {ROW}]),
        ([tensor(4, 5), tensor(4), tensor(5, 5)], [NOTHING, NOTHING, {ROW}]),
        ([tensor(4), tensor(5, dtype=torch.int64), tensor(5)], [NOTHING, NOTHING, {ROW}]),
        ([tensor(), tensor()], [NOTHING, NOTHING]),
        ([3, 3, 4, 5], [NOTHING, NOTHING, {NUMBER}, NOTHING]),
        ([0, -1], [NOTHING, {NUMBER}]),
        ([0.5, 0.5, 0.25], [NOTHING, NOTHING, {NUMBER}]),
        ([NAN, float("nan"), 1.0], [NOTHING, NOTHING, {NUMBER}]),
        ([1, 1.0, 2], [NOTHING, NOTHING, {NUMBER}]),
        ([True, False], [NOTHING, NOTHING]),
        (["a", "b", None, torch.float32], [NOTHING] * 4),
        ([None, tensor(4), None, tensor(5)], [NOTHING, NOTHING, NOTHING, {ROW}]),
        ([3, tensor(4), 4], [NOTHING, NOTHING, {NUMBER}]),
    ],
)
def test_what_a_call_changes(calls: list[Any], expected: list[set[Place]]) -> None:
    assert story(*calls) == expected


def test_the_answer_is_for_the_rank_and_dtype_of_the_latest_call_or_of_a_given_one() -> None:
    history = History()
    for x in (tensor(4, 5), tensor(6, 5), tensor(9)):
        history.note(["x"], [x])
    assert not history.is_dynamic("x", 0)
    assert history.is_dynamic("x", 0, tensor(1, 1))
    assert not history.is_dynamic("x", 1, tensor(1, 1))
    assert not history.is_dynamic("x", 0, tensor(1, 1, dtype=torch.int64))
    assert not history.is_dynamic("y", 0)
    history.note(["x"], [tensor(6, 5)])
    assert history.is_dynamic("x", 0)
    assert history.dynamic == {ROW}


def test_names_are_apart() -> None:
    history = History()
    history.note(["x", "batch[0]"], [tensor(4), 3])
    assert history.note(["x", "batch[0]", "batch[1]"], [tensor(4), 5, 5]) == {("batch[0]", None)}
    assert history.note(["x"], [tensor(5)]) == {ROW}
    assert history.dynamic == {ROW, ("batch[0]", None)}


def test_what_is_known_before_is_dynamic_and_no_news() -> None:
    history = History([("x", 0), ("k", None)])
    assert history.is_dynamic("x", 0)
    assert history.is_dynamic("x", 0, tensor(3, 3))
    assert history.is_dynamic("k", None)
    assert not history.is_dynamic("x", 1)
    history.note(["x", "k"], [tensor(4, 5), 1])
    assert history.note(["x", "k"], [tensor(5, 6), 2]) == {COLUMN}
    assert history.dynamic == {ROW, COLUMN, ("k", None)}


def test_what_is_learned_later_is_dynamic_too() -> None:
    history = History()
    history.note(["x"], [tensor(4, 5)])
    history.learn([("x", 1)])
    assert history.is_dynamic("x", 1)
    assert history.note(["x"], [tensor(6, 6)]) == {ROW}
    assert history.dynamic == {ROW, COLUMN}


VALUES = st.one_of(
    st.lists(st.integers(0, 3), max_size=3).map(lambda shape: tensor(*shape)),
    st.integers(-1, 1),
    st.sampled_from([0.0, 1.0, NAN]),
    st.booleans(),
    st.none(),
)


@given(st.lists(VALUES, max_size=12))
def test_against_all_calls_at_once(calls: list[Any]) -> None:
    """A place is dynamic exactly if two calls of one kind differ in it."""
    told = [place for places in story(*calls) for place in places]
    expected = set()
    for a in calls:
        for b in calls:
            if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
                if a.dim() == b.dim():
                    expected |= {("x", d) for d in range(a.dim()) if a.size(d) != b.size(d)}
            elif type(a) is type(b) and type(a) in (int, float) and a != b and (a == a or b == b):
                expected.add(("x", None))
    assert set(told) == expected
    history = History()
    for x in calls:
        history.note(["x"], [x])
    assert history.dynamic == expected


def test_threads_lose_nothing() -> None:
    history = History()
    told: list[Place] = []
    barrier = threading.Barrier(8)

    def work(i: int) -> None:
        barrier.wait()
        for k in range(200):
            names = [f"a{k % 20}", f"b{i}"]
            told.extend(history.note(names, [tensor(2 + k + i, 3), k]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {(f"a{i}", 0) for i in range(20)} | {(f"b{i}", None) for i in range(8)}
    assert len(told) == len(set(told))
    assert set(told) == history.dynamic == expected


def test_a_comparison_that_is_always_equal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_same", lambda a, b: True)
    with pytest.raises(AssertionError):
        test_what_a_call_changes([tensor(4, 5), tensor(6, 5)], [NOTHING, {ROW}])
