"""Functions of torch that take a list of tensors, of a list whose length only the run knows."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.tensor.meta import Meta
from anyshape.tensor.size import plain
from anyshape.trace.sequence.list_meta import FLOAT, TENSOR
from anyshape.trace.sequence.sym_list import SymList, refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.recorder import Recorder


def JOIN_SUBSTITUTES() -> Iterator[tuple[Any, Any]]:  # noqa: N802
    """Pairs of a function and what to call in its place, which gets the recorder first."""
    for f, made in _JOINS.items():
        yield f, functools.partial(_joined, f, made)


def _joined(f: Any, made: Any, recorder: Recorder, *args: Any, **named: Any) -> Any:
    name = "tensors" if "tensors" in named else "data"
    given = args[0] if args else named.get(name)
    if type(given) is not SymList:
        return f(*args, **named)
    if not args:
        args, named = (given,), {k: x for k, x in named.items() if k != name}
    return made(recorder.tracer, f, args, named)


def _need_tensors(f: Any, items: SymList) -> None:
    meta = items._meta
    if meta.items != TENSOR or meta.nested:
        raise TypeError(f"{f.__name__}(): expected Tensor as element 0 in argument 0")


def _dim(args: tuple[Any, ...], named: dict[str, Any], rank: int) -> int:
    dim = named.get("dim", named.get("axis", args[1] if len(args) > 1 else 0))
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], got {dim})"
        )
    return int(dim) % rank


def _stack(tracer: Any, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The items along a new dimension; those that differ in a size raise, as in eager execution."""
    items: SymList = args[0]
    _need_tensors(f, items)
    meta = items._meta
    dim = _dim(args, named, len(meta.shape))
    sizes = [tracer.fresh_size() if n is None else n for n in meta.shape[1:]]
    shape = (*sizes[:dim], items.length, *sizes[dim:])
    out = Meta(shape, meta.dtype, device=meta.device, requires_grad=None)
    return tracer.record(f, args, named, out)


def _cat(tracer: Any, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The items along a dimension of theirs."""
    items: SymList = args[0]
    _need_tensors(f, items)
    meta = items._meta
    sizes: list[Any] = list(meta.shape[1:])
    if not sizes:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    dim = _dim(args, named, len(sizes))
    own = sizes[dim]
    shape = [tracer.fresh_size() if n is None else n for n in sizes]
    if own is not None:
        shape[dim] = plain(items.length * own)
    out = Meta(tuple(shape), meta.dtype, device=meta.device, requires_grad=None)
    return tracer.record(f, args, named, out)


def _tensor(tracer: Any, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The numbers of a list. The dtype of an empty one is that of floats."""
    items: SymList = args[0]
    meta = items._meta
    if meta.nested or meta.items == TENSOR or len(args) > 1 or set(named) - {"dtype", "device"}:
        raise refusal_of(f"torch.{f.__name__} with these arguments")
    floats = torch.get_default_dtype()
    dtype = named.get("dtype")
    if dtype is None:
        dtype = floats if meta.items == FLOAT or not items else torch.int64
    device = named.get("device")
    device = tracer.device if device is None else torch.device(device)
    named = {**named, "dtype": dtype}
    return tracer.record(f, args, named, Meta((items.length,), dtype, device=device))


_JOINS: Final[dict[Any, Any]] = {
    torch.stack: _stack,
    torch.cat: _cat,
    torch.concat: _cat,
    torch.concatenate: _cat,
    torch.tensor: _tensor,
    torch.as_tensor: _tensor,
}
