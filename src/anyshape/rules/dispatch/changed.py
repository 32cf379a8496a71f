"""Which operands a call without a rule may change: by its schema, or by its name."""

from __future__ import annotations

from typing import Any

from anyshape.rules.dispatch.result import Done
from anyshape.rules.shared.operand import is_tensor
from anyshape.torch_compat.aten_op import schema_of, writing_schema


def is_inplace(name: str) -> bool:
    """Whether an op of this name changes its first operand."""
    return name.endswith("_") and not name.endswith("__")


def changed_by(func: Any, args: Any, kwargs: Any, result: Any) -> list[Any]:
    """The tensors that a call may change.

    A call that has no schema and returns nothing may change all of them.
    """
    schema = schema_of(func) or writing_schema(getattr(func, "__name__", ""))
    if schema is not None:
        given = [*args[: len(schema.arguments)]]
        pairs = [*zip(schema.arguments, given, strict=False)]
        pairs += [(a, kwargs[a.name]) for a in schema.arguments if a.name in kwargs]
        written = [x for a, x in pairs if a.alias_info is not None and a.alias_info.is_write]
    elif is_inplace(getattr(func, "__name__", "")):
        written = [*args[:1]]
    else:
        nothing = type(result) is Done and result.value is None
        written = [*args, *kwargs.values()] if nothing else []
    return [x for x in flat_operands(written) if is_tensor(x)]


def flat_operands(args: Any) -> list[Any]:
    """Operands, and those in tuples and lists among them."""
    return [part for a in args for part in (a if isinstance(a, tuple | list) else (a,))]
