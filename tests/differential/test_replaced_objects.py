"""Attributes that every step replaces by a new object: a few programs serve all steps.

What is found in a new object is read on every call, so that losses and states are eager's, whoever
else refers to the object, and whatever is done to it.
"""

from __future__ import annotations

import collections
import dataclasses
import types
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from tests.differential.test_sequence_training import eager_parts, parts

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 24
FEW = 6  # programs


class Stats:
    """A plain object."""

    def __init__(self, mean: Any, count: int) -> None:
        self.mean, self.count = mean, count

    def merged(self, other: Stats) -> Stats:
        return Stats(0.5 * self.mean + 0.5 * other.mean, self.count + other.count)


class Slotted:
    """A plain object without a dict."""

    __slots__ = ("mean",)

    def __init__(self, mean: Any) -> None:
        self.mean = mean


@dataclasses.dataclass
class Last:
    """A dataclass with a container."""

    mean: Any
    counts: list[int]


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A dataclass that cannot change."""

    mean: Any
    count: int = 0


Pair = collections.namedtuple("Pair", "mean count")


class Holder:
    """What the steps replace, and other places that may know it."""

    def __init__(self, state: Any) -> None:
        self.state = self.other = state
        self.seen: list[Any] = []


def plain(h: Holder, x: torch.Tensor) -> Any:
    h.state = h.state.merged(Stats(x.sum(), x.shape[0]))
    return x + h.state.mean * h.state.count


def namespace(h: Holder, x: torch.Tensor) -> Any:
    h.state = types.SimpleNamespace(mean=h.state.mean + x.sum(), count=h.state.count + 1)
    return x + h.state.mean * h.state.count


def mapping(h: Holder, x: torch.Tensor) -> Any:
    h.state = {"mean": h.state["mean"] * 0.5 + x.sum(), "count": h.state["count"] + 1}
    return x * h.state["count"] + h.state["mean"]


def record(h: Holder, x: torch.Tensor) -> Any:
    h.state = Last(h.state.mean + x.sum(), [*h.state.counts[-2:], x.shape[0]])
    return x + h.state.mean + sum(h.state.counts)


def frozen(h: Holder, x: torch.Tensor) -> Any:
    h.state = dataclasses.replace(h.state, mean=h.state.mean + x.sum(), count=h.state.count + 2)
    return x + h.state.mean * h.state.count


def slots(h: Holder, x: torch.Tensor) -> Any:
    h.state = Slotted(h.state.mean * 0.5 + x.sum())
    return x + h.state.mean


def pair(h: Holder, x: torch.Tensor) -> Any:
    h.state = Pair(h.state.mean + x.sum(), h.state.count + 1)
    return x + h.state.mean * h.state.count


def hidden(h: Holder, x: torch.Tensor) -> Any:
    """The state of a recurrent layer."""
    a, b = h.state
    h.state = (torch.tanh(a + x.sum(0)), b + a)
    return x * h.state[0] + h.state[1]


def changed(h: Holder, x: torch.Tensor) -> Any:
    """The new object is changed before the next step replaces it, and so is the old one."""
    h.state["count"] += 1
    old = h.state
    h.state = {"mean": old["mean"] + x.sum(), "count": old["count"]}
    old["mean"] = None
    h.state["mean"].mul_(0.5)
    return x + h.state["mean"] * h.state["count"]


def returned(h: Holder, x: torch.Tensor) -> Any:
    """The caller gets the object that was there."""
    before = h.state
    h.state = {"mean": before["mean"] + x.sum(), "count": 1}
    return before, h.state, before is h.state, x + before["mean"]


def aliased(h: Holder, x: torch.Tensor) -> Any:
    """Two names of one object, or of two: both are read, one of them is changed."""
    h.state["count"] += 1
    found = x + h.other["count"] * 10 + h.state["count"]
    fresh = {"mean": x.sum(), "count": h.state["count"]}
    h.state = fresh
    h.other = fresh if x.shape[0] % 2 else {"mean": x.sum(), "count": 5}
    return found


def kept(h: Holder, x: torch.Tensor) -> Any:
    """A list outside keeps all objects that were there."""
    h.seen.append(h.state)
    h.state = {"mean": h.state["mean"] + x.sum(), "count": h.state["count"]}
    return x + h.state["mean"]


def keyed(h: Holder, x: torch.Tensor) -> Any:
    """The keys change too: no program serves two steps, but parts around the place do."""
    y = torch.relu(x)
    (key,) = h.state
    h.state = {key + 1: h.state[key] + y.sum()}
    return y + 1


def mean_and_count() -> dict[str, Any]:
    return {"mean": torch.zeros(()), "count": 0}


PROGRAMS: dict[str, tuple[Callable[[Holder, torch.Tensor], Any], Callable[[], Any], bool]] = {
    "namespace": (namespace, lambda: types.SimpleNamespace(mean=torch.zeros(()), count=0), False),
    "plain": (plain, lambda: Stats(torch.zeros(()), 0), True),
    "mapping": (mapping, mean_and_count, True),
    "record": (record, lambda: Last(torch.zeros(()), [1, 2, 3]), True),
    "frozen": (frozen, lambda: Frozen(torch.zeros(())), True),
    "slots": (slots, lambda: Slotted(torch.zeros(())), True),
    "pair": (pair, lambda: Pair(torch.zeros(()), 0), True),
    "hidden": (hidden, lambda: (torch.zeros(3), torch.ones(3)), True),
    "changed": (changed, mean_and_count, True),
    "returned": (returned, mean_and_count, True),
    "kept": (kept, mean_and_count, True),
    "aliased": (aliased, mean_and_count, False),
    "keyed": (keyed, lambda: {0: torch.zeros(())}, False),
}


def shown(x: Any) -> Any:
    """An object as numbers and texts, with which objects are one."""
    numbers: dict[int, int] = {}

    def of(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return x.tolist()
        if isinstance(x, int | float | str | type(None)):
            return x
        if not isinstance(x, tuple):
            if id(x) in numbers:
                return f"again {numbers[id(x)]}"
            numbers[id(x)] = len(numbers)
        if isinstance(x, dict):
            return [(key, of(value)) for key, value in x.items()]
        if isinstance(x, list | tuple):
            return [type(x).__name__, *map(of, x)]
        own = (
            vars(x) if hasattr(x, "__dict__") else {name: getattr(x, name) for name in x.__slots__}
        )
        return [type(x).__name__, of(dict(own))]

    return of(x)


def traces(compiled: Any) -> int:
    return sum(part.stats.traces + part.stats.extensions for part in parts(compiled))


def compared(name: str, wrap: Callable[[Callable[..., Any]], Any]) -> tuple[Any, list[int]]:
    """Run a program eagerly and compiled; the compiled one, and its traces after each step."""
    step, make, _ = PROGRAMS[name]
    one, two = Holder(make()), Holder(make())
    compiled = wrap(types.MethodType(step, two))
    counts = []
    for i in range(STEPS):
        torch.manual_seed(i)
        x = torch.randn((4, 3, 8, 1, 0, 2, 5)[i % 7], 3)
        expected = shown((step(one, x), vars(one)))
        assert shown((compiled(x), vars(two))) == expected, f"step {i}"
        if i == STEPS // 2:  # another object from elsewhere
            one.state, two.state = make(), make()
        counts.append(traces(compiled))
    return compiled, counts


@pytest.mark.parametrize("dynamic", [None, "unbacked"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_states_are_those_of_eager(name: str, dynamic: Any) -> None:
    compiled, counts = compared(name, lambda f: anyshape.compile(f, dynamic=dynamic))
    assert counts[-1] == counts[-5]
    if PROGRAMS[name][2]:
        assert eager_parts(compiled) == []
        assert counts[-1] <= FEW
        assert compiled.pieces is None


def test_a_stale_object_is_noticed() -> None:
    """A planted bug: the object of the first steps, instead of the one that is there."""

    def wrap(f: Any) -> Any:
        compiled = anyshape.compile(f)
        old: list[Any] = []

        def stale(x: torch.Tensor) -> Any:
            for place in compiled._varying.held():
                old.append(place.value)
                place.owner[place.key] = old[0]
            return compiled(x)

        return _like(stale, compiled)

    with pytest.raises(AssertionError, match="step 4"):
        compared("mapping", wrap)


def _like(f: Any, compiled: Any) -> Any:
    f.stats, f.pieces = compiled.stats, compiled.pieces
    return f


def test_the_reason_names_the_place() -> None:
    holder = Holder(mean_and_count())
    compiled = anyshape.compile(types.MethodType(mapping, holder))
    for _ in range(4):
        compiled(torch.ones(3))
    holder.state = {"mean": torch.zeros(()), "counts": 1}
    with pytest.raises(KeyError):
        compiled(torch.ones(3))
    expected = "the attribute state changed from a dict of ['mean'], ['count'] to a dict of"
    assert expected in str(compiled.recompilations[-1])


def test_audit_traces_with_the_object_that_is_there() -> None:
    holder = Holder({"mean": torch.zeros(()), "count": 1})
    compiled = anyshape.compile(lambda x: x + holder.state["mean"])
    with anyshape.audit():
        for i in range(6):
            holder.state = {"mean": torch.tensor(float(i)), "count": 1}
            assert compiled(torch.ones(2)).tolist() == [1.0 + i] * 2
    assert compiled.stats.traces <= 3
