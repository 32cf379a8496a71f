"""Loops that depend on data, compiled: where the state repeats, and where it only seems to."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.path import program_state, segment_tracer
from tests.differential.compile_pair import VALUES, agrees, numbers

Tensor = torch.Tensor


def hidden_counter() -> Any:
    def counter() -> Any:
        n = 0

        def tick() -> int:
            nonlocal n
            n += 1
            return n

        return tick

    def fn(x: Tensor) -> Tensor:
        tick = counter()
        while x.sum() < 20:
            x = x + tick()
        return x

    return fn


def mode_that_a_loop_changes() -> Any:
    def fn(x: Tensor) -> Tensor:
        while x.sum() < 20:
            x = x + (1 if torch.is_grad_enabled() else 2)
            torch.set_grad_enabled(False)
        torch.set_grad_enabled(True)
        return x

    return fn


def dtype_that_a_loop_changes() -> Any:
    def fn(x: Tensor) -> Any:
        while x.sum() < 20:
            x = x + 1 + torch.zeros(2).sum()
            torch.set_default_dtype(torch.float64)
        y = torch.zeros(1)
        torch.set_default_dtype(torch.float32)
        return x, y

    return fn


def nested_loops() -> Any:
    def fn(x: Tensor) -> Tensor:
        v = x.clamp(-9, 9)
        while v.abs().sum().item() > 2:
            v = v * 0.5
            u = torch.full_like(x, 0) + v
            while u.abs().sum() > 1:
                u = u * 0.25
        return v

    return fn


def branch_in_a_loop() -> Any:
    def fn(x: Tensor) -> Tensor:
        while x.abs().sum() > 2:
            x = x * 0.5
            x = x - 0.1 if x.max() > 0.7 else x * 0.9
        return x

    return fn


def swapped_names() -> Any:
    def fn(x: Tensor) -> Any:
        y = x * 2
        while x.sum() < 10:
            x, y = y + 1, x + 1
        return x, y

    return fn


def names_of_one_tensor() -> Any:
    def fn(x: Tensor) -> Any:
        a, b = x, x + 0
        while a.sum() < 10:
            a = b
            b = a + 1
            a.add_(1)
        return a, b

    return fn


def view_in_a_loop() -> Any:
    def fn(x: Tensor) -> Tensor:
        v = x.view(-1)
        while v.sum() < 10:
            v.add_(1)
        return v[:1]

    return fn


def list_that_grows() -> Any:
    def fn(x: Tensor) -> Any:
        seen = []
        while x.sum() < 6:
            seen.append(x)
            x = x + 1
        return seen, x

    return fn


def generator() -> Any:
    def fn(x: Tensor) -> list[Tensor]:
        def steps() -> Any:
            y = x
            while y.sum() < 8:
                yield y
                y = y + 1

        return list(steps())

    return fn


def recursion() -> Any:
    def deeper(x: Tensor, depth: int) -> Tensor:
        if depth == 0 or x.sum() < 0:
            return x
        return deeper(x - 1, depth - 1) + 1

    return lambda x: deeper(x, 4)


def sizes_from_data() -> Any:
    def fn(x: Tensor) -> Any:
        count = 0
        while x.sum() > 0:
            x = x[x > 0] - 1
            count = count + x.size(0)
        return x, count

    return fn


def argument_that_waits_for_a_branch() -> Any:
    """While the branch is taken, the popped number is on the stack of the frame alone."""

    def add(k: int, x: Tensor) -> Tensor:
        return x + k

    def fn(x: Tensor) -> Tensor:
        numbers_ = [1, 1]
        x = x + 0
        while x.sum() < 20:
            x = add(numbers_.pop(), x * 1 if x.max() < 3 else x - 0)
            numbers_ = [1, 50]
        return x

    return fn


def lists_that_are_compared() -> Any:
    """One instruction compares and branches: it asks for the truth of the elements, too."""

    def fn(x: Tensor) -> Any:
        numbers_ = [8, 8]
        x = x + 0
        while x.sum() < 20:
            a, b = x.max() * 1, x.abs().max() * 1
            x = x + 1 if [a, 7] == [b, numbers_.pop()] else x + 2
            numbers_ = [8, 7]
        return x

    return fn


CASES = [
    hidden_counter,
    mode_that_a_loop_changes,
    dtype_that_a_loop_changes,
    nested_loops,
    branch_in_a_loop,
    swapped_names,
    names_of_one_tensor,
    view_in_a_loop,
    list_that_grows,
    generator,
    recursion,
    sizes_from_data,
]


@pytest.mark.parametrize("make", CASES)
@pytest.mark.parametrize("dynamic", [None, "unbacked"])
def test_a_loop(make: Any, dynamic: Any) -> None:
    calls = [x for x in numbers(*VALUES) if not x.isnan().any()]
    agrees(make, calls, dynamic=dynamic)
    agrees(make, calls[::-1], dynamic=dynamic)


@pytest.mark.parametrize("make", [argument_that_waits_for_a_branch, lists_that_are_compared])
def test_a_value_that_is_on_the_stack_alone(make: Any) -> None:
    agrees(make, numbers(2.5, -5.0, 4.0, 18.5, 1.0, -30.0))
    agrees(make, numbers(-5.0, 18.5, 4.0, 2.5))


ASKS = {
    "any": lambda x, y, z: x - 1 if any(v.sum() > 1 for v in (x, y, z)) else x + 2,
    "all": lambda x, y, z: x - 1 if all(v.sum() > 1 for v in (x, y, z)) else x + 2,
    "all of a list": lambda x, y, z: x - 1 if all([x.sum(), y.sum() - 1, z.sum()]) else x + 2,
    "max": lambda x, y, z: max(x.sum(), y.sum(), z.sum()) + x * 0.5,
    "max by a key": lambda x, y, z: max((x, y, z), key=lambda v: v.sum()) + x * 0.1,
    "sorted": lambda x, y, z: sorted([x.sum(), y.sum(), z.sum()])[1] + x * 0.5,
    "== of lists": lambda x, y, z: x - 1 if [x.sum(), y.sum()] == [y.sum(), z.sum()] else x + 2,
    "< of tuples": lambda x, y, z: x - 1 if (x.sum(), y.sum()) < (y.sum(), z.sum()) else x + 2,
    "in": lambda x, y, z: x - 1 if x.sum() in [y.sum(), z.sum()] else x + 2,
    "filter": lambda x, y, z: sum(filter(None, [v.sum().relu() for v in (x, y, z)]), x),
    "map": lambda x, y, z: x + sum(map(bool, [x.sum() > 0, y.sum() > 0, z.sum() > 0])),
}


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("often", [1, 2])
def test_a_question_of_a_function_of_python(name: str, often: int) -> None:
    """Its place in a loop is in no frame."""

    def make() -> Any:
        def fn(x: Tensor, y: Tensor, z: Tensor) -> Any:
            n = 0
            while n < often:
                n += 1
                x = ASKS[name](x, y, z)
            return x

        return fn

    numbers_ = torch.Generator().manual_seed(1)
    values = torch.randn(18, 3, 2, generator=numbers_).round()
    scale = torch.arange(1, 4).repeat(6)[:, None, None]
    agrees(make, [tuple(row) for row in values * scale])


def test_a_state_that_is_not_seen_whole_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: functions are taken to have no state."""
    calls = numbers(3, -30, 2)
    agrees(hidden_counter, calls)
    monkeypatch.setattr(program_state._Reader, "read", _blind(program_state._Reader.read))
    monkeypatch.setattr(segment_tracer.SegmentTracer, "_need_same", lambda *_, **__: None)
    with pytest.raises(AssertionError, match="result"):
        agrees(hidden_counter, calls)


def _blind(read: Any) -> Any:
    def blind(self: Any, x: Any) -> Any:
        return id(x) if callable(x) else read(self, x)

    return blind


def two_items(x: Tensor, y: Tensor) -> Tensor:
    while x.sum().item() < y.sum().item():
        x = x + 1
    return x


def two_different_items(x: Tensor, y: Tensor) -> Tensor:
    while x.long().amax().item() != y.long().amax().item():
        x = x + 1
    return x


def computed_from_items(x: Tensor, y: Tensor) -> Tensor:
    while x.sum().item() * 2 < 1 + y.sum().item() * 2:
        x = x + 1
    return x


@pytest.mark.parametrize("fn", [two_items, two_different_items, computed_from_items])
def test_a_loop_over_items_closes(fn: Any) -> None:
    compiled = anyshape.compile(fn)
    for n in (3, 5, 9, 20, 33):
        x, y = torch.ones(2), torch.full((2,), 1.0 * n)
        assert torch.equal(compiled(x, y), fn(x, y))
    assert compiled.stats.extensions == 0
    (entry,) = compiled.entries
    assert len(list(entry.root.below())) == 4


def test_lists_of_items_are_compared_element_by_element() -> None:
    def fn(x: Tensor, y: Tensor) -> Tensor:
        while x.tolist() < y.tolist():
            x = x + torch.tensor([1.0, 0.0])
        return x

    compiled = anyshape.compile(fn)
    for first, second in ((3, 1), (5, 9), (1, 1), (1, 4), (20, 0)):
        x, y = torch.ones(2), torch.tensor([1.0 * first, second])
        assert torch.equal(compiled(x, y), fn(x, y))
