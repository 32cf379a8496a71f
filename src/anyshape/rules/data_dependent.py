"""Ops whose result depends on the data: they make unbacked symbols.

What an op implies is learnt with its symbol: a count is at most the number of elements, an item of
uint8 is in 0 .. 255. Items, lists and counts of the same value are the same symbols.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from anyshape.errors import DimError, UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Done, Instead, Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.index_bound import bound_of
from anyshape.rules.shared.operand import call_method, dim_of, is_tensor, meta_of, shape_of
from anyshape.symbolic.functions import check, sym_or
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.layout import Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import (
    expect,
    expect_equal,
    expect_size,
    is_one,
    known,
    larger,
    plain,
    product,
    surely_equal,
    text,
)
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.torch_function import DisableTorchFunction

_ITEM = torch.Tensor.item


def value_of(x: Any) -> Any:
    """The value of a tensor in the graph."""
    return x._value if type(x) is SymTensor else current().lift(x)


def _memoized(key: Any, make: Any) -> Any:
    memo = current().memo
    found = memo.get(key)
    if found is None:
        found = memo[key] = make()
    return found


# ---------------------------------------------------------------------- items


def _range(dtype: torch.dtype) -> dict[str, int]:
    if dtype is torch.bool:
        return {"min": 0, "max": 1}
    if dtype is torch.int64 or dtype is torch.uint64:
        return {"min": 0} if dtype is torch.uint64 else {}
    with DisableTorchFunction():
        info = torch.iinfo(dtype)
        return {"min": info.min, "max": info.max}


@rule("item", "_local_scalar_dense")
def item(x: Any) -> Any:
    """The only element as a number."""
    meta = meta_of(x)
    for n in meta.shape:
        if not is_one(n):
            expect_equal(n, 1, lambda: f"item() of a tensor of shape {text(meta.shape)}")
    data = literal_of(x)
    if data is not None:
        with DisableTorchFunction():
            return Done(data.item())
    return Done(_item(x, meta.dtype))


@rule("_assert_scalar")
def assert_scalar(x: Any, assert_msg: str = "") -> Any:
    """A condition on numbers that the program checks."""
    check(x != 0 if isinstance(x, int) else x, assert_msg or None)
    return Done(None)


@rule("sym_constrain_range", "sym_constrain_range_for_size")
def constrain_range(size: Any, *, min: Any = None, max: Any = None) -> Any:
    """The range of a number."""
    if min is not None:
        check(size >= min)
    if max is not None:
        check(size <= max)
    return Done(None)


def literal_of(x: Any) -> torch.Tensor | None:
    """The data of a tensor that the program itself says; None for others."""
    return current().literal(x._value) if type(x) is SymTensor else None


def _item(x: Any, dtype: torch.dtype) -> Any:
    tracer = current()
    if dtype.is_complex:
        raise refused(UnsupportedError, "item() of a complex tensor", fix="take .real and .imag")
    key = ("item", tracer.number(value_of(x)))
    n = tracer.memo.get(key)
    if n is None:
        if dtype.is_floating_point:
            n = tracer.mint_float(_ITEM, (x,))
        else:
            n = tracer.mint(_ITEM, (x,), **_range(dtype))
        tracer.memo[key] = n
    return n == 1 if dtype is torch.bool else n


@rule("__bool__")
def to_bool(x: Any) -> Any:
    """`bool(x)`: decides whether the only element is not 0."""
    return Done(bool(item(x).value))


@rule("__int__", "__index__")
def to_int(x: Any) -> Any:
    """`int(x)`: the only element as a Python integer, whose value must be known."""
    return Done(int(item(x).value))


@rule("__float__")
def to_float(x: Any) -> Any:
    """`float(x)`: the only element as a Python float, whose value must be known."""
    return Done(float(item(x).value))


@rule("tolist")
def tolist(x: Any) -> Any:
    """The elements as nested lists of numbers."""
    meta = meta_of(x)
    if not meta.shape:
        return item(x)
    data = literal_of(x)
    if data is not None:
        with DisableTorchFunction():
            return Done(data.tolist())
    found = current().open_numbers(x) if current().closes_loops else None
    if found is not None:
        return Done(found)
    rows = int(meta.shape[0])
    if len(meta.shape) > 1:
        return Done([call_method(row, "tolist") for row in call_method(x, "unbind", 0)])
    if meta.dtype.is_floating_point or meta.dtype.is_complex:
        return Done([call_method(t, "item") for t in call_method(x, "unbind", 0)])
    tracer = current()

    def mint() -> list[Any]:
        found: list[Any] = tracer.mint_list(torch.Tensor.tolist, (x,), rows, **_range(meta.dtype))
        return found

    numbers = _memoized(("tolist", tracer.number(value_of(x))), mint)
    return Done([n == 1 if meta.dtype is torch.bool else n for n in numbers])


@rule("is_nonzero")
def is_nonzero(x: Any) -> Any:
    """Whether the only element is not 0."""
    found = item(x).value
    return Done(found if type(found) in (bool, SymBool) else found != 0)


@rule("equal")
def equal_(x: Any, other: Any) -> Any:
    """Whether two tensors have the same shape and elements."""
    a, b = shape_of(x), shape_of(other)
    if len(a) != len(b):
        return Done(False)
    for n, m in zip(a, b, strict=True):
        if known(n == m) is False:
            return Done(False)
    return Done(_unbacked_bool(torch.equal, (x, other)))


@rule("allclose")
def allclose(x: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
    """Whether all elements are near each other."""
    broadcast(shape_of(x), shape_of(other))
    return Done(_unbacked_bool(torch.allclose, (x, other, *args), kwargs))


def _unbacked_bool(func: Any, args: Any, kwargs: Any = None) -> Any:
    """A boolean that the call returns at run time."""
    tracer = current()
    data = [literal_of(x) for x in args[:2]]
    if all(x is not None for x in data):
        with DisableTorchFunction():
            return func(*data, *args[2:], **(kwargs or {}))
    n = tracer.mint(func, args, kwargs, min=0, max=1)
    return n == 1


# ---------------------------------------------------------------------- counts


def count_true(mask: Any) -> Any:
    """The number of elements that are not 0: one symbol for the same mask."""
    tracer = current()
    n = plain(product(shape_of(mask)))
    if type(n) is int and n == 0:
        return 0
    data = literal_of(mask)
    if data is not None:
        with DisableTorchFunction():
            return count_elements(data)

    def mint() -> Any:
        known = {"max": n} if type(n) is int else {}
        u = tracer.fresh_size(count_elements, (mask,), **known)
        if type(n) is SymInt:
            tracer.env.learn((n - u >= 0).condition)
        return u

    return _memoized(("count", tracer.number(value_of(mask))), mint)


def count_elements(mask: torch.Tensor) -> int:
    """The number of elements that are not 0."""
    return int(torch.count_nonzero(mask))


@rule("nonzero")
def nonzero(x: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0."""
    shape = shape_of(x)
    count = count_true(x)
    if as_tuple:
        return Many([Meta((count,), torch.int64) for _ in range(max(len(shape), 1))])
    return Meta((count, len(shape)), torch.int64, Layout(order=(1, 0)))


@rule("nonzero_numpy")
def nonzero_numpy(x: Any) -> Any:
    """The op behind `nonzero` as a tuple."""
    return nonzero(x, as_tuple=True)


@rule("argwhere")
def argwhere(x: Any) -> Any:
    """The indices of the elements that are not 0."""
    return nonzero(x)


@rule("masked_select")
def masked_select(x: Any, mask: Any) -> Any:
    """The elements where the mask holds."""
    dtype = meta_of(x).dtype
    mask_shape = shape_of(mask)
    shape = broadcast(shape_of(x), mask_shape)
    same = len(shape) == len(mask_shape) and all(map(surely_equal, shape, mask_shape))
    if same:
        return Meta((count_true(mask),), dtype)
    return Meta((_fresh_at_most(product(shape), count_selected, (x, mask)),), dtype)


def count_selected(x: Any, mask: Any) -> int:
    """The number of elements where the mask, broadcast against `x`, holds."""
    return torch.masked_select(x, mask).numel()


def _fresh_at_most(n: Any, func: Any = None, args: tuple[Any, ...] = ()) -> Any:
    """A new unbacked size in `0 .. n`: read from the result, or computed by `func`."""
    tracer = current()
    n = plain(n)
    known = {"max": n} if type(n) is int else {}
    u = tracer.fresh_size(func, args, min=0, **known)
    if type(n) is SymInt:
        tracer.env.learn((n - u >= 0).condition)
    return u


@rule("unique")
def unique(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: Any = None,
) -> Any:  # fmt: skip
    """The distinct elements, or the distinct slices along a dimension."""
    return _unique(x, return_inverse, return_counts, dim)


@rule("_unique2")
def unique2(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The op behind `unique`: three tensors, empty where not requested."""
    return _always_three(_unique(x, True, True, None), return_inverse, return_counts)


@rule("aten.unique_consecutive")
def unique_consecutive_op(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The op behind `unique_consecutive`: three tensors, empty where not requested."""
    return _always_three(_unique(x, True, True, dim), return_inverse, return_counts)


@rule("unique_dim")
def unique_dim(
    x: Any, dim: Any, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:  # fmt: skip
    """The op behind `unique` along a dimension: three tensors, empty where not requested."""
    return _always_three(_unique(x, True, True, dim), return_inverse, return_counts)


def _always_three(found: Many, inverse: bool, counts: bool) -> Many:
    values, *others = found.parts
    wanted = zip(others, (inverse, counts), strict=True)
    return Many([values, *[part if want else Meta((0,), torch.int64) for part, want in wanted]])


@rule("unique_consecutive")
def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """Elements that differ from the one before."""
    return _unique(x, return_inverse, return_counts, dim)


def _unique(x: Any, inverse: bool, counts: bool, dim: Any) -> Any:
    meta = meta_of(x)
    if dim is None:
        total = plain(product(meta.shape))
        count = _fresh_at_most(total)
        shape: tuple[Any, ...] = (count,)
        inverse_shape = meta.shape
    else:
        dim = dim_of(dim, len(meta.shape))
        total = meta.shape[dim]
        count = _fresh_at_most(total)
        shape = (*meta.shape[:dim], count, *meta.shape[dim + 1 :])
        inverse_shape = (total,)
    parts = [Meta(shape, meta.dtype)]
    if inverse:
        parts.append(Meta(inverse_shape, torch.int64))
    if counts:
        parts.append(Meta((count,), torch.int64))
    return Many(parts) if len(parts) > 1 else parts[0]


@rule("bincount")
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """How often each number occurs."""
    if len(shape_of(x)) != 1:
        raise DimError("bincount only supports 1-d non-negative integral inputs.")
    dtype = torch.int64
    if weights is not None:
        dtype = torch.float32 if meta_of(weights).dtype is torch.float32 else torch.float64
    tracer = current()
    low = plain(minlength)
    bound = bound_of(value_of(x))
    if bound is not None and known(bound <= low):
        n = low
    else:
        n = tracer.fresh_size(min=low if type(low) is int else 0)
        if type(low) is SymInt:
            tracer.env.learn((n - low >= 0).condition)
        if bound is not None:
            tracer.env.learn((n <= larger(bound, low)).condition)
    empty = shape_of(x)[0] == 0
    if weights is None or known(empty) is False:
        return Meta((n,), dtype)
    if known(empty):
        return Meta((n,), torch.int64)
    tracer.deviate("bincount", empty, f"gives {dtype}, where eager gives int64")
    return Instead(_weighted_bincount, (x, weights, minlength, dtype), Meta((n,), dtype))


def _weighted_bincount(x: Any, weights: Any, minlength: int, dtype: torch.dtype) -> Any:
    """`torch.bincount` with weights, in a dtype that does not depend on whether `x` is empty."""
    return torch.bincount(x, weights, minlength).to(dtype)


@rule("repeat_interleave")
def repeat_interleave(
    x: Any, repeats: Any = None, dim: Any = None, *, output_size: Any = None
) -> Any:
    """Each element repeated, by one count or by a count of its own."""
    tracer = current()
    if repeats is None:
        n = output_size if output_size is not None else tracer.fresh_size()
        return Meta((plain(n),), meta_of(x).dtype)
    meta = meta_of(x)
    shape = meta.shape if dim is not None else (plain(product(meta.shape)),)
    dim = 0 if dim is None else dim_of(dim, len(meta.shape))
    if not is_tensor(repeats):
        repeats = plain(repeats)
        expect_size(repeats, "the count of repeat_interleave")
        n = plain(shape[dim] * repeats)
    else:
        counts = shape_of(repeats)
        if counts and not surely_equal(counts[0], shape[dim]) and not is_one(counts[0]):
            expect_equal(
                counts[0],
                shape[dim],
                lambda: "repeat_interleave: expected one count for each element",
            )
        n = plain(output_size) if output_size is not None else tracer.fresh_size()
        if output_size is not None:
            expect(
                sym_or(shape[dim] != 0, n == 0),
                lambda: f"repeat_interleave: output_size {text(n)} without elements to repeat",
            )
    return Meta((*shape[:dim], n, *shape[dim + 1 :]), meta.dtype)


@rule("one_hot", "F.one_hot")
def one_hot(x: Any, num_classes: Any = -1) -> Any:
    """A 1 at the index of each class; the number of classes is unbacked if not given."""
    shape = shape_of(x)
    num_classes = plain(num_classes)
    if type(num_classes) is int and num_classes == -1:
        num_classes = current().fresh_size(min=1)
    else:
        expect_size(num_classes, "num_classes of one_hot")
    return Meta((*shape, num_classes), torch.int64)


@rule("histc")
def histc(x: Any, bins: Any = 100, min: Any = 0, max: Any = 0) -> Any:
    """Counts in bins of equal width."""
    return Meta((plain(bins),), meta_of(x).dtype)


@rule("combinations")
def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All combinations of `r` elements."""
    (n,) = shape_of(x)
    count: Any = 1
    for i in range(r):
        count = count * (n + i if with_replacement else n - i)
    count = plain(count // math.factorial(r))
    if type(n) is SymInt and not with_replacement:
        count = larger(count, 0)
    return Meta((count, r), meta_of(x).dtype) if r else Meta((0,), meta_of(x).dtype)
