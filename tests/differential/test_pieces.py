"""Calls that cannot be traced break the graph where they are; the rest stays compiled."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import anyshape

SIZES = (3, 5, 2, 1, 0, 7, 3)
MODES: list[dict[str, Any]] = [
    {},
    {"dynamic": True},
    {"dynamic": False, "recompile_limit": 64},
    {"dynamic": "unbacked"},
    {"backend": "aot_eager"},
]
LOCK = threading.Lock()
LOG: list[Any] = []
COUNT = 0


@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


class Scripted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.jit.script(torch.nn.Linear(4, 4))
        torch.nn.init.ones_(self.inner.weight)
        torch.nn.init.zeros_(self.inner.bias)

    def forward(self, x):
        h = torch.relu(x) + 1
        h = self.inner(h)
        return h.sum(0) * 2


def sorted_by_numpy(x):
    y = x * 2
    a = np.sort(y.numpy(), axis=0)
    z = torch.from_numpy(a.copy()) + 1
    return z.sum() + y


def counted(x):
    global COUNT
    y = x.sin()
    with LOCK:
        COUNT += 1
        n = COUNT
    return y.cos() + n


def by_script(x):
    y = torch.relu(x)
    z = scripted(y)
    return z.sum(0) - y


def logged_to_an_object(x):
    y = x + 1
    LOG.append((tuple(y.shape), float(y.sum())))
    return y * len(LOG)


def written(x):
    y = x * 3
    with open("/dev/null", "w") as out:
        for row in y.tolist():
            out.write(str(row))
    return y - 1


def trained(x):
    w = torch.ones(4, requires_grad=True)
    loss = (x * w).sum() * 2
    loss.backward()
    return w.grad * 2 + 1


def stepped(x):
    w = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    for _ in range(2):
        loss = ((x * w) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return w.detach() + x


def deep(x):
    y = x * 2
    z = middle(y, 3)
    return z + y


def middle(y, k):
    a = y + k
    b = inner(a)
    return b * k


def inner(a):
    b = a.cos()
    c = torch.from_numpy(np.cumsum(b.numpy(), axis=0))
    return c + b


def rounds(x):
    out = []
    for i in range(3):
        x = x * 2 + i
        out.append(float(np.float64(x.sum().numpy())))
        x = x.sin()
    return x, out


def branch(x):
    y = x * 2
    if np.asarray(y).sum() > 4:
        y = y.cos()
        z = y + 1
    else:
        z = y - 1
    return z * y


def caught(x):
    y = x * 2
    try:
        n = int(np.asarray(x)[2, 0])
        y = y + n
    except IndexError:
        y = y - 1
    return y.sin()


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), Odd())
        for p in self.parameters():
            torch.nn.init.constant_(p, 0.5)
        self.calls = 0

    def forward(self, x):
        h = self.first(x).relu()
        h = self.second(h) + h
        self.calls += 1
        return h * self.calls


class Odd(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        m = np.asarray(y.detach()).mean() if y.numel() else 0.0
        return y * float(m)


PROGRAMS = [
    sorted_by_numpy, counted, by_script, logged_to_an_object, written, trained, stepped, deep,
    rounds, branch, caught, Scripted, Model,
]  # fmt: skip


def fresh(program: Any) -> Any:
    global COUNT
    COUNT = 0
    LOG.clear()
    return program() if isinstance(program, type) else program


def run(f: Any) -> list[Any]:
    outs = []
    for n in SIZES:
        x = torch.arange(n * 4.0).reshape(n, 4) / 7
        outs.append(f(x))
    return [*outs, COUNT, list(LOG)]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) and a.requires_grad is b.requires_grad
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_program_does_what_eager_does(program, mode):
    want = run(fresh(program))
    compiled = anyshape.compile(fresh(program), **mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error", anyshape.errors.AnyshapeWarning)
        got = run(compiled)
    assert same(got, want)
    assert compiled.eager_because is None


@pytest.mark.parametrize("program", [sorted_by_numpy, deep, Model])
def test_the_parts_are_compiled(program):
    compiled = anyshape.compile(fresh(program), dynamic=True)
    run(compiled)
    assert compiled.stats.breaks >= 1
    text = compiled.explain()
    assert "break: " in text
    assert "one program" in text


def test_fullgraph_names_the_line():
    with pytest.raises(anyshape.UnsupportedError, match=r"np\.sort"):
        anyshape.compile(sorted_by_numpy, fullgraph=True)(torch.ones(3, 4))


def test_a_part_that_gets_another_object_on_every_call_runs_as_python():
    class Box:
        def __init__(self, value):
            self.value = value

    def boxed(x):
        y = x * 2
        box = Box(float(np.asarray(y).sum()))
        z = y.sin()
        return z * box.value

    compiled = anyshape.compile(boxed, dynamic=True, recompile_limit=2)
    for n in range(2, 9):
        x = torch.arange(n * 1.0)
        assert torch.equal(compiled(x), boxed(x))
    assert compiled.eager_because is None


def test_state_between_two_pieces_is_read_anew():
    class Counter:
        n = 0

    def bump():
        Counter.n += int(np.asarray(1))

    def fn(x):
        y = x * Counter.n
        bump()
        return y + Counter.n

    compiled = anyshape.compile(fn, dynamic=True)
    got = [compiled(torch.ones(2))[0].item() for _ in range(5)]
    Counter.n = 0
    assert got == [fn(torch.ones(2))[0].item() for _ in range(5)]


def test_a_loop_of_as_many_rounds_as_the_data_says():
    def fn(x):
        n = int(x.sum())
        y = x * 2
        for i in range(n):
            y = y.sin() + i
        return y.cos()

    compiled = anyshape.compile(fn)
    for n in range(1, 20):
        x = torch.zeros(4)
        x[0] = n
        assert torch.equal(compiled(x), fn(x))
    assert compiled.eager_because is None
    assert "range(n)" in compiled.explain()


def test_a_module_with_hooks():
    model = Model()
    other = Model()
    seen = []
    for m in (model, other):
        m.register_forward_hook(lambda m, args, out: seen.append(out.shape) or out + 1)
    compiled = anyshape.compile(model, dynamic=True)
    for n in (2, 3, 5):
        x = torch.ones(n, 4)
        assert torch.equal(compiled(x), other(x))
    assert len(seen) == 6
    assert compiled.eager_because is None


def test_a_branch_that_cannot_be_traced_after_a_tensor_was_changed():
    def fn(x, total):
        total.add_(x.sum())
        if x.sum() > 3:
            return x.sin() + total
        a = np.asarray(x).sum()
        return x.cos() * float(a)

    compiled = anyshape.compile(fn)
    ours, theirs = torch.zeros(1), torch.zeros(1)
    for value in (3.0, 0.5, 4.0, 0.1):
        x = torch.full((4,), value)
        assert torch.equal(compiled(x, ours), fn(x, theirs))
        assert torch.equal(ours, theirs)
    assert compiled.eager_because is None


def test_tensors_of_an_optimizer_are_outside_where_other_threads_run():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        w = torch.ones(4, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.5)
        (w * 3).sum().backward()
        anyshape.compile(lambda o: o.step())(optimizer)
    finally:
        stop.set()
        thread.join()
    assert w.tolist() == [-0.5] * 4


def test_a_forward_that_is_replaced_after_a_break():
    class Changed(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            return y + float(np.asarray(y).sum())

    def other(self, x):
        y = x * 3
        return y - float(np.asarray(y).sum())

    model = Changed()
    compiled = anyshape.compile(model)
    for n in (0, 1, 3):
        x = torch.ones(n)
        assert torch.equal(compiled(x), model(x))
    Changed.forward = other
    for n in (0, 1, 3):
        x = torch.ones(n)
        assert torch.equal(compiled(x), model(x))


def test_a_manager_is_left_when_a_trace_is_refused():
    class Scope:
        depth = 0

        def __enter__(self):
            Scope.depth += 1

        def __exit__(self, *_):
            Scope.depth -= 1

    def fn(x):
        with Scope():
            return np.asarray(x * 2)

    with pytest.raises(anyshape.UnsupportedError):
        anyshape.trace.capture(fn, (torch.ones(3),))
    assert Scope.depth == 0


def test_names_of_what_is_made_in_pieces():
    def fn(x):
        class Made:
            def method(self):
                return lambda: x

        globals()  # which breaks the program
        made = [Made, Made.method, Made().method(), lambda v: v, (i for i in [1])]
        return x * 2, [m.__qualname__ for m in made]

    compiled = anyshape.compile(fn)
    for n in (3, 0, 1):
        assert compiled(torch.ones(n))[1] == fn(torch.ones(n))[1]
    assert compiled.stats.in_pieces
