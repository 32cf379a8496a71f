"""Special methods that `torch.Tensor` has of its own, as `__rsub__` and `__pow__`.

A user can put others in their place, and the class has as many names as before. So a program
depends on those that it has used: the trace notes their names. Those of this table that are not
torch's own were put there before this system was imported; no program is made while there are such.
"""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any, Final

import torch

from anyshape.env.site import in_package, is_torch

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


_IN_C: Final = (MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType)


def is_special(name: str) -> bool:
    """Whether Python calls a method of this name by itself."""
    return name.startswith("__") and name.endswith("__")


def is_torchs(method: Any) -> bool:
    """Whether something in the dict of `torch.Tensor` is torch's own, or no method."""
    function = getattr(method, "fget", getattr(method, "__func__", method))
    if isinstance(function, FunctionType):
        return is_torch(function.__code__.co_filename)
    if isinstance(method, _IN_C):
        return method.__objclass__ in torch.Tensor.__mro__
    if isinstance(method, BuiltinFunctionType):
        return in_package(getattr(method.__self__, "__name__", None), "torch")
    return not callable(method) and not hasattr(type(method), "__get__")


def noted(name: str, method: Any) -> Any:
    """The method of a traced tensor, which notes that it is used."""
    if name not in PYTHON_METHODS:
        return method

    def noting(t: Any, *args: Any, **kwargs: Any) -> Any:
        t._tracer.met_methods.add(name)
        return method(t, *args, **kwargs)

    noting.__name__ = name
    return noting
