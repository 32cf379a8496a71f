"""Local variables of a function that is running."""

from __future__ import annotations

import sys
from typing import Any

from anyshape.torch_compat.local_variable import assign_local


def set_in_caller(name: str, value: Any) -> None:
    assign_local(sys._getframe(1), name, value)


def test_a_variable_of_a_caller() -> None:
    def program() -> Any:
        first, second = 1, [2]
        kept = second
        set_in_caller("first", 5)
        return first, second, kept is second

    assert program() == (5, [2], True)


def test_a_variable_that_a_closure_shares() -> None:
    def program() -> Any:
        n = 1

        def read() -> int:
            return n

        set_in_caller("n", 7)
        return n, read()

    assert program() == (7, 7)


def test_the_variable_of_a_loop_goes_on_from_the_new_value() -> None:
    seen = []
    i = 0
    while i < 10:
        seen.append(i)
        if i == 2:
            set_in_caller("i", 8)
        i += 1
    assert seen == [0, 1, 2, 9]


def test_objects_live_as_long_as_they_are_held() -> None:
    class Thing:
        pass

    thing = Thing()
    count = sys.getrefcount(thing)

    def program() -> Any:
        held = thing
        set_in_caller("held", None)
        return held

    assert program() is None
    assert sys.getrefcount(thing) == count
