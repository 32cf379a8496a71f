"""Attributes that a program deletes from an object: those of the class, or none, are left."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.record.attribute import attribute


class OfClass:
    """The class has one of this name too."""

    x = 50


class Method:
    """The class has a method of this name."""

    def x(self) -> int:
        """Nine."""
        return 9


class Fallback:
    """Finds what it lacks."""

    def __getattr__(self, name: str) -> int:
        if name == "x":
            return 70
        raise AttributeError(name)


class Bare:
    """Has nothing."""


of_class, method, fallback, bare = OBJECTS = OfClass(), Method(), Fallback(), Bare()


def asked(o: Any) -> Any:
    def f(t: Any) -> Any:
        del o.x
        got = t + hasattr(o, "x")
        o.x = 3
        return got

    return f


def read(o: Any) -> Any:
    def f(t: Any) -> Any:
        del o.x
        found = getattr(o, "x", 8)
        got = t + (found() if callable(found) else found)
        o.x = 3
        return got

    return f


def read_plainly(o: Any) -> Any:
    def f(t: Any) -> Any:
        del o.x
        try:
            found = object.__getattribute__(o, "x")
        except AttributeError:
            found = 100
        got = t + (found() if callable(found) else found)
        o.x = 3
        return got

    return f


def outcome(call: Any, n: int) -> Any:
    for o in OBJECTS:
        vars(o)["x"] = 3
    return call(torch.ones(n)).tolist()


@pytest.mark.parametrize("o", OBJECTS, ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("make", [asked, read, read_plainly])
def test_what_is_left_is_as_in_eager_execution(make: Any, o: Any) -> None:
    call = anyshape.compile(make(o), dynamic=True)
    for n in (2, 1, 0):
        assert outcome(call, n) == outcome(make(o), n)


def test_a_planted_lookup_that_raises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: Any, **__: Any) -> Any:
        raise AttributeError

    monkeypatch.setattr(attribute, "beyond_deleted", raises)
    call = anyshape.compile(asked(of_class), dynamic=True)
    assert outcome(call, 2) != outcome(asked(of_class), 2)
