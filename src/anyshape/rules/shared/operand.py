"""Operands of rules: tensors (traced or real), numbers, and dimensions."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import ArgumentError, DimError, ShapeError
from anyshape.tensor.current import current, is_tracing, outside
from anyshape.tensor.sym_tensor import SymTensor

if TYPE_CHECKING:
    from anyshape.tensor.meta import Meta


def is_tensor(x: Any) -> bool:
    """Whether an operand is a tensor, traced or real."""
    return type(x) is SymTensor or isinstance(x, torch.Tensor)


def meta_of(x: Any) -> Meta:
    """The metadata of a tensor; a real one becomes a constant of the graph."""
    if type(x) is SymTensor:
        if x._tracer.closed and is_tracing():  # error messages read it after the trace
            raise outside()
        return x._meta
    if not isinstance(x, torch.Tensor):
        raise ArgumentError(f"expected a tensor, got {type(x).__name__}", code="AS123")
    meta: Meta = current().lift(x).meta
    return meta


def call_method(x: Any, name: str, *args: Any) -> Any:
    """`x.name(*args)` as a call of the graph, also of a real tensor, which would compute it."""
    return current().call(getattr(torch.Tensor, name), (x, *args), {})


def shape_of(x: Any) -> tuple[Any, ...]:
    """The shape of a tensor."""
    return meta_of(x).shape


def dim_of(dim: Any, rank: int) -> Any:
    """A dimension counted from the front; a scalar counts as one-dimensional."""
    if type(dim) is bool:
        raise TypeError("a dimension is no bool")  # torch is asked, which takes it for few ops
    if type(dim) is not int:
        dim = operator.index(dim)
    bound = rank or 1
    if not -bound <= dim < bound:
        raise DimError(
            f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}],"
            f" got {dim})"
        )
    return dim + bound if dim < 0 else dim


def dims_of(dims: Any, rank: int) -> tuple[int, ...]:
    """Distinct dimensions, counted from the front; None means all."""
    if dims is None:
        return tuple(range(rank))
    if not isinstance(dims, tuple | list):
        dims = (dims,)
    found = tuple([dim_of(d, rank) for d in dims])
    if len(set(found)) != len(found):
        raise ShapeError(f"a dimension appears twice in {list(dims)}")
    return found


def sizes_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sizes given one by one or as one sequence."""
    if len(args) == 1 and isinstance(args[0], tuple | list):
        return tuple(args[0])
    return args
