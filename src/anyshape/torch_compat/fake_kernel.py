"""Fake kernels: shapes of results without data, by torch itself or by the author of a custom op."""

from __future__ import annotations

from typing import Any

from torch._dispatch.python import enable_python_dispatcher
from torch._library.fake_impl import set_ctx_getter as set_context
from torch._library.simple_registry import singleton

from anyshape.torch_compat.aten_op import qualified_name

__all__ = ["enable_python_dispatcher", "fake_kernel_of", "set_context"]

# Under `enable_python_dispatcher()` composite ops run their Python decompositions, which work on
# symbolic sizes; their C++ ones would ask for numbers. `set_context(make)` is what
# `torch.library.get_ctx()` gives inside a fake kernel: the way in which it makes a size that only
# the run knows.


def fake_kernel_of(func: Any) -> Any:
    """The fake kernel that was registered for a custom op with `torch.library.register_fake`; None
    where there is none.
    """
    name = qualified_name(func)
    entry = singleton.find(name) if name else None
    return None if entry is None else entry.fake_impl.kernel
