"""Tensors of our own classes, and the identity of a tensor's memory."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

import torch
from torch._subclasses import FakeTensor

make_subclass: Final = torch.Tensor._make_subclass
"""`make_subclass(cls, tensor)`: a tensor of a subclass over the memory of another. One call in C,
which every traced result costs."""

make_wrapper_subclass: Final[Any] = torch.Tensor._make_wrapper_subclass
"""A tensor of a subclass with sizes, strides and a device, and without memory."""

CONSTRUCTORS: Final = frozenset(("_make_subclass", "_make_wrapper_subclass", "_dtensor__new__"))
"""The names of torch's constructors of subclasses. They are not calls on a traced tensor, so that
`SymTensor` keeps them as they are."""

VIEW_BASE: Final = "_base"
"""The attribute for the tensor that a view was made from."""

IS_PARAMETER: Final = "_is_param"
"""The attribute by which a tensor of another class counts as an `nn.Parameter`. torch sets it last
when it makes a parameter of such a tensor."""

DATA_METHODS: Final = ("_typed_storage",)
"""Private methods that give the data of a tensor, and are refused for a traced one."""

storage_id: Final = attrgetter("_cdata")
"""`storage_id(t.untyped_storage())`: equal for two tensors if and only if they share their memory.
`data_ptr()` would not do: it is 0 for all tensors without data."""


def is_wrapper(kind: Any) -> bool:
    """Whether tensors of a class wrap other tensors, by torch's protocol.

    `__tensor_flatten__` names them, `__tensor_unflatten__` makes one of others, and ops go to
    `__torch_dispatch__`.

    Fake tensors take part in the protocol and have no data, so they are none.
    """
    return hasattr(kind, "__tensor_flatten__") and kind is not FakeTensor


def is_without_data(x: Any) -> bool:
    """Whether a value is one of torch's tensors without data, by which its compilers find out what
    a function does.
    """
    return isinstance(x, FakeTensor)


def is_fake(x: Any) -> bool:
    """Whether a tensor is one of torch's tensors without data, whose sizes are numbers."""
    return isinstance(x, FakeTensor) and all(type(n) is int for n in x.shape)


def kind_of(tensor: torch.Tensor) -> type:
    """The class of a tensor, or of the one that a fake tensor stands for."""
    if not isinstance(tensor, FakeTensor):
        return type(tensor)
    return torch.nn.Parameter if isinstance(tensor, torch.nn.Parameter) else torch.Tensor


def storage_use_count(storage: torch.UntypedStorage) -> int:
    """The number of references to a storage: one per tensor over it, and one for `storage` itself.

    Without it a tensor made inside a trace over the memory of another could not be told from one
    with memory of its own.
    """
    found: int = torch._C._storage_Use_Count(storage_id(storage))
    return found


def has_hooks(t: torch.Tensor) -> bool:
    """Whether a backward pass that reaches a tensor calls functions of the user's. Without it, a
    program would not know that its own gradients run code which the trace has not seen.
    """
    after: Any = getattr(t, "_post_accumulate_grad_hooks", None)
    return bool(t._backward_hooks) or bool(after)
