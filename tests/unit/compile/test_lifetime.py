"""Arguments live no longer than their call: no cycle and no traceback of a trace holds them."""

from __future__ import annotations

import gc
import os
import weakref
from typing import Any

import pytest
import torch

import anyshape


class Thing:
    def __init__(self) -> None:
        self.factor = 2.0


def whole(x: torch.Tensor, o: Thing) -> torch.Tensor:
    return x * o.factor


def in_pieces(x: torch.Tensor, o: Thing) -> torch.Tensor:
    y = x * o.factor
    open(os.devnull).close()
    return y + 1


def branching(x: torch.Tensor, o: Thing) -> torch.Tensor:
    return x * o.factor if x.sum() > 0 else x


@pytest.mark.parametrize("fn", [whole, in_pieces, branching])
def test_nothing_is_kept(fn: Any) -> None:
    compiled = anyshape.compile(fn)
    gc.collect()
    gc.disable()
    try:
        for n in (3, 3, 4):
            x, o = torch.ones(n), Thing()
            held = weakref.ref(x), weakref.ref(o)
            compiled(x, o)
            del x, o
            assert [r() for r in held] == [None, None]
    finally:
        gc.enable()
