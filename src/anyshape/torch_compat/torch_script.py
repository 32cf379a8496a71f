"""Functions that TorchScript compiled, and the Python that they were compiled from."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import _jit_internal
from torch.jit import _state

__all__ = ["ScriptFunction", "is_scripting", "script_source"]

# The class of what `torch.jit.script` and `torch.jit.trace` make of a function. It runs below
# Python, where it reads sizes and data of a traced tensor, which has neither.
ScriptFunction: Final = torch.jit.ScriptFunction
is_scripting: Final[Any] = _jit_internal.is_scripting  # also `torch.jit.is_scripting`
_compiled: Final[Any] = _state._try_get_jit_cached_function  # by the function that was compiled


def script_source(f: Any) -> Any:
    """The Python function that `torch.jit.script` compiled to `f`, or None.

    None as well for a function that `torch.jit.trace` made, which is not what its source says.
    While the source runs in place of `f`, `torch.jit.is_scripting` is true, as in `f`.
    """
    source = getattr(f, "_torchdynamo_inline", None)
    return None if source is None or _compiled(source) is None else source
