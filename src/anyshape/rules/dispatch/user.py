"""Rules that users register: written with torch's own factories over symbolic sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import ArgumentError
from anyshape.rules.dispatch.result import Many
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor

if TYPE_CHECKING:
    from anyshape.rules.dispatch.table import Rule


def run_user_rule(tracer: Any, found: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a user's rule; the ops that it calls are not recorded."""
    with tracer.unrecorded():
        out = found.function(*args, **kwargs)
    return _as_result(out)


def _as_result(out: Any) -> Any:
    if type(out) is SymTensor:
        meta = out._meta
        return Meta(meta.shape, meta.dtype, meta.layout, meta.device)
    if isinstance(out, tuple | list):
        return Many([_as_result(part) for part in out], type(out))
    raise ArgumentError(f"a rule returns a tensor or a tuple of tensors, not {type(out).__name__}")
