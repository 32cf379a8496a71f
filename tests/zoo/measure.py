"""What happens to a program in each mode, against eager execution: one outcome per mode.

Every run starts from a case that was built anew, so no mode sees what another one did. A call that
eager execution refuses must be refused. Random numbers start from the same seed in every call.
"""

from __future__ import annotations

import contextlib
import inspect
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

import anyshape
from tests.zoo.case import Case, spec, split
from tests.zoo.compare import difference

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.zoo.case import Call, Program

CLOSE = 1e-4
CLOSE_16 = 2e-2  # results in bfloat16


class Outcome(NamedTuple):
    """`status` is "right", "eager" (right, but it gave up), "partly" (it refuses sizes that eager
    takes), "fails" or "wrong"; `detail` says what differs or was raised.
    """

    status: str
    detail: str = ""
    seconds: float = 0.0
    breaks: int = 0


class Raised(NamedTuple):
    """A call that raised."""

    error: Exception


def call(fn: Callable[..., Any], given: Call) -> Any:
    """The result of a call on copies of its arguments, or what it raised."""
    leaves, tree = pytree.tree_flatten(given)
    leaves = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    args, kwargs = split(pytree.tree_unflatten(leaves, tree))
    torch.manual_seed(0)
    try:
        return fn(*args, **kwargs)
    except Exception as error:  # every error is an outcome
        return Raised(error)


def text_of(error: BaseException) -> str:
    """The class of an error and the first line of its text."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def compare(
    fn: Callable[..., Any], expected: list[Any], calls: list[Call], tolerance: float
) -> Outcome:
    """The results of all calls against those of eager execution."""
    refused = ""
    for i, (given, value) in enumerate(zip(calls, expected, strict=True)):
        result = call(fn, given)
        if isinstance(result, Raised):
            if not isinstance(value, Raised):
                refused = refused or f"call {i}: {text_of(result.error)}"
        elif isinstance(value, Raised):
            return Outcome("wrong", f"call {i}: eager raises {text_of(value.error)}")
        elif wrong := difference(result, value, tolerance):
            return Outcome("wrong", f"call {i}: {wrong}")
    return Outcome("partly", refused) if refused else Outcome("right")


def eager(
    case: Case, step: Callable[[Any], Callable[..., Any]], *, may_raise: bool = False
) -> list[Any]:
    """What eager execution gives for all calls; the example must work, unless it `may_raise`."""
    expected = [call(step(case.model), given) for given in case.calls]
    if isinstance(expected[0], Raised) and not may_raise:
        raise expected[0].error
    return expected


def plain(model: Any) -> Any:
    """A forward pass."""
    return model


def backward(model: Any) -> Callable[..., Any]:
    """A forward and a backward pass; the result has the gradients and the buffers too."""

    def step(*args: Any, **kwargs: Any) -> Any:
        inputs = [
            x.requires_grad_()
            for x in pytree.tree_leaves((args, kwargs))
            if isinstance(x, torch.Tensor) and x.is_floating_point()
        ]
        out = model(*args, **kwargs)
        losses = [
            x.float().mean()
            for x in pytree.tree_leaves(out)
            if isinstance(x, torch.Tensor) and x.requires_grad
        ]
        sum(losses, torch.zeros(())).backward()
        named = list(model.named_parameters()) if isinstance(model, torch.nn.Module) else []
        grads = {name.removeprefix("_orig_mod."): p.grad for name, p in named}
        for _, p in named:
            p.grad = None
        return out, grads, [x.grad for x in inputs]

    return step


def exported(program: Program) -> Outcome | None:
    """`anyshape.export` with every size dynamic that differs between the calls."""
    if not program.build().exports:
        return None
    with torch.no_grad():
        expected = eager(program.build(), plain)
        case = program.build()
        args, kwargs = split(case.calls[0])
        start = time.perf_counter()
        made = anyshape.export(
            case.model, args, kwargs, dynamic_shapes=spec(case, anyshape.Dim.AUTO)
        )
        seconds = time.perf_counter() - start
        return compare(made, expected, case.calls, CLOSE)._replace(seconds=seconds)


def torch_exported(program: Program) -> Outcome | None:
    """`torch.export.export` with the same sizes dynamic."""
    if not program.build().exports:
        return None
    with torch.no_grad():
        expected = eager(program.build(), plain)
        case = program.build()
        model = case.model if isinstance(case.model, torch.nn.Module) else _Function(case.model)
        args, kwargs = split(case.calls[0])
        shapes = by_parameter(model, spec(case, torch.export.Dim.AUTO))
        start = time.perf_counter()
        made = torch.export.export(model, args, kwargs, dynamic_shapes=shapes).module()
        seconds = time.perf_counter() - start
        return compare(made, expected, case.calls, CLOSE)._replace(seconds=seconds)


def by_parameter(model: torch.nn.Module, shapes: Any) -> Any:
    """`dynamic_shapes` as `torch.export` reads them: one item for `*args`, one for `**kwargs`."""
    known = inspect.signature(model.forward).parameters
    rest = [name for name, p in known.items() if p.kind is p.VAR_KEYWORD]
    if isinstance(shapes, dict):
        named = {k: v for k, v in shapes.items() if k in known}
        others = {k: v for k, v in shapes.items() if k not in known}
        return {**named, **{name: others for name in rest if others}}
    at = [i for i, p in enumerate(known.values()) if p.kind is p.VAR_POSITIONAL]
    return (*shapes[: at[0]], tuple(shapes[at[0] :])) if at else shapes


class _Function(torch.nn.Module):
    """A function as a module, for `torch.export`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


def compiled(
    program: Program,
    step: Callable[[Any], Callable[..., Any]] = plain,
    tolerance: float = CLOSE,
    *,
    training: bool = False,
    may_raise: bool = False,
) -> Outcome:
    """`anyshape.compile` with its defaults, all calls and the first once more."""

    def ready() -> Case:
        case = program.build()
        if training and isinstance(case.model, torch.nn.Module):
            case.model.train()
        return case._replace(calls=[*case.calls, case.calls[0]])

    expected = eager(ready(), step, may_raise=may_raise)
    case = ready()
    start = time.perf_counter()
    made = anyshape.compile(case.model)
    outcome = compare(step(made), expected, case.calls, tolerance)
    outcome = outcome._replace(seconds=time.perf_counter() - start, breaks=made.stats.breaks)
    if made.eager_because is None:
        return outcome
    if outcome.status != "right":
        return outcome
    return outcome._replace(status="eager", detail=str(made.eager_because).splitlines()[0][:300])


def trained(program: Program) -> Outcome | None:
    """A compiled module in training mode, with a backward pass after each call."""
    if not program.build().trains:
        return None
    return compiled(program, backward, training=True)


def without_grad(program: Program) -> Outcome:
    """Compiled, and called under `no_grad`."""
    with torch.no_grad():
        return compiled(program)


def autocast(program: Program) -> Outcome:
    """Compiled, and called under autocast to bfloat16, for which some processors lack kernels."""
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        return compiled(program, tolerance=CLOSE_16, may_raise=True)


MODES: dict[str, Callable[[Program], Outcome | None]] = {
    "export": exported,
    "torch.export": torch_exported,
    "compile": compiled,
    "train": trained,
    "no_grad": without_grad,
    "autocast": autocast,
}


def measure(program: Program, mode: str) -> Outcome | None:
    """The outcome of a program in a mode; None where the mode makes no sense."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        try:
            return MODES[mode](program)
        except Exception as error:  # every error is an outcome
            return Outcome("fails", text_of(error))
