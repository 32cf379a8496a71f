"""Views: other shapes, orders and expansions over the memory of the operand."""

from __future__ import annotations

import math
from typing import Any, Final

import torch

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.result import Done, Instead
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.broadcast import broadcast, seen_equal
from anyshape.rules.shared.operand import call_method, dim_of, dims_of, meta_of, shape_of, sizes_of
from anyshape.rules.subview import is_dense
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.layout import (
    CONTIGUOUS,
    Layout,
    dense_strides,
    is_certain,
    is_contiguous,
    offset_of,
    permuted,
    strides_of,
    view_strides,
    viewed,
)
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import (
    expect,
    expect_equal,
    expect_size,
    is_one,
    known,
    plain,
    product,
    same_expr,
    text,
)
from anyshape.tensor.sym_tensor import size_of


def reshaped(meta: Meta, shape: tuple[Any, ...], *, copies: bool = False) -> Meta:
    """The same elements in another shape: a view, or a copy where there is no view."""
    if is_dense(meta):
        layout = meta.layout
    else:

        def find() -> Layout:
            strides = view_strides(meta, shape)
            if strides is None:
                return CONTIGUOUS if copies else Layout(strides=dense_strides(shape))
            return Layout(strides=strides, offset=lambda: offset_of(meta))

        layout = Layout(make=find)
    return Meta(shape, meta.dtype, layout)


# ---------------------------------------------------------------------- shapes from the user


def infer_shape(old: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sizes of a view, with -1 replaced by the size that it stands for."""
    shared = 0  # leading sizes that are unchanged
    for n, m in zip(old, sizes, strict=False):
        if n is not m and not same_expr(n, m):
            break
        shared += 1
    rest = _infer_plain(old[shared:], sizes[shared:])
    if rest is not None:
        return (*old[:shared], *rest)
    key = ("view", *map(_key, old), "as", *map(_key, sizes))
    memo = current().memo
    found = memo.get(key)  # a condition that was required once still holds
    if found is None:
        found = memo[key] = _infer_shape(old, tuple([plain(n) for n in sizes]))
    return found  # type: ignore[no-any-return]  # the memo holds values of all types


def _key(n: Any) -> Any:
    return n.expr if type(n) is SymInt else n


def _infer_shape(old: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    holes = [i for i, n in enumerate(sizes) if type(n) is int and n == -1]
    if len(holes) > 1:
        raise ShapeError("only one dimension can be inferred")
    for n in sizes:
        if type(n) is int:
            if n < -1:
                raise ShapeError(f"invalid shape dimension {n}")
        elif type(n) is SymInt and n.expr.lo < 0:
            expect_size(n, "a size of a view")
    left, right = _cancel(old, [n for i, n in enumerate(sizes) if i not in holes])
    if not holes:
        if left or right:
            expect_equal(product(left), product(right), lambda: _misfit(old, sizes))
        return sizes
    left, right = _reduced_numbers(left, right)
    rest, others = product(left), product(right)
    if type(others) is int and others == 1:
        found = rest
    elif type(rest) is int and type(others) is int:
        if others == 0 or rest % others:
            raise ShapeError(_misfit(old, sizes))
        found = rest // others
    else:
        expect(others != 0, lambda: _misfit(old, sizes))
        expect(rest % others == 0, lambda: _misfit(old, sizes))
        found = plain(rest // others)
    return (*sizes[: holes[0]], found, *sizes[holes[0] + 1 :])


def _infer_plain(old: tuple[Any, ...], sizes: tuple[Any, ...]) -> list[int] | None:
    """The sizes if all are plain integers that fit, else None."""
    hole, others = -1, 1
    for i, n in enumerate(sizes):
        if type(n) is not int or n < -1:
            return None
        if n == -1:
            if hole >= 0:
                return None
            hole = i
        else:
            others *= n
    count = 1
    for n in old:
        if type(n) is not int:
            return None
        count *= n
    result = list(sizes)
    if hole >= 0:
        if others == 0 or count % others:
            return None
        result[hole] = count // others
        return result
    return result if count == others else None


def _cancel(old: tuple[Any, ...], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both lists of factors without those that they share; 0 stays where it is."""
    left = list(old)
    right = []
    for n in new:
        for i, m in enumerate(left):
            same = (
                n.expr is m.expr
                if type(n) is SymInt and type(m) is SymInt
                else type(n) is int and type(m) is int and n == m and n != 0
            )
            if same:
                del left[i]
                break
        else:
            right.append(n)
    return left, right


def _reduced_numbers(left: list[Any], right: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both lists with their plain factors multiplied into one; that of `right` is divided out if it
    divides that of `left`.
    """
    a = math.prod([n for n in left if type(n) is int])
    b = math.prod([n for n in right if type(n) is int])
    if b > 1 and a % b == 0:
        a, b = a // b, 1
    return (
        [a, *[n for n in left if type(n) is not int]],
        [b, *[n for n in right if type(n) is not int]],
    )


def _misfit(old: Any, sizes: Any) -> str:
    return f"shape {text(sizes)} is invalid for a tensor of shape {text(old)}"


@rule("view", view=True)
def view(x: Any, *size: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Another shape over the same memory, or another dtype of the same bytes."""
    if shape is not None:
        size = shape
    if dtype is not None or (len(size) == 1 and isinstance(size[0], torch.dtype)):
        return _view_dtype(x, dtype or size[0])
    meta = meta_of(x)
    shape = infer_shape(meta.shape, sizes_of(size))
    if not is_dense(meta) and _has_no_view(meta, shape):
        raise ShapeError(
            f"view size {text(shape)} is not compatible with the strides of a tensor of shape"
            f" {text(meta.shape)}",
            fix="use reshape(...), or contiguous() first",
        )
    return reshaped(meta, shape)


def _has_no_view(meta: Meta, shape: tuple[Any, ...]) -> bool:
    """Whether a view is provably impossible; undecided cases are left to the run."""
    sizes = (*meta.shape, *shape)
    static = all(type(n) is int for n in sizes)
    return static and is_certain(meta) and view_strides(meta, shape) is None


def _view_dtype(x: Any, dtype: torch.dtype) -> Any:
    meta = meta_of(x)
    old, new = meta.dtype.itemsize, dtype.itemsize
    if old == new:
        return Meta(meta.shape, dtype, meta.layout)
    if not meta.shape:
        raise ShapeError("self.dim() cannot be 0 to view as a dtype of another size")
    last = meta.shape[-1]
    if old > new:
        last = plain(last * (old // new))
    else:
        expect(last % (new // old) == 0, lambda: f"{text(last)} elements do not view as {dtype}")
        last = plain(last // (new // old))
    return Meta((*meta.shape[:-1], last), dtype)


@rule("reshape", view=True)
def reshape(x: Any, *shape: Any, **named: Any) -> Any:
    """Another shape: a view where there is one, else a copy."""
    meta = meta_of(x)
    sizes = sizes_of(tuple(named.values())) if named else sizes_of(shape)
    return reshaped(meta, infer_shape(meta.shape, sizes), copies=True)


@rule("view_as", view=True)
def view_as(x: Any, other: Any) -> Any:
    """The shape of another tensor."""
    return view(x, shape_of(other))


@rule("reshape_as", view=True)
def reshape_as(x: Any, other: Any) -> Any:
    """The shape of another tensor."""
    return reshape(x, shape_of(other))


@rule("flatten", view=True)
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Several dimensions as one."""
    meta = meta_of(x)
    rank = len(meta.shape)
    if not rank:
        return reshaped(meta, (1,))
    first, last = dim_of(start_dim, rank), dim_of(end_dim, rank)
    if first > last:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return Done(x)
    merged = plain(product(meta.shape[first : last + 1]))
    return reshaped(meta, (*meta.shape[:first], merged, *meta.shape[last + 1 :]), copies=True)


@rule("ravel", view=True)
def ravel(x: Any) -> Any:
    """All dimensions as one: a copy unless the elements lie in order."""
    meta = meta_of(x)
    shape = (plain(product(meta.shape)),)
    if is_dense(meta):
        return Meta(shape, meta.dtype, meta.layout)

    def find() -> Layout:
        return Layout(offset=offset_of(meta)) if is_contiguous(meta) else CONTIGUOUS

    return Meta(shape, meta.dtype, Layout(make=find))


@rule("unflatten", view=True)
def unflatten(x: Any, dim: Any, sizes: Any) -> Any:
    """One dimension as several."""
    meta = meta_of(x)
    dim = dim_of(dim, len(meta.shape))
    parts = infer_shape((meta.shape[dim],), tuple(sizes))
    return reshaped(meta, (*meta.shape[:dim], *parts, *meta.shape[dim + 1 :]))


# ---------------------------------------------------------------------- dimensions of size 1


_ALL: Final = object()  # torch takes no None for all dimensions here


@rule("squeeze", view=True)
def squeeze(x: Any, dim: Any = _ALL) -> Any:
    """Without the dimensions of size 1; a dimension of undecided size stays."""
    if dim is None:
        raise TypeError("a dimension is no None")
    meta = meta_of(x)
    rank = len(meta.shape)
    candidates = dims_of(None if dim is _ALL else dim, rank) if rank else ()
    dropped = tuple([d for d in candidates if is_one(meta.shape[d])])
    for d in candidates:
        if d not in dropped and type(meta.shape[d]) is SymInt:
            n = meta.shape[d]
            if known(n == 1) is None:
                current().deviate("squeeze", n == 1, f"keeps dimension {d}, also where it is 1")
    kept = [d for d in range(rank) if d not in dropped]
    shape = tuple([meta.shape[d] for d in kept])
    if is_dense(meta):
        layout = meta.layout
    else:
        layout = viewed(meta, lambda: tuple([strides_of(meta)[d] for d in kept]))
    return Instead(torch.squeeze, (x, dropped), Meta(shape, meta.dtype, layout))


@rule("unsqueeze", view=True)
def unsqueeze(x: Any, dim: int) -> Any:
    """A new dimension of size 1."""
    meta = meta_of(x)
    return unsqueeze_meta(meta, dim_of(dim, len(meta.shape) + 1))


def unsqueeze_meta(meta: Meta, dim: int) -> Meta:
    """The same with a dimension of size 1 at `dim`."""
    rank = len(meta.shape)
    shape = (*meta.shape[:dim], 1, *meta.shape[dim:])
    if is_dense(meta):
        return Meta(shape, meta.dtype, meta.layout)

    def find() -> Any:
        strides = strides_of(meta)
        new = 1 if dim >= rank else plain(meta.shape[dim] * strides[dim])
        return (*strides[:dim], new, *strides[dim:])

    return Meta(shape, meta.dtype, viewed(meta, find))


# ---------------------------------------------------------------------- order of dimensions


def _permute(meta: Meta, dims: tuple[int, ...]) -> Meta:
    shape = meta.shape
    return Meta(tuple([shape[d] for d in dims]), meta.dtype, permuted(meta, dims))


@rule("permute", view=True)
def permute(x: Any, *dims: Any, **named: Any) -> Any:
    """The dimensions in another order."""
    meta = meta_of(x)
    given = sizes_of((named["dims"],)) if "dims" in named else sizes_of(dims)
    order = dims_of(given, len(meta.shape)) if meta.shape else ()
    if len(order) != len(meta.shape):
        raise ShapeError(f"permute of {len(meta.shape)} dimensions got {len(order)}")
    return _permute(meta, order)


@rule("transpose", "swapaxes", "swapdims", view=True)
def transpose(x: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    meta = meta_of(x)
    rank = len(meta.shape)
    a, b = dim_of(dim0, rank), dim_of(dim1, rank)
    if not rank:
        return Meta((), meta.dtype, meta.layout)
    order = list(range(rank))
    order[a], order[b] = b, a
    return _permute(meta, tuple(order))


@rule("t", view=True)
def t(x: Any) -> Any:
    """The transpose of a matrix."""
    meta = meta_of(x)
    if len(meta.shape) > 2:
        raise ShapeError(f"t() expects a tensor with at most 2 dimensions, got {len(meta.shape)}")
    return _permute(meta, tuple(reversed(range(len(meta.shape)))))


@rule("numpy_T", view=True)
def numpy_t(x: Any) -> Any:
    """All dimensions reversed."""
    meta = meta_of(x)
    return _permute(meta, tuple(reversed(range(len(meta.shape)))))


@rule("adjoint", view=True)
def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return transpose(x, -2, -1)


@rule("movedim", "moveaxis", view=True)
def movedim(x: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places."""
    meta = meta_of(x)
    rank = len(meta.shape)
    if not rank:
        return Meta((), meta.dtype, meta.layout)
    sources, targets = dims_of(source, rank), dims_of(destination, rank)
    if len(sources) != len(targets):
        raise ShapeError("movedim: source and destination have different lengths")
    order: list[Any] = [None] * rank
    for s, d in zip(sources, targets, strict=True):
        order[d] = s
    rest = iter([d for d in range(rank) if d not in sources])
    return _permute(meta, tuple([next(rest) if d is None else d for d in order]))


# ---------------------------------------------------------------------- expansion


@rule("expand", view=True)
def expand(x: Any, *size: Any, implicit: bool = False, **named: Any) -> Any:
    """Dimensions of size 1 expanded without copying."""
    meta = meta_of(x)
    sizes = sizes_of(tuple(named.values())) if named else sizes_of(size)
    return _expand(meta, tuple([plain(n) for n in sizes]))


def _expand(meta: Meta, sizes: tuple[Any, ...]) -> Meta:
    old = meta.shape
    skip = len(sizes) - len(old)
    if skip < 0:
        raise ShapeError(f"expand to {text(sizes)}: fewer dimensions than {text(old)}")
    shape: list[Any] = []
    expanded: list[bool] = []
    for i, n in enumerate(sizes):
        m = old[i - skip] if i >= skip else None
        keep = type(n) is int and n == -1
        if m is None:
            if keep:
                raise ShapeError(f"expand to {text(sizes)}: -1 is not allowed in a new dimension")
            expect_size(n, "a size of expand")
            shape.append(n)
            expanded.append(True)
        elif keep or same_expr(n, m):
            shape.append(m)
            expanded.append(False)
        else:
            expect_size(n, "a size of expand")
            one = not seen_equal(m, n) and is_one(m)
            if not one:
                expect_equal(
                    m, n, lambda: f"expand {text(old)} to {text(sizes)}: sizes must be 1 or equal"
                )
            shape.append(n if type(n) is int or one else m)
            expanded.append(one and not (type(n) is int and n == 1))
    if not any(expanded):
        return Meta(tuple(shape), meta.dtype, meta.layout)

    def find() -> Any:
        strides = strides_of(meta)
        return tuple(
            [0 if is_expanded else strides[i - skip] for i, is_expanded in enumerate(expanded)]
        )

    return Meta(tuple(shape), meta.dtype, viewed(meta, find))


@rule("expand_as", view=True)
def expand_as(x: Any, other: Any) -> Any:
    """The shape of another tensor."""
    return _expand(meta_of(x), shape_of(other))


@rule("broadcast_to", view=True)
def broadcast_to(x: Any, size: Any) -> Any:
    """Expanded to a shape."""
    return _expand(meta_of(x), tuple(size))


@rule("broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> Any:
    """All expanded to their common shape."""
    given = sizes_of(tensors)
    shape = broadcast(*[shape_of(x) for x in given])
    return Done(tuple([call_method(x, "expand", shape) for x in given]))


@rule("broadcast_shapes")
def broadcast_shapes(*shapes: Any) -> Any:
    """The common shape of several."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    return Done(size_of(broadcast(*given)) if given else torch.Size([]))
