"""Names of TorchDynamo: backends by name, the guards over tensors, and the functions in wrappers.

`torch._dynamo` takes seconds to import, so that each name is imported when it is asked for.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from torch._compile import _disable_dynamo

_LAZY_DISABLE: Final = _disable_dynamo(lambda: None).__code__
_FRAMES: Final = "torch._dynamo.eval_frame"
_RULES: Final = "torch._dynamo.trace_rules"


def lookup_backend(name: str) -> Any:
    """The compiler that is registered with torch under a name.

    `torch.compiler.list_backends` gives the names alone.
    """
    from torch._dynamo import lookup_backend as lookup  # noqa: PLC0415

    return lookup(name)


def tensor_guards(tensors: list[Any], sizes: list[Any], strides: list[Any]) -> Any:
    """One check in C++ of types, dtypes, devices, gradients, sizes and strides of many tensors.

    A size or stride that is None may have any value. `check(*tensors)` is the answer;
    `check_verbose(*tensors, tensor_check_names=names)` says what differs.
    """
    from torch._C._dynamo.guards import TensorGuards  # noqa: PLC0415

    return TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides)


def global_state() -> Any:
    """One check in C++ of the state of the process and the thread that torch's compilers take for
    fixed: grad mode, autocast, default dtype, deterministic algorithms, reduced precision, threads.

    `check()` is whether it is what it was when this was made; `reason()` says what differs.
    """
    from torch._C._dynamo.guards import GlobalStateGuard  # noqa: PLC0415

    return GlobalStateGuard()


def stance() -> str:
    """What `torch.compiler.set_stance` says; who has called it has imported the module."""
    module: Any = sys.modules.get(_FRAMES)
    found: Any = getattr(module, "_stance", None)  # None while another thread imports the module
    return "default" if found is None else str(found.stance)


def has_stance() -> bool:
    """Whether `stance` is another than the default; every call of a compiled function asks."""
    try:
        return sys.modules[_FRAMES]._stance.stance != "default"  # type: ignore[no-any-return]
    except (KeyError, AttributeError):  # not imported, or another thread imports it
        return False


def original_of(f: Any) -> Any:
    """The function that TorchDynamo has wrapped, as by `torch.compile`; None for other functions.

    Both compute the same.
    """
    return getattr(f, "_torchdynamo_orig_callable", None)


def behind_lazy_disable(f: Any) -> Any:
    """The function of torch that torch itself keeps away from TorchDynamo, such as
    `torch.utils.checkpoint.checkpoint`; None for other functions.

    The first call of the wrapper notes on the function what later calls use.
    """
    return f.__wrapped__ if getattr(f, "__code__", None) is _LAZY_DISABLE else None


def is_disabled(f: Any) -> bool:
    """Whether a function is kept out of compiled programs, by `torch.compiler.disable`.

    A function that has the attributes of another, by `functools.wraps`, is none.
    """
    if not getattr(f, "_torchdynamo_disable", False):
        return False
    return bool(getattr(f, "_torchdynamo_wrapper_id", id(f)) == id(f))


def is_disabled_alone(f: Any) -> bool:
    """Whether what a disabled function calls may be compiled: `disable(recursive=False)`."""
    return is_disabled(f) and not getattr(f, "_torchdynamo_disable_recursive", True)


def disabled_because(f: Any) -> str:
    """The `reason` that was given to `torch.compiler.disable`; empty if there was none."""
    return str(getattr(f, "_torchdynamo_disable_msg", None) or "")


def is_allowed_in_graph(f: Any) -> bool:
    """Whether a function is a call of its own in programs, by `torch.compiler.allow_in_graph`; who
    has called that has imported the module.
    """
    module: Any = sys.modules.get(_RULES)
    return id(f) in getattr(module, "_allowed_callable_ids", ())  # another thread may import it
