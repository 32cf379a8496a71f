"""A compiled program and its eager twin, called with the same inputs, compared in all they do.

`Pair` holds two copies of one program, so that neither sees what the other does to its module or
closure. A call compares the result (types, shapes, dtypes, strides, values to the bit), what the
inputs and the state are afterwards, gradients, exceptions, the random state and the modes of torch.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

import anyshape
from anyshape.errors import AnyshapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VALUES = (3.0, -4.0, 0.5, 7.0, -30.0, 2.0, -0.5, float("nan"), 9.0, 1.0, -4.0, 4.0)
ERRORS = (RuntimeError, IndexError, ValueError)  # what an assert of a program may stand for


class Outcome(NamedTuple):
    """What a call did: its result or its error, and all that may have changed."""

    result: Any
    error: Exception | None
    inputs: Any
    state: Any
    gradients: Any
    random: torch.Tensor
    modes: tuple[Any, ...]


class Pair:
    """A program as eager runs it and as compiled; `make` makes the program anew.

    The state of a program that is a module is compared after each call.
    """

    def __init__(self, make: Callable[[], Any], **options: Any) -> None:
        self.eager = make()
        self.original = make()
        self.compiled = anyshape.compile(self.original, **options)
        self.calls = 0

    def call(self, *args: Any) -> str:
        """What the compiled program does otherwise than eager; empty for nothing."""
        self.calls += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = outcome(self.eager, self.eager, fresh(args), self.calls)
            got = outcome(self.compiled, self.original, fresh(args), self.calls)
        return contrast(got, want)

    def agrees(self, calls: Sequence[tuple[Any, ...]]) -> Any:
        """All calls, asserted; the compiled program."""
        for i, args in enumerate(calls):
            wrong = self.call(*args)
            assert not wrong, f"call {i}: {wrong}"
        return self.compiled


def numbers(*values: float) -> tuple[torch.Tensor, ...]:
    return tuple(torch.tensor([v, 1.0]) for v in values)


def agrees(make: Any, calls: Any, **options: Any) -> Any:
    """Compare two functions that `make` makes over calls, and give the compiled one."""
    return Pair(make, **options).agrees([c if isinstance(c, tuple) else (c,) for c in calls])


def fresh(args: Any) -> Any:
    """Copies of the inputs; what is one tensor stays one."""
    made: dict[int, torch.Tensor] = {}

    def copy(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in made:
            made[id(x)] = x.detach().clone().requires_grad_(x.requires_grad)
        return made[id(x)]

    return pytree.tree_map(copy, args)


def outcome(fn: Any, owner: Any, args: Any, seed: int) -> Outcome:
    """Call a program and look at everything; the modes of torch are put back."""
    torch.manual_seed(seed)
    before = _modes()
    result, error = None, None
    try:
        result = fn(*args)
    except Exception as e:
        error = e
    random = torch.get_rng_state()
    modes = _modes()
    torch.set_grad_enabled(before[0])
    torch.set_default_dtype(before[1])
    module = isinstance(owner, torch.nn.Module)
    parameters = dict(owner.named_parameters()) if module else {}
    state = {k: t.detach().clone() for k, t in owner.state_dict().items()} if module else {}
    leaves = [t for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)]
    leaves += parameters.values()
    return Outcome(result, error, args, state, _gradients(result, leaves), random, modes)


def _modes() -> tuple[Any, ...]:
    return (
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
    )


def _gradients(result: Any, leaves: list[Any]) -> list[Any]:
    """Of the sum of all outputs, for each leaf."""
    outs = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    total = sum((t.double().sum() for t in outs if t.requires_grad), torch.zeros(()))
    asked = [t for t in leaves if t.requires_grad and t.is_leaf]
    if not isinstance(total, torch.Tensor) or not total.requires_grad or not asked:
        return []
    try:
        return list(torch.autograd.grad(total, asked, allow_unused=True))
    except RuntimeError as e:
        return [str(e)[:40]]


def contrast(got: Outcome, want: Outcome) -> str:
    """What differs between two outcomes."""
    wrong = _errors(got.error, want.error)
    if wrong:
        return wrong
    if want.error is None:
        wrong = unequal(got.result, want.result)
        if wrong:
            return f"result: {wrong}"
    for what in ("inputs", "state", "gradients"):
        wrong = unequal(getattr(got, what), getattr(want, what))
        if wrong:
            return f"{what}: {wrong}"
    if not torch.equal(got.random, want.random):
        return "the random state is another"
    return "" if got.modes == want.modes else f"modes {got.modes} for {want.modes}"


def _errors(got: Exception | None, want: Exception | None) -> str:
    if got is None and want is None:
        return ""
    if got is None:
        return f"a result where eager raises {want!r}"
    if want is None:
        return f"raises {got!r:.300}"
    if isinstance(got, AnyshapeError):
        return "" if isinstance(want, ERRORS) else f"raises {got!r} for {want!r}"
    return "" if type(got) is type(want) else f"raises {got!r} for {want!r}"


def unequal(got: Any, want: Any) -> str:
    """What differs between two values, nested or not; tensors are compared to the bit."""
    a, one = pytree.tree_flatten(got)
    b, other = pytree.tree_flatten(want)
    if one != other:
        return f"{one} for {other}"
    for x, y in zip(a, b, strict=True):
        if type(x) is not type(y):
            return f"{type(x).__name__} for {type(y).__name__}"
        if isinstance(y, torch.Tensor):
            kinds = [(t.shape, t.dtype, t.requires_grad, t.stride()) for t in (x, y)]
            if kinds[0] != kinds[1]:
                return f"{kinds[0]} for {kinds[1]}"
            if not torch.equal(_bits(x), _bits(y)):
                return f"{x} for {y}"
        elif x != y and not (x != x and y != y):
            return f"{x!r} for {y!r}"
    return ""


def _bits(t: torch.Tensor) -> torch.Tensor:
    """The values, with NaN as a number."""
    t = t.detach()
    return torch.nan_to_num(t, nan=12345.678) if t.is_floating_point() else t
