"""Ops of torch that trust their arguments, each with the condition under which a call is safe.

Outside this condition, the kernel of the CPU accesses memory beyond its tensors, or it ends the
process. A loaded program calls such an op through a `Guarded`, which checks the condition first. A
condition has the parameters of its op; a call that it does not take is refused. `make probe` looks
for ops that need one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import torch

from anyshape.errors import RuntimeAssertError
from anyshape.rules.dispatch.resolve import op_name
from anyshape.torch_compat.aten_op import is_op

if TYPE_CHECKING:
    from collections.abc import Callable

    _Check = TypeVar("_Check", bound=Callable[..., bool])

_of_symbols: Final[Any] = torch.broadcast_shapes
_ONLY_WITH: Final = {"div": "rounding_mode", "divide": "rounding_mode"}  # safe without it
CONDITIONS: Final[dict[str, Any]] = {}


@final
class Guarded:
    """An op that is called if the condition of its name holds."""

    __slots__ = ("__name__", "_condition", "function")

    def __init__(self, function: Any, name: str) -> None:
        self.function = function
        self._condition = CONDITIONS[name]
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op, or raise `RuntimeAssertError`."""
        if "self" in kwargs:
            kwargs["input"] = kwargs.pop("self")
        try:
            is_safe = self._condition(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, IndexError) as e:
            raise self._refusal(f"its arguments are not those of the op: {e}") from e
        if not is_safe:
            raise self._refusal(" ".join(self._condition.__doc__.split()))
        if "input" in kwargs:  # as a function has it; ops and methods call it `self`
            args = (kwargs.pop("input"), *args)
        return self.function(*args, **kwargs)

    def _refusal(self, why: str) -> RuntimeAssertError:
        return RuntimeAssertError(f"an unsafe call of {self.__name__} in a loaded program", why=why)

    def __repr__(self) -> str:
        return f"<{self.__name__}, guarded>"


def guarded(func: Any, kwargs: Any = None) -> Any:
    """The op as a loaded program calls it, with keywords if these are known."""
    name = op_name(func) if is_op(func) else getattr(func, "__name__", "")
    for known in (name, name.removesuffix("_")):
        if known in CONDITIONS:
            needed = _ONLY_WITH.get(known)
            is_safe = None not in (needed, kwargs) and needed not in kwargs
            return func if is_safe else _guarded(func, known)
    return func


@functools.cache
def _guarded(func: Any, name: str) -> Guarded:
    """One object for an op, so that equal calls are of one function."""
    return Guarded(func, name)


def unguarded(func: Any) -> Any:
    """The op of torch that a loaded program calls."""
    return func.function if type(func) is Guarded else func


def _condition(*names: str) -> Callable[[_Check], _Check]:
    def add(check: _Check) -> _Check:
        for name in names:
            CONDITIONS[name] = check
        return check

    return add


# ---------------------------------------------------------------------- memory


@_condition("as_strided", "as_strided_copy")
def _is_inside(input: Any, size: Any, stride: Any, storage_offset: Any = None) -> bool:
    """Sizes, strides and offset reach no memory outside the storage; no elements, none at all."""
    offset = input.storage_offset() if storage_offset is None else storage_offset
    sizes, strides = [*map(int, size)], [*map(int, stride)]
    if len(sizes) != len(strides) or min([offset, *sizes, *strides]) < 0:
        return False
    reach = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    held = int(input.untyped_storage().nbytes()) // int(input.element_size())
    return 0 in sizes or bool(offset + reach <= held)


@_condition("as_strided_scatter")
def _is_scatter_inside(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None
) -> bool:
    """Sizes, strides and offset reach no memory outside the storage."""
    return src.shape == torch.Size(size) and _is_inside(input, size, stride, storage_offset)


@_condition("median", "nanmedian")
def _is_spread(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> bool:
    """No dimension repeats one element."""
    return dim is None or all(n < 2 or s for n, s in zip(input.shape, input.stride(), strict=True))


@_condition("rrelu_with_noise")
def _has_noise(
    input: Any,
    noise: Any,
    lower: Any = 0.125,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: Any = None,
    *,
    out: Any = None,
) -> bool:
    """Noise and result have the type and shape of the input."""
    others = [noise] if out is None else [noise, out]
    return all(t.shape == input.shape and t.dtype is input.dtype for t in others)


# ---------------------------------------------------------------------- arithmetic


@_condition("lcm")
def _has_lcm(input: Any, other: Any, *, out: Any = None) -> bool:
    """No operand has the least integer of its type."""
    return not any(_has(x, torch.iinfo(x.dtype).min) for x in (input, other) if _is_integral(x))


@_condition("div", "divide")
def _has_quotient(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> bool:
    """The least integer is not divided by -1."""
    dtype = torch.result_type(input, other)
    if rounding_mode != "trunc" or dtype.is_floating_point or dtype.is_complex:
        return True
    return dtype is torch.bool or not (_has(input, torch.iinfo(dtype).min) and _has(other, -1))


@_condition("matrix_power", "linalg_matrix_power")
def _is_exponent(input: Any, n: Any, *, out: Any = None) -> bool:
    """The exponent has 31 bits."""
    return bool(abs(n) < 1 << 31)


def _is_integral(x: Any) -> bool:
    dtype = getattr(x, "dtype", torch.bool)
    return not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def _has(x: Any, value: int) -> bool:
    """Whether a number, or an element of a tensor of the CPU, is a value."""
    if not isinstance(x, torch.Tensor):
        return bool(x == value)
    return x.device.type == "cpu" and bool((x == value).any())


# ---------------------------------------------------------------------- linear algebra


@_condition("linalg_eigvals", "linalg_eig")
def _is_finite(input: Any, *, out: Any = None) -> bool:
    """All elements are finite."""
    return bool(input.isfinite().all())


@_condition("lu_unpack")
def _has_pivots(
    LU_data: Any,  # noqa: N803  the name of torch
    LU_pivots: Any,  # noqa: N803
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Any = None,
) -> bool:
    """The pivots have the shape of those of the matrices."""
    wanted = (*LU_data.shape[:-2], min(LU_data.shape[-2:]))
    return not unpack_pivots or tuple(LU_pivots.shape) == wanted


@_condition("linalg_lstsq", "_lstsq_with_residuals")
def _has_right_side(input: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> bool:
    """There is a right-hand side."""
    return 0 not in b.shape


@_condition("_fft_c2c", "_fft_r2c")
def _is_transformed(
    input: Any, dim: Any, normalization: int, flag: Any = None, **named: Any
) -> bool:
    """The dimensions are those of a tensor with elements, each once, and the mode is known."""
    dims = [*dim]
    rank = input.dim()
    return (
        "out" not in named
        and input.numel() > 0
        and normalization in (0, 1, 2)
        and bool(dims)
        and all(type(d) is int and 0 <= d < rank for d in dims)
        and len({*dims}) == len(dims)
    )


@_condition("_fft_c2r")
def _is_transformed_back(
    input: Any, dim: Any, normalization: int, last_dim_size: int, **named: Any
) -> bool:
    """The dimensions are those of a complex tensor with elements, each once, and the last of them
    has half of the frequencies.
    """
    return (
        input.is_complex()
        and _is_transformed(input, dim, normalization, **named)
        and last_dim_size > 0
        and last_dim_size // 2 + 1 == input.size(dim[-1])
    )


@_condition("_pdist_forward")
def _has_rows(input: Any, p: Any = 2) -> bool:
    """The input is a matrix in order, and the exponent is not negative."""
    return bool(input.dim() == 2 and input.is_contiguous() and p >= 0)


# ---------------------------------------------------------------------- layers


def broadcast(*shapes: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The shape that some shapes broadcast to; None if they do not fit.

    torch's function is for symbolic sizes: a loaded program has numbers, and it runs many times.
    """
    if any(type(n) is not int for shape in shapes for n in shape):
        try:
            return tuple(_of_symbols(*shapes))
        except RuntimeError:
            return None
    sizes = [1] * max(map(len, shapes))
    for shape in shapes:
        for d, n in enumerate(shape, len(sizes) - len(shape)):
            if n != 1 and sizes[d] not in (1, n):
                return None
            sizes[d] = n if n != 1 else sizes[d]
    return tuple(sizes)


@_condition("scaled_dot_product_attention")
def _is_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> bool:
    """Keys and values have one length, queries and keys one width, and batches fit each other."""
    if key.size(-2) != value.size(-2) or query.size(-1) != key.size(-1):
        return False
    heads = -3 if enable_gqa else -2
    batch = broadcast(*[t.shape[:heads] for t in (query, key, value)])
    if batch is None:
        return False
    if enable_gqa:
        return bool(query.size(-3) % max(key.size(-3), 1) == 0)
    wanted = (*batch, query.size(-2), key.size(-2))
    return attn_mask is None or broadcast(attn_mask.shape, wanted) == wanted


@_condition("ctc_loss")
def _has_classes(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = 1,
    zero_infinity: bool = False,
) -> bool:
    """Targets and blank are classes, and lengths are not negative."""
    count = log_probs.size(-1)
    lengths = [torch.as_tensor(x) for x in (input_lengths, target_lengths)]
    return (
        0 <= blank < count
        and not any(bool((x < 0).any()) for x in lengths)
        and not bool(((targets < 0) | (targets >= count)).any())
    )


@_condition(
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "_batch_norm_no_update",
    "_batch_norm_with_update",
    "_batch_norm_with_update_functional",
)
def _has_channels(
    input: Any, weight: Any = None, bias: Any = None, *rest: Any, **named: Any
) -> bool:
    """The input has channels, and there is one weight, offset, mean and variance for each; without
    means and variances, those of the batch are used.
    """
    others = (*rest, *named.values())
    running = [x for x in others if isinstance(x, torch.Tensor)]
    given = [x for x in (weight, bias, *running) if x is not None]
    dtypes = {x.dtype for x in given} or {input.dtype}
    count = input.size(1) if input.dim() > 1 else 0
    return (
        count > 0
        and "out" not in named
        and input.is_floating_point()
        and (dtypes == {input.dtype} or (input.element_size() == 2 and dtypes == {torch.float32}))
        and all(x.shape == (count,) and x.device == input.device for x in given)
        and (len(running) == 2 or (not running and any(x is True for x in others)))
    )


@_condition("_weight_norm")
def _has_norms(v: Any, g: Any, dim: int = 0) -> bool:
    """There is one norm for each index of the dimension, or one in all for -1."""
    if v.dtype is not g.dtype or not v.dtype.is_floating_point:
        return False
    wanted = [1] * v.dim()
    if dim != -1:
        wanted[dim] = v.size(dim)
    return list(g.shape) == wanted or (dim == -1 and g.numel() == 1)


@_condition("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa")
def _is_to_scale(
    input: Any,
    output_size: Any,
    align_corners: bool,
    scales_h: Any = None,
    scales_w: Any = None,
    *,
    scale_factors: Any = None,
    out: Any = None,
) -> bool:
    """The output has the size of the input times the scales."""
    if output_size is None or scale_factors is not None:  # the overload that computes the size
        return True
    triples = zip(input.shape[-2:], output_size, (scales_h, scales_w), strict=True)
    return all(s is None or abs(n * s - m) <= 1 for n, m, s in triples)


@_condition("_pad_packed_sequence")
def _is_packed(
    input: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int
) -> bool:
    """The sizes of the batches are positive, do not grow, and sum to the length of the data."""
    sizes = [int(n) for n in batch_sizes.tolist()]
    return (
        bool(sizes)
        and batch_sizes.dtype is torch.int64
        and sizes == sorted(sizes, reverse=True)
        and sizes[-1] > 0
        and sum(sizes) == input.size(0)
    )


def _is_rnn(gates: int, args: tuple[Any, ...]) -> bool:
    """The weights and states have the types and shapes that the layers need."""
    is_packed = isinstance(args[3], list | tuple)
    data = args[0]
    hx, params, has_biases, count = args[2:6] if is_packed else args[1:5]
    bidirectional = args[8] if is_packed else args[7]
    states = [hx] if isinstance(hx, torch.Tensor) else [*hx]
    directions = 1 + bool(bidirectional)
    layers = count * directions
    hidden, cell = states[0].size(2), states[-1].size(2)
    per = 2 + 2 * bool(has_biases) + (hidden != cell)
    kinds = {(t.dtype, t.device) for t in (data, *states, *params)}
    if is_packed:
        batch = int(args[1][0])
        fits = data.dim() == 2 and _is_packed(data, args[1], False, 0, 0)
    else:
        batch = data.size(0 if args[8] else 1)
        fits = data.dim() == 3
    return (
        fits
        and count > 0
        and len(kinds) == 1
        and data.is_floating_point()
        and len(states) == (2 if gates == 4 else 1)
        and all(tuple(t.shape[:2]) == (layers, batch) and t.dim() == 3 for t in states)
        and len(params) == layers * per
        and all(
            _is_layer(
                params[k * per : (k + 1) * per],
                gates * cell,
                data.size(-1) if k < directions else hidden * directions,
                (hidden, cell),
            )
            for k in range(layers)
        )
    )


def _is_layer(params: Any, rows: int, columns: int, sizes: tuple[int, int]) -> bool:
    hidden, cell = sizes
    wanted = [(rows, columns), (rows, hidden)]
    rest = len(params) - 2 - (hidden != cell)
    wanted += [(rows,)] * rest  # type: ignore[list-item]
    if hidden != cell:
        wanted.append((hidden, cell))
    return [tuple(p.shape) for p in params] == wanted


@_condition("lstm")
def _is_lstm(*args: Any) -> bool:
    """The weights and states have the types and shapes that the layers need."""
    return _is_rnn(4, args)


@_condition("gru")
def _is_gru(*args: Any) -> bool:
    """The weights and states have the types and shapes that the layers need."""
    return _is_rnn(3, args)


@_condition("rnn_tanh", "rnn_relu")
def _is_plain_rnn(*args: Any) -> bool:
    """The weights and states have the types and shapes that the layers need."""
    return _is_rnn(1, args)
