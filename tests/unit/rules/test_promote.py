"""The dtype of a result against torch's own answer, for all pairs of dtypes and ranks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from anyshape.rules.shared.promote import (
    can_cast,
    complex_of,
    floating,
    real_of,
    result_dtype,
)
from anyshape.trace import capture

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")

COMMON = (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
)  # fmt: skip
NUMBERS = (True, 2, 2.5, 2j)
DTYPES = [d for d in vars(torch).values() if isinstance(d, torch.dtype)]


def operands() -> list[torch.Tensor]:
    made = []
    for dtype, shape in itertools.product(DTYPES, [(2,), ()]):
        try:
            made.append(torch.zeros(shape, dtype=dtype))
        except RuntimeError:  # some dtypes have no zeros on the CPU
            continue
    return made


def expected(*given: Any) -> Any:
    try:
        return torch.result_type(*given)
    except RuntimeError:  # pairs that torch does not promote
        return None


def found_for(pairs: list[Any]) -> list[Any]:
    """What the rule says of pairs of places in the operands, and of numbers."""
    tensors = operands()
    found: list[Any] = []

    def ask(*traced: Any) -> Any:
        for pair in pairs:
            found.append(result_dtype(*[traced[p[0]] if type(p) is tuple else p for p in pair]))
        return traced[0]

    capture(ask, tuple(tensors), dynamic="unbacked")
    return found


def test_every_pair_of_tensors() -> None:
    tensors = operands()
    places = range(len(tensors))
    pairs = [
        ((i,), (j,))
        for i, j in itertools.product(places, places)
        if expected(tensors[i], tensors[j]) is not None
    ]
    assert len(pairs) > 400
    wrong = [
        (tensors[i].dtype, tensors[i].dim(), tensors[j].dtype, tensors[j].dim(), found)
        for (((i,), (j,)), found) in zip(pairs, found_for(pairs), strict=True)
        if found is not expected(tensors[i], tensors[j])
    ]
    assert not wrong


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_every_tensor_with_every_number(default: torch.dtype) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        tensors = operands()
        pairs = [
            pair
            for i, number in itertools.product(range(len(tensors)), NUMBERS)
            for pair in (((i,), number), (number, (i,)))
        ]
        for pair, found in zip(pairs, found_for(pairs), strict=True):
            given = [tensors[p[0]] if type(p) is tuple else p for p in pair]
            assert found is expected(*given) or expected(*given) is None, given
    finally:
        torch.set_default_dtype(before)


def test_three_operands_of_one_rank_are_promoted_one_after_the_other() -> None:
    tensors = [torch.zeros(2, dtype=dtype) for dtype in COMMON]
    triples = list(itertools.product(range(len(tensors)), repeat=3))
    found: list[Any] = []

    def ask(*traced: Any) -> Any:
        found.extend(result_dtype(*[traced[i] for i in triple]) for triple in triples)
        return traced[0]

    capture(ask, tuple(tensors))
    for triple, dtype in zip(triples, found, strict=True):
        a, b, c = (tensors[i] for i in triple)
        assert dtype is torch.promote_types(torch.promote_types(a.dtype, b.dtype), c.dtype)


def test_casts_and_kin() -> None:
    for a, b in itertools.product(COMMON, COMMON):
        assert can_cast(a, b) == torch.can_cast(a, b)
    for dtype in (torch.float16, torch.float32, torch.float64):
        assert real_of(complex_of(dtype)) is dtype
        assert floating(dtype) is dtype
    assert floating(torch.int32) is torch.get_default_dtype()
    assert real_of(torch.int64) is torch.int64
