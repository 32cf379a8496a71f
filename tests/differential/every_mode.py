"""A program in every mode of `compile`, and exported, against eager execution.

`check(program, mode)` compares two copies of a program over its calls. A program may be refused, or
run eagerly with a warning; it may never differ. Where `traced` is set it may not run eagerly.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.export import Dim, export
from anyshape.trace.argument.inputs import untraceable
from tests.differential.compile_pair import contrast, outcome

if TYPE_CHECKING:
    from collections.abc import Callable

EAGER = (None, True, False, "unbacked")
MODES: tuple[Any, ...] = (*[(m, "eager") for m in EAGER], "export")
LOWERED: tuple[Any, ...] = (*MODES, (None, "aot_eager"), (True, "aot_eager"))


class Program(NamedTuple):
    """A program: `make` makes the function anew, and what to do before each call, if anything.

    `calls` make the arguments of each call anew. `traced`: it must not run eagerly.
    """

    make: Callable[[], Any]
    calls: tuple[Callable[[], tuple[Any, ...]], ...]
    traced: bool = True

    def copy(self) -> tuple[Any, Callable[[int], None]]:
        """The function, and what to do before the call of a number."""
        made = self.make()
        return made if isinstance(made, tuple) else (made, lambda _: None)


def ones(*sizes: int, grad: bool = False) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    """Calls with vectors of these sizes."""
    return tuple(
        lambda n=n: ((torch.arange(n) + 1.0).requires_grad_(grad),)  # type: ignore[misc]
        for n in sizes
    )


def check(program: Program, mode: Any) -> None:
    """Compare all calls in one mode."""
    (eager, prepare_eager), (fn, prepare) = program.copy(), program.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if mode == "export":
            prepare(0)
            ours = _exported(fn, program.calls[0]())
            if ours is None:
                return
        else:
            ours = anyshape.compile(fn, dynamic=mode[0], backend=mode[1])
        for i, call in enumerate(program.calls):
            prepare_eager(i)
            want = outcome(eager, eager, call(), i)
            prepare(i)
            got = outcome(ours, fn, call(), i)
            if mode == "export" and isinstance(got.error, AnyshapeError):
                continue  # refused, aloud
            if any(isinstance(x, torch.Tensor) and untraceable(x) for x in want.inputs):
                want, got = want._replace(inputs=()), got._replace(inputs=())
            wrong = contrast(got, want)
            assert not wrong, f"call {i}: {wrong}"
        if mode != "export" and program.traced and mode[1] == "eager":
            assert ours.eager_because is None


def _exported(fn: Any, args: tuple[Any, ...]) -> Any:
    specs = [
        dict.fromkeys(range(a.dim()), Dim.AUTO) if isinstance(a, torch.Tensor) else None
        for a in args
    ]
    try:
        return export(fn, args, dynamic_shapes=specs, allow_partial=True)
    except AnyshapeError:
        return None
