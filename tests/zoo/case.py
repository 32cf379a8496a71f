"""A program of a library: how it is built, the calls that it gets, and which sizes are dynamic."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).parent / "programs"

# The positional arguments of a call, or its keyword arguments.
Call = tuple[Any, ...] | dict[str, Any]


class Case(NamedTuple):
    """A function or module with its calls: the first is the example, the others differ in sizes.

    `dynamic_shapes` None means: every size that is not the same in all calls. `trains` says
    whether a backward pass makes sense, `exports` whether one program of it all is wanted.
    """

    model: Callable[..., Any]
    calls: list[Call]
    dynamic_shapes: Any = None
    trains: bool = True
    exports: bool = True


class Program(NamedTuple):
    """A case that is built on demand, with the same weights and inputs each time."""

    library: str
    name: str
    make: Callable[[], Case]

    def build(self) -> Case:
        """The case, its module in evaluation mode."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            case = self.make()
        if isinstance(case.model, torch.nn.Module):
            case.model.eval()
        return case


def libraries() -> list[str]:
    """The libraries that have programs."""
    return sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__")


def programs(library: str) -> list[Program]:
    """The programs of a library, in the order of its file. They are the file's `PROGRAMS`."""
    module = importlib.import_module(f"tests.zoo.programs.{library}")
    return [Program(library, name, make) for name, make in module.PROGRAMS.items()]


def split(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and the keyword arguments of a call."""
    return ((), call) if isinstance(call, dict) else (call, {})


def spec(case: Case, auto: Any) -> Any:
    """`dynamic_shapes` of a case; `auto` marks each size that is not the same in all calls.

    A size is static if all calls that have that dimension agree on it. Calls of other structure
    than the first say nothing.
    """
    if case.dynamic_shapes is not None:
        return case.dynamic_shapes
    leaves, tree = pytree.tree_flatten(case.calls[0])
    others = [pytree.tree_leaves(call) for call in case.calls[1:]]
    others = [other for other in others if len(other) == len(leaves)]

    def dims(i: int, leaf: Any) -> dict[int, Any] | None:
        if not isinstance(leaf, torch.Tensor):
            return None
        alike = [
            o[i] for o in others if isinstance(o[i], torch.Tensor) and o[i].dim() == leaf.dim()
        ]
        varying = [d for d in range(leaf.dim()) if any(o.shape[d] != leaf.shape[d] for o in alike)]
        return dict.fromkeys(varying, auto)

    return pytree.tree_unflatten([dims(i, leaf) for i, leaf in enumerate(leaves)], tree)
