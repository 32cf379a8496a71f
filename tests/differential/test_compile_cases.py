"""Programs that break, one by one: what was wrong once, and what looks as if it could be.

Each `make` makes a program; two of them, one compiled, are called with the same inputs.
"""

from __future__ import annotations

import collections
import itertools
from typing import Any

import pytest
import torch

from anyshape import compile
from anyshape.compile.tree import trace_path
from tests.differential.compile_pair import VALUES, agrees, numbers

Tensor = torch.Tensor


def not_a_number() -> Any:
    def fn(x: Tensor) -> Tensor:
        v = x.sum().item()
        if v > 0:
            return x + 1
        if v <= 0:
            return x - 1
        return x * 0

    return fn


def caught_by_index() -> Any:
    def fn(x: Tensor) -> Tensor:
        try:
            return x[int(x.sum().item())] + 0
        except IndexError:
            return x.sum()

    return fn


def caught_by_data() -> Any:
    def fn(x: Tensor) -> Any:
        try:
            return torch.linalg.cholesky(torch.eye(2) * x.sum())
        except torch.linalg.LinAlgError:
            return x * 2

    return fn


def written_before_it_is_caught() -> Any:
    def fn(x: Tensor) -> Any:
        x.add_(1)
        try:
            torch.linalg.cholesky(torch.eye(2) * x.sum())
        except torch.linalg.LinAlgError:
            x.mul_(2)
        finally:
            x.sub_(3)
        return x + torch.rand(2)

    return fn


def refused_and_caught() -> Any:
    def fn(x: Tensor) -> Any:
        try:
            return torch.from_numpy(x.cumsum(0).numpy())
        except Exception:
            return x * 2

    return fn


def raised_after_writes() -> Any:
    def fn(x: Tensor) -> Tensor:
        x.add_(1)
        if x.sum() > 0:
            x.mul_(2)
            raise ValueError("no")
        x.sub_(5)
        return x + torch.rand(2)

    return fn


def raised_in_a_mode() -> Any:
    def fn(x: Tensor) -> Tensor:
        with torch.set_grad_enabled(False):
            s = (x > 0).sum()
            if s > 1:
                raise KeyError("no")
        return x + s

    return fn


def modes_across_breaks() -> Any:
    w = torch.ones(2, requires_grad=True)

    def fn(x: Tensor) -> Any:
        with torch.no_grad():
            y = w * x if x.sum() > 0 else w + x
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = (y[None] @ y[:, None]) if y.max() > 1 else y
        return y, z, w * 2

    return fn


def forked_generator() -> Any:
    def fn(x: Tensor) -> Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(3)
            r = torch.rand(2)
            if r.sum() + x.sum() > 0:
                r = r + torch.rand(2)
        return r + torch.rand(2)

    return fn


def draws_before_it_raises() -> Any:
    def fn(x: Tensor) -> Tensor:
        r = torch.rand(2)
        if (x + r).sum() > 0:
            torch.rand(3)
            raise ValueError("no")
        return x + torch.rand(2)

    return fn


def fresh_results() -> Any:
    def fn(x: Tensor) -> Any:
        y = torch.tensor([1.0, 2.0])
        if x.sum() > 0:
            y += x
        return y, torch.zeros(2)

    return fn


def count_as_text() -> Any:
    def fn(x: Tensor) -> Any:
        n = int(x.clamp(-2, 2).sum().item())
        return f"{n}", {n: x + n}

    return fn


def class_attribute() -> Any:
    class Seen:
        times = 0

    def fn(x: Tensor) -> Tensor:
        Seen.times += 1
        return x + Seen.times

    return fn


def gradient_asked_after_a_break() -> Any:
    def fn(x: Tensor) -> Tensor:
        if x.sum() > 0 and x.requires_grad:
            return x * 2
        return x.detach() - 1

    return fn


def layout_asked_after_a_break() -> Any:
    def fn(x: Tensor) -> Tensor:
        y = torch.stack([x, x + 1]).t()
        if x.sum() > 0:
            return y * 2 if y.is_contiguous() else y + 1
        return x if x.stride(0) == 1 else x - 1

    return fn


class Fivefold(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 5


def gradient_of_its_own() -> Any:
    def fn(x: Tensor) -> Tensor:
        y = Fivefold.apply(x)
        return y if y.sum() > 0 else y + 1

    return fn


def truth_of_a_whole_number() -> Any:
    count = torch.tensor(0)

    def fn(x: Tensor) -> Tensor:
        try:
            if count:
                return x - 1
            count.add_(x.sum() > 0)
        except Exception:
            return x * 0
        return x + 1

    return fn


def condition_as_key() -> Any:
    def fn(x: Tensor) -> Any:
        try:
            return {True: x + 1, False: x}[x.sum().item() > 0]
        except Exception:
            return x * 0

    return fn


def shape_after_a_break() -> Any:
    def fn(x: Tensor) -> Any:
        y = x[x > 0]
        return (y[:1].shape, x.shape) if y.numel() > 1 else y.shape

    return fn


class Slots:
    __slots__ = ("times",)


def object_with_slots() -> Any:
    seen = Slots()
    seen.times = 0

    def fn(x: Tensor) -> Tensor:
        seen.times += 1
        return x + seen.times

    return fn


def queue() -> Any:
    seen: Any = collections.deque()

    def fn(x: Tensor) -> Tensor:
        seen.append(1)
        return x + len(seen)

    return fn


def iterator() -> Any:
    numbers_ = itertools.count()
    return lambda x: x + next(numbers_)


CASES = [
    not_a_number,
    caught_by_index,
    caught_by_data,
    written_before_it_is_caught,
    refused_and_caught,
    raised_after_writes,
    raised_in_a_mode,
    modes_across_breaks,
    forked_generator,
    draws_before_it_raises,
    fresh_results,
    count_as_text,
    gradient_of_its_own,
    truth_of_a_whole_number,
    condition_as_key,
    shape_after_a_break,
    object_with_slots,
    queue,
    iterator,
    class_attribute,
    gradient_asked_after_a_break,
    layout_asked_after_a_break,
]


@pytest.mark.parametrize("make", CASES)
@pytest.mark.parametrize("dynamic", [None, "unbacked"])
def test_a_program_that_breaks(make: Any, dynamic: Any) -> None:
    calls = [x.requires_grad_(i % 3 == 2) for i, x in enumerate(numbers(*VALUES))]
    agrees(make, calls, dynamic=dynamic)
    agrees(make, calls[::-1], dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
def test_what_was_written_before_an_error_stays(dynamic: Any) -> None:
    def make() -> Any:
        def fn(x: Tensor, y: Tensor) -> Tensor:
            x.add_(1)
            if x.sum() > 0:
                x.mul_(2)
            return x + y

        return fn

    sizes = ((3, 3), (3, 4), (5, 5), (5, 7), (3, 3))
    agrees(make, [(torch.ones(n), torch.ones(m)) for n, m in sizes], dynamic=dynamic)


def test_containers_among_the_arguments() -> None:
    def make() -> Any:
        def fn(x: Tensor, seen: list[Any], named: dict[str, Any]) -> Tensor:
            seen.append(x + 1)
            if x.sum() > 0:
                named["y"] = x * 2
            return x.sum()

        return fn

    agrees(make, [(x, [x], {"x": x}) for x in numbers(1, -2, 3, -4)])


def test_two_names_of_one_memory() -> None:
    def make() -> Any:
        def fn(x: Tensor) -> Tensor:
            y = x.view(-1)
            before = x[0].item()
            y.add_(1)
            return torch.zeros(1) + before * 10 + x[0].item()

        return fn

    agrees(make, numbers(1, 2, 3))

    def inner(x: Tensor, y: Tensor) -> Tensor:
        before = x.item()
        y.add_(1)
        return torch.zeros(1) + before * 10 + x.item()

    compiled = compile(inner)
    for v in (1, 2):
        x, same = torch.tensor(v), torch.tensor(v)
        assert torch.equal(compiled(x, x.view(-1)), inner(same, same.view(-1)))


def test_what_is_returned_is_what_eager_returns() -> None:
    compiled = compile(lambda x: (x, x.view(-1)) if x.sum() > 0 else (x.t(), x))
    for x in (torch.ones(2, 2), -torch.ones(2, 2), torch.ones(2, 2)):
        a, b = compiled(x)
        whole, view = (a, b) if x.sum() > 0 else (b, a)
        assert whole is x
        assert view._base is x


def test_writes_that_are_lost_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: what a program did before it raised is forgotten."""
    calls = numbers(-4, 3, -4, 3)
    agrees(raised_after_writes, calls)
    monkeypatch.setattr(trace_path.PathTracer, "flush", lambda self: None)
    with pytest.raises(AssertionError, match="inputs"):
        agrees(raised_after_writes, calls)
