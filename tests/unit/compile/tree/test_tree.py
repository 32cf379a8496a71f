"""The trace tree: programs that break, against eager execution."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeWarning, DataDependentError
from anyshape.trace.path import segment_tracer

if TYPE_CHECKING:
    from collections.abc import Callable

    Tensor = torch.Tensor
    Make = Callable[[int], tuple[Any, ...]]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        same_kind = a.shape == b.shape and a.dtype == b.dtype and a.requires_grad == b.requires_grad
        return same_kind and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) and type(a) is type(b)


def outcome(f: Any, args: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    try:
        result = f(*args)
    except (ValueError, IndexError) as e:
        result = repr(e)
    return [result, list(args), torch.rand(1)]


def agree(fn: Any, make: Make, calls: int = 40, **options: Any) -> Any:
    """Compare a compiled function with the function: results, inputs, and the generator."""
    compiled = anyshape.compile(fn, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnyshapeWarning)
        for i in range(calls):
            torch.manual_seed(1000 + i)
            args = make(i)
            copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in args]
            want = outcome(fn, copies, i)
            got = outcome(compiled, args, i)
            assert same(got, want), (i, got, want)
    return compiled


def segments(compiled: Any) -> list[int]:
    return [sum(1 for _ in e.root.below()) if e.root else 1 for e in compiled.entries]


def row(i: int) -> tuple[Any, ...]:
    return (torch.randn(4),)


def growing(i: int) -> tuple[Any, ...]:
    return (torch.randn(4) * 2.0 ** (i % 9),)


def test_a_branch_has_two_ends() -> None:
    def f(x: Tensor) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    compiled = agree(f, row)
    assert segments(compiled) == [3]
    assert (compiled.stats.traces, compiled.stats.extensions) == (1, 1)


def test_a_loop_closes_when_its_state_repeats() -> None:
    def f(x: Tensor) -> Any:
        while x.abs().max() > 1:
            x = x / 2
        return x

    compiled = agree(f, growing)
    assert segments(compiled) == [5]
    assert compiled.stats.extensions <= 2
    assert torch.equal(compiled(torch.full((4,), 2.0**50)), torch.ones(4))
    assert segments(compiled) == [5]


def halving(test: str) -> Any:
    """A module whose loop has the test `test`."""
    source = f"""
def forward(self, x):
    one, k = 1, torch.ones(())
    while {test}:
        x = x / 2
    return x
"""
    space: dict[str, Any] = {"torch": torch, "LIMIT": 1}
    exec(source, space)

    class Halving(torch.nn.Module):
        forward = space["forward"]

        def __init__(self) -> None:
            super().__init__()
            self.limit = 1
            self.register_buffer("most", torch.ones(()))

    return Halving()


@pytest.mark.parametrize(
    "test",
    [
        "x.abs().max() > 1",
        "1 < x.abs().max()",
        "x.abs().max() > one",
        "x.abs().max() > LIMIT",
        "x.abs().max() > self.limit",
        "x.abs().max() > self.most",
        "self.most < x.abs().max()",
        "x.abs().max() > k",
        "x.abs().max() > torch.ones(())",
        "(x.abs().max() > 1) == True",
        "x.abs().max().ceil() != x.abs().max().clamp(max=1).ceil()",
        "x.abs().max().item() > 1",
        "1 < x.abs().max().item()",
        "x.abs().max().item() > self.limit",
        "(x.abs() > 1).any()",
        "not (x.abs() <= 1).all()",
        "(x.abs() > 1).any() or x.sum() > 100",
        "x.abs().max() > 1 and x.abs().max() > 0.5",
    ],
)
def test_a_loop_closes_however_its_test_is_written(test: str) -> None:
    compiled = anyshape.compile(halving(test))
    for x in (torch.full((4,), 3.0), torch.full((4,), 0.5), torch.full((4,), 9.0)):
        compiled(x)
    traced = compiled.stats.traces, compiled.stats.extensions
    assert torch.equal(compiled(torch.full((4,), 2.0**50)), torch.ones(4))
    assert (compiled.stats.traces, compiled.stats.extensions) == traced


def test_a_loop_that_swaps_its_tensors() -> None:
    def f(a: Tensor, b: Tensor) -> Any:
        while a.sum() > 1:
            a, b = b / 2, a / 3
        return a - b, b

    agree(f, lambda i: (torch.rand(3) * (i % 7) * 3, torch.rand(3)))


def test_a_loop_with_a_number_that_grows_does_not_close() -> None:
    def f(x: Tensor) -> Any:
        n = 0
        while x.abs().max() > 1:
            x, n = x / 2, n + 1
        return x, n

    agree(f, growing)


def test_a_loop_in_a_for_loop_does_not_close() -> None:
    def f(x: Tensor) -> Any:
        for k in range(3):
            while x.abs().max() > 4 - k:
                x = x / 2
        return x

    agree(f, growing)


def test_what_a_loop_learns_of_a_size_keeps_it_open() -> None:
    def f(x: Tensor) -> Any:
        n = (x > 0).sum().item()
        y = x
        while y.abs().max() > 1:
            y = y / 2
            if n > 2:
                y = y + 0.01
        return y * 2 if n > 2 else y

    agree(f, growing)


def test_questions_inside_functions_of_python_itself_are_no_state() -> None:
    def f(x: Tensor, y: Tensor) -> Any:
        n = 0
        while n < 2:
            n += 1
            if all(v.sum() > 1 for v in (x, y, x)):
                x = x - 1
            elif any(map(bool, (x > 0, y > 1))):
                x = x + 2
            x = max(x, y * 0, key=lambda t: 1 if t.sum() > 0 else 0)
        return x

    agree(f, lambda i: (torch.randn(1) * 3, torch.randn(1) * 3))


def test_a_loop_in_a_module_closes() -> None:
    class Shrink(torch.nn.Module):
        def forward(self, x: Tensor) -> Any:
            while x.abs().max() > 1:
                x = x / 2
            return x

    compiled = anyshape.compile(Shrink())
    for n in (3, 50, 1, 7):
        assert torch.equal(compiled(torch.full((4,), 2.0**n)), torch.ones(4))
    assert segments(compiled) == [4]


def test_a_loop_over_an_item() -> None:
    def f(x: Tensor) -> Any:
        for i in range(int(x.argmax())):
            x = x + i
        return x

    assert segments(agree(f, row)) == [5]


def test_counts() -> None:
    def f(x: Tensor) -> Any:
        n = (x > 0).nonzero().shape[0]
        if n == 0:
            return x
        return x * n

    compiled = agree(f, lambda i: (torch.randn(i % 3),), dynamic="unbacked")
    assert segments(compiled) == [3]


def test_writes_before_and_after_a_break_happen_once() -> None:
    def f(x: Tensor) -> Any:
        x.add_(1)
        if x.sum() > 0:
            x.mul_(2)
        else:
            x[0].sub_(1)
        return x.sum()

    agree(f, row)


def test_writes_to_a_buffer() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("n", torch.zeros(()))

        def forward(self, x: Tensor) -> Any:
            self.n += 1
            if x.sum() > 0:
                self.n += 10
            return x + self.n

    module, twin = Counter(), Counter()
    compiled = anyshape.compile(module)
    for i in range(20):
        torch.manual_seed(i)
        x = torch.randn(3)
        assert torch.equal(compiled(x), twin(x))
        assert torch.equal(module.n, twin.n)
    assert compiled.stats.hits == 19


def test_writes_are_not_lost_when_the_rest_raises() -> None:
    def f(x: Tensor) -> Any:
        x.add_(1)
        if x.sum() > 0:
            x.mul_(3)
            raise ValueError("too large")
        return x

    agree(f, row)


def test_writes_before_an_exception_that_nobody_catches_happen_once() -> None:
    def f(x: Tensor) -> Any:
        if x.sum() < 0:
            x.sub_(0.5)
            try:
                if x.sum() < -1:
                    raise IndexError("no")
            except ValueError:
                pass
        return x

    agree(f, row)


def test_random_numbers_on_both_sides_of_a_break() -> None:
    def f(x: Tensor) -> Any:
        a = torch.rand(3)
        return a + torch.rand(3) if x.sum() > 0 else a - torch.rand(3)

    agree(f, row)


def test_exceptions_that_the_program_catches() -> None:
    def f(x: Tensor) -> Any:
        try:
            if x.sum() > 0 and x.max() > 1:
                raise ValueError
            return x
        except ValueError:
            return -x

    agree(f, row)


def test_floats_stay_values() -> None:
    def f(x: Tensor) -> Any:
        return x * float(x.max()) + x.min().item()

    assert segments(agree(f, row)) == [1]


def test_gradients_and_modes_across_a_break() -> None:
    def f(x: Tensor) -> Any:
        with torch.no_grad():
            y = x * 2 if x.sum() > 0 else x * 3
        return y, x * 4

    def make(i: int) -> Any:
        return (torch.randn(3, requires_grad=True),)

    compiled = anyshape.compile(f)
    for i in range(10):
        torch.manual_seed(i)
        (x,) = make(i)
        y, z = compiled(x)
        assert not y.requires_grad
        assert z.requires_grad
        assert torch.is_grad_enabled()
        z.sum().backward()
        assert torch.equal(x.grad, torch.full((3,), 4.0))
    assert compiled.entries[0].switches


def test_default_dtype_set_inside() -> None:
    def f(x: Tensor) -> Any:
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2) * 2 if x.sum() > 0 else torch.ones(2)
        torch.set_default_dtype(torch.float32)
        return y

    agree(f, row)
    assert torch.get_default_dtype() is torch.float32


def test_backed_sizes_after_a_break_are_decided_there() -> None:
    def f(x: Tensor) -> Any:
        if x.sum() > 0:
            return x * 2 if x.size(0) > 5 else x * 3
        return x

    compiled = agree(f, lambda i: (torch.randn(2 + i % 8),), dynamic=True)
    assert len(compiled.entries) == 1


def test_too_many_answers_are_left_to_python() -> None:
    def f(x: Tensor) -> Any:
        return [x] * int(x.sum())

    compiled = anyshape.compile(f)
    for n in range(8):
        assert len(compiled(torch.tensor([n, 0]))) == n
    assert len(compiled(torch.tensor([8, 0]))) == 8
    assert "had 8 answers" in compiled.explain()
    assert len(compiled(torch.tensor([9, 0]))) == 9
    assert compiled.stats.eager == 0


def test_a_property_that_counts_its_calls() -> None:
    state = {"n": 0}

    class Sneaky:
        @property
        def n(self) -> int:
            state["n"] += 1
            return state["n"]

    sneaky = Sneaky()

    def f(x: Tensor) -> Any:
        y = x
        for _ in range(sneaky.n):
            y = y + 1
        return y if x.sum() > 0 else -y

    compiled = anyshape.compile(f)
    for n in (1, 2, 3, 4):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 1.0 + n))
        assert state["n"] == n


def test_with_fullgraph_a_break_is_an_error_with_the_line() -> None:
    def f(x: Tensor) -> Any:
        n = x.nonzero().shape[0]
        return x * 2 if n > 3 else x

    with pytest.raises(DataDependentError, match=r"if n > 3|n > 3 else") as e:
        anyshape.compile(f, fullgraph=True)(torch.ones(4))
    assert "check(" in str(e.value)
    assert "guard_or_false" in str(e.value)


def test_a_frame_in_another_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug of this suite."""
    places = segment_tracer.SegmentTracer._places

    def wrong(self: Any, order: list[Any]) -> Any:
        found = places(self, order)
        order[:2] = order[1::-1]
        return found

    monkeypatch.setattr(segment_tracer.SegmentTracer, "_places", wrong)

    def f(a: Tensor, b: Tensor) -> Any:
        return a - b if a.sum() > 0 else a * 2 - b

    with pytest.raises((AssertionError, AnyshapeWarning)):
        agree(f, lambda i: (torch.randn(3), torch.randn(3)))


def test_the_truth_of_a_tensor_from_outside() -> None:
    count = torch.tensor(0)

    def f(x: Tensor) -> Any:
        for _ in range(count):
            x = x + 1
        return x if count else x * (float(count) + int(count))

    compiled = anyshape.compile(f)
    for n in range(4):
        count.fill_(n)
        assert torch.equal(compiled(torch.ones(2)), f(torch.ones(2)))
    assert compiled.stats.eager == 0


def test_numbers_as_keys() -> None:
    table = {True: 1.0, 2.5: 3.0, 4: 5.0}

    def f(x: Tensor) -> Any:
        try:
            s = x.sum().item()
            return x * table.get(s > 0, table.get(s, table.get(int(s), 7.0)))
        except Exception:
            return x * 0

    agree(f, lambda i: (torch.tensor([float(i % 5) - 2]),))
