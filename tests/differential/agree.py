"""One program against eager execution: traced once, run at many sizes."""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from anyshape import config
from anyshape.errors import AnyshapeError
from anyshape.trace import Captured, capture
from tests.differential.op_db import copies, difference
from tests.differential.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Sizes = Sequence[int]

KINDS = ("backed", "unbacked")


class Dynamic(NamedTuple):
    """Which sizes are symbols: `where` maps a size at trace time to the range it has.

    Example inputs use a different number for each meaning (batch 3, length 5, ...), so that the
    number tells which dimensions are the batch; all others stay what they are.
    """

    kind: str
    where: dict[int, dict[str, Any]]

    def __call__(self, spot: Any) -> Any:
        if spot.dim is None or spot.value not in self.where:
            return "static"
        return self.kind, self.where[spot.value]


@contextlib.contextmanager
def any_batch() -> Iterator[None]:
    """Backed sizes start at 0, so that a batch of 1 is in range."""
    with config.patch(specialize_zero_one=False):
        yield


def trace(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    kind: str,
    where: Sequence[int] | dict[int, dict[str, Any]],
) -> Captured:
    """Trace with the sizes in `where` as symbols of that kind, which may be 1 later."""
    if not isinstance(where, dict):
        where = {n: {"min": 1} for n in where}
    state = State(fn)
    with any_batch():
        captured = capture(fn, args, kwargs, dynamic=Dynamic(kind, where))
    state.check()
    return captured


class State:
    """The parameters, buffers and attributes of a module, to see that nothing changed them."""

    def __init__(self, fn: Any) -> None:
        self.modules = list(fn.modules()) if isinstance(fn, torch.nn.Module) else []
        self.keys = [dict(vars(m)) for m in self.modules]
        self.tensors = [
            (t, t.detach().clone(), t._version, t.requires_grad)
            for m in self.modules
            for t in (*m._parameters.values(), *m._buffers.values())
            if t is not None
        ]

    def check(self) -> None:
        for module, before in zip(self.modules, self.keys, strict=True):
            now = vars(module)
            assert now.keys() == before.keys()
            assert all(now[k] is v for k, v in before.items()), type(module)
        now_tensors = [
            t
            for m in self.modules
            for t in (*m._parameters.values(), *m._buffers.values())
            if t is not None
        ]
        assert len(now_tensors) == len(self.tensors)
        for t, (same, value, version, grad) in zip(now_tensors, self.tensors, strict=True):
            assert t is same
            assert t._version == version
            assert t.requires_grad == grad
            torch.testing.assert_close(t.detach(), value, rtol=0, atol=0, equal_nan=True)


def agrees(
    captured: Captured,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    strides: bool = True,
) -> None:
    """The program gives what eager gives on these inputs, and every value is as predicted.

    Strides are predicted for sizes of at least 2, where no dimension is one that does not count.
    A module runs on copies of its own state: what it does to its buffers is compared as well.
    """
    kwargs = kwargs or {}
    flat, spec = pytree.tree_flatten((args, kwargs))
    constants = [t for _, t in captured.graph.constants]
    saved = [t.detach().clone() for t in constants]

    def run(call: Callable[..., Any]) -> tuple[Any, list[Any], list[Any]]:
        """The result, the inputs afterwards and the constants afterwards; those are put back."""
        mine = fresh(flat)
        call_args, call_kwargs = pytree.tree_unflatten(mine, spec)
        torch.manual_seed(0)
        try:
            out = call(*call_args, **call_kwargs)
            after = [t.detach().clone() for t in constants]
        finally:
            with torch.no_grad():
                for t, value in zip(constants, saved, strict=True):
                    if not torch.equal(t, value):
                        t.copy_(value)
        return out, mine, after

    expected = run(fn)
    actual = run(captured)
    for what, a, b in zip(("result", "inputs", "state"), actual, expected, strict=True):
        wrong = difference("", a, b)
        assert not wrong, f"{what}: {wrong}"

    general = all(bind.read(flat) >= 2 for bind in captured.inputs.binds)

    def replay(*a: Any, **k: Any) -> None:
        leaves = pytree.tree_leaves((a, k))
        wrong = Replay(captured, leaves).run(strides=strides and general)
        assert not wrong, "\n".join(wrong)

    run(replay)


def fresh(flat: list[Any]) -> list[Any]:
    """Copies of the inputs; tensors that are one stay one."""
    places = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor)]
    result = list(flat)
    for i, t in zip(places, copies([flat[i] for i in places]), strict=True):
        result[i] = t.requires_grad_(flat[i].requires_grad)
    return result


def right_or_refused(captured: Captured, fn: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """ "right", or "refused" when a guard or an assert says so; never wrong."""
    try:
        captured(*copy.deepcopy(args))
    except AnyshapeError:
        return "refused"
    agrees(captured, fn, args)
    return "right"
