"""A call that is run again starts from the data, history and random state that it began with."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.errors import UnsupportedError
from anyshape.trace.state.snapshot import Snapshot
from tests.differential.every_mode import EAGER, Program, check


def inner(k: float) -> Any:
    """A call with a tensor that has a history, and its leaf."""

    def make() -> Any:
        w = torch.ones(3, requires_grad=True)
        return (w * k, w)

    return make


def plain(k: float) -> Any:
    def make() -> Any:
        w = torch.ones(3, requires_grad=True)
        return (torch.full((3,), k), w)

    return make


def by_index(x: Any, w: Any) -> Any:
    try:
        x.mul_(2)
        v = x[1 + (x.sum() > 20).long() * 9]
        x.mul_(3)
    except IndexError:
        x.mul_(5)
        return x * w * 7
    return x * w * 5 + v


def by_value(x: Any, w: Any) -> Any:
    try:
        x.mul_(2)
        if x.sum() > 7:
            x.mul_(3)
        if x.sum() > 40:
            raise ValueError
    except ValueError:
        x.mul_(5)
    return x * w * 5


def gaining_history(x: Any, w: Any) -> Any:
    try:
        x.mul_(w)
        v = x[1 + (x.sum() > 10).long() * 9]
    except IndexError:
        return x * 7
    return x + v


def without_writing(x: Any, w: Any) -> Any:
    y = w * x  # autograd saves x, with its version
    try:
        x[1 + (x.sum() > 10).long() * 9]
    except IndexError:
        return y
    return y * 2


def drawing() -> Any:
    generator = torch.Generator()
    generator.manual_seed(3)

    def fn(x: Any, w: Any) -> Any:
        try:
            y = torch.rand(3, generator=generator)
            v = x[1 + (x.sum() > 10).long() * 9]
        except IndexError:
            return torch.rand(3, generator=generator) + w
        return y + v

    return fn


CALLS = (1, 2, 4, 4, 1)
PROGRAMS = {
    f"{fn.__name__}, {make.__name__}": Program(
        lambda fn=fn: fn,  # type: ignore[misc]
        tuple(make(k) for k in CALLS),
        traced=False,
    )
    for fn in (by_index, by_value, gaining_history, without_writing)
    for make in (inner, plain)
}
PROGRAMS["drawing"] = Program(drawing, tuple(plain(k) for k in CALLS), traced=False)


@pytest.mark.parametrize("dynamic", EAGER, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_that_is_run_again(name: str, dynamic: Any) -> None:
    check(PROGRAMS[name], (dynamic, "eager"))


def test_a_snapshot_restores_data_version_and_history() -> None:
    w, x = torch.ones(2, requires_grad=True), torch.ones(2)
    y = (w * x).sum()
    before = Snapshot([x], draws=False)
    assert Snapshot.can_restore([x])
    x.mul_(w)
    before.restore()
    assert x.tolist() == [1, 1]
    assert x.grad_fn is None
    assert not x.requires_grad
    y.backward()  # which compares the version of x


def test_a_snapshot_does_not_restore_a_history_that_was_there() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    assert not Snapshot.can_restore([x])
    assert not Snapshot.can_restore([torch.ones(4)[:2]])
    with torch.no_grad():
        assert Snapshot.can_restore([x])
    before = Snapshot([x], draws=False)
    before.restore()  # nothing has happened
    x.mul_(3)
    with pytest.raises(UnsupportedError, match="cannot be run again"):
        before.restore()


def test_a_snapshot_restores_a_parameter_that_was_changed_without_gradients() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    before = Snapshot([p], draws=False)
    with torch.no_grad():
        p.mul_(3)
    before.restore()
    assert p.tolist() == [1, 1]
    assert p.requires_grad
    assert p.is_leaf


def test_a_snapshot_restores_what_is_written_without_a_new_version() -> None:
    mean, variance = torch.zeros(3), torch.ones(3)
    before = Snapshot([mean, variance], draws=False)
    torch.nn.functional.batch_norm(torch.randn(5, 3), mean, variance, training=True)
    assert mean.any()
    before.restore()
    assert mean.tolist() == [0, 0, 0]
    assert variance.tolist() == [1, 1, 1]


def test_a_snapshot_restores_generators() -> None:
    generator = torch.Generator()
    before = Snapshot((), [generator], draws=False)
    first = torch.rand(2, generator=generator)
    before.restore()
    assert torch.equal(torch.rand(2, generator=generator), first)
