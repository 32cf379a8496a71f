"""Operators with a tensor from outside on the left and a traced one on the right.

Python asks the reflected method first, since the class of traced tensors is a subclass. Eager
execution calls the operator itself, whose kernel may be another one: `__rtruediv__` multiplies with
a reciprocal, which rounds twice.
"""

from __future__ import annotations

from typing import Any, Final

import torch

_OPERATORS: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
    "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
STRAIGHT: Final = {f"__r{op}__": f"__{op}__" for op in _OPERATORS}
"""The operator that each reflected method stands for."""


def reflected(name: str, own: Any) -> Any:
    """A reflected method: `own`, or the operator itself if the left operand is a tensor."""
    straight = getattr(torch.Tensor, STRAIGHT[name])

    def method(t: Any, other: Any) -> Any:
        if type(other) in (torch.Tensor, torch.nn.Parameter):
            return t._tracer.call(straight, (other, t), {})
        return own(t, other)

    method.__name__ = name
    return method
