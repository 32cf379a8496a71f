"""Objects that only a trace keeps."""

from __future__ import annotations

from typing import Any

from anyshape.trace.record.garbage import unreferenced


class Thing(dict[str, int]):
    """An object with attributes and items."""

    other: Any


def test_closures_and_generators() -> None:
    def keep() -> tuple[Any, dict[int, Any]]:
        a, b = Thing(), Thing()
        steps = (a.get("x") is None for _ in range(2))
        next(steps)
        b.other = a
        kept = {id(x): x for x in (a, b, steps)}
        return steps, kept

    steps, kept = keep()
    assert {type(x) for x in unreferenced(kept)} == {Thing}
    assert len(unreferenced(kept)) == 1  # `b`: `steps` refers to `a`
    del steps
    assert len(unreferenced(kept)) == 3


def test_attributes() -> None:
    a = Thing()
    a.other = Thing()
    kept = {id(a): a, id(a.other): a.other}
    assert unreferenced(kept) == []
    rest = a.other
    del a
    assert len(unreferenced(kept)) == 1
    assert all(x is not rest for x in unreferenced(kept))
