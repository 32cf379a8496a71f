"""Concatenating, repeating and splitting tensors."""

from __future__ import annotations

from functools import partial
from typing import Any

from anyshape.errors import DimError, ShapeError
from anyshape.rules.cast import format_layout, format_of
from anyshape.rules.dispatch.result import Done, Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import (
    call_method,
    dim_of,
    is_tensor,
    meta_of,
    shape_of,
    sizes_of,
)
from anyshape.rules.shared.promote import promote_types
from anyshape.rules.shared.slices import clamp_index, counted_from_front
from anyshape.rules.subview import is_dense, selected, sliced
from anyshape.tensor.layout import CONTIGUOUS, Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import (
    expect,
    expect_equal,
    expect_size,
    larger,
    plain,
    text,
    total,
)


@rule("cat", "concat", "concatenate")
def cat(tensors: Any, dim: Any = 0) -> Any:
    """Tensors joined along a dimension; all other sizes are equal."""
    return joined([meta_of(t) for t in tensors], dim)


def _misfit(what: str, given: Any, where: str, a: Any, b: Any) -> str:
    shapes = text([x.shape if type(x) is Meta else shape_of(x) for x in given])
    return f"{what}: shapes {shapes} do not fit{where}: {text(a)} is not {text(b)}"


def joined(metas: list[Meta], dim: Any) -> Meta:
    """The result of `cat`."""
    if not metas:
        raise ShapeError("torch.cat(): expected a non-empty list of Tensors")
    dtype = metas[0].dtype
    for m in metas:
        if m.dtype is not dtype:
            dtype = promote_types(dtype, m.dtype)
    solid = [m for m in metas if not (len(m.shape) == 1 and _is(m.shape[0], 0))] or metas[:1]
    first = solid[0].shape
    rank = len(first)
    if not rank:
        raise ShapeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    dim = dim_of(dim, rank)
    for m in solid[1:]:
        shape = m.shape
        if len(shape) != rank:
            raise ShapeError(
                f"cat: tensors must have the same number of dimensions, got {rank} and {len(shape)}"
            )
        for d in range(rank):
            if d != dim and shape[d] is not first[d]:
                expect_equal(
                    first[d],
                    shape[d],
                    partial(_misfit, "cat", metas, f" along {dim}", first[d], shape[d]),
                )
    size = plain(total([m.shape[dim] for m in solid]))
    result = Meta((*first[:dim], size, *first[dim + 1 :]), dtype)
    if rank in (4, 5) and not any(map(is_dense, metas)):
        result.layout = Layout(make=lambda: _common_format(metas))
    return result


def _common_format(metas: list[Meta]) -> Layout:
    """The memory format that all operands have, else contiguous."""
    formats = set(map(format_of, metas))
    return format_layout(formats.pop()) if len(formats) == 1 else CONTIGUOUS


def _is(n: Any, value: int) -> bool:
    return type(n) is int and n == value


@rule("stack")
def stack(tensors: Any, dim: Any = 0) -> Any:
    """Tensors of one shape joined along a new dimension."""
    if not tensors:
        raise ShapeError("stack expects a non-empty TensorList")
    first = shape_of(tensors[0])
    for t in tensors:
        shape = shape_of(t)
        if shape is not first:
            if len(shape) != len(first):
                raise ShapeError("stack expects each tensor to be equal size")
            for n, m in zip(first, shape, strict=True):
                expect_equal(n, m, partial(_misfit, "stack", tensors, "", n, m))
    dim = dim_of(dim, len(first) + 1)
    dtype = meta_of(tensors[0]).dtype
    for t in tensors:
        dtype = promote_types(dtype, meta_of(t).dtype)
    return Meta((*first[:dim], len(tensors), *first[dim:]), dtype)


def _at_least(meta: Meta, rank: int) -> Meta:
    """A tensor with at least `rank` dimensions, added where NumPy adds them."""
    shape = meta.shape
    if len(shape) >= rank:
        return meta
    if rank == 3:
        shape = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]
    else:
        shape = (1,) * (rank - len(shape)) + tuple(shape)
    return Meta(shape, meta.dtype)


def _at_least_all(rank: int) -> Any:
    def at_least(*tensors: Any) -> Any:
        if len(tensors) == 1 and is_tensor(tensors[0]):
            (x,) = tensors
            if not shape_of(x):
                return Done(call_method(x, "reshape", (1,) * rank))
            if len(shape_of(x)) == 1 and rank > 1:
                x = call_method(x, "unsqueeze", 0)
            if len(shape_of(x)) == 2 and rank == 3:
                x = call_method(x, "unsqueeze", -1)
            return Done(x)
        return Done(tuple([at_least(t).value for t in sizes_of(tensors)]))

    return at_least


for _rank in (1, 2, 3):
    rule(f"atleast_{_rank}d")(_at_least_all(_rank))


@rule("hstack")
def hstack(tensors: Any) -> Any:
    """Side by side: along the second dimension, or the only one."""
    metas = [_at_least(meta_of(t), 1) for t in tensors]
    return joined(metas, 0 if metas and len(metas[0].shape) == 1 else 1)


@rule("vstack", "row_stack")
def vstack(tensors: Any) -> Any:
    """One below the other: along the first dimension."""
    return joined([_at_least(meta_of(t), 2) for t in tensors], 0)


@rule("dstack")
def dstack(tensors: Any) -> Any:
    """One behind the other: along the third dimension."""
    return joined([_at_least(meta_of(t), 3) for t in tensors], 2)


@rule("column_stack")
def column_stack(tensors: Any) -> Any:
    """Vectors as columns, next to the columns of matrices."""
    metas = []
    for t in tensors:
        meta = meta_of(t)
        rank = len(meta.shape)
        shape = meta.shape if rank > 1 else (meta.shape[0] if rank else 1, 1)
        metas.append(Meta(shape, meta.dtype))
    return joined(metas, 1)


# ---------------------------------------------------------------------- splitting


def split_parts(x: Any, sizes: Any, dim: int) -> Many:
    """Consecutive parts of given sizes along a dimension."""
    meta = meta_of(x)
    parts = []
    start: Any = 0
    for n in sizes:
        parts.append(sliced(meta, dim, start, n))
        start = start + n
    return Many(parts)


@rule("split_with_sizes", "unsafe_split_with_sizes", view=True)
def split_with_sizes(x: Any, split_sizes: Any, dim: Any = 0) -> Any:
    """Parts of given sizes, which add up to the size of the dimension."""
    shape = shape_of(x)
    dim = dim_of(dim, len(shape))
    sizes = tuple([plain(n) for n in split_sizes])
    for n in sizes:
        expect_size(n, "a size of split")
    n = shape[dim]
    expect_equal(
        total(sizes),
        n,
        lambda: f"split: the sizes {_abbreviated(sizes)} do not add up to {text(n)}",
    )
    return split_parts(x, sizes, dim)


def _abbreviated(sizes: Any) -> str:
    return text(sizes) if len(sizes) <= 8 else f"{text(sizes[:8])[:-1]}, ...]"


@rule("split", "unsafe_split", view=True)
def split(
    x: Any, split_size_or_sections: Any = None, dim: Any = 0, *, split_size: Any = None
) -> Any:
    """Parts of one size, or of given sizes."""
    size = split_size if split_size_or_sections is None else split_size_or_sections
    if isinstance(size, tuple | list):
        return split_with_sizes(x, size, dim)
    shape = shape_of(x)
    dim = dim_of(dim, len(shape))
    n = shape[dim]
    size = plain(size)
    expect_size(size, "the size of split")
    if _is(size, 0) or _is(n, 0):
        expect_equal(n if _is(size, 0) else 0, 0, lambda: "split into parts of size 0")
        return split_parts(x, (n,), dim)
    count = int(larger(-((-n) // size), 1))
    last = plain(n - size * (count - 1))
    return split_parts(x, (*[size] * (count - 1), last), dim)


@rule("chunk", "unsafe_chunk", view=True)
def chunk(x: Any, chunks: int, dim: Any = 0) -> Any:
    """At most `chunks` parts of equal size; the last may be smaller."""
    shape = shape_of(x)
    dim = dim_of(dim, len(shape))
    n = shape[dim]
    if chunks <= 0:
        raise ShapeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if type(n) is int:
        size = -(-n // chunks)
        if n == 0:
            return split_parts(x, (0,) * chunks, dim)
        sizes = [size] * (n // size)
        if n % size:
            sizes.append(n % size)
        return split_parts(x, sizes, dim)
    size = plain(-((-n) // chunks))
    if n.expr.hint is not None:  # at small sizes eager returns fewer parts
        if n == 0:
            return split_parts(x, (0,) * chunks, dim)
        count = int(-((-n) // size))
        return split_parts(x, (*[size] * (count - 1), plain(n - size * (count - 1))), dim)
    # the program is for `chunks` parts
    expect(
        size * (chunks - 1) < n,
        lambda: f"chunk: {text(n)} elements do not make {chunks} parts",
    )
    return split_parts(x, (*[size] * (chunks - 1), plain(n - size * (chunks - 1))), dim)


@rule("tensor_split", view=True)
def tensor_split(
    x: Any,
    indices_or_sections: Any = None,
    dim: Any = 0,
    *,
    indices: Any = None,
    sections: Any = None,
    tensor_indices_or_sections: Any = None,
) -> Any:
    """Parts between given indices, or a given number of nearly equal parts."""
    for other in (indices, sections, tensor_indices_or_sections):
        indices_or_sections = other if indices_or_sections is None else indices_or_sections
    given = indices_or_sections
    if is_tensor(given):
        given = call_method(given, "tolist")
    meta = meta_of(x)
    dim = dim_of(dim, len(meta.shape))
    n = meta.shape[dim]
    if isinstance(given, tuple | list):
        return _split_at(meta, list(given), dim, n)
    count = int(given)
    if count <= 0:
        raise ShapeError(f"number of sections must be larger than 0, got {count}")
    small, extra = plain(n // count), plain(n % count)
    sizes = []
    for i in range(count):
        if type(extra) is int:
            sizes.append(small + 1 if i < extra else small)
        else:
            sizes.append(plain((n + count - 1 - i) // count))
    return split_parts(x, sizes, dim)


def _split_at(meta: Meta, indices: list[Any], dim: int, n: Any) -> Many:
    ends = [clamp_index(i, n) for i in indices] + [n]
    parts = []
    start: Any = 0
    for end in ends:
        parts.append(sliced(meta, dim, start, larger(plain(end - start), 0)))
        start = end
    return Many(parts)


@rule("unbind", view=True)
def unbind(x: Any, dim: Any = 0) -> Any:
    """The slices along a dimension, whose size must be known."""
    meta = meta_of(x)
    if not meta.shape:
        raise ShapeError("Dimension specified as 0 but tensor has no dimensions")
    dim = dim_of(dim, len(meta.shape))
    return Many([selected(meta, dim, i) for i in range(int(meta.shape[dim]))])


@rule("repeat")
def repeat(x: Any, *repeats: Any, **named: Any) -> Any:
    """Copies side by side."""
    shape = shape_of(x)
    counts = sizes_of(tuple(named.values())) if named else sizes_of(repeats)
    if len(counts) < len(shape):
        raise ShapeError("repeat: fewer counts than dimensions")
    for n in counts:
        expect_size(n, "a count of repeat")
    old = (1,) * (len(counts) - len(shape)) + tuple(shape)
    return Meta(tuple([plain(n * c) for n, c in zip(old, counts, strict=True)]), meta_of(x).dtype)


@rule("tile")
def tile(x: Any, *dims: Any, **named: Any) -> Any:
    """Copies side by side; missing counts are 1."""
    counts = sizes_of(tuple(named.values())) if named else sizes_of(dims)
    missing = len(shape_of(x)) - len(counts)
    return repeat(x, (1,) * missing + tuple(counts))


@rule("meshgrid")
def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """Coordinates of a grid, as views."""
    given = sizes_of(tensors)
    swap = indexing == "xy" and len(given) >= 2
    sizes = [shape_of(t)[0] if shape_of(t) else 1 for t in given]
    if swap:
        sizes[0], sizes[1] = sizes[1], sizes[0]
    results = []
    for i, t in enumerate(given):
        place = 1 - i if swap and i < 2 else i
        ones = [1] * len(given)
        ones[place] = -1
        results.append(call_method(call_method(t, "view", ones), "expand", sizes))
    return Done(tuple(results))


@rule("narrow", view=True)
def narrow(x: Any, dim: Any, start: Any, length: Any) -> Any:
    """A part of one dimension."""
    meta = meta_of(x)
    dim = dim_of(dim, len(meta.shape))
    n = meta.shape[dim]
    if is_tensor(start):
        start = start.item()
    start, length = plain(start), plain(length)
    expect_size(length, "the length of narrow")
    range_ = lambda: f"narrow: start {text(start)} is out of range for a size of {text(n)}"  # noqa: E731
    expect(start >= -n, range_, DimError)
    expect(start <= n, range_, DimError)
    start = counted_from_front(start, n)
    expect(
        start + length <= n,
        lambda: f"narrow: {text(length)} elements from {text(start)} exceed a size of {text(n)}",
    )
    return sliced(meta, dim, start, length)


@rule("narrow_copy")
def narrow_copy(x: Any, dim: Any, start: Any, length: Any) -> Any:
    """A copy of a part of one dimension."""
    meta = narrow(x, dim, start, length)
    return Meta(meta.shape, meta.dtype)
