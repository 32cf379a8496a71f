"""The functions that a saved program may call, by name: one fixed table.

An op is in it if it has a rule, or is listed as one whose shapes torch's meta kernel computes, and
checks its arguments: with any arguments it returns or raises, and accesses no memory but that of
its operands and results. The same holds for `torch.ops.aten`, without overloads that write into
`out`. Ops of libraries that torch does not define are found among those registered in the process.
A name is never resolved as a path of attributes.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Final

import torch

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export.files import outlet
from anyshape.export.files.guarded_op import unguarded
from anyshape.rules import data_dependent, generator, linalg
from anyshape.rules.dispatch.op_name import NOT_OPS, REFUSED
from anyshape.rules.dispatch.resolve import loaded_rules, op_name, resolve
from anyshape.rules.dispatch.return_type import row_of
from anyshape.symbolic.torch_calls import HANDLED
from anyshape.tensor import observed
from anyshape.torch_compat.aten_op import (
    CALLABLE_PRIVATE_OPS,
    FOREACH,
    TORCH_LIBRARIES,
    VARIABLE_FUNCTIONS,
    VARIABLE_FUNCTIONS_PATH,
    all_op_names,
    enumerations,
    is_op,
    writes_out,
)
from anyshape.torch_compat.thread_state import SET_GRAD_ENABLED, set_grad_enabled
from anyshape.trace.graph.spelling import methods, path_of, paths
from anyshape.trace.higher_order.runtime import RUNNERS
from anyshape.trace.mode import execution_modes
from anyshape.trace.path.respelled import same_number, same_tensor
from anyshape.trace.sequence import list_call

_OWN: Final[dict[str, Any]] = {
    "anyshape.count": data_dependent.count_elements,
    "anyshape.weighted_bincount": data_dependent._weighted_bincount,
    "anyshape.lstsq_with_residuals": linalg._lstsq_with_residuals,
    "anyshape.expect_grad": observed.expect_grad,
    "anyshape.expect_strides": observed.expect_strides,
    "anyshape.expect_dim_order": observed.expect_dim_order,
    "anyshape.dim_order_of": observed.dim_order_of,
    "anyshape.expect_offset": observed.expect_offset,
    "anyshape.expect_contiguity": observed.expect_contiguity,
    "anyshape.set_autocast": execution_modes.set_autocast,
    "anyshape.set_inference": execution_modes.set_inference,
    "anyshape.set_flag": execution_modes.set_flag,
    "anyshape.need_flag": execution_modes.need_flag,
    "anyshape.leave_modes": execution_modes.leave_modes,
    "anyshape.restore_autocast": execution_modes.restore_autocast,
    "anyshape.restore_grad": execution_modes.restore_grad,
    SET_GRAD_ENABLED: set_grad_enabled,
    "torch.set_default_dtype": torch.set_default_dtype,
    "torch.clear_autocast_cache": torch.clear_autocast_cache,
    "anyshape.set_seed": generator.set_seed,
    "anyshape.same_number": same_number,
    "anyshape.same_tensor": same_tensor,
    **{f"anyshape.{f.__name__}": f for f in list_call.CALLS},
    **outlet.OPS,
    **{f"anyshape.{f.__name__}": f for f in RUNNERS},
}
_PUBLIC: Final = """
    alias cartesian_prod cholesky_solve cross cumulative_trapezoid dsplit einsum
    fake_quantize_per_channel_affine fake_quantize_per_tensor_affine frobenius_norm hsplit
    inner isin lift_fresh lift_fresh_copy linalg_cond linalg_cross linalg_householder_product
    linalg_ldl_factor linalg_ldl_factor_ex linalg_lu_solve linalg_matrix_rank linalg_solve_ex
    linalg_solve_triangular linalg_vander linalg_vecdot lu_solve lu_unpack
    nuclear_norm orgqr ormqr qr stft sum_to_size trapezoid trapz triangular_solve unique_dim vsplit
"""
_WITHOUT_RULE: Final = frozenset(_PUBLIC.split()) | CALLABLE_PRIVATE_OPS
"""Ops without a rule: torch's meta kernels compute their shapes."""

_REFUSED: Final = """
    _backward from_file range retain_grad set_ set_data
"""
_TRUSTING: Final = frozenset(_REFUSED.split())
"""Ops with a rule that trust their arguments or access files, or that do not occur in a program. A
common op that trusts its arguments has a condition in `guarded_op.py` instead."""


def _is_allowed(func: Any) -> bool:
    """Whether a function of torch has a rule or is named in `_WITHOUT_RULE`, and checks its
    arguments.
    """
    name = op_name(func)
    if name in _TRUSTING or func in REFUSED or func in NOT_OPS or func in HANDLED:
        return False
    if name.endswith("_backward"):  # programs have none: gradients come from autograd
        return False
    if type(row_of(resolve(func))) is functools.partial:  # the row of a rule
        return True
    if isinstance(func, types.FunctionType):
        return False
    base = name.removesuffix("_")
    if base.startswith(FOREACH):
        return base.removeprefix(FOREACH) in loaded_rules() and hasattr(VARIABLE_FUNCTIONS, name)
    return base in _WITHOUT_RULE


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
    func = unguarded(func)
    name = _names().get(func) or path_of(func)
    if name is None:
        raise UnsupportedError(
            f"cannot save a program that calls {getattr(func, '__name__', func)!r}",
            why="only functions of torch and registered ops are found again when it is loaded",
            fix="make it an op with torch.library.custom_op",
            code="AS511",
        )
    try:
        same = find(name) == func
    except LoadError as e:
        raise UnsupportedError(
            f"cannot save a program that calls {name}", why=e.what, code="AS511"
        ) from e
    if not same:
        raise UnsupportedError(
            f"cannot save a program that calls {name}", why="its name is ambiguous", code="AS511"
        )
    return name


def find(name: str) -> Any:
    """The function of that name; LoadError if a program may call none of that name."""
    func = _table().get(name)
    if func is not None:
        return func
    if name.startswith("torch.ops."):
        return _registered(name)
    raise _not_in_table(name)


def need_types(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], where: str) -> None:
    """Raise if an op of `torch.ops` gets a number for a dtype, a layout or a memory format."""
    if not is_op(func):
        return
    positions, names = enumerations(func)
    given = [args[i] for i in positions if i < len(args)]
    for x in (*given, *[kwargs[name] for name in names if name in kwargs]):
        if x is not None and type(x) not in (torch.dtype, torch.layout, torch.memory_format):
            raise LoadError(f"{where} gives {func} {str(x)[:60]!r} for a dtype or the like")


@functools.lru_cache(maxsize=1024)
def _registered(name: str) -> Any:
    library, _, rest = name.removeprefix("torch.ops.").partition(".")
    op, _, overload = rest.partition(".")
    if not all(part.isidentifier() for part in (library, op, overload or "default")):
        raise LoadError(f"{name[:200]!r} is not the name of an op")
    if library in TORCH_LIBRARIES or library.startswith("_"):
        raise _not_in_table(name)
    full = f"{library}::{op}" + (f".{overload}" if overload not in ("", "default") else "")
    names = all_op_names()
    if full not in names and (overload or not any(n.startswith(f"{full}.") for n in names)):
        if library == "aten":
            raise _not_in_table(name)
        raise LoadError(
            f"the op {full} is not registered in this process",
            fix=f"import the library that defines the ops of {library!r} before loading",
            code="AS504",
        )
    packet = getattr(getattr(torch.ops, library), op)
    found = getattr(packet, overload) if overload else packet
    if library == "aten" and not (_is_allowed(found) and not writes_out(found)):
        raise _not_in_table(name)
    return found


def _not_in_table(name: str) -> LoadError:
    return LoadError(
        f"the program calls {name[:200]!r}, which is not in the table of ops", code="AS504"
    )
