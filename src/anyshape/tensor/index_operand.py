"""Objects of the user's that torch takes for integers: their classes define `__index__`."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch

from anyshape.symbolic.operand import is_symbolic


class IndexOperand(BaseException):
    """An operand is such an object. No handler of errors in a rule or a program may see it."""


def is_index(x: Any) -> bool:
    """Whether an object is such an integer, and none of torch, NumPy or a trace."""
    method = getattr(type(x), "__index__", None)
    return type(method) is FunctionType and not (is_symbolic(x) or isinstance(x, torch.Tensor))
