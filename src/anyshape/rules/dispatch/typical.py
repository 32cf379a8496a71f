"""The answer at typical sizes to a question that cannot be decided while tracing.

Only torch's own code gets such an answer: for a test of a size inside a meta kernel or a function
of `torch.nn.functional`. Every caller makes the answer a runtime assert. What `torch._assert` asks
is the question of its caller.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from torch.overrides import handle_torch_function

from anyshape.env.site import is_own, is_torch
from anyshape.expr import boolean
from anyshape.expr.evaluate import evaluate
from anyshape.expr.traverse import names_of, symbols_of
from anyshape.torch_compat.aten_op import assert_true

if TYPE_CHECKING:
    from types import FrameType

    from anyshape.env import Env
    from anyshape.expr import Bool

_ASKS_FOR_CALLER: Final = (assert_true.__code__, handle_torch_function.__code__)
_SIZE: Final = 4099  # odd, prime, neither small nor a power of 2


def typical(env: Env, condition: Bool) -> bool:
    """The truth value at the hints, with a typical size for each symbol that has none.

    An equality of several symbols, one of them without a hint, is taken to hold.
    """
    values: dict[str, Any] = {}
    unseen = 0
    for i, s in enumerate(symbols_of(condition)):
        value: int | float | None = None
        symbol = env.symbols.get(s.name)
        if symbol is not None:
            value = symbol.hint if symbol.hint is not None else symbol.optimization_hint
            if value is None:
                unseen += 1
                known = env.range_of(symbol.expr)
                value = max(min(_SIZE + 2 * i, known.hi), known.lo)
        values[s.name] = 0.5 if value is None else value
    for name in names_of(condition):  # floats
        values.setdefault(name, 0.5)
    if unseen and len(values) > 1 and condition.op in (boolean.EQ, boolean.NE):
        return condition.op == boolean.EQ
    try:
        return bool(evaluate(condition, values))
    except (ZeroDivisionError, OverflowError, ValueError, KeyError):
        return False


def answer_for_torch(env: Env, condition: Bool) -> bool | None:
    """`typical` if the caller is torch's own Python code; None if it is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        is_own(frame.f_code.co_filename) or frame.f_code in _ASKS_FOR_CALLER
    ):
        frame = frame.f_back
    if frame is None or not is_torch(frame.f_code.co_filename):
        return None
    return typical(env, condition)
