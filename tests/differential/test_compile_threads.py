"""Eight threads that call one compiled function: right results, and no more entries than needed."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from tests.differential.compile_pair import fresh, unequal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

THREADS = 8
CALLS = 40

Tensor = torch.Tensor


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def race(compiled: Any, fn: Any, make: Callable[[int], tuple[Any, ...]]) -> None:
    """Call from all threads at once, each call with inputs of its own; raise what goes wrong."""
    start = threading.Barrier(THREADS)
    wrong: list[Any] = []

    def work(thread: int) -> None:
        start.wait()
        for i in range(CALLS):
            args = make(1000 * thread + i)
            mine = fresh(args)
            try:
                grad = torch.is_grad_enabled()
                found = unequal((compiled(*mine), mine), (fn(*args), args))
                if torch.is_grad_enabled() is not grad:
                    found = "another grad mode afterwards"
            except Exception as e:
                found = repr(e)
            if found:
                wrong.append((thread, i, found))
                return

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[:3]


def vector(seed: int) -> tuple[Any, ...]:
    numbers = torch.Generator().manual_seed(seed)
    n = int(torch.randint(2, 9, (), generator=numbers))
    return (torch.randn(n, generator=numbers) * 4,)


def straight(x: Tensor) -> Tensor:
    return x * x.size(0) + x.sum()


def branches(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x + 1 if x.max() > 4 else x * 3
    if x.min() < -5:
        return x - 2
    return x[x > 0]


def writes(x: Tensor) -> Tensor:
    x.add_(1)
    if x.sum() > 0:
        x.mul_(2)
    else:
        x[:1] = 7
    return x.cumsum(0)


def loops(x: Tensor) -> Any:
    while x.abs().sum() > 1:
        x = x * 0.5
        if x.max() > 0.7:
            x = x - 0.1
    return x


def modes(x: Tensor) -> Any:
    w = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        y = w * x
        if x.sum() > 0:
            y = y + 1
            if x.max() > 3:
                y = y * w
        else:
            y = y - w
    return y, y * w


def short(seed: int) -> tuple[Any, ...]:
    return (vector(seed)[0][:2],)


@pytest.mark.parametrize(
    ("fn", "dynamic", "make", "traces", "extensions"),
    [
        (straight, False, vector, 7, 0),
        (straight, None, vector, 2, 0),
        (straight, True, vector, 1, 0),
        (straight, "unbacked", vector, 1, 0),
        (branches, "unbacked", vector, 1, 3),
        (branches, False, short, 1, 3),
        (writes, "unbacked", vector, 1, 1),
        (writes, None, vector, 2, 2),
        (modes, "unbacked", vector, 1, 2 + THREADS),
        (modes, True, vector, 1, 2 + THREADS),
    ],
)
def test_one_function_in_many_threads(
    fn: Any, dynamic: Any, make: Any, traces: int, extensions: int
) -> None:
    """Threads do not wait for each other: each may trace a branch, and one program is kept."""
    compiled = anyshape.compile(fn, dynamic=dynamic)
    race(compiled, fn, make)
    assert len(compiled.entries) < traces + THREADS, compiled.explain()
    assert compiled.stats.extensions <= extensions * THREADS, compiled.explain()
    assert compiled.eager_because is None


@pytest.mark.parametrize("dynamic", [None, "unbacked"])
def test_a_loop_in_many_threads(dynamic: Any) -> None:
    compiled = anyshape.compile(loops, dynamic=dynamic)
    race(compiled, loops, vector)
    assert len(compiled.entries) <= 2
    before = compiled.stats.extensions
    race(compiled, loops, vector)
    assert compiled.stats.extensions == before


def test_many_functions_that_share_a_helper() -> None:
    """Each thread compiles a function of its own while others trace."""
    made: list[str] = []

    def work(k: int) -> None:
        def fn(x: Tensor) -> Tensor:
            return branches(x + k)

        compiled = anyshape.compile(fn, dynamic=None)
        for i in range(12):
            args = vector(100 * k + i)
            made.append(unequal(compiled(*args), fn(*args)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert made == [""] * (12 * THREADS)


def test_a_shared_frame_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: calls that take the inputs of whoever came last."""
    last: list[Any] = []
    compiled = anyshape.compile(straight, dynamic="unbacked")
    compiled(*vector(0))
    right = compiled.entries[0].run

    def mixed(flat: Any) -> Any:
        last[:] = [flat]
        for _ in range(3):
            sys.getswitchinterval()
        return right(*last)

    monkeypatch.setattr(compiled.entries[0], "run", mixed)
    with pytest.raises(AssertionError):
        races(compiled)


def races(compiled: Any) -> None:
    for _ in range(40):
        race(compiled, straight, vector)
