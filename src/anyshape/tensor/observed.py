"""Strides, offset and requires_grad that the user reads; checked at run time if uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import RuntimeAssertError
from anyshape.tensor.layout import is_certain, offset_of, strides_of

if TYPE_CHECKING:
    import torch


def observed_strides(t: Any) -> tuple[Any, ...]:
    """The strides of a traced tensor, read by the user."""
    tracer, meta = t._tracer, t._meta
    tracer.asked_layout = True
    strides = strides_of(meta)
    if not is_certain(meta) or any(_may_be_small(n) for n in meta.shape):
        tracer.emit(expect_strides, (t, strides))
    return strides


def _may_be_small(n: Any) -> bool:
    """Whether a size may be 0 or 1: strides at such sizes are not those of the general path."""
    return bool(n <= 1 if type(n) is int else n.expr.lo <= 1)


def observed_offset(t: Any) -> Any:
    """The storage offset of a traced tensor, read by the user."""
    tracer, meta = t._tracer, t._meta
    tracer.asked_layout = True
    offset = offset_of(meta)
    if not is_certain(meta):
        tracer.emit(expect_offset, (t, offset))
    return offset


def observed_grad(t: Any) -> bool:
    """Whether a traced tensor requires grad, read by the user; a result is checked."""
    tracer = t._tracer
    tracer.asked_grad = True
    answer = bool(t._meta.requires_grad)
    if t._value.node is not None:
        tracer.emit(expect_grad, (t, answer))
    return answer


def expect_grad(t: torch.Tensor, answer: bool) -> None:
    """Raise unless requires_grad is what the program observed while tracing."""
    if t.requires_grad is not answer:
        raise RuntimeAssertError(
            f"requires_grad of a tensor is {t.requires_grad}; it was {answer} while tracing",
            fix="run the program in the grad mode of the trace, or do not read requires_grad",
            code="AS316",
        )


def expect_strides(t: torch.Tensor, strides: tuple[int, ...]) -> None:
    """Raise unless a tensor has the strides that the program observed while tracing."""
    if t.stride() != tuple(strides):
        raise RuntimeAssertError(
            f"a tensor of shape {tuple(t.shape)} has strides {t.stride()};"
            f" they were {strides} while tracing",
            fix="call contiguous() before reading the layout",
            code="AS316",
        )


def expect_dim_order(t: torch.Tensor, order: tuple[int, ...]) -> None:
    """Raise unless `dim_order()` is what the program observed while tracing."""
    if t.dim_order() != tuple(order):
        raise RuntimeAssertError(
            f"dim_order() of a tensor of shape {tuple(t.shape)} is {t.dim_order()};"
            f" it was {tuple(order)} while tracing",
            fix="do not let the program depend on it",
            code="AS316",
        )


def dim_order_of(t: torch.Tensor, ambiguity_check: Any) -> tuple[int, ...]:
    """`dim_order()`, with its errors."""
    found: tuple[int, ...] = t.dim_order(ambiguity_check=ambiguity_check)
    return found


def expect_offset(t: torch.Tensor, offset: int) -> None:
    """Raise unless a tensor has the storage offset that the program observed while tracing."""
    if t.numel() and t.storage_offset() != offset:
        raise RuntimeAssertError(
            f"a tensor has storage offset {t.storage_offset()}; it was {offset} while tracing",
            fix="call contiguous() before reading the layout",
            code="AS316",
        )


def expect_contiguity(t: torch.Tensor, memory_format: torch.memory_format, answer: bool) -> None:
    """Raise unless `is_contiguous()` is what the program observed; sizes of 0 and 1 pass."""
    if min(t.shape, default=2) > 1 and t.is_contiguous(memory_format=memory_format) != answer:
        raise RuntimeAssertError(
            f"is_contiguous() of a tensor of shape {tuple(t.shape)} is {not answer}; it was"
            f" {answer} while tracing",
            fix="call contiguous() instead of is_contiguous()",
            code="AS316",
        )


OF_LAYOUTS: Final = frozenset((expect_strides, expect_dim_order, expect_offset, expect_contiguity))
"""The checks of layouts: where one fails, eager execution has an answer, and no error."""
