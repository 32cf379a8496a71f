"""`x[...]` and `x[...] = y`: numbers, slices, None, `...`, tensors, lists and masks."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import DimError, UnsupportedError
from anyshape.expr.constructor import choice
from anyshape.refusal import refused
from anyshape.rules.data_dependent import count_true
from anyshape.rules.dispatch.result import Done, Instead
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.basic_index import basic_index
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.index_number import index_of
from anyshape.rules.shared.operand import call_method, dim_of, is_tensor, meta_of, shape_of
from anyshape.rules.shared.promote import INT, category
from anyshape.rules.shared.slices import normalize_index, slice_of
from anyshape.rules.subview import is_dense, selected, sliced
from anyshape.rules.view import unsqueeze_meta
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.layout import Layout, strides_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import ask, expect_equal, is_one, text
from anyshape.torch_compat.torch_function import DisableTorchFunction


class Index:
    """An index without lists: the view by its numbers and slices, and the tensors that gather."""

    def __init__(self, meta: Meta, index: Any) -> None:
        parts = list(index) if isinstance(index, tuple) else [index]
        covered = sum(_covers(p) for p in parts)
        rank = len(meta.shape)
        if covered > rank:
            raise DimError(f"too many indices for tensor of dimension {rank}")
        self.view = meta
        self.advanced: list[tuple[int, Meta]] = []
        dim = 0
        for p in parts:
            dim = self._apply(p, dim, rank - covered)

    def _apply(self, p: Any, dim: int, rest: int) -> int:
        """Apply one part at a dimension of the view so far; return the next dimension."""
        view = self.view
        kind = type(p)
        if p is None:
            return self._new_dim(dim)
        if p is Ellipsis:
            return dim + rest
        if kind is slice:
            start, count, step = slice_of(p, view.shape[dim])
            if not (p.start is None and p.stop is None and p.step is None):
                self.view = sliced(view, dim, start, count, step)
            return dim + 1
        if kind is bool or kind is SymBool:
            self._new_dim(dim)
            n = int(p) if kind is bool else SymInt(_as_integer(p), p.env)
            self.advanced.append((dim, Meta((n,), torch.int64)))
            return dim + 1
        if kind is int or kind is SymInt:
            self.view = selected(view, dim, normalize_index(p, view.shape[dim], dim))
            return dim
        shape = shape_of(p)
        if meta_of(p).dtype in (torch.bool, torch.uint8):
            return self._mask(p, shape, dim)
        if meta_of(p).dtype not in (torch.int64, torch.int32, torch.int16, torch.int8):
            raise DimError("tensors used as indices must be long, int, byte or bool tensors")
        self.advanced.append((dim, meta_of(p)))
        return dim + 1

    def _new_dim(self, dim: int) -> int:
        self.view = unsqueeze_meta(self.view, dim)
        return dim + 1

    def _mask(self, mask: Any, shape: tuple[Any, ...], dim: int) -> int:
        for i, n in enumerate(shape):
            m = self.view.shape[dim + i]
            expect_equal(
                n, m, lambda: f"a mask of shape {text(shape)} does not fit {text(self.view.shape)}"
            )
        places = Meta((count_true(mask),), torch.int64)
        if not shape:
            self._new_dim(dim)
            self.advanced.append((dim, places))
            return dim + 1
        for i in range(len(shape)):
            self.advanced.append((dim + i, places))
        return dim + len(shape)

    def result(self) -> Meta:
        """The metadata of `x[index]`."""
        view = self.view
        if not self.advanced:
            return view
        dims = [d for d, _ in self.advanced]
        common = broadcast(*[m.shape for _, m in self.advanced])
        rest = [d for d in range(len(view.shape)) if d not in dims]
        adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
        place = dims[0] if adjacent else 0
        sizes = [view.shape[d] for d in rest]
        shape = (*sizes[:place], *common, *sizes[place:])
        if is_dense(view) and all(is_dense(m) for _, m in self.advanced):
            return Meta(shape, view.dtype)
        origins: list[tuple[bool, int]] = [(True, i) for i in range(len(common))]
        origins[:0] = [(False, d) for d in rest[:place]]
        origins += [(False, d) for d in rest[place:]]
        return Meta(shape, view.dtype, Layout(make=lambda: self._layout(origins)))

    def _layout(self, origins: list[tuple[bool, int]]) -> Layout:
        """The dimensions of the tensor keep their order, and so do those of the indices.

        A dimension of the tensor and one of the indices are not compared.
        """
        order = list(reversed(range(len(origins))))  # innermost first
        for i in range(1, len(order)):
            at = i
            for j in reversed(range(i)):
                swap = self._outer(origins[order[j]], origins[order[at]])
                if swap > 0:
                    order[j], order[at] = order[at], order[j]
                    at = j
                elif swap < 0:
                    break
        return Layout(order=tuple(reversed(order)))

    def _outer(self, a: tuple[bool, int], b: tuple[bool, int]) -> int:
        """1 if the first goes outside the second, -1 if inside, 0 if undecided."""
        if a[0] != b[0]:
            return 0
        if not a[0]:
            return _outer_of(self.view, a[1], b[1])
        rank = max(len(m.shape) for _, m in self.advanced)
        for _, m in self.advanced:
            i, j = (d - rank + len(m.shape) for d in (a[1], b[1]))
            if i >= 0 and j >= 0 and not is_one(m.shape[i]) and not is_one(m.shape[j]):
                found = _outer_of(m, i, j)
                if found:
                    return found
        return 0


def _outer_of(meta: Meta, i: int, j: int) -> int:
    layout = meta.layout.found()
    if layout.dense:
        order = layout.order or range(len(meta.shape))
        return 1 if order.index(i) < order.index(j) else -1
    strides = strides_of(meta)
    if any(type(s) is int and s == 0 for s in (strides[i], strides[j])):
        return 0
    if ask(strides[i] < strides[j], False):
        return -1
    return 1 if ask(strides[i] > strides[j], False) else 0


def _as_integer(p: SymBool) -> Any:
    pool = p.env.pool
    return choice.choose(p.condition, pool.const(1), pool.const(0))


def _as_tensor(p: Any) -> Any:
    if isinstance(p, list | range | tuple):
        return current().call(torch.tensor, (list(p),), {})
    if isinstance(p, int) or p is None or p is Ellipsis or type(p) in (slice, SymBool):
        return p
    if is_tensor(p):
        dtype = meta_of(p).dtype
        if shape_of(p) or dtype in (torch.bool, torch.uint8) or category(dtype) > INT:
            return p
        return p if current().batched else p.item()  # a view, as for a number
    if hasattr(p, "__index__"):
        return index_of(p)
    if hasattr(p, "__array__") and hasattr(p, "__setitem__"):  # an array, and no scalar of NumPy
        with DisableTorchFunction():
            return current().births.note(torch.as_tensor(p))
    raise refused(UnsupportedError, f"an index of type {type(p).__name__}")


def _covers(p: Any) -> int:
    if p is None or p is Ellipsis or type(p) in (bool, SymBool):
        return 0
    if is_tensor(p) and meta_of(p).dtype in (torch.bool, torch.uint8):
        return len(shape_of(p))
    return 1


def _is_basic(parts: tuple[Any, ...]) -> bool:
    for p in parts:  # noqa: SIM110  a loop is faster than a generator, and this is hot
        if not (type(p) in (int, slice, SymInt) or p is None or p is Ellipsis):
            return False
    return True


@rule("__getitem__", view=True)
def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: a view for numbers and slices, else a copy."""
    meta = meta_of(x)
    parts = index if type(index) is tuple else (index,)
    if _is_basic(parts):
        return basic_index(meta, parts)
    if current().gathers and all(is_tensor(p) or isinstance(p, int) for p in parts):
        tensors = [p if is_tensor(p) else torch.full((), p, device=meta.device) for p in parts]
        return Instead(torch.ops.aten.index.Tensor, (x, tensors), index_by_tensors(x, tensors))
    index = _normalized(index)
    parts = index if type(index) is tuple else (index,)
    result = basic_index(meta, parts) if _is_basic(parts) else Index(meta, index).result()
    return Instead(torch.Tensor.__getitem__, (x, index), result)


@rule("aten.index")
def index_by_tensors(x: Any, indices: Any) -> Any:
    """The op behind an index with tensors; None stands for a whole dimension."""
    return Index(
        meta_of(x), tuple([slice(None) if part is None else part for part in indices])
    ).result()


def _is_part(p: Any) -> bool:
    """Whether a list with such an element is taken for a tuple of indices."""
    return p is None or p is Ellipsis or isinstance(p, list | tuple | slice) or is_tensor(p)


def _normalized(index: Any) -> Any:
    """The index with its lists converted to tensors, so that it is recorded as it is parsed."""
    if type(index) is list and len(index) < 32 and any(map(_is_part, index)):
        index = tuple(index)
    if isinstance(index, tuple):
        return tuple([_as_tensor(p) for p in index])
    return _as_tensor(index)


@rule("__setitem__")
def setitem(x: Any, index: Any, value: Any) -> Any:
    """`x[index] = value`."""
    tracer = current()
    index = _normalized(index)
    target = Index(meta_of(x), index).result().shape
    if is_tensor(value):
        shape = shape_of(value)
        while len(shape) > len(target) and type(shape[0]) is int and shape[0] == 1:
            shape = shape[1:]
        found = broadcast(target, shape)
        if len(found) != len(target):
            raise DimError(f"x[...] = y: shape {text(shape)} does not fit {text(target)}")
        for n, m in zip(found, target, strict=True):
            expect_equal(
                n, m, lambda: f"x[...] = y: shape {text(shape)} does not fit {text(target)}"
            )
    tracer.mutate(torch.Tensor.__setitem__, (x, index, value), {}, x)
    return Done(None)


@rule("select", view=True)
def select(x: Any, dim: Any, index: Any) -> Any:
    """The slice at one index of a dimension."""
    meta = meta_of(x)
    dim = dim_of(dim, len(meta.shape))
    if is_tensor(index):
        index = call_method(index, "item")
    return selected(meta, dim, normalize_index(index, meta.shape[dim], dim))


@rule("slice", view=True)
def slice_(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    """A slice of one dimension."""
    meta = meta_of(x)
    dim = dim_of(dim, len(meta.shape))
    return sliced(meta, dim, *slice_of(slice(start, end, step), meta.shape[dim]))
