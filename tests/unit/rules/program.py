"""A program traced once and run on many inputs, against eager execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.trace import Captured, capture
from tests.differential.op_db import copies, difference
from tests.differential.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable


def traced(
    fn: Callable[..., Any], *example: Any, kind: str = "unbacked", numbers: bool = True
) -> Captured:
    """The program with every size, and every integer that is given, a symbol."""

    def choose(spot: Any) -> Any:
        return kind if spot.dim is not None or (numbers and type(spot.value) is int) else "static"

    return capture(fn, example, dynamic=choose)


def fresh(args: tuple[Any, ...]) -> list[Any]:
    """The arguments with copies of the tensors."""
    return [copies([a])[0] if isinstance(a, torch.Tensor) else a for a in args]


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call gives, with the tensors as it leaves them; or the error."""
    given = fresh(args)
    try:
        return fn(*given), given
    except Exception as e:
        return e


def check_run(fn: Callable[..., Any], program: Captured, *args: Any) -> bool:
    """Make sure that the program agrees with eager or refuses; whether it gave a result.

    What eager refuses, the program must refuse; where it gives a result, each intermediate must be
    as predicted (its strides where no size is 0 or 1: they are those of the general case).
    """
    expected, actual = outcome(fn, args), outcome(program, args)
    if isinstance(expected, Exception):
        assert isinstance(actual, Exception), f"{args}: a result where eager raises {expected!r}"
        return False
    if isinstance(actual, Exception):
        return False
    wrong = difference("", actual, expected)
    assert not wrong, f"{args}: {wrong}"
    large = all(n >= 2 for a in args if isinstance(a, torch.Tensor) for n in a.shape)
    predicted = Replay(program, fresh(args)).run(strides=large)
    assert not predicted, f"{args}: {predicted}"
    return True


def agrees(fn: Callable[..., Any], program: Captured, *args: Any) -> None:
    """Make sure that the program gives what eager gives, result or error."""
    assert check_run(fn, program, *args) or isinstance(outcome(fn, args), Exception), (
        f"{args}: {outcome(program, args)!r}"
    )
