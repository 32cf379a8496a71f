"""Entries of the log as reads: each place that a step looked at is watched, and no other."""

from __future__ import annotations

from typing import Any

import torch

import anyshape
from anyshape.trace.record.read.read_log import CALL_HOOKED, CLASS_NAME, REGISTERED, Unfolding
from anyshape.trace.record.read.watch import Watch


class Root:
    level = 1


class Middle(Root):
    pass


class Leaf(Middle):
    pass


def watch_of(*entries: Any, inputs: Any = ()) -> Watch:
    unfolding = Unfolding(entries, {}, inputs)
    return Watch(unfolding.places, unfolding.origin)


def test_a_name_in_a_class_is_a_read_of_every_base_before_it() -> None:
    watch = watch_of((CLASS_NAME, Leaf, "level", (Leaf.__mro__, 2, 1)))
    assert watch()
    Middle.level = 1
    try:
        assert not watch()
    finally:
        del Middle.level
    assert watch()
    Root.level = 2
    try:
        assert not watch()
    finally:
        Root.level = 1


def test_a_registered_parameter_is_a_read_of_the_tables_before_it() -> None:
    m = torch.nn.BatchNorm1d(2)
    own = vars(m)
    tables = [own["_parameters"], own["_buffers"]]
    entry = (REGISTERED, m, "running_mean", (own, tables, m.running_mean))
    watch = watch_of(entry)
    assert watch()
    own["running_mean"] = 1
    assert not watch()
    del own["running_mean"]
    assert watch()
    given = watch_of(entry, inputs={("item", id(tables[1]), "running_mean")})
    m.running_mean = torch.zeros(2)
    assert not watch()
    assert given()


def test_hooks_are_watched_with_their_tables() -> None:
    m = torch.nn.Linear(1, 1)
    own = vars(m)
    watch = watch_of((CALL_HOOKED, m, None, (own, [None] * 4)))
    assert watch()
    handle = m.register_forward_pre_hook(lambda *_: None)
    assert not watch()
    handle.remove()
    assert watch()


class Counted:
    limit = 1

    def scaled(self, x: Any) -> Any:
        return x * self.limit


def test_a_class_that_the_program_changes_is_looked_at_again() -> None:
    counted = Counted()

    def program(x: Any) -> Any:
        first = counted.scaled(x)
        Counted.limit = 3
        second = counted.scaled(x)
        Counted.limit = 1
        return first, second

    compiled = anyshape.compile(program)
    for _ in range(2):
        first, second = compiled(torch.ones(2))
        assert first.tolist() == [1.0, 1.0]
        assert second.tolist() == [3.0, 3.0]
    assert Counted.limit == 1
