"""What code without a twin may call: what only computes, and what the tracer sees below Python.

A trace gives code without a twin no substitutes. So what has one because it has an effect, or tells
of state, must not be there: `print`, draws and seeds, clocks, files, settings. Nothing is taken to
be harmless that is not known to be.
"""

from __future__ import annotations

import builtins
import functools
import types
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Final

import torch

from anyshape.env.site import in_package, is_torch
from anyshape.rules.dispatch.op_name import NOT_OPS
from anyshape.rules.dispatch.resolve import resolve
from anyshape.symbolic.torch_calls import HANDLED
from anyshape.torch_compat.aten_op import VARIABLE_FUNCTIONS, is_op
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP

_COMPUTING: Final = """
    abs all any ascii bin callable chr divmod format hash hex isinstance issubclass len max min oct
    ord pow repr round sorted sum NotImplemented Ellipsis __build_class__
"""
_BUILTINS: Final = frozenset(id(getattr(builtins, name)) for name in _COMPUTING.split())
_CLASSES: Final = frozenset(  # all but the one that opens the memory of an object
    id(x)
    for x in vars(builtins).values()
    if isinstance(x, type) and x is not memoryview
    if not x.__flags__ & HEAP or issubclass(x, BaseException)
)
_MODULES: Final = frozenset(
    ("math", "cmath", "operator", "_operator", "functools", "_functools", "itertools", "typing",
     "collections", "_collections", "collections.abc", "types", "numbers", "abc", "enum",
     "dataclasses", "fractions", "__future__")
)  # fmt: skip
_REACHING: Final = frozenset(("attrgetter", "methodcaller", "cache", "lru_cache", "singledispatch"))
_OF_TORCH: Final = ("torch.nn.functional", "torch.functional")
_CHECKS: Final = ("_assert", "_check", "sym_", "is_tensor", "is_complex", "is_floating_point")
_READING: Final = frozenset(
    ("forward", "parameters", "named_parameters", "buffers", "named_buffers", "children",
     "named_children", "modules", "named_modules", "get_parameter", "get_buffer", "get_submodule")
)  # fmt: skip
_PURE: Final = (torch.promote_types, torch.can_cast, torch.finfo, torch.iinfo, torch.device)
_BLOCKS: Final = (torch.no_grad, torch.enable_grad)
_CALLABLE: Final = (type, types.FunctionType, types.BuiltinFunctionType)
_VALUES: Final = (Decimal, Fraction, Enum, torch.finfo, torch.iinfo)


def is_value(x: Any) -> bool:
    """Whether an object is data without methods that could do anything."""
    kind = type(x)
    if kind is types.BuiltinFunctionType or isinstance(x, type):
        return False
    return kind in ATOMS or kind in _VALUES or isinstance(x, torch.Tensor)


def computes(f: Any) -> bool:
    """Whether a function or class, that is not the user's, is known to compute only."""
    if id(f) in _BUILTINS or id(f) in _CLASSES:
        return True
    module, name = getattr(f, "__module__", None), getattr(f, "__name__", "")
    if type(f) is types.MethodDescriptorType:
        return bool(f.__objclass__.__module__ == "builtins")
    if not isinstance(f, _CALLABLE) and not is_op(f):
        return False
    if isinstance(f, type):
        return _makes_values(f) or (module in _MODULES and name not in _REACHING)
    if type(f) is types.BuiltinFunctionType:
        if isinstance(f.__self__, type) and f.__self__.__module__ == "builtins":
            return True  # as `tuple.__new__` and `dict.fromkeys`
        if not isinstance(f.__self__, types.ModuleType | type | None):
            return False  # the method of an object
        module = module or getattr(f.__self__, "__name__", None)
    if module in _MODULES:
        return name not in _REACHING
    if module == "torch" or is_of_kernels(f, name):
        return is_of_kernels(f, name) or f in _PURE or name.startswith(_CHECKS)
    if type(f) is not types.FunctionType or not is_torch(f.__code__.co_filename):
        return False
    of_modules = in_package(str(module), "torch.nn.modules")
    return module in _OF_TORCH or (of_modules and (name in _READING or name.startswith("_")))


def is_of_kernels(f: Any, name: str) -> bool:
    """Whether a function is an op, which the tracer sees."""
    if is_op(f) or (f.__hash__ is not None and f in HANDLED and f not in NOT_OPS):
        return True
    if type(f) is not types.BuiltinFunctionType or f in NOT_OPS:
        return False
    if getattr(VARIABLE_FUNCTIONS, name, None) == f:
        return True
    is_torchs = in_package(f.__module__ or "", "torch")
    return is_torchs and type(resolve(f)) is functools.partial


def _makes_values(kind: type) -> bool:
    """Whether a class of torch's or of Python's makes objects without effects."""
    if kind in _BLOCKS or kind in _VALUES or kind in ATOMS:
        return True
    return kind in CONTAINERS or issubclass(kind, torch.Tensor | tuple)
