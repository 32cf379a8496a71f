"""Which variables may still be read, the same on every version of Python."""

from __future__ import annotations

import dis
from typing import Any

from anyshape.torch_compat.live_locals import live_after


def live_on_line(f: Any, text: str) -> frozenset[str]:
    """The live variables after the branch on the line that ends with a comment."""
    with open(__file__) as file:
        line = next(i for i, x in enumerate(file, 1) if x.endswith(f"  # {text}\n"))
    at = None
    for step in dis.get_instructions(f.__code__):
        place = step.positions.lineno if step.positions is not None else None
        if place == line and "_IF_" in step.opname:
            at = step.offset
    assert at is not None
    return live_after(f.__code__, at)


def plain(x: Any, y: Any) -> Any:
    t = x * 2
    z = t + y
    if z > 0:  # plain
        t = 3
        return t + 1
    return y


def test_what_is_assigned_before_it_is_read_is_dead() -> None:
    assert live_on_line(plain, "plain") == {"y"}


def looped(x: Any, y: Any) -> Any:
    t = None
    while x > 0:
        if y:  # looped
            y = t
        t = x
        x = x - 1
    return y


def test_what_the_next_round_reads_is_live() -> None:
    assert live_on_line(looped, "looped") == {"x", "y", "t"}


def handled(x: Any, y: Any, z: Any) -> Any:
    try:
        if x:  # handled
            y = x.missing
    except AttributeError:
        return y
    return x


def test_what_a_handler_reads_is_live() -> None:
    assert live_on_line(handled, "handled") == {"x", "y"}


def shared(x: Any, y: Any) -> Any:
    def inner() -> Any:
        return y

    if x:  # shared
        return 1
    return 2


def test_what_closures_share_is_live() -> None:
    assert live_on_line(shared, "shared") == {"y"}


def named(x: Any, y: Any) -> Any:
    if x:  # named
        return locals()
    return 2


def test_what_may_be_read_by_name_is_live() -> None:
    assert live_on_line(named, "named") == {"x", "y"}


def inlined(x: Any, y: Any) -> Any:
    z = 1
    if x:  # inlined
        return [z for z in y]  # noqa: C416
    return z


def test_a_variable_of_a_comprehension_is_no_other() -> None:
    assert live_on_line(inlined, "inlined") == {"y", "z"}
