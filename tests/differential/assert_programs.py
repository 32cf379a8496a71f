"""Programs that assert what only data knows; pytest rewrites no asserts here."""

from __future__ import annotations

from typing import Any

import torch

LOG: list[int] = []


def first(x: Any) -> Any:
    b = x.sin()
    assert x[0] == 3, "starts with 3"
    return x.cos() + b


def without_a_message(x: Any) -> Any:
    n = int(x.sum().item())
    assert n > 2
    return x * n


def caught(x: Any) -> Any:
    try:
        assert (x > 0).all(), "not positive"
    except AssertionError as e:
        return x, str(e)
    return x * 2, ""


def between_effects(x: Any) -> Any:
    LOG.append(1)
    assert x.sum() > 0
    LOG.append(2)
    return x


def before_a_check(x: Any) -> Any:
    n = x.sum().to(torch.int64).item()
    assert n < 5, "large"
    torch._check(n < 4)
    return torch.zeros(3) + n


PROGRAMS = (first, without_a_message, caught, between_effects, before_a_check)
