"""Factories: tensors from sizes and numbers, and `*_like`."""

from __future__ import annotations

import math
from typing import Any

import torch

from anyshape.errors import ArgumentError, UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.cast import formatted
from anyshape.rules.dispatch.result import Done, Instead
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import like
from anyshape.rules.shared.operand import is_tensor, meta_of, shape_of, sizes_of
from anyshape.rules.shared.promote import complex_of, number_dtype, promote_types
from anyshape.symbolic.numpy_scalar import NumpyBool, scalar_of
from anyshape.symbolic.operand import is_numpy, is_symbolic
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.index_operand import IndexOperand, is_index
from anyshape.tensor.layout import CONTIGUOUS, Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import (
    ask,
    ceil_div,
    expect,
    expect_equal,
    expect_size,
    plain,
    surely_equal,
    text,
)
from anyshape.torch_compat.torch_function import DisableTorchFunction


def device_of(device: Any) -> torch.device:
    """The device that an argument names; the default one for None."""
    if type(device) is torch.device:
        return device
    if device is None:
        current().asked_device = True
        found: torch.device = current().device
        return found
    with DisableTorchFunction():
        return torch.device(device)


def _no_size(n: Any) -> BaseException:
    """The error for a size that is no integer; torch takes objects that have an `__index__`."""
    if is_index(n):
        return IndexOperand()
    name = type(n).__name__
    if not hasattr(type(n), "__index__") or type(n) is bool:
        return TypeError(f"expected an integer as a size, got {name}")
    return refused(UnsupportedError, f"a {name} as a size", fix="write operator.index(...) of it")


def new_meta(
    shape: tuple[Any, ...],
    dtype: torch.dtype | None,
    device: Any,
    requires_grad: bool = False,
    *,
    default: torch.dtype | None = None,
) -> Meta:
    """The metadata of a new contiguous tensor; its sizes must not be negative."""
    for n in shape:
        if type(n) is not int:
            if type(n) is not SymInt:
                raise _no_size(n)
            expect_size(n, "a size")
        elif n < 0:
            expect_size(n, "a size")
    shape = tuple([plain(n) for n in shape])
    found = dtype or default or torch.get_default_dtype()
    return Meta(shape, found, CONTIGUOUS, device_of(device), requires_grad)


@rule("zeros", "ones", "empty")
def zeros(
    *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = torch.strided, pin_memory: bool = False, memory_format: Any = None,
    names: Any = None,
) -> Any:  # fmt: skip
    """A tensor of given sizes."""
    if layout not in (None, torch.strided):
        return NotImplemented
    return formatted(new_meta(sizes_of(size), dtype, device, requires_grad), memory_format)


@rule("full")
def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False, names: Any = None,
) -> Any:  # fmt: skip
    """A tensor of one value."""
    default = meta_of(fill_value).dtype if is_tensor(fill_value) else number_dtype(fill_value)
    return new_meta(sizes_of((size,)), dtype, device, requires_grad, default=default)


@rule("empty_strided")
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Any = None, layout: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A tensor of given sizes and strides."""
    meta = new_meta(tuple(size), dtype, device, requires_grad)
    meta.layout = Layout(strides=tuple(stride))
    return meta


@rule("empty_permuted")
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, device: Any = None, layout: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A tensor that is dense in a given order."""
    meta = new_meta(tuple(size), dtype, device, requires_grad)
    meta.layout = Layout(order=tuple(physical_layout))
    return meta


@rule("zeros_like", "ones_like", "empty_like")
def zeros_like(
    x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """A tensor of the shape of another."""
    result = formatted(like(x, dtype), memory_format)
    result.requires_grad = requires_grad
    result.device = meta_of(x).device if device is None else device_of(device)
    return result


@rule("full_like")
def full_like(x: Any, fill_value: Any, **options: Any) -> Any:
    """A tensor of one value, of the shape of another."""
    return zeros_like(x, **options)


@rule("new_zeros", "new_ones", "new_empty")
def new_zeros(
    x: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A tensor of given sizes with the dtype and device of another."""
    meta = meta_of(x)
    device = meta.device if device is None else device
    return new_meta(sizes_of(size), dtype or meta.dtype, device, requires_grad)


@rule("new_full")
def new_full(x: Any, size: Any, fill_value: Any, **options: Any) -> Any:
    """A tensor of one value with the dtype and device of another."""
    return new_zeros(x, size, **options)


@rule("new_empty_strided")
def new_empty_strided(x: Any, size: Any, stride: Any, **options: Any) -> Any:
    """A tensor of given sizes and strides with the dtype and device of another."""
    meta = new_zeros(x, size, **options)
    meta.layout = Layout(strides=tuple(stride))
    return meta


@rule("scalar_tensor")
def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False, layout: Any = None,
) -> Any:  # fmt: skip
    """A tensor of one number, of the default dtype."""
    return new_meta((), dtype, device, requires_grad)


@rule("tensor")
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A tensor from numbers, nested lists, tensors and arrays."""
    if _is_array(data):
        return _from_array(data, dtype, device, requires_grad, copy=True)
    return _from_data(data, dtype, device, requires_grad)


@rule("as_tensor", "asarray")
def as_tensor(
    data: Any = None, dtype: Any = None, device: Any = None, *, requires_grad: bool = False,
    copy: Any = None, obj: Any = None,
) -> Any:  # fmt: skip
    """A tensor from numbers and nested lists; over the memory of a tensor or an array."""
    data = obj if data is None else data
    if _is_array(data):
        return _from_array(data, dtype, device, requires_grad, copy=bool(copy))
    if is_tensor(data):
        given = {"dtype": dtype, "device": device, "copy": bool(copy)}
        return Done(current().call(torch.Tensor.to, (data,), given))
    return _from_data(data, dtype, device, requires_grad)


def _is_array(data: Any) -> bool:
    """Whether data is no plain nested data: an array of another library, a buffer, a deque."""
    plain = (list, tuple, int, float, complex, torch.SymBool)
    return not is_tensor(data) and not isinstance(data, plain) and not is_symbolic(data)


def _has_memory(data: Any) -> bool:
    """Whether what data holds is read from its memory, and not item by item."""
    try:
        memoryview(data)
    except TypeError:
        return any(hasattr(data, name) for name in ("__array__", "__dlpack__"))
    return True


def _from_array(data: Any, dtype: Any, device: Any, requires_grad: bool, *, copy: bool) -> Done:
    """A tensor from an array, whose memory is read again when the program runs."""
    if not _has_memory(data):
        current().consumed(data)
    with DisableTorchFunction():
        found: Any = current().births.note(torch.as_tensor(data))
    call = current().call
    if copy:
        found = call(torch.clone, (found,), {})
    if dtype is not None or device is not None:
        found = call(torch.Tensor.to, (found,), {"dtype": dtype, "device": device})
    return Done(call(torch.Tensor.requires_grad_, (found,), {}) if requires_grad else found)


def _from_data(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    shape, default = _nested(data)
    if is_tensor(data):
        device = meta_of(data).device if device is None else device
    made = new_meta(shape, dtype, device, requires_grad, default=default)
    if dtype is None and _has_numpy(data):  # a number of Python when the program runs
        given = {} if device is None else {"device": device}
        return Instead(
            torch.tensor, (data,), made, dtype=default, requires_grad=requires_grad, **given
        )
    return made


def _has_numpy(data: Any) -> bool:
    """Whether nested data has a number of NumPy's, or a symbolic one that stands for it."""
    return any(map(_has_numpy, data)) if isinstance(data, list | tuple) else is_numpy(data)


@rule("new_tensor")
def new_tensor(x: Any, data: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    """A tensor from numbers on the device of another."""
    device = meta_of(x).device if device is None else device
    if _is_array(data):
        return _from_array(data, dtype, device, bool(options.get("requires_grad")), copy=True)
    default = meta_of(data).dtype if is_tensor(data) else _nested(data)[1]
    return new_meta(_nested(data)[0], dtype or default, device)


def _nested(data: Any) -> tuple[tuple[Any, ...], torch.dtype]:
    """The shape and dtype of nested data."""
    if is_tensor(data):
        return shape_of(data), meta_of(data).dtype
    if isinstance(data, list | tuple):
        if not data:
            return (0,), torch.get_default_dtype()
        parts = [_nested(part) for part in data]
        shape, dtype = parts[0]
        for other, found in parts[1:]:
            if len(other) != len(shape):
                raise ArgumentError(
                    "nested lists of different depths do not make a tensor", code="AS123"
                )
            for n, m in zip(other, shape, strict=True):
                expect_equal(n, m, lambda: "rows of different lengths do not make a tensor")
            dtype = promote_types(dtype, found)
        return (len(data), *shape), dtype
    if scalar_of(data):
        return (), torch.bool if type(data) is NumpyBool else getattr(torch, scalar_of(data))
    if isinstance(data, int | float | complex | torch.SymBool) and not is_numpy(data):
        return (), number_dtype(data)
    with DisableTorchFunction():
        real = torch.as_tensor(data)
        return tuple(real.shape), real.dtype


@rule("arange")
def arange(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Evenly spaced numbers, the end excluded."""
    if end is None:
        start, end = 0, start
    start, end, step = (n.item() if is_tensor(n) else n for n in (start, end, step))
    default = torch.int64
    if any(isinstance(n, float) for n in (start, end, step)):
        default = torch.get_default_dtype()
    if (dtype or default) is torch.int64:  # arguments are truncated first
        start, end, step = map(_truncated, (start, end, step))
    n = _count(start, end, step)
    return new_meta((n,), dtype, device, requires_grad, default=default)


def _truncated(n: Any) -> Any:
    return math.trunc(n) if isinstance(n, float) else n


@rule("range")
def range_(
    start: Any, end: Any, step: Any = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Evenly spaced numbers, the end included if it is reached."""
    if any(type(n) not in (int, float) for n in (start, end, step)):
        return NotImplemented
    n = math.floor((end - start) / step) + 1
    return new_meta((n,), dtype, device, requires_grad)


def _count(start: Any, end: Any, step: Any) -> Any:
    if all(type(n) in (int, float) for n in (start, end, step)):
        return max(math.ceil((end - start) / step), 0)
    if any(isinstance(n, float) for n in (start, end, step)):
        return math.ceil((end - start) / step)
    expect(step != 0, lambda: "arange: the step must not be 0")
    negative = ask(step < 0, False)
    low, high = (end, start) if negative else (start, end)
    expect(
        high >= low,
        lambda: f"arange: the step leads away from {text(end)}, starting at {text(start)}",
    )
    if type(step) is int and abs(step) == 1:
        return plain(high - low)
    return ceil_div(high - low, abs(step))


@rule("linspace", "logspace")
def linspace(  # noqa: PLR0913  the signature is torch's
    start: Any, end: Any, steps: Any, base: Any = 10.0, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """`steps` evenly spaced numbers or powers, both ends included."""
    default = torch.get_default_dtype()
    if any(isinstance(n, complex) and not isinstance(n, float | int) for n in (start, end)):
        default = complex_of(default)
    for n in (start, end):
        if is_tensor(n) and meta_of(n).dtype.is_complex:
            default = complex_of(default)
    return new_meta((steps,), dtype, device, requires_grad, default=default)


@rule("eye")
def eye(
    n: Any, m: Any = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Ones on the diagonal."""
    return new_meta((n, n if m is None else m), dtype, device, requires_grad)


@rule("tril_indices", "triu_indices")
def tril_indices(
    row: Any, col: Any, offset: Any = 0, *, dtype: Any = torch.int64, device: Any = None,
    layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """The indices of a triangle."""
    if all(type(n) is int for n in (row, col, offset)):
        return NotImplemented
    if surely_equal(row, col) and type(offset) is int and offset == 0:
        return new_meta((2, row * (row + 1) // 2), dtype, device)
    return NotImplemented


@rule("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")
def window(  # noqa: PLR0913  torch's signature
    window_length: Any, periodic: bool = True, *_: Any, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False, alpha: Any = 0,
    beta: Any = 0,
) -> Any:  # fmt: skip
    """A window function."""
    return new_meta((window_length,), dtype, device, requires_grad)


@rule("vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803  torch's name
    """The Vandermonde matrix: powers of the elements."""
    (n,) = shape_of(x)
    dtype = meta_of(x).dtype
    dtype = torch.int64 if not (dtype.is_floating_point or dtype.is_complex) else dtype
    return Meta((n, n if N is None else N), dtype)
