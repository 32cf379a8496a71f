"""Functions of numbers of Python's `math`, which keep symbolic numbers symbolic."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from anyshape.symbolic.math_functions import FUNCTIONS, OF_ITEMS
from anyshape.trace.record.object_kind import ATOMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.builtin.iteration import Iterations
    from anyshape.trace.record.recorder import Recorder


def number_calls(recorder: Recorder, iterations: Iterations) -> Iterator[tuple[Any, Any]]:
    """Pairs of a function and what to call in its place."""
    for name, f in FUNCTIONS.items():
        substitute = (
            functools.partial(_of_items, f, recorder, iterations)
            if name in OF_ITEMS
            else functools.partial(_of_numbers, f, recorder)
        )
        yield getattr(math, name), substitute


def _of_numbers(f: Any, recorder: Recorder, /, *args: Any, **named: Any) -> Any:
    """A function of numbers: what an object of the user's gives for one would go unseen."""
    for a in args:
        if type(a) not in ATOMS:
            recorder.need_passive(a)
    return f(*args, **named)


def _of_items(f: Any, recorder: Recorder, iterations: Iterations, /, *args: Any) -> Any:
    """A function of iterables, whose items are read."""
    given = [a if type(a) in ATOMS else list(iterations.iterated(a)) for a in args]
    return _of_numbers(f, recorder, *given)
