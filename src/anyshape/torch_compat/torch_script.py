"""Functions that TorchScript compiled, and the Python that they were compiled from."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.jit import _state

__all__ = ["ScriptFunction", "script_source"]

# The class of what `torch.jit.script` and `torch.jit.trace` make of a function. It runs below
# Python, where it reads sizes and data of a traced tensor, which has neither.
ScriptFunction: Final = torch.jit.ScriptFunction
_compiled: Final[Any] = _state._try_get_jit_cached_function  # by the function that was compiled


def script_source(f: Any) -> Any:
    """The Python function that `torch.jit.script` compiled to `f`, or None.

    None as well for a function that `torch.jit.trace` made, which is not what its source says, and
    for one that asks whether it runs as TorchScript. Without this, such calls would break graphs.
    """
    source = getattr(f, "_torchdynamo_inline", None)
    if source is None or _compiled(source) is None:
        return None
    return None if "is_scripting" in source.__code__.co_names else source
