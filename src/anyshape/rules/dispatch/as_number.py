"""Arguments that stand for numbers: tensors without dimensions, scalars of NumPy, enum members.

torch takes them where it takes a number. Ops whose arguments are sizes get the numbers instead, and
so does any rule that refuses what it was given.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import torch

from anyshape.symbolic.operand import is_numpy
from anyshape.tensor.current import current
from anyshape.tensor.identity import type_of
from anyshape.tensor.index_operand import IndexOperand, is_index
from anyshape.tensor.sym_tensor import SymTensor

CLASSES: Final[dict[type, torch.dtype]] = {
    float: torch.float64,
    int: torch.int64,
    bool: torch.bool,
    complex: torch.complex128,
}
"""Python's classes of numbers, as dtypes."""


def with_dtype(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Named arguments with a dtype of torch in place of a class of Python."""
    dtype = kwargs.get("dtype")
    return (
        {**kwargs, "dtype": CLASSES[dtype]} if type(dtype) is type and dtype in CLASSES else kwargs
    )


_MAKERS: Final = """
    zeros ones empty full arange linspace logspace eye rand randn randint randperm empty_strided
    hann_window
"""
_METHODS: Final = """
    view reshape expand repeat tile narrow split split_with_sizes tensor_split chunk unflatten
    new_zeros new_ones new_empty new_full broadcast_to select as_strided F.pad repeat_interleave
    roll unfold slice constant_pad_nd view_copy
"""
MAKERS: Final = frozenset(_MAKERS.split())
"""Ops all of whose arguments are numbers or sizes."""
NOT_NUMBERS: Final = frozenset(
    (torch.tensor, torch.as_tensor, torch.asarray, torch.Tensor.new_tensor,
     torch.split, torch.Tensor.split)
)  # fmt: skip
"""Functions to which a scalar of NumPy is no number: it is data of its dtype, or an error."""
METHODS: Final = frozenset(_METHODS.split())
"""Ops on one tensor all of whose other arguments are numbers or sizes, or tensors with
dimensions."""


def as_numbers(
    args: tuple[Any, ...], kwargs: dict[str, Any], kept: int = 0, *, tensors: bool = True
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with numbers for what stands for one; None if nothing does.

    The first `kept` arguments stay, as does `out`, the tensor that takes the result; without
    `tensors` all tensors do. An object with an `__index__` is an `IndexOperand` error.
    """
    if args and not kept and tensors and _is_one_integer(args[0]):  # as in `torch.empty(x)`
        args = (current().call(torch.Tensor.item, (args[0],), {}), *args[1:])
        return as_numbers(args, kwargs) or (args, kwargs)
    numbers = (*args[:kept], *[_number(a, tensors) for a in args[kept:]])
    named = {k: a if k == "out" else _number(a, tensors) for k, a in kwargs.items()}
    if not _differ(numbers, args) and not _differ(named.values(), kwargs.values()):
        return None
    return numbers, named


def need_sizes(sizes: Any) -> None:
    """Raise as `split` does for a NumPy integer, which it takes for a tuple."""
    if is_numpy(sizes):
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not"
            f" numpy.{type_of(sizes).__name__}"
        )


def _differ(a: Any, b: Any) -> bool:
    return any(x is not y for x, y in zip(a, b, strict=True))


def _is_one_integer(x: Any) -> bool:
    """Whether an argument is a tensor of one integer, which torch takes for a size."""
    if type(x) is not SymTensor:
        return False
    dtype = x._meta.dtype
    is_integer = not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)
    return is_integer and tuple(x._meta.shape) == (1,)


def _number(x: Any, tensors: bool) -> Any:
    """The number that an argument stands for, also in tuples and lists; else the argument."""
    kind = type(x)
    if kind is int or x is None:
        return x
    if kind is tuple or kind is list:
        parts = [_number(part, tensors) for part in x]
        return kind(parts) if _differ(parts, x) else x
    if kind is SymTensor or isinstance(x, torch.Tensor):
        shape = x._meta.shape if kind is SymTensor else tuple(x.shape)
        return x if shape or not tensors else current().call(torch.Tensor.item, (x,), {})
    if isinstance(x, Enum) and isinstance(x, int):
        return int(x)
    if not is_numpy(x):
        if is_index(x):
            raise IndexOperand
        return x
    if getattr(x, "shape", None) != ():
        return x
    return float(x) if x.dtype.kind == "b" else x.item()  # torch takes it for a float
