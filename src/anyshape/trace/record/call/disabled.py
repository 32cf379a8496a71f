"""Functions that `torch.compiler.disable` keeps out of programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.env.site import is_torch
from anyshape.torch_compat.dynamo import disabled_because, is_disabled_alone, original_of

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder


def need_enabled(recorder: Recorder, f: Any) -> None:
    """Raise if a function is kept out of the program that is traced: `compile` breaks there.

    What torch has disabled for its own compiler is traced. So are, in an export, a function that is
    disabled without those that it calls, and one whose mark gives no reason: an exported program
    has no other way to run it, and computes the same.
    """
    original = original_of(f) or f
    code = getattr(original, "__code__", None)
    if code is None or is_torch(code.co_filename):
        return
    is_export = recorder.tracer.options.is_export
    reason = disabled_because(f)
    if is_export and (is_disabled_alone(f) or not reason):
        return
    name = getattr(original, "__qualname__", str(original))
    kind = "exported" if is_export else "compiled"
    raise recorder.unsupported(
        f"{name} is called, which torch.compiler.disable keeps out of programs,",
        why=f"its reason: {reason}" if reason else "the mark is without a reason=",
        fix=f"call {name} outside of the {kind} function, or take the mark away",
    )
