"""Branches in loops and what is compared there, the same on every version of Python."""

from __future__ import annotations

import dis
import sys
from typing import Any

import pytest

from anyshape.torch_compat.branch_stack import EXIT, Branch, branches_of, stacks_of


def branches_in_loops(code: Any) -> dict[int, Branch]:
    stacks = stacks_of(code)
    return {
        at: branch
        for at, branch in branches_of(code).items()
        if branch.repeats and all(slot is EXIT for slot in stacks[at][: branch.depth])
    }


# A comment of "branch" is on each line with a branch in a loop at which nothing is half done.


def truths(x: Any) -> Any:
    if x:
        x = x + 1
    while x:  # branch
        if not x and x > 0:  # branch
            x = x - 1
        if x is None:
            continue
        y = x or 3  # branch
        x = y if x < 4 else not x  # branch
        assert x > 3  # branch
    return x


def half_done(x: Any, f: Any) -> Any:
    while x:  # branch
        f(x, 1 if x else 2)
        y = [x, x > 1 and x < 2]
        y += {"a": x if x.max() else 1}
        if 0 < x < 3:  # branch
            x = x - y
    return x


def iterators(x: Any) -> Any:
    for y in x:
        while y.sum():
            y.sub_(1)
    while x:  # branch
        x = [y for y in x if y]
    return x


def contexts(x: Any, c: Any) -> Any:
    with c, c as d:
        while x.sum() > 0:  # branch
            x = x - 1
            with d:
                if x == 4:  # branch
                    break
            try:
                x = x + 1
            except ValueError:
                if x:
                    x = 2
            if x > 3:  # branch
                x = x - 2
    return x


def handlers(x: Any) -> Any:
    try:
        x = x.missing()
    except AttributeError:
        x = x + 1
    if x:
        x = x + 2
    while x:  # branch
        try:
            x = x - 1
        except ValueError:
            continue
        if x:  # branch
            break
    return x


def forever(x: Any, k: int) -> Any:
    while True:
        x = x + k
        if x.item() == k:  # branch
            return x


FUNCTIONS = [truths, half_done, iterators, contexts, handlers, forever]


def lines_of(f: Any) -> set[int]:
    lines = {}
    for start, end, line in f.__code__.co_lines():
        lines.update(dict.fromkeys(range(start, end), line))
    return {lines[at] for at in branches_in_loops(f.__code__)}


@pytest.mark.parametrize("f", FUNCTIONS)
def test_branches_in_loops(f: Any) -> None:
    first = f.__code__.co_firstlineno
    with open(__file__) as file:
        text = file.read().splitlines()[first - 1 :]
    end = next(i for i, line in enumerate([*text[1:], "x"], 1) if line[:1].strip())
    wanted = {first + i for i, line in enumerate(text[:end]) if line.endswith("# branch")}
    assert lines_of(f) == wanted


def test_the_test_of_a_loop_has_one_place() -> None:
    def loop(x: Any) -> Any:
        while x > 0:
            x = x - 1
        if x:
            return 1
        return x

    places = [branch.place for branch in branches_of(loop.__code__).values()]
    assert len(set(places)) == 2


def test_a_generator_has_no_branches() -> None:
    def steps(x: Any) -> Any:
        while x:
            yield x

    assert not branches_in_loops(steps.__code__)


SIZE = 5


class Owner:
    size = 3

    def __init__(self) -> None:
        self.width = 4
        self.reads = 0

    @property
    def height(self) -> int:
        self.reads += 1
        return 3


def operands(source: str, **names: Any) -> list[Any]:
    """The known operands of the comparison in a loop, while its truth is asked."""
    found = []

    class Asked:
        def __bool__(self) -> bool:
            frame = sys._getframe(1)
            found.append(branches_in_loops(frame.f_code)[frame.f_lasti].operands(frame))
            return False

    class Compared:
        def __eq__(self, other: Any) -> Any:
            return Asked()

        __lt__ = __gt__ = __eq__
        __hash__ = None  # type: ignore[assignment]

    space = {"new": Compared, "SIZE": SIZE, **names}
    body = f"def f({', '.join(names)}):\n while True:\n  if {source}: pass\n  else: break"
    exec(body, space)
    space["f"](**names)  # type: ignore[operator]
    return found[0]


def is_one_instruction() -> bool:
    return any(b.compared is not None for b in branches_in_loops(forever.__code__).values())


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("new() == 3", [3]),
        ("3 < new()", [3]),
        ("new() > SIZE", [5]),
        ("new() == k", [7]),
        ("new() == owner.size", [3]),
        ("new() == owner.width", [4]),
        ("new() == new()", []),
        ("new() == owner.missing.size", []),
        ("new() == [k, k]", []),
        ("k == new()", []),  # `k` may be another one since it was read
        ("new() == (k := k + 1)", []),
    ],
)
def test_operands_of_a_comparison(source: str, known: list[Any]) -> None:
    class Missing:
        size = property(lambda self: 3)

    owner = Owner()
    owner.missing = Missing()  # type: ignore[attr-defined]
    found = [x for x in operands(source, k=7, owner=owner) if type(x) is int]
    assert found == (known if is_one_instruction() else [])


def test_attributes_are_read_without_running_code() -> None:
    owner = Owner()
    assert 3 not in operands("new() == owner.height", owner=owner)
    assert owner.reads == 1  # by the program itself


def test_items_are_numbers() -> None:
    """Before 3.13 no instruction both compares and branches, so there is nothing to tell."""
    compares = sys.version_info >= (3, 13)
    for source, expected in (
        ("x.item() < y.item()", True),
        ("x.item() * 2 < y", True),
        ("x < 1 + x.item()", True),
        ("x.item() + y < y", False),
        ("x.items() < y", False),
        ("x.item(0) < y", False),
        ("item() < y", False),
        ("[x.item()] < y", False),
    ):
        space: dict[str, Any] = {}
        exec(f"def f(x, y):\n while {source}:\n  x = y", space)
        code = space["f"].__code__
        items = [i.offset for i in dis.get_instructions(code) if i.opname == "CALL"]
        branches = branches_in_loops(code).values()
        assert any(b.compares_number(items) for b in branches) is (expected and compares), source
        assert not any(b.compares_number(()) for b in branches)
