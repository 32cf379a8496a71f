"""The functions that a saved program may call, by name: one fixed table.

It has the functions and methods of torch with a rule, the ops of torch without one, whose shapes
meta kernels compute, and the few functions of anyshape that programs call. Ops of other libraries
are found among those registered in the process. A name is never resolved as a path of attributes.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Final

import torch

from anyshape.errors import LoadError, UnsupportedError
from anyshape.rules import data, linalg, random
from anyshape.rules.dispatch.op_name import NOT_OPS, REFUSED
from anyshape.rules.dispatch.resolve import loaded_rules, resolve
from anyshape.symbolic.torch_calls import HANDLED
from anyshape.tensor import observed
from anyshape.torch_compat.aten_op import (
    CALLABLE_PRIVATE_OPS,
    VARIABLE_FUNCTIONS,
    VARIABLE_FUNCTIONS_PATH,
    all_op_names,
)
from anyshape.torch_compat.thread_state import SET_GRAD_ENABLED, set_grad_enabled
from anyshape.trace import execution_modes
from anyshape.trace.spelling import methods, path_of, paths

_OWN: Final[dict[str, Any]] = {
    "anyshape.count": data._count,
    "anyshape.weighted_bincount": data._weighted_bincount,
    "anyshape.lstsq_with_residuals": linalg._lstsq_with_residuals,
    "anyshape.expect_grad": observed.expect_grad,
    "anyshape.expect_strides": observed.expect_strides,
    "anyshape.expect_offset": observed.expect_offset,
    "anyshape.expect_contiguity": observed.expect_contiguity,
    "anyshape.set_autocast": execution_modes.set_autocast,
    "anyshape.set_inference": execution_modes.set_inference,
    SET_GRAD_ENABLED: set_grad_enabled,
    "torch.set_default_dtype": torch.set_default_dtype,
    "anyshape.set_seed": random.set_seed,
}
# Ops that access files, other processes or raw memory, or that do not occur in a program.
_DENIED: Final = frozenset(("from_file", "set_", "data", "set_data", "_backward", "retain_grad"))
_LIBRARIES: Final = """
    prim c10d _c10d_functional _c10d_functional_autograd symm_mem profiler static_runtime inductor
    cuda onnx tensorexpr debugprims higher_order
"""
_DENIED_LIBRARIES: Final = frozenset(_LIBRARIES.split())


@functools.cache
def _torch_ops() -> frozenset[str]:
    """The names of torch's own ops, without those of TorchScript, some of which access files."""
    names = all_op_names()
    return frozenset(n[6:].split(".")[0] for n in names if n.startswith("aten::"))


def _is_torch_op(name: str) -> bool:
    """Whether torch has an op of that name which a program may call."""
    if name in _DENIED:
        return False
    return name in _torch_ops() and (not name.startswith("_") or _is_allowed_private(name))


def _is_allowed_private(name: str) -> bool:
    return name.startswith("_foreach_") or name in CALLABLE_PRIVATE_OPS or name in loaded_rules()


def _is_allowed(func: Any) -> bool:
    name = getattr(func, "__name__", "")
    if name in _DENIED or func in REFUSED or func in NOT_OPS or func in HANDLED:
        return False
    if type(resolve(func)) is functools.partial:  # the row of a rule
        return True
    return not isinstance(func, types.FunctionType) and _is_torch_op(name)


@functools.cache
def _table() -> dict[str, Any]:
    found = {f"torch.Tensor.{name}": f for f, name in methods().items() if _is_allowed(f)}
    found.update({path: f for f, path in paths().items() if _is_allowed(f)})
    for name in dir(VARIABLE_FUNCTIONS):  # behind Python functions of the same names
        func = getattr(VARIABLE_FUNCTIONS, name)
        if callable(func) and path_of(func) is None and _is_allowed(func):
            found[f"{VARIABLE_FUNCTIONS_PATH}.{name}"] = func
    return {**found, **_OWN}


@functools.cache
def _names() -> dict[Any, str]:
    return {func: name for name, func in _table().items()}


def name_of(func: Any) -> str:
    """The name under which a function is saved; raises for one that could not be loaded."""
    name = _names().get(func) or path_of(func)
    if name is None:
        raise UnsupportedError(
            f"cannot save a program that calls {getattr(func, '__name__', func)!r}",
            why="only functions of torch and registered ops are found again when it is loaded",
            fix="make it an op with torch.library.custom_op",
        )
    try:
        same = find(name) == func
    except LoadError as e:
        raise UnsupportedError(f"cannot save a program that calls {name}", why=e.what) from e
    if not same:
        raise UnsupportedError(
            f"cannot save a program that calls {name}", why="its name is ambiguous"
        )
    return name


def find(name: str) -> Any:
    """The function of that name; LoadError if a program may call none of that name."""
    func = _table().get(name)
    if func is not None:
        return func
    if name.startswith("torch.ops."):
        return _registered(name)
    raise LoadError(f"the program calls {name[:200]!r}, which is not in the table of ops")


@functools.lru_cache(maxsize=1024)
def _registered(name: str) -> Any:
    library, _, rest = name.removeprefix("torch.ops.").partition(".")
    op, _, overload = rest.partition(".")
    if not all(part.isidentifier() for part in (library, op, overload or "default")):
        raise LoadError(f"{name[:200]!r} is not the name of an op")
    allowed = _is_torch_op(op) if library == "aten" else library not in _DENIED_LIBRARIES
    if not allowed:
        raise LoadError(f"the program calls {name[:200]!r}, which is not in the table of ops")
    full = f"{library}::{op}" + (f".{overload}" if overload not in ("", "default") else "")
    names = all_op_names()
    if full not in names and (overload or not any(n.startswith(f"{full}.") for n in names)):
        raise LoadError(
            f"the op {full} is not registered in this process",
            fix=f"import the library that defines the ops of {library!r} before loading",
        )
    packet = getattr(getattr(torch.ops, library), op)
    return getattr(packet, overload) if overload else packet
