"""Dtypes of results: promotion among tensors, 0-d tensors and numbers, as torch does it."""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
import torch

from anyshape.errors import ArgumentError
from anyshape.rules.shared.operand import is_tensor, meta_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor.index_operand import is_index
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.torch_function import DisableTorchFunction

BOOL, INT, FLOAT, COMPLEX = range(4)
_OTHER_NUMBERS: Final = (float, torch.SymInt, torch.SymFloat, np.generic)  # besides int, complex
_COMPLEX_OF: Final = {
    torch.float16: torch.complex32,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
REAL_OF: Final = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}


@functools.cache
def promote_types(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """The dtype that two promote to, or the first where torch defines none."""
    try:
        with DisableTorchFunction():
            return torch.promote_types(a, b)
    except RuntimeError:
        return a


def category(dtype: torch.dtype) -> int:
    """BOOL, INT, FLOAT or COMPLEX."""
    if dtype.is_floating_point:
        return FLOAT
    if dtype.is_complex:
        return COMPLEX
    return BOOL if dtype is torch.bool else INT


def complex_of(dtype: torch.dtype) -> torch.dtype:
    """The complex dtype of the same precision; of the default precision for integers."""
    return dtype if dtype.is_complex else _COMPLEX_OF[floating(dtype)]


def real_of(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the real part: `dtype` itself unless it is complex."""
    return REAL_OF.get(dtype, dtype)


def number_dtype(x: Any) -> torch.dtype:
    """The dtype of a Python or symbolic number in promotion."""
    if type(x) is SymBool or isinstance(x, bool):
        return torch.bool
    if isinstance(x, int):
        return torch.int64
    if isinstance(x, complex) and not isinstance(x, float):
        return _COMPLEX_OF[torch.get_default_dtype()]
    if not isinstance(x, _OTHER_NUMBERS) and not is_index(x):  # torch refuses these when it runs
        raise ArgumentError(f"expected a tensor or a number, got {type(x).__name__}", code="AS123")
    return torch.get_default_dtype()


def result_dtype(*operands: Any) -> torch.dtype:
    """The dtype of an elementwise op on tensors and numbers."""
    if len(operands) == 2:
        a, b = operands
        if type(a) is SymTensor:
            found = a._meta.dtype
            if type(b) is SymTensor:
                if b._meta.dtype is found:
                    return found
            elif (type(b) is float or type(b) is int) and found.is_floating_point:
                return found
    return _promoted(operands)


def _promoted(operands: tuple[Any, ...]) -> torch.dtype:
    """Tensors take precedence over 0-d tensors, and these over numbers, within a category."""
    groups: list[torch.dtype | None] = [None, None, None]  # tensors, 0-d tensors, numbers
    for x in operands:
        if is_tensor(x):
            meta = meta_of(x)
            place, dtype = (0 if meta.shape else 1), meta.dtype
        else:
            place, dtype = 2, number_dtype(x)
        before = groups[place]
        groups[place] = dtype if before is None else promote_types(before, dtype)
    result: torch.dtype | None = None
    for dtype_ in groups:
        if dtype_ is None:
            continue
        if result is None:
            result = dtype_
        elif category(dtype_) > category(result):
            if category(dtype_) == COMPLEX and category(result) == FLOAT:
                result = _COMPLEX_OF.get(result, dtype_)
            else:
                result = dtype_
    assert result is not None
    return result


def floating(dtype: torch.dtype) -> torch.dtype:
    """`dtype` if it is floating or complex, else the default floating one."""
    if dtype.is_floating_point or dtype.is_complex:
        return dtype
    return torch.get_default_dtype()


def summed(dtype: torch.dtype) -> torch.dtype:
    """The dtype of a sum: integers and booleans become int64."""
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


def can_cast(source: torch.dtype, target: torch.dtype) -> bool:
    """Whether an in-place op may store `source` in `target`."""
    return category(source) <= category(target)
