"""Python's operators as ops; torch functions that are not ops; functions that a trace refuses."""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.torch_compat.tensor_subclass import DATA_METHODS
from anyshape.torch_compat.thread_state import get_tracing_state, set_grad_enabled

_BINARY: Final = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "div",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "matmul": "matmul",
}

PYTHON_OPERATORS: Final[dict[str, str]] = {
    **{f"__{name}__": op for name, op in _BINARY.items()},
    **{f"__i{name}__": op for name, op in _BINARY.items()},
    **{f"__{name}__": name for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs")},
    "__pos__": "positive",
    "__invert__": "bitwise_not",
}

# `2 - x` reaches the method of x with the operands swapped.
REFLECTED: Final[dict[str, str]] = {
    **{f"__r{name}__": op for name, op in _BINARY.items()},
    "rsub": "sub",
}


def _functions(owner: Any, *names: str) -> list[Any]:
    return [getattr(owner, name) for name in names if hasattr(owner, name)]


# Functions that run immediately and are not recorded.
NOT_OPS: Final[set[Any]] = {
    torch.device,
    *_functions(
        torch,
        "promote_types",
        "can_cast",
        "finfo",
        "iinfo",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "get_default_dtype",
        "get_default_device",
        "set_default_dtype",
        "is_autocast_enabled",
        "get_autocast_dtype",
        "is_tensor",
        "is_storage",
        "typename",
        "set_num_threads",
        "get_num_threads",
        "are_deterministic_algorithms_enabled",
        "is_deterministic_algorithms_warn_only_enabled",
        "compiled_with_cxx11_abi",
        "Generator",
    ),
    set_grad_enabled,
    get_tracing_state,
    *_functions(torch.overrides, "is_tensor_like"),
    torch.Tensor.__dir__,
    torch.Tensor.__sizeof__,
}
_DATA: Final = "keep the computation in torch, or do this outside the traced function"

REFUSED: Final[dict[Any, tuple[str, str]]] = {
    **{
        getattr(torch.Tensor, name): (f"Tensor.{name} needs the data of a traced tensor", _DATA)
        for name in (
            "numpy",
            "__array__",
            "data_ptr",
            "storage",
            "untyped_storage",
            *DATA_METHODS,
            "__dlpack__",
            "__cuda_array_interface__",
            "share_memory_",
            "pin_memory",
            "__reduce_ex__",
            "__reduce__",
            "__setstate__",
            "to_sparse",
            "set_",
        )
        if callable(getattr(torch.Tensor, name, None))
    },
    torch.Tensor.backward: (
        "backward() of a traced tensor",
        "trace the forward pass alone; gradients flow through the traced program as in eager",
    ),
    torch.Tensor.register_hook: (
        "register_hook on a traced tensor",
        "register the hook on the result, outside the traced function",
    ),
    torch.Tensor.register_post_accumulate_grad_hook: (
        "register_post_accumulate_grad_hook on a traced tensor",
        "register the hook outside the traced function",
    ),
    torch.Tensor.retain_grad: (
        "retain_grad() on a traced tensor",
        "call it on the result, outside the traced function",
    ),
    torch.autograd.grad: (
        "torch.autograd.grad inside a traced function",
        "trace the forward pass alone; gradients flow through the traced program as in eager",
    ),
    torch.autograd.backward: (
        "torch.autograd.backward inside a traced function",
        "trace the forward pass alone; gradients flow through the traced program as in eager",
    ),
    torch.from_numpy: ("torch.from_numpy inside a traced function", "make the tensor outside"),
}

# those that a program may have where it runs as generated Python
ABOUT_AUTOGRAD: Final = frozenset(
    (
        torch.Tensor.register_hook,
        torch.Tensor.register_post_accumulate_grad_hook,
        torch.Tensor.retain_grad,
        torch.autograd.grad,
        torch.Tensor.backward,
        torch.autograd.backward,
    )
)
