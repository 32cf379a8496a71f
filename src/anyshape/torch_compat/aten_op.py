"""Registered ops: their classes, names and schemas, and the private ops that anyshape names."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch._C import _dispatch_get_all_op_names as all_op_names
from torch._C import _dispatch_has_kernel_for_dispatch_key as has_kernel
from torch._ops import OpOverload, OpOverloadPacket

__all__ = [
    "ASSERT_NOTHING",
    "ASSERT_SCALAR",
    "BATCH_NORM_WITH_UPDATE",
    "CALLABLE_PRIVATE_OPS",
    "DATA",
    "FOREACH",
    "NAMESPACES",
    "TORCH_LIBRARIES",
    "VARIABLE_FUNCTIONS",
    "VARIABLE_FUNCTIONS_PATH",
    "OpOverload",
    "OpOverloadPacket",
    "all_op_names",
    "asks_metadata",
    "assert_true",
    "enumerations",
    "has_kernel",
    "is_op",
    "op_path",
    "qualified_name",
    "schema_of",
    "schemas_named",
    "writes_out",
    "writing_schema",
]

# `OpOverload` is the class of `torch.ops.aten.add.Tensor`, `OpOverloadPacket` of
# `torch.ops.aten.add`. `all_op_names()` has "aten::add.Tensor" for every registered op; loading a
# saved program checks names against it instead of importing them. `has_kernel(op, key)` tells
# whether an op has a kernel of its own for a dispatch key, as for autocast.

_CLASSES: Final = (OpOverload, OpOverloadPacket)
_ENUMERATIONS: Final = ("ScalarType", "Layout", "MemoryFormat")

NAMESPACES: Final[dict[str, Any]] = {"torch._C._nn": torch._C._nn}
"""Namespaces of ops besides the public ones. Functions of `torch.nn.functional` call these, so that
they appear in graphs; generated code spells them by these paths."""

VARIABLE_FUNCTIONS: Final[Any] = torch._C._VariableFunctions
"""The builtin functions behind `torch.*`, among them those that a Python function shadows."""

VARIABLE_FUNCTIONS_PATH: Final = "torch._VF"
"""The namespace of `VARIABLE_FUNCTIONS` in saved programs."""

assert_true: Final[Any] = torch._assert
"""`assert_true(condition, message)`: an assert as a call, which an fx graph can hold."""

ASSERT_NOTHING: Final[Any] = torch.ops.aten._assert_tensor_metadata.default
"""An assert that with one operand asserts nothing. Torch drops calls of graphs whose results are
not used, even if they change tensors, and it takes this for a use."""

ASSERT_SCALAR: Final[Any] = torch.ops.aten._assert_scalar.default
"""The assert that Inductor compiles into a check of the generated code."""

DATA: Final[Any] = torch.ops.aten.data.default
"""What the attribute `data` of a tensor gives, as a call: its memory with another version counter.
With `detach` in its place, autograd would notice a change in place that eager execution hides."""

BATCH_NORM_WITH_UPDATE: Final[Any] = torch.ops.aten._batch_norm_with_update
"""Batch normalization that changes the running statistics in place, which is recorded as such."""

FOREACH: Final = "_foreach_"
"""The prefix of the ops that apply another op to each tensor of a list."""

_LIBRARIES: Final = """
    c10d c10d_functional cuda debug_mode_ops debugprims export flex_lib fsdp higher_order inductor
    inductor_prims mkl mkldnn mkldnn_prepacked onednn onnx onnx_symbolic prim prims profiler
    quantization quantized quantized_decomposed rngprims sparse static_runtime streams symm_mem
    tensorexpr
"""
TORCH_LIBRARIES: Final = frozenset(_LIBRARIES.split())
"""The libraries of ops that torch defines besides `aten`, without those whose names begin with an
underscore. A saved program calls none of their ops, many of which trust their arguments."""

_CALLABLE: Final = """
    _adaptive_avg_pool2d _adaptive_avg_pool3d _cdist_forward _chunk_cat _conj _fft_c2c _fft_c2r
    _fft_r2c _grouped_mm _int_mm _log_softmax _lu_with_info _masked_softmax _neg_view _pdist_forward
    _scaled_mm
    _scaled_dot_product_attention_math _softmax _to_copy _trilinear _unsafe_index
    _unsafe_masked_index _unsafe_view
"""
CALLABLE_PRIVATE_OPS: Final = frozenset(_CALLABLE.split())
"""Private ops without a shape rule that torch's Python functions call, and that check their
arguments. Of the ops whose names begin with an underscore, a saved program may call these and those
that have a rule."""


def is_op(func: Any) -> bool:
    """Whether a function is an op of `torch.ops`."""
    return isinstance(func, _CLASSES)


def qualified_name(func: Any) -> str:
    """The name of an op without its overload, as "aten::add"; empty for any other function."""
    if isinstance(func, OpOverloadPacket):
        return func._qualified_op_name
    return str(func._schema.name) if isinstance(func, OpOverload) else ""


def op_path(func: Any) -> str | None:
    """How Python spells an op, as "torch.ops.aten.add.Tensor"; None for any other function."""
    if isinstance(func, OpOverload):
        return f"torch.ops.{func.namespace}.{func._opname}.{func._overloadname}"
    if isinstance(func, OpOverloadPacket):
        return "torch.ops." + func._qualified_op_name.replace("::", ".")
    return None


def schema_of(func: Any) -> Any:
    """The schema of an op; of several overloads, one that writes if there is one, else the first.

    None for a function that is no op. Without it, a call without a rule could not tell which of its
    operands it changes.
    """
    schemas = _schemas(func)
    return next((s for s in schemas if s.is_mutable), schemas[0]) if schemas else None


def writing_schema(name: str) -> Any:
    """The schema of the op of this name that writes to an operand; None if none does.

    Without it, a function of torch such as `_amp_update_scale_`, which is no op of `torch.ops`,
    would seem to change its first operand alone.
    """
    for schema in _schemas(getattr(torch.ops.aten, name, None)):
        written = [a for a in schema.arguments if a.alias_info is not None]
        if any(a.alias_info.is_write and not a.kwarg_only for a in written):
            return schema
    return None


def container_of(func: Any) -> type | None:
    """The class of the container in which an op of `torch.ops` returns its results; None if there
    is one result, or the function is no op.

    Without it, a program would return the named tuple of the function with the same name.
    """
    found = None
    for schema in _schemas(func):
        kinds = [str(r.type) for r in schema.returns]
        if kinds in (["List[Tensor]"], ["List[int]"]):
            return list
        if len(kinds) > 1:
            found = tuple
    return found


def _schemas(func: Any) -> list[Any]:
    if isinstance(func, OpOverloadPacket):
        return [getattr(func, name)._schema for name in func.overloads()]  # type: ignore[no-untyped-call]
    return [func._schema] if isinstance(func, OpOverload) else []


def asks_metadata(func: Any, schema: Any) -> bool:
    """Whether an op gives numbers about a tensor that do not depend on its data, as its sizes."""
    kinds = [str(r.type) for r in schema.returns]
    return (
        bool(kinds)
        and not any("Tensor" in kind for kind in kinds)
        and torch.Tag.data_dependent_output not in func.tags
    )


def enumerations(func: Any) -> tuple[set[int], set[str]]:
    """The positions and names of the parameters of an op for dtypes, layouts and memory formats.

    `torch.ops` takes any integer there, and an integer that is none of them crashes.
    """
    if isinstance(func, OpOverloadPacket):
        parts = [enumerations(getattr(func, name)) for name in func.overloads()]  # type: ignore[no-untyped-call]
        return set().union(*[p for p, _ in parts]), set().union(*[n for _, n in parts])
    listed = [
        (i, a)
        for i, a in enumerate(func._schema.arguments)
        if any(kind in str(a.real_type) for kind in _ENUMERATIONS)
    ]
    return {i for i, a in listed if not a.kwarg_only}, {a.name for _, a in listed}


def writes_out(func: Any) -> bool:
    """Whether an op, or a packet that has only such, writes into a keyword argument, as `out`."""
    if isinstance(func, OpOverloadPacket):
        return all(writes_out(getattr(func, name)) for name in func.overloads())  # type: ignore[no-untyped-call]
    written = [a for a in func._schema.arguments if a.alias_info is not None]
    return any(a.kwarg_only and a.alias_info.is_write for a in written)


def schemas_named(name: str) -> list[Any]:
    """The schemas of all overloads of an op by its name, as "aten::add"; none where there is no
    such op. A warning about a rule shows them.
    """
    return list(torch._C._jit_get_schemas_for_operator(name))
