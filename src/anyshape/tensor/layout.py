"""The layout of a tensor in memory: strides, offset and contiguity, computed lazily.

A layout is dense in some order of its dimensions (outermost first), or has explicit strides, or
has a callback that computes them (`make`). Dense strides are eager's: products of `max(size, 1)`,
so that an empty tensor is no special case. A question that cannot be decided while tracing gets the
answer of the general path, in which sizes are neither 0 nor 1. A caller that lets such an answer
decide something visible to the user records a deviation.

Strides are compared `bare`, as products of sizes without the `max`. These differ for empty tensors
only, whose strides are arbitrary. An undecided comparison of strides leaves the layout `uncertain`:
when the program observes such a layout, it is checked at run time.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from anyshape.tensor.size import (
    ask,
    at_least_at_two,
    equal,
    is_one,
    known,
    larger,
    plain,
    surely_equal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

    from anyshape.tensor.meta import Meta
    from anyshape.tensor.size import Size

    Shape = tuple[Size, ...]


class _Finding(threading.local):
    """The state of the layout computation of this thread."""

    bare = False
    doubts = 0  # undecided comparisons


_finding = _Finding()


class Layout:
    """One layout. `order` is None for the natural order of a dense layout."""

    __slots__ = ("_bare", "_open", "dense", "make", "offset", "order", "strides", "uncertain")

    def __init__(
        self,
        *,
        order: tuple[int, ...] | None = None,
        strides: Shape | None = None,
        make: Callable[[], Layout] | None = None,
        offset: Size | Callable[[], Size] = 0,
    ) -> None:
        self.dense = strides is None and make is None
        self.order = order if order is None or order != tuple(range(len(order))) else None
        self.strides = strides
        self.make = make
        self.offset = offset
        self.uncertain: bool | None = None
        self._bare: Layout | None = None
        self._open = False

    def found(self) -> Layout:
        """This layout with its strides computed; the offset may still be lazy."""
        make = self.make
        if make is None:
            return self
        if _finding.bare:
            before = _finding.doubts
            if self._bare is None:
                self._bare = make().found()
                self._open = _finding.doubts > before
            elif self._open:
                _finding.doubts += 1
            return self._bare
        if self.uncertain is None:
            before = _finding.doubts
            made = make().found()
            self.dense = made.dense
            self.order = made.order
            self.strides = made.strides
            if type(self.offset) is int and self.offset == 0:
                self.offset = made.offset
            self.uncertain = _finding.doubts > before
        elif self.uncertain:
            _finding.doubts += 1
        return self


def unsure(layout: Layout) -> Layout:
    """An unverified layout; checked at run time if observed."""

    def make() -> Layout:
        _finding.doubts += 1
        return layout

    return Layout(make=make)


CONTIGUOUS: Final = Layout()
CHANNELS_LAST_2D: Final = (0, 2, 3, 1)
CHANNELS_LAST_3D: Final = (0, 2, 3, 4, 1)


def dense_strides(shape: Sequence[Size], order: Sequence[int] | None = None) -> Shape:
    """The strides of a dense tensor, from the innermost dimension outwards."""
    strides: list[Any] = [1] * len(shape)
    step: Any = 1
    for dim in reversed(range(len(shape)) if order is None else order):
        strides[dim] = step
        n: Any = shape[dim]
        if type(n) is int:
            step = step * max(n, 1)
        else:
            step = step * (n if n.expr.lo >= 1 or _finding.bare else larger(n, 1))
    return tuple(map(plain, strides))


def dense_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """The dimensions of a dense tensor, outermost first; None for a tensor with gaps."""
    order = tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], -shape[d])))
    step = 1
    for d in reversed(order):
        if shape[d] != 1 and strides[d] != step:
            return None
        step *= max(shape[d], 1)
    return order


def has_strides(t: torch.Tensor, strides: Sequence[Any]) -> bool:
    """Whether a real tensor has these strides; those of dimensions of size 0 and 1 are free."""
    return all(n <= 1 or a == b for n, a, b in zip(t.shape, t.stride(), strides, strict=True))


def bare_strides(meta: Meta) -> Shape:
    """The strides as products of sizes, for comparison; valid for tensors that are not empty."""
    before, _finding.bare = _finding.bare, True
    try:
        return strides_of(meta)
    finally:
        _finding.bare = before


def _same_stride(a: Any, b: Any) -> bool:
    """Whether two bare strides are equal; False where undecided, which counts as a doubt."""
    if equal(a, b):
        return True
    if known(a == b) is None:
        _finding.doubts += 1
    return False


def strides_of(meta: Meta) -> Shape:
    """The strides, in elements."""
    layout = meta.layout.found()
    if layout.strides is None:
        return dense_strides(meta.shape, layout.order)
    return layout.strides


def offset_of(meta: Meta) -> Size:
    """The offset in the storage, in elements."""
    offset = meta.layout.found().offset
    if callable(offset):
        meta.layout.offset = offset = offset()
    return offset


def is_contiguous(meta: Meta, order: Sequence[int] | None = None) -> bool:
    """Whether the strides are those of a dense tensor in that order; sizes of 1 do not matter.

    Without elements every tensor counts as contiguous, but not in an order that is asked for.
    """
    layout = meta.layout.found()
    if layout.dense and layout.order == order:
        return True
    if order is not None and len(order) != len(meta.shape):
        return False
    shape, strides = meta.shape, bare_strides(meta)
    step: Any = 1
    for dim in reversed(range(len(shape)) if order is None else order):
        n: Any = shape[dim]
        if is_one(n):
            continue
        if not _same_stride(strides[dim], step):
            return order is None and any(known(m == 0) for m in shape)
        step = step * n
    return True


def contiguity(meta: Meta, order: Sequence[int] | None = None) -> tuple[bool, bool]:
    """`is_contiguous`, and whether the answer holds at all sizes but 0 and 1."""
    before = _finding.doubts
    answer = is_contiguous(meta, order)
    return answer, _finding.doubts == before


def is_certain(meta: Meta) -> bool:
    """Whether the layout is exact at all sizes but 0 and 1."""
    return not meta.layout.found().uncertain


def permuted(meta: Meta, dims: Sequence[int]) -> Layout:
    """The layout after a permutation of the dimensions."""
    return Layout(make=lambda: _permuted(meta, dims), offset=meta.layout.offset)


def _permuted(meta: Meta, dims: Sequence[int]) -> Layout:
    layout = meta.layout.found()
    if layout.dense:
        place = {dim: i for i, dim in enumerate(dims)}
        order = range(len(dims)) if layout.order is None else layout.order
        return Layout(order=tuple([place[d] for d in order]), offset=layout.offset)
    assert layout.strides is not None
    return Layout(strides=tuple([layout.strides[d] for d in dims]), offset=layout.offset)


# ---------------------------------------------------------------------- views


def view_strides(meta: Meta, shape: Sequence[Size]) -> Shape | None:
    """The strides of a view with another shape; None where no view exists in general."""
    layout = meta.layout.found()
    if layout.dense and layout.order is None:
        return dense_strides(shape)
    old, strides, bare = meta.shape, strides_of(meta), bare_strides(meta)
    if not old:
        return (1,) * len(shape)
    if any(type(n) is int and n == 0 for n in old):
        return strides if tuple(shape) == tuple(old) else dense_strides(shape)
    result: list[Any] = [None] * len(shape)
    target = len(shape) - 1
    base: Any = strides[-1]
    step: Any = bare[-1]
    chunk: Any = 1
    for dim in reversed(range(len(old))):
        chunk = chunk * old[dim]
        ends = dim == 0 or (
            not is_one(old[dim - 1]) and not _same_stride(bare[dim - 1], chunk * step)
        )
        if not ends:
            continue
        covered: Any = 1
        while target >= 0 and (not equal(covered, chunk) or is_one(shape[target])):
            result[target] = covered * base
            covered = covered * shape[target]
            target -= 1
        if not equal(covered, chunk):
            return None
        if dim > 0:
            base, step = strides[dim - 1], bare[dim - 1]
            chunk = 1
    return None if target != -1 else tuple(map(plain, result))


def viewed(meta: Meta, make: Callable[[], Shape], offset: Any = None) -> Layout:
    """A layout over the storage of `meta`, whose strides the callback `make` computes lazily."""
    return Layout(
        make=lambda: Layout(strides=make()),
        offset=(lambda: offset_of(meta)) if offset is None else offset,
    )


# ---------------------------------------------------------------------- results of ops


def pointwise(shape: Shape, operands: Sequence[Meta]) -> Layout:
    """The layout of the result of an elementwise op, as eager chooses it."""
    rank = len(shape)
    for meta in operands:
        layout = meta.layout
        if not layout.dense or (layout.order is not None and len(meta.shape) == rank):
            return Layout(make=lambda: _pointwise(shape, operands))
    return CONTIGUOUS


def _pointwise(shape: Shape, operands: Sequence[Meta]) -> Layout:
    rank = len(shape)
    full = [m for m in operands if m.shape]
    if not full:
        return CONTIGUOUS
    first = full[0].layout.found()
    if first.dense and all(
        m.layout.found().dense
        and m.layout.order == first.order
        and len(m.shape) == rank
        and all(map(surely_equal, m.shape, shape))
        for m in full
    ):
        return Layout(order=first.order)
    order = list(reversed(range(rank)))  # innermost first
    for i in range(1, rank):
        place = i
        for j in reversed(range(i)):
            swap = _compare(shape, full, order[j], order[place])
            if swap > 0:
                order[j], order[place] = order[place], order[j]
                place = j
            elif swap < 0:
                break
    return Layout(order=tuple(reversed(order)))


def _compare(shape: Shape, operands: Sequence[Meta], a: int, b: int) -> int:
    """1 if dimension `a` goes outside `b`, -1 if inside, 0 if no operand decides."""
    rank = len(shape)
    for meta in operands:
        skip = rank - len(meta.shape)
        i, j = a - skip, b - skip
        if i < 0 or j < 0 or _broadcast(meta, i, shape[a]) or _broadcast(meta, j, shape[b]):
            continue
        layout = meta.layout.found()
        if layout.dense:
            order = layout.order
            if order is None:
                return 1 if i < j else -1
            return 1 if order.index(i) < order.index(j) else -1
        strides = bare_strides(meta)
        if _is_zero(strides[i]) or _is_zero(strides[j]):
            continue
        outer = _outer(strides[i], strides[j])
        if outer:
            return outer
        if ask(_gt(shape[a], shape[b]), False):
            return 1
    return 0


def _is_zero(stride: Any) -> bool:
    return type(stride) is int and stride == 0


def _gt(a: Any, b: Any) -> Any:
    return False if a is b else a > b


def _outer(a: Any, b: Any) -> int:
    """The order of two bare strides for sizes of at least 2; an undecided one is a doubt."""
    if a is b:
        return 0
    if type(a) is int and type(b) is int:
        return (a > b) - (a < b)
    if at_least_at_two(a - b, 1):
        return 1
    if at_least_at_two(b - a, 1):
        return -1
    if surely_equal(a, b):
        return 0
    if ask(a < b, False):
        return -1
    if ask(a > b, False):
        return 1
    _finding.doubts += 1
    return 0


def _broadcast(meta: Meta, dim: int, size: Size) -> bool:
    n = meta.shape[dim]
    return type(n) is int and n == 1 and not (type(size) is int and size == 1)
