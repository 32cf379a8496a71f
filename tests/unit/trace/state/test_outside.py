"""What a function reads from outside is guarded; what it changes there is noticed and undone."""

from __future__ import annotations

import collections
import datetime
import itertools
import os
import random
import types
import warnings
from typing import Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.errors import AnyshapeWarning, UnsupportedError
from anyshape.trace.state import outside

X = torch.arange(3.0)
SCALE = 3
NAMES = [1, 2]
TABLE = {"a": 1}
SETTINGS = types.SimpleNamespace(shift=2.0, inner=types.SimpleNamespace(k=1))
TOTAL = 0


def helper(x: Any) -> Any:
    return x * SCALE


def reads_globals(x: Any) -> Any:
    return helper(x) + len(NAMES) + TABLE["a"] + SETTINGS.shift + SETTINGS.inner.k


CHANGES = {
    "a number": lambda m: m.setitem(globals(), "SCALE", 4),
    "a list": lambda m: m.setitem(globals(), "NAMES", [1, 2, 3]),
    "a list in place": lambda m: (m.setattr(outside, "__name__", "x"), NAMES.append(5)),
    "a dict in place": lambda m: m.setitem(TABLE, "a", 7),
    "an attribute": lambda m: m.setattr(SETTINGS, "shift", 5.0),
    "an attribute of an attribute": lambda m: m.setattr(SETTINGS.inner, "k", 9),
    "a function": lambda m: m.setitem(globals(), "helper", lambda x: x - 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_globals(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = anyshape.compile(reads_globals)
    before = reads_globals(X)
    assert torch.equal(compiled(X), before)
    assert torch.equal(compiled(X), before)
    CHANGES[change](monkeypatch)
    assert not torch.equal(reads_globals(X), before)
    assert torch.equal(compiled(X), reads_globals(X))
    assert len(compiled.entries) == 2
    assert compiled.recompilations[-1].reasons[0].text
    del NAMES[2:]


def test_cells_and_defaults() -> None:
    n = 1

    def f(x: Any, k: int = 3) -> Any:
        return x * k + n

    compiled = anyshape.compile(f)
    assert torch.equal(compiled(X), X * 3 + 1)
    n = 2
    assert torch.equal(compiled(X), X * 3 + 2)
    f.__defaults__ = (5,)
    assert torch.equal(compiled(X), X * 5 + 2)
    assert len(compiled.entries) == 3


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return x * int(os.environ.get("ANYSHAPE_TEST_SCALE", "2"))

    compiled = anyshape.compile(f)
    for _ in range(2):
        assert torch.equal(compiled(X), X * 2)
    monkeypatch.setenv("ANYSHAPE_TEST_SCALE", "7")
    assert torch.equal(compiled(X), X * 7)
    assert len(compiled.entries) == 2


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.drop = nn.Dropout(0.5)
        self.k = 2
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return self.drop(self.linear(x)) * self.k + self.shift


def _swap_weight(net: Net) -> None:
    net.linear.weight = nn.Parameter(torch.zeros(3, 3))


def _write_weight(net: Net) -> None:
    with torch.no_grad():
        net.linear.weight.zero_()


def _rate(net: Net) -> None:
    net.train()
    net.drop.p = 1.0


STATES = {
    "training": lambda net: net.train(),
    "an attribute": lambda net: setattr(net, "k", 5),
    "a new parameter": _swap_weight,
    "a parameter in place": _write_weight,
    "another submodule": lambda net: setattr(net, "linear", nn.Linear(3, 3, bias=False)),
    "a new buffer": lambda net: setattr(net, "shift", torch.zeros(3)),
    "an attribute of one of torch's modules": _rate,
    "a hook": lambda net: net.linear.register_forward_hook(lambda m, a, out: out * 10),
}


@pytest.mark.parametrize("change", STATES)
def test_modules(change: str) -> None:
    net = Net().eval()
    compiled = anyshape.compile(net)
    for _ in range(2):
        assert torch.equal(compiled(X), net(X))
    STATES[change](net)
    torch.manual_seed(0)
    got = compiled(X)
    torch.manual_seed(0)
    assert torch.equal(got, net(X))


def test_dtypes_of_parameters() -> None:
    net = Net().eval()
    compiled = anyshape.compile(net)
    compiled(X)
    net.double()
    assert torch.equal(compiled(X.double()), net(X.double()))
    with pytest.raises(RuntimeError):
        compiled(X)


# ---------------------------------------------------------------------- effects

SEEN: list[Any] = []


def appends(x: Any) -> Any:
    SEEN.append(x)
    return x + 1


def counts(x: Any) -> Any:
    global TOTAL  # noqa: PLW0603  what is tested
    TOTAL += 1
    return x + TOTAL


class Holder:
    def __init__(self) -> None:
        self.calls = 0

    def f(self, x: Any) -> Any:
        self.calls += 1
        return x * self.calls


def test_effects_happen_once_a_call() -> None:
    holder = Holder()
    for fn, done in [
        (appends, lambda: len(SEEN)),
        (counts, lambda: TOTAL),
        (holder.f, lambda: holder.calls),
    ]:
        compiled = anyshape.compile(fn)
        compiled(X)
        with pytest.warns(AnyshapeWarning, match="outside"):
            compiled(X)
        compiled(X)
        assert done() == 3
        assert compiled.eager_because is not None
    assert all(type(x) is torch.Tensor for x in SEEN)
    assert torch.equal(compiled(X), X * 4)


class Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 1


def test_a_new_attribute_is_an_effect() -> None:
    class Cache:
        pass

    cache = Cache()

    def f(x: Any) -> Any:
        cache.value = x * 2
        return cache.value

    compiled = anyshape.compile(f)
    for n in (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AnyshapeWarning)
            result = compiled(torch.ones(n))
        assert cache.value is result
    assert compiled.eager_because is not None


@pytest.mark.filterwarnings("ignore::anyshape.errors.AnyshapeWarning")
def test_deques_slots_and_iterators() -> None:
    queue: collections.deque[Any] = collections.deque([1])
    slotted = Slotted()
    numbers = itertools.count(1)

    def appends_left(x: Any) -> Any:
        queue.appendleft(len(queue))
        return x + len(queue)

    def counts_in_a_slot(x: Any) -> Any:
        slotted.n += 1
        return x + slotted.n

    def moves_on(x: Any) -> Any:
        return x + next(numbers)

    for fn, wanted in [(appends_left, 2), (counts_in_a_slot, 2), (moves_on, 1)]:
        compiled = anyshape.compile(fn)
        results = [float(compiled(torch.zeros(()))) for _ in range(4)]
        assert results == [wanted, wanted + 1, wanted + 2, wanted + 3]
    reads = anyshape.compile(lambda x: x * slotted.n)
    assert reads(X[1]) == 5
    slotted.n = 7
    assert reads(X[1]) == 7


def test_an_effect_of_the_first_call_only() -> None:
    holder = Holder()

    def f(x: Any) -> Any:
        if holder.calls == 0:
            holder.calls = 5
        return x * holder.calls

    compiled = anyshape.compile(f)
    for _ in range(3):
        assert torch.equal(compiled(X), X * 5)
    assert (compiled.stats.eager, compiled.stats.traces, compiled.stats.hits) == (1, 1, 1)


def test_with_fullgraph_an_effect_is_an_error_and_undone() -> None:
    held: list[Any] = []

    def f(x: Any) -> Any:
        held.append(x)
        return x

    with pytest.raises(UnsupportedError, match="held"):
        anyshape.compile(f, fullgraph=True)(X)
    assert held == []


def test_python_randomness_is_refused() -> None:
    def f(x: Any) -> Any:
        return x * random.random()

    with pytest.raises(UnsupportedError, match=r"random\.random"):
        anyshape.compile(f, fullgraph=True)(X)
    compiled = anyshape.compile(f)
    with pytest.warns(AnyshapeWarning, match=r"random\.random"):
        compiled(X)
    assert not torch.equal(compiled(X), compiled(X))


def test_the_time_of_day_is_left_to_eager_execution() -> None:
    def f(x: Any) -> Any:
        return x + datetime.datetime.now().microsecond

    compiled = anyshape.compile(f)
    with pytest.warns(AnyshapeWarning, match="time of day"):
        compiled(X)
    assert compiled.stats.traces == 0


def test_printing_is_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print("sum", x.sum(), x.size(0))
        return x

    compiled = anyshape.compile(f, dynamic="unbacked")
    compiled(torch.ones(2))
    compiled(torch.ones(3))
    assert capsys.readouterr().out == "sum tensor(2.) 2\nsum tensor(3.) 3\n"
    assert compiled.stats.hits == 1


def test_a_condition_that_is_not_looked_at_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug of this suite."""
    monkeypatch.setattr(outside.Outside, "conditions", lambda self, name: iter(()))
    with pytest.raises(AssertionError):
        test_globals("a number", monkeypatch)
