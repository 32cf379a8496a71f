"""Strides and orders that a program reads at sizes 0 and 1: eager's, or an error."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.compile import compile
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


def cut(x: Any) -> Any:
    return x[:, ::2].dim_order(), x[:, ::2].t().dim_order()


@pytest.mark.parametrize("kind", [Dim.UNBACKED, Dim.DYNAMIC, Dim.STATIC], ids=str)
def test_orders_of_tensors_with_gaps_are_eagers(kind: Any) -> None:
    for shape in [(4, 5), *SIZES] if kind is Dim.STATIC else [(4, 5)]:
        program = export(cut, (torch.ones(shape),), dynamic_shapes=({0: kind, 1: kind},))
        for x in [torch.ones(shape)] if kind is Dim.STATIC else [*map(torch.ones, SIZES), *ODD]:
            assert program(x) == cut(x)


@pytest.mark.parametrize("is_ambiguous", [True, False, [torch.contiguous_format]], ids=str)
def test_strides_from_data_have_an_order(is_ambiguous: Any) -> None:
    def f(x: Any) -> Any:
        y = torch.empty_strided([4, 4, 4], x.tolist())
        return y.dim_order(ambiguity_check=is_ambiguous)

    compiled = compile(f, fullgraph=True)
    for strides in ([2, 3, 4], [4, 3, 2], [4, 4, 4], [16, 4, 1], [0, 0, 0]):
        x = torch.tensor(strides)
        try:
            expected = f(x)
        except RuntimeError as e:
            with pytest.raises(RuntimeError, match=str(e)[:40]):
                compiled(x)
        else:
            assert compiled(x) == expected
    assert compiled.stats.traces == 1
