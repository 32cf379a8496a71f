"""Random numbers of Python and NumPy, and clocks, in compiled programs, against eager execution.

The results, the classes of the results and the states of all generators afterwards are compared.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest
import torch

import anyshape
from anyshape.errors import DataDependentError, UnsupportedError
from anyshape.trace.record.effect import effect

KEPT, OLD, NEW = random.Random(5), np.random.RandomState(4), np.random.default_rng(3)
SIZES = (3, 1, 0, 5, 2, 7)


def numbers(x: Any) -> Any:
    return (x + 1) * random.uniform(0, 1), random.randint(3, 9), random.random()


def others(x: Any) -> Any:
    step = random.randrange(0, 10, 3)
    return x * step, random.getrandbits(8), random.gauss(0, 1), KEPT.expovariate(2.0)


def a_place(x: Any) -> Any:
    i = random.randint(0, x.size(0) - 1)
    return x[i], i


def a_size(x: Any) -> Any:
    n = random.randrange(start=0, stop=5)
    return torch.ones(n) * x.sum(), n


def bounds_of_sizes(x: Any) -> Any:
    return random.uniform(-1, x.size(0)), np.random.randint(2, x.size(0) + 3), random.randrange(9)


def seeds_and_states(x: Any) -> Any:
    random.seed(x.size(0))
    state = random.getstate()
    a = random.random()
    random.setstate(state)
    return x + a, random.random(), state


def made_inside(x: Any) -> Any:
    r = random.Random(42)
    r.setstate(KEPT.getstate())
    return x * r.random(), r, KEPT.gauss(0, 1), KEPT


def of_numpy(x: Any) -> Any:
    np.random.seed(3)
    return x * np.random.rand(), NEW.integers(10), OLD.normal(), np.random.randint(5)


def of_numpy_made_inside(x: Any) -> Any:
    r = np.random.default_rng(7)
    return x * r.normal(), r.random(dtype=np.float32), r.integers(3, endpoint=True)


def errors(x: Any) -> Any:
    try:
        return x * random.randint(5, 3)
    except ValueError as e:
        return x, str(e)


def an_error(x: Any) -> Any:
    return x * random.choice([])


def a_branch(x: Any) -> Any:
    return x * 2 if random.random() < 0.5 else x * 3


def a_choice(x: Any) -> Any:
    return x * random.choice([1.0, 2.0, 3.0])


def a_loop(x: Any) -> Any:
    first = second = random.randrange(3)
    while first == second:
        second = random.randrange(3)
    return x * 2, first != second


def known_to_be_small(x: Any) -> Any:
    return torch.nn.functional.dropout(x, random.random(), training=False) if x.dim() else x


WHOLE = (
    numbers, others, a_place, a_size, bounds_of_sizes, seeds_and_states, made_inside, of_numpy,
    of_numpy_made_inside, errors, an_error, known_to_be_small,
)  # fmt: skip
BRANCHING = (a_branch, a_choice, a_loop)


def seed() -> None:
    random.seed(1)
    np.random.seed(1)
    KEPT.seed(5)
    OLD.seed(4)
    NEW.bit_generator.state = np.random.default_rng(3).bit_generator.state


def shown(x: Any) -> Any:
    if isinstance(x, random.Random):
        return "generator", x is KEPT, x.getstate()
    if isinstance(x, tuple):
        return tuple(map(shown, x))
    return (type(x), x.tolist()) if isinstance(x, torch.Tensor) else (type(x), x)


def outcomes(f: Any) -> list[Any]:
    seed()
    found: list[Any] = []
    for n in SIZES:
        try:
            found.append(shown(f(torch.arange(float(n)))))
        except Exception as e:
            found.append((type(e), str(e)))
    states = (random.getstate(), KEPT.getstate(), str(np.random.get_state()), str(OLD.get_state()))
    return [*found, *states, str(NEW.bit_generator.state)]


@pytest.mark.parametrize("fn", WHOLE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("fullgraph", [True, False])
def test_draws_are_those_of_eager_execution(fn: Any, fullgraph: bool) -> None:
    compiled = anyshape.compile(fn, fullgraph=fullgraph)
    assert outcomes(compiled) == outcomes(fn)
    assert compiled.pieces is None
    assert compiled.eager_because is None


@pytest.mark.parametrize("fn", BRANCHING, ids=lambda f: f.__name__)
def test_branches_on_draws_are_branches_on_data(fn: Any) -> None:
    compiled = anyshape.compile(fn)
    assert outcomes(compiled) == outcomes(fn)
    assert compiled.pieces is None
    with pytest.raises(DataDependentError):
        anyshape.compile(fn, fullgraph=True)(torch.ones(2))


def test_a_draw_that_is_not_repeated_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effect, "owner_of", lambda _: random.Random(0))
    compiled = anyshape.compile(numbers, fullgraph=True)
    assert outcomes(compiled) != outcomes(numbers)


@pytest.mark.parametrize("fullgraph", [True, False])
def test_generators_as_arguments_are_those_of_the_call(fullgraph: bool) -> None:
    def fn(x: Any, a: Any, rest: dict[str, Any]) -> Any:
        a.seed(x.size(0))
        made = random.Random(9)
        a.setstate(made.getstate())
        return x * a.random() + rest["b"].random(), a, rest["c"].integers(9)

    compiled = anyshape.compile(fn, fullgraph=fullgraph)
    for n in (3, 1, 0, 4, 5):
        calls = [
            (random.Random(n), {"b": random.Random(2), "c": np.random.default_rng(n)})
            for _ in range(2)
        ]
        want, got = [f(torch.ones(n), *call) for f, call in zip((fn, compiled), calls, strict=True)]
        assert torch.equal(want[0], got[0])
        assert want[2] == got[2]
        assert got[1] is calls[1][0]
        assert calls[0][0].getstate() == calls[1][0].getstate()
        assert calls[0][1]["b"].getstate() == calls[1][1]["b"].getstate()
    assert len(compiled.entries) <= 4
    one = random.Random(3)
    twice = anyshape.compile(lambda a, b: a.random() + b.random(), fullgraph=True)
    twice(random.Random(1), random.Random(2))
    want_sum = sum(random.Random(3).random() for _ in range(1))
    assert twice(one, one) > want_sum


def test_a_method_of_the_users_is_called() -> None:
    def fn(x: Any, r: Any) -> Any:
        return x * r.random()

    compiled = anyshape.compile(fn)
    for n in (2, 0, 1):
        r = random.Random(1)
        r.random = lambda: 5.0  # type: ignore[method-assign]
        assert torch.equal(compiled(torch.ones(n), r), torch.full((n,), 5.0))


def test_what_a_state_holds_is_not_known() -> None:
    def fn(x: Any) -> Any:
        state = random.getstate()
        assert isinstance(state, tuple)
        assert type(state) is tuple
        return x * state[1][0]

    with pytest.raises(UnsupportedError, match="state of a random generator"):
        anyshape.compile(fn, fullgraph=True)(torch.ones(2))
    want = random.getstate()[1][0]
    assert torch.equal(anyshape.compile(fn)(torch.ones(1)), torch.ones(1) * want)


def test_a_copy_of_a_generator_is_not_drawn_from() -> None:
    import copy

    def fn(x: Any) -> Any:
        return x * copy.deepcopy(KEPT).random()

    with pytest.raises(anyshape.AnyshapeError):
        anyshape.compile(fn, fullgraph=True)(torch.ones(2))
    compiled = anyshape.compile(fn)
    for n in (2, 1, 0):
        KEPT.random()
        assert torch.equal(compiled(torch.ones(n)), fn(torch.ones(n)))


def test_clocks_go_on() -> None:
    @anyshape.compile(fullgraph=True)
    def fn(x: Any) -> Any:
        start = time.perf_counter()
        y = x * 2
        return y, time.perf_counter() - start, time.time(), time.monotonic_ns()

    seen = []
    for n in (2, 1, 0, 2, 2):
        before, day = time.monotonic_ns(), time.time()
        y, spent, now, ticks = fn(torch.ones(n))
        assert torch.equal(y, torch.full((n,), 2.0))
        assert spent >= 0
        assert day <= now <= time.time()
        assert type(now) is float
        assert before <= ticks <= time.monotonic_ns()
        assert type(ticks) is int
        seen.append(ticks)
    assert seen == sorted(set(seen))


def test_a_failed_call_draws_once() -> None:
    """A trace that is given up after a branch has run puts the generators back."""

    def fn(x: Any) -> Any:
        a = random.random() + NEW.random()
        if x.sum() > 0:
            x = x + len(str(id(object()))) * 0
        return x * a

    assert outcomes(anyshape.compile(fn)) == outcomes(fn)
