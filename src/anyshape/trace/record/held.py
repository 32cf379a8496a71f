"""`Held`: objects from outside among the arguments of the calls of a graph."""

from __future__ import annotations

from typing import Any


class Held:
    """An object from outside among the arguments of a call: passed as it is, and not copied."""

    __slots__ = ("object",)

    def __init__(self, x: Any) -> None:
        self.object = x

    def __repr__(self) -> str:
        return f"<{type(self.object).__name__}>"


def owner_of(x: Any) -> Any:
    """The object that an effect is about: held from outside, or made by the program."""
    return x.object if type(x) is Held else x


def given(x: Any) -> Any:
    """An argument with the objects that are held; only tuples are taken apart."""
    kind = type(x)
    if kind is Held:
        return x.object
    return tuple([given(part) for part in x]) if kind is tuple else x
