"""Fake inputs: what torch's compilers see in place of the inputs of a traced program.

Every symbol of the inputs becomes a backed symbol of a `ShapeEnv` of torch, with our range; sizes
that our environment knows to be equal or related are the same expressions there. Unbacked symbols
become backed ones too, because torch's compilers ask about sizes in many places: with a hint, such
a question costs a guard of the lowering; without one, it is an error.

The hints are the values of the call, changed so that no two sizes are equal by coincidence and none
is 0 or 1. That avoids guards which hold by coincidence.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from anyshape.domain import INF, NINF
from anyshape.interop.arithmetic import compute, interpreter
from anyshape.interop.hints import derived_symbols
from anyshape.tensor.layout import dense_order
from anyshape.torch_compat.fake_tensor import (
    ConstantSource,
    DimDynamic,
    FakeTensorMode,
    ShapeEnv,
    general_paths,
    int_oo,
    without_cache,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from anyshape.env import Env
    from anyshape.expr.evaluate import Interpreter
    from anyshape.trace.argument.inputs import Leaf
    from anyshape.trace.capture import Captured


class Fakes(NamedTuple):
    """The fake inputs of one lowering.

    `numbers` has the value of each symbol of the inputs: a symbolic number of torch's, a plain one,
    or a tensor for a float, as Inductor takes no symbolic floats. `names` has our name for each of
    torch's symbols.
    """

    mode: FakeTensorMode
    shape_env: ShapeEnv
    numbers: dict[str, Any]
    names: dict[str, str]
    tensors: list[torch.Tensor]
    may_be_single: bool  # whether a size may be 0 or 1

    @property
    def fixed(self) -> dict[str, int]:
        """The symbols that have a single possible value."""
        return {name: n for name, n in self.numbers.items() if type(n) is int}

    @property
    def general(self) -> AbstractContextManager[Any]:
        """A context in which torch assumes the general case about sizes, without guards.

        It does nothing if no size may be 0 or 1: the ranges then answer such questions, and torch's
        compilers choose better kernels by the hints.
        """
        return general_paths() if self.may_be_single else nullcontext()

    def inputs(self) -> list[Any]:
        """The inputs in order: symbols, then tensors."""
        return [n for n in self.numbers.values() if type(n) is not int] + self.tensors


def make_fakes(captured: Captured, flat: list[Any], hints: Mapping[str, Any]) -> Fakes:
    """Fake inputs like `flat`, with these hints for the symbols."""
    mode = new_mode()
    shape_env = mode.shape_env
    numbers: dict[str, Any] = {}
    names: dict[str, str] = {}
    derived = derived_symbols(captured)
    number = interpreter(numbers.__getitem__, compute)
    for bind in captured.inputs.binds:
        if bind.name not in captured.tracer.env.symbols:
            with mode:
                made: Any = torch.empty((), dtype=torch.float64)
        elif bind.name not in derived:
            made = make_symbol(captured.tracer.env, shape_env, bind.name, hints[bind.name])
            names[str(made.node.expr)] = bind.name
        else:
            made = number(derived[bind.name])
        numbers[bind.name] = made
    tensors = []
    with mode, general_paths():
        for leaf, x in zip(captured.inputs.leaves, flat, strict=True):
            if leaf.value is not None:
                tensors.append(_tensor(leaf, x, number))
    env = captured.tracer.env
    sizes = [n.expr for leaf in captured.inputs.leaves for n in leaf.shape if type(n) is not int]
    single = any(env.range_of(size).lo < 2 for size in sizes)
    return Fakes(mode, shape_env, numbers, names, tensors, single)


def new_mode() -> Any:
    """A mode for fake tensors over symbols of its own, in which no size is taken to be 0 or 1."""
    shape_env = ShapeEnv(specialize_zero_one=False, duck_shape=False)
    return without_cache(FakeTensorMode(shape_env=shape_env, allow_non_fake_inputs=True))


def make_symbol(env: Env, shape_env: ShapeEnv, name: str, hint: Any) -> Any:
    """A symbol of torch's with our range, as a symbolic number."""
    place = ConstantSource(name)
    lo, hi = env.range_of(env.symbols[name].expr)
    made = shape_env.create_symbol(
        hint, place, DimDynamic.DYNAMIC, positive=lo >= 1 or None, do_not_specialize_zero_one=True
    )
    low = -int_oo if lo == NINF else int(lo)
    high = int_oo if hi == INF else int(hi)
    shape_env.constrain_symbol_range(made, low, high)
    return shape_env.create_symintnode(made, hint=hint, source=place)


def _tensor(leaf: Leaf, x: torch.Tensor, number: Interpreter) -> torch.Tensor:
    shape = [n if type(n) is int else number(n.expr) for n in leaf.shape]
    order = order_of(x)
    strides = list(x.stride()) if order is None else strides_in_order(shape, order)
    made = torch.empty_strided(shape, strides, dtype=x.dtype, device=x.device)
    return made.requires_grad_(x.requires_grad)


def strides_in_order(shape: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """The strides of a dense, nonempty tensor over torch's symbols."""
    strides: list[Any] = [1] * len(shape)
    step: Any = 1
    for d in reversed(order):
        strides[d] = step
        step = step * shape[d]
    return strides


def order_of(x: torch.Tensor) -> tuple[int, ...] | None:
    """The dimensions of a dense tensor, outermost first; None for a tensor with gaps."""
    return tuple(range(x.dim())) if x.is_contiguous() else dense_order(x.shape, x.stride())
