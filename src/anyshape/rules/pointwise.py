"""Elementwise ops: broadcasting, dtype promotion, and the layout that eager gives the result."""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.errors import ShapeError
from anyshape.rules.data_dependent import nonzero
from anyshape.rules.dispatch.result import Done, Many
from anyshape.rules.dispatch.return_type import named
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.operand import dim_of, is_tensor, meta_of
from anyshape.rules.shared.promote import (
    category,
    complex_of,
    floating,
    promote_types,
    real_of,
    result_dtype,
)
from anyshape.rules.subview import sliced
from anyshape.tensor.layout import (
    CONTIGUOUS,
    pointwise,
)
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, known, plain, text
from anyshape.tensor.sym_tensor import SymTensor

_NUMBERS: Final = (int, float, bool)


def elementwise(dtype: torch.dtype, *operands: Any) -> Meta:
    """The result of an elementwise op on tensors and numbers."""
    if len(operands) == 2:
        x, y = operands
        if type(x) is SymTensor:
            a = x._meta
            if type(y) in _NUMBERS:
                if a.layout is CONTIGUOUS:
                    return Meta(a.shape, dtype)
            elif type(y) is SymTensor:
                b = y._meta
                if a.shape is b.shape and a.layout is b.layout is CONTIGUOUS:
                    return Meta(a.shape, dtype)
    metas = [meta_of(x) for x in operands if is_tensor(x)]
    shape = metas[0].shape if len(metas) == 1 else broadcast(*[m.shape for m in metas])
    return Meta(shape, dtype, pointwise(shape, metas))


def like(x: Any, dtype: torch.dtype | None = None) -> Meta:
    """A result of the shape of one operand."""
    meta = meta_of(x)
    layout = meta.layout
    if layout is not CONTIGUOUS:
        layout = CONTIGUOUS if layout.dense and not layout.order else pointwise(meta.shape, [meta])
    return Meta(meta.shape, dtype or meta.dtype, layout)


# ---------------------------------------------------------------------- one operand


@rule(
    "neg", "negative", "relu", "sign", "sgn", "bitwise_not", "relu6",
    "hardtanh", "leaky_relu", "elu", "celu", "selu", "hardswish", "hardsigmoid", "silu", "mish",
    "threshold", "nan_to_num", "softplus", "hardshrink", "softshrink",
    "gelu", "rrelu_with_noise", "F.silu", "F.mish",
    "zero", "fill_diagonal",
)  # fmt: skip
def same(x: Any, *_: Any, inplace: bool = False, **__: Any) -> Any:
    """The shape and dtype of the operand."""
    return NotImplemented if inplace else like(x)


@rule("square")
def square(x: Any) -> Any:
    """The second power; booleans become integers."""
    return like(x, result_dtype(x, 2))


@rule("positive")
def positive(x: Any) -> Any:
    """The tensor itself."""
    return Done(x)


@rule("conj_physical", view=True)
def conj_physical(x: Any) -> Any:
    """The conjugate; the tensor itself where it is real."""
    meta = meta_of(x)
    return like(x) if meta.dtype.is_complex else Done(x)


@rule("log_sigmoid", "F.logsigmoid")
def log_sigmoid(x: Any) -> Any:
    """The logarithm of the sigmoid function, contiguous."""
    return Meta(meta_of(x).shape, meta_of(x).dtype)


@rule("floor", "ceil", "trunc", "fix", "round", "special_round")
def rounded(x: Any, *, decimals: int = 0) -> Any:
    """Rounding keeps the dtype."""
    if meta_of(x).dtype.is_complex:
        raise ShapeError("rounding is not defined for complex tensors")
    return like(x)


@rule("frac")
def frac(x: Any) -> Any:
    """The fractional part."""
    return like(x)


@rule("abs", "absolute")
def absolute(x: Any) -> Any:
    """The magnitude: real for complex operands."""
    return like(x, real_of(meta_of(x).dtype))


@rule("angle")
def angle(x: Any) -> Any:
    """The angle: real and floating."""
    return like(x, floating(real_of(meta_of(x).dtype)))


@rule(
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "arcsinh", "arccosh", "arctanh", "sigmoid", "erf", "erfc", "erfinv", "reciprocal",
    "lgamma", "digamma", "i0", "sinc", "deg2rad", "rad2deg", "logit",
    "special_exp2", "special_expm1", "special_log1p", "special_expit", "special_erf",
    "special_erfc", "special_erfinv", "special_erfcx", "special_entr", "special_ndtr",
    "special_ndtri", "special_log_ndtr", "special_i0", "special_i0e", "special_i1", "special_i1e",
    "special_sinc", "special_digamma", "special_psi", "special_gammaln", "special_logit",
    "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1",
    "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
    "special_modified_bessel_k1", "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0", "special_airy_ai",
    "F.sigmoid", "F.tanh", "F.softsign", "F.tanhshrink",
)  # fmt: skip
def to_floating(x: Any, *_: Any, **__: Any) -> Any:
    """Floating results; integers become the default floating dtype."""
    return like(x, floating(meta_of(x).dtype))


@rule("polygamma", "special_polygamma")
def polygamma(n: Any, x: Any = None) -> Any:
    """The order comes first in the function, second in the method."""
    if is_tensor(n):
        n, x = x, n
    return like(x, floating(meta_of(x).dtype))


@rule("mvlgamma", "special_multigammaln")
def mvlgamma(x: Any, p: int) -> Any:
    """The multivariate log-gamma function."""
    return Meta(meta_of(x).shape, floating(meta_of(x).dtype))


@rule("logical_not", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit")
def truth(x: Any) -> Any:
    """A boolean for each element."""
    return like(x, torch.bool)


@rule("frexp")
def frexp(x: Any) -> Any:
    """Mantissa and exponent."""
    return Many([like(x), like(x, torch.int32)], named("frexp"))


# ---------------------------------------------------------------------- two operands


@rule("add", "sub", "subtract")
def add(x: Any, other: Any, *, alpha: Any = 1) -> Any:
    """A sum or difference."""
    return elementwise(result_dtype(x, other), x, other)


@rule(
    "mul", "multiply", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "floor_divide", "gcd", "lcm",
)  # fmt: skip
def binary(x: Any, other: Any) -> Any:
    """An op that promotes its operands and stays in that dtype."""
    return elementwise(result_dtype(x, other), x, other)


@rule("remainder")
def remainder(x: Any, other: Any) -> Any:
    """A remainder, which is below a positive divisor."""
    made = elementwise(result_dtype(x, other), x, other)
    if isinstance(other, int) and not isinstance(other, bool) and known(other > 0):
        made.below = other
    return made


@rule("maximum", "minimum", "fmax", "fmin")
def extremum(x: Any, other: Any) -> Any:
    """The larger or smaller of two."""
    return elementwise(result_dtype(x, other), x, other)


@rule("pow")
def power(x: Any, exponent: Any) -> Any:
    """A power."""
    return elementwise(result_dtype(x, exponent), x, exponent)


@rule("float_power")
def float_power(x: Any, exponent: Any) -> Any:
    """A power in double precision."""
    wide = category(result_dtype(x, exponent)) == 3
    return elementwise(torch.complex128 if wide else torch.float64, x, exponent)


@rule("div", "divide")
def divide(x: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """True division is floating; a rounded one keeps the dtype."""
    dtype = result_dtype(x, other)
    return elementwise(floating(dtype) if rounding_mode is None else dtype, x, other)


@rule("true_divide")
def true_divide(x: Any, other: Any) -> Any:
    """Division with a floating result."""
    return elementwise(floating(result_dtype(x, other)), x, other)


@rule(
    "atan2", "arctan2", "xlogy", "special_xlogy", "special_xlog1py", "special_zeta", "logaddexp",
    "logaddexp2", "hypot", "nextafter", "copysign", "igamma", "igammac", "special_gammainc",
    "special_gammaincc",
)  # fmt: skip
def binary_floating(x: Any, other: Any) -> Any:
    """An op of two operands with a floating result."""
    return elementwise(floating(result_dtype(x, other)), x, other)


@rule(
    "special_chebyshev_polynomial_t", "special_chebyshev_polynomial_u",
    "special_chebyshev_polynomial_v", "special_chebyshev_polynomial_w",
    "special_hermite_polynomial_h", "special_hermite_polynomial_he",
    "special_laguerre_polynomial_l", "special_legendre_polynomial_p",
    "special_shifted_chebyshev_polynomial_t", "special_shifted_chebyshev_polynomial_u",
    "special_shifted_chebyshev_polynomial_v", "special_shifted_chebyshev_polynomial_w",
)  # fmt: skip
def polynomial(x: Any, n: Any) -> Any:
    """A polynomial of degree n."""
    return binary_floating(x, n)


@rule("ldexp")
def ldexp(x: Any, other: Any) -> Any:
    """`x * 2**other`."""
    exponent = floating(meta_of(other).dtype) if is_tensor(other) else torch.get_default_dtype()
    dtype = promote_types(result_dtype(x), exponent)
    metas = [meta_of(x), like(other)] if is_tensor(other) else [meta_of(x)]
    shape = broadcast(*[m.shape for m in metas])
    return Meta(shape, dtype, pointwise(shape, metas))


@rule("heaviside")
def heaviside(x: Any, values: Any) -> Any:
    """The step function."""
    return elementwise(meta_of(x).dtype, x, values)


@rule(
    "eq", "ne", "lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal",
    "not_equal", "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
def compare(x: Any, other: Any) -> Any:
    """A boolean for each pair."""
    if not is_tensor(other) and not isinstance(other, int | float | complex | torch.SymBool):
        return NotImplemented
    return elementwise(torch.bool, x, other)


@rule("isclose")
def isclose(x: Any, other: Any, rtol: Any = 0, atol: Any = 0, equal_nan: bool = False) -> Any:
    """Whether elements are near each other."""
    return elementwise(torch.bool, x, other)


@rule("complex")
def complex_(real: Any, imag: Any) -> Any:
    """A complex tensor from its parts."""
    return elementwise(complex_of(meta_of(real).dtype), real, imag)


@rule("polar")
def polar(abs: Any, angle: Any) -> Any:
    """A complex tensor from magnitude and angle."""
    return elementwise(complex_of(meta_of(abs).dtype), abs, angle)


@rule("prelu", "F.prelu")
def prelu(x: Any, weight: Any) -> Any:
    """A leaky relu with learnt slopes, one for each channel."""
    return like(x)


# ---------------------------------------------------------------------- more operands


@rule("clamp", "clip")
def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """Limits may be numbers or tensors."""
    limits = [limit for limit in (min, max) if limit is not None]
    if not limits:
        raise ShapeError("torch.clamp: at least one of 'min' or 'max' must not be None")
    return elementwise(result_dtype(x, *limits), x, *limits)


@rule("clamp_min", "clamp_max")
def clamp_one(x: Any, limit: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """One limit."""
    for other in (min, max):
        limit = other if limit is None else limit
    return elementwise(result_dtype(x, limit), x, limit)


@rule("where")
def where(condition: Any, x: Any = None, other: Any = None) -> Any:
    """A choice for each element; with the condition alone, the indices where it holds."""
    if x is None and other is None:
        return nonzero(condition, as_tuple=True)
    if x is None or other is None:
        return NotImplemented
    if _is_value(condition, x):
        condition, x = x, condition
    return elementwise(result_dtype(x, other), condition, x, other)


def _is_value(first: Any, second: Any) -> bool:
    """Whether `where` got the operand before the condition, as the method does.

    The condition is the one of the two that holds booleans, or bytes in their place.
    """
    if not is_tensor(first):
        return True
    dtype = meta_of(first).dtype
    if dtype is torch.bool or not is_tensor(second):
        return False
    return dtype is not torch.uint8 or meta_of(second).dtype is torch.bool


@rule("lerp")
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """Linear interpolation."""
    return elementwise(meta_of(x).dtype, x, end, weight)


@rule("addcmul", "addcdiv")
def addc(x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`x + value * tensor1 * tensor2`, or with a quotient."""
    return elementwise(result_dtype(x, tensor1, tensor2), x, tensor1, tensor2)


@rule("masked_fill")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask holds: a contiguous copy."""
    return Meta(broadcast(meta_of(x).shape, meta_of(mask).shape), meta_of(x).dtype)


@rule("fill", "fill_")
def fill(x: Any, value: Any) -> Any:
    """All elements replaced."""
    return like(x)


@rule("copy")
def copy(x: Any, src: Any, non_blocking: bool = False) -> Any:
    """The elements of `src`, broadcast to the shape of `x`."""
    meta = meta_of(x)
    if is_tensor(src):
        broadcast(meta.shape, meta_of(src).shape)
    return Meta(meta.shape, meta.dtype, like(x).layout, meta.device)


@rule("_weight_norm")
def weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    """A direction times a learnt length."""
    return elementwise(meta_of(v).dtype, v, g)


@rule("glu", "F.glu")
def glu(x: Any, dim: int = -1) -> Any:
    """Half of the channels gate the other half."""
    meta = meta_of(x)
    dim = dim_of(dim, len(meta.shape))
    n = meta.shape[dim]
    expect(n % 2 == 0, lambda: f"glu halves dimension {dim}, and {text(n)} is odd")
    half = sliced(meta, dim, 0, plain(n // 2))
    return Meta(half.shape, meta.dtype, pointwise(half.shape, [half]))
