"""What a call writes outside is written once, when the call ends: nothing is taken back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable


def states_seen(look: Callable[[], Any], call: Callable[[], Any]) -> list[Any]:
    """All that another thread could see while a function runs, without repetitions."""
    seen: list[Any] = []

    def note(*_: Any) -> None:
        now = look()
        if not seen or seen[-1] != now:
            seen.append(now)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def test_a_new_branch_takes_nothing_back() -> None:
    log: list[float] = []

    def fn(x: Any) -> Any:
        log.append(1.0)
        if x.sum() > 20:
            x = x * 2
            log.append(2.0)
        return x

    compiled = anyshape.compile(fn)
    for value, new in ((1.0, [1.0]), (9.0, [1.0, 2.0]), (9.0, [1.0, 2.0])):
        before = list(log)
        seen = states_seen(lambda: tuple(log), lambda v=value: compiled(torch.full((3,), v)))
        assert [len(s) for s in seen] == sorted({len(s) for s in seen})
        assert log == before + new
    assert compiled.stats.extensions == 1
    assert compiled.stats.eager == 0


def test_an_error_that_is_handled_leaves_what_eager_leaves() -> None:
    log: list[str] = []

    def fn(x: Any, i: Any) -> Any:
        log.append("begin")
        try:
            y = x[i]
            log.append("found")
        except IndexError:
            log.append("missing")
            return x
        return y

    compiled, x = anyshape.compile(fn), torch.arange(4.0)
    for place in (1, 9, 2, 9):
        before, want = len(log), ["begin", "missing" if place > 3 else "found"]
        seen = states_seen(lambda: len(log), lambda p=place: compiled(x, torch.tensor([p])))
        assert log[before:] == want
        assert seen == sorted(set(seen))


STATE = {"scale": 1.0}


@torch.library.custom_op("deferred::scaled", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * STATE["scale"]


@scaled.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_code_of_the_user_within_a_call_sees_what_the_call_wrote() -> None:
    def fn(x: Any, scale: float) -> Any:
        STATE["scale"] = scale
        y = torch.ops.deferred.scaled(x)
        if y.sum() > 20:
            y = y + 1
        return y

    compiled = anyshape.compile(fn)
    for n, scale in ((3, 2.0), (3, 3.0), (30, 4.0), (3, 5.0), (30, 2.0)):
        x = torch.ones(n)
        want = fn(x, scale)
        STATE["scale"] = 0.0
        assert torch.equal(compiled(x, scale), want)
