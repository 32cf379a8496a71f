"""Special methods that `torch.Tensor` has of its own, as `__rsub__` and `__pow__`.

A user can put others in their place, and the class has as many names as before. So a program
depends on those that it has used: the trace notes their names.
"""

from __future__ import annotations

from types import FunctionType, MethodDescriptorType
from typing import Any, Final

import torch

_NO_OPERATORS: Final = frozenset(("__deepcopy__", "__reduce_ex__", "__setstate__"))
PYTHON_METHODS: Final = {
    name: method
    for name, method in vars(torch.Tensor).items()
    if name.startswith("__")
    and name not in _NO_OPERATORS
    and type(method) in (FunctionType, MethodDescriptorType)
}
"""What they are when this system is imported, by name."""

NAMES: Final[dict[Any, str]] = {method: name for name, method in PYTHON_METHODS.items()}
"""Their names."""


def noted(name: str, method: Any) -> Any:
    """The method of a traced tensor, which notes that it is used."""
    if name not in PYTHON_METHODS:
        return method

    def noting(t: Any, *args: Any, **kwargs: Any) -> Any:
        t._tracer.met_methods.add(name)
        return method(t, *args, **kwargs)

    noting.__name__ = name
    return noting
