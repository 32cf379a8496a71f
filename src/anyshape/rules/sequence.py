"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from typing import Any

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import meta_of, shape_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect_equal, larger, text


@rule("pad_sequence")
def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: Any = 0.0,
    padding_side: str = "right",
) -> Any:
    """One row for each sequence, as long as the longest one."""
    if not sequences:
        raise ShapeError("pad_sequence got an empty list of sequences")
    first = shape_of(sequences[0])
    length = first[0]
    for t in sequences[1:]:
        shape = shape_of(t)
        length = larger(length, shape[0])
        if len(shape) != len(first):
            raise ShapeError(f"pad_sequence of shapes {text(first)} and {text(shape)}")
        for n, m in zip(first[1:], shape[1:], strict=True):
            expect_equal(n, m, lambda: "pad_sequence: all sizes but the first must be equal")
    rows = (len(sequences), length) if batch_first else (length, len(sequences))
    return Meta((*rows, *first[1:]), meta_of(sequences[0]).dtype)
