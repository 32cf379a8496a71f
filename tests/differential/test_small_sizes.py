"""Strides and orders that a program reads at sizes 0 and 1: eager's, or an error."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.errors import AnyshapeError
from anyshape.export import Dim, export

SIZES = [(4, 3), (0, 3), (3, 0), (1, 3), (3, 1), (0, 0), (1, 1)]
ODD = [torch.empty_strided((1, 3), (7, 1)), torch.ones(1, 5)[:, :3], torch.ones(3, 1).t()]
PROGRAMS = {
    "einsum": lambda x: torch.einsum("ij,jk->ik", x.t(), x).stride(),
    "product": lambda x: (x * x).stride(),
    "transposed": lambda x: (x.t() * 2).stride(),
    "two orders": lambda x: (x.t() * x.t().contiguous()).stride(),
    "input": lambda x: x.stride(),
    "view": lambda x: x.t().stride(),
    "expand": lambda x: x.sum(1, keepdim=True).expand(x.shape).stride(),
    "meshgrid": lambda x: torch.meshgrid(x.sum(1), x.sum(0), indexing="ij")[0].stride(-1),
    "dim_order": lambda x: x.dim_order(),
    "dim_order of a transpose": lambda x: (x.t() * 2).dim_order(),
}


@pytest.mark.parametrize("kind", [Dim.UNBACKED, Dim.DYNAMIC], ids=["unbacked", "dynamic"])
@pytest.mark.parametrize("on_deviation", ["raise", "follow"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_strides_are_eagers_or_raise(name: str, on_deviation: Any, kind: Any) -> None:
    fn: Any = PROGRAMS[name]
    spec = ({0: kind, 1: kind},)
    partly = kind is Dim.UNBACKED
    program = export(
        fn,
        (torch.ones(4, 3),),
        dynamic_shapes=spec,
        on_deviation=on_deviation,
        allow_partial=partly,
    )
    assert program(torch.ones(5, 6)) == fn(torch.ones(5, 6))
    for x in [*map(torch.ones, SIZES), *ODD]:
        try:
            got = program(x)
        except AnyshapeError:
            continue
        assert got == fn(x)
