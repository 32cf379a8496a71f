"""Settings of the process: each that has a setter and a getter is set and read, and put back."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import pytest
import torch

from anyshape.torch_compat import process_flag
from anyshape.torch_compat.process_flag import (
    BLIND_SETTERS,
    FLAG_GETTERS,
    FLAG_SETTERS,
    PLACES,
    Place,
    places_set,
    read_flags,
    set_flags,
)

OTHERS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "_set_float32_matmul_precision": (("medium",), {}),
    "_set_fp32_precision_setter": (("cuda", "conv", "ieee"), {}),
    "_set_deterministic_algorithms": ((True,), {"warn_only": True}),
    "use_deterministic_algorithms": ((True,), {"warn_only": True}),
    "set_anomaly_enabled": ((True, False), {}),
    "_set_sdp_priority_order": (([2, 1, 0, 3, 4],), {}),
    "_set_cublas_allow_fp16_reduced_precision_reduction": ((False, False), {}),
    "_set_cublas_allow_bf16_reduced_precision_reduction": ((False, False), {}),
    "_set_autograd_fallback_mode": (("nothing",), {}),
}


def other_call(setter: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Arguments that change a setting; None where this build has one value alone."""
    if setter in OTHERS:
        return OTHERS[setter]
    (place,) = process_flag._PAIRS[setter]
    now = Place(place).get()
    return ((not now,), {}) if type(now) is bool else None


@pytest.mark.parametrize("setter", sorted(FLAG_SETTERS))
def test_a_setter_sets_what_its_getter_gives(setter: str) -> None:
    call = other_call(setter)
    before = read_flags()
    if call is None:
        assert set(process_flag._PAIRS[setter]) <= set(FLAG_GETTERS)
        return
    args, named = call
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if setter == "_set_cpu_allow_fp16_reduced_precision_reduction":
                with suppress(RuntimeError):  # which not every processor has
                    FLAG_SETTERS[setter](*args, **named)
                return
            FLAG_SETTERS[setter](*args, **named)
        found = places_set(setter, args, named)
        for place, value in found.items():
            got = place.get()
            assert (tuple(got) if type(got) is list else got) == value
        others = [p for p, a, b in zip(PLACES, before, read_flags(), strict=True) if a != b]
        assert all(p in found or p.is_coupled for p in others)
    finally:
        set_flags(before)
    assert read_flags() == before


def test_settings_that_change_each_other_are_put_back() -> None:
    before = read_flags()
    for word in ("high", "medium", "highest"):
        torch.set_float32_matmul_precision(word)
        set_flags(before)
        assert read_flags() == before


def test_the_settings_of_attention_are_found() -> None:
    names = ("flash", "math", "mem_efficient", "cudnn", "overrideable")
    assert {f"_set_sdp_use_{name}" for name in names} <= set(FLAG_SETTERS)
    assert "set_flush_denormal" in BLIND_SETTERS
