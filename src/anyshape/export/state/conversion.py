"""`program.to(...)`: the program of the converted module, which is traced again.

A graph has constants that came from dtypes and devices: those of factories, smallest numbers, sides
of branches. Whether such a constant follows a conversion only the function knows. So a copy of the
module is converted as `nn.Module.to` does it, and exported again with the converted example.
"""

from __future__ import annotations

import copy
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from anyshape.errors import ArgumentError, UnsupportedError, text_of
from anyshape.export.state.root import root_of
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.export.state.state import State


class Origin(NamedTuple):
    """What a program was exported from: `again` exports a function with other arguments."""

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    again: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class Target(NamedTuple):
    """A device and a dtype; None where they stay."""

    device: torch.device | None
    dtype: torch.dtype | None

    @classmethod
    def of(cls, args: tuple[Any, ...], device: Any, dtype: Any) -> Target:
        """The target of a call `to(*args, device=..., dtype=...)`."""
        for x in args:
            if isinstance(x, torch.dtype) and dtype is None:
                dtype = x
            elif isinstance(x, str | torch.device | int) and device is None:
                device = x
            elif isinstance(x, torch.Tensor) and device is None and dtype is None:
                device, dtype = x.device, x.dtype
            else:
                raise ArgumentError(f"to takes a device and a dtype, or a tensor, not {x!r}")
        if dtype is not None and not (
            isinstance(dtype, torch.dtype) and (dtype.is_floating_point or dtype.is_complex)
        ):
            raise ArgumentError(f"to takes a floating-point dtype, not {dtype}")
        try:
            found = None if device is None else torch.device(device)
            torch.empty(0, device=found)
            return cls(found, dtype)
        except (RuntimeError, TypeError, AssertionError) as e:
            raise ArgumentError(
                f"{device!r} is not a device of this machine",
                why=str(e).splitlines()[0],
                fix='write "cpu", "cuda:0" or the like',
            ) from e

    def convert(self, x: Any) -> Any:
        """A leaf of the arguments: tensors are moved, and floating-point ones converted."""
        if not isinstance(x, torch.Tensor):
            return x
        dtype = self.dtype if x.is_floating_point() or x.is_complex() else None
        made = x.detach().to(device=self.device or x.device, dtype=dtype or x.dtype)
        return made.requires_grad_(x.requires_grad)


def converted(name: str, origin: Origin | None, state: State, target: Target) -> Any:
    """The program of a converted copy of the module that a program was exported from."""
    root = None if origin is None else root_of(origin.fn)
    if origin is None or (root is None and len(state)):
        raise UnsupportedError(
            f"cannot convert {name}",
            why="a conversion exports the module again, and "
            + ("this program has no function" if origin is None else "it is no module"),
            fix="convert the module, and export it",
            code="AS522",
        )
    fn = origin.fn
    if root is not None:
        try:
            made = copy.deepcopy(root)
        except Exception as e:  # any error of the user's classes
            raise UnsupportedError(
                f"cannot copy the module of {name}", why=text_of(e), code="AS522"
            ) from e
        _load(made, state)
        try:
            made.to(device=target.device, dtype=target.dtype)
        except NotImplementedError as e:  # of tensors without data
            raise UnsupportedError(
                f"cannot convert {name}",
                why=str(e).splitlines()[0],
                fix="convert the program that has the data",
            ) from e
        fn = made if fn is root else types.MethodType(fn.__func__, made)
    leaves, spec = tree.flatten((origin.args, origin.kwargs))
    args, kwargs = tree.unflatten([target.convert(x) for x in leaves], spec)
    return origin.again(fn, args, kwargs)


def _load(module: torch.nn.Module, state: State) -> None:
    """Give a copy of the module the values of the program, where that has other tensors."""
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    with torch.no_grad():
        for name, tensor in own.items():
            if name in state:
                tensor.copy_(state[name])
