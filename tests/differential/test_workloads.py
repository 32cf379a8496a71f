"""Programs with sizes from data: exported once, equal to eager execution at every size."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape.export import Dim, export
from tests.differential.workload_programs import PROGRAMS, Workload

EXAMPLE = 5
SIZES = (0, 1, 2, 3, 5, 7, 11, 16)
SEEDS = (1, 2)


def equals_eager(program: Any, workload: Workload) -> None:
    for seed in SEEDS:
        for n in SIZES:
            args = workload.inputs(seed, n)
            got = pytree.tree_leaves(program(*args))
            want = pytree.tree_leaves(workload(*args))
            for a, b in zip(got, want, strict=True):
                if isinstance(b, torch.Tensor):
                    torch.testing.assert_close(a, b, equal_nan=True)
                else:
                    assert a == b


@pytest.mark.parametrize("name", PROGRAMS)
def test_named_sizes(name: str) -> None:
    workload = PROGRAMS[name]
    program = export(workload, workload.inputs(0, EXAMPLE), dynamic_shapes=workload.dynamic)
    equals_eager(program, workload)


@pytest.mark.parametrize("name", [n for n, w in PROGRAMS.items() if not w.branches])
def test_sizes_without_an_example(name: str) -> None:
    workload = PROGRAMS[name]
    specs = tuple(dict.fromkeys(sizes, Dim.UNBACKED) for sizes in workload.dynamic)
    equals_eager(export(workload, workload.inputs(0, EXAMPLE), dynamic_shapes=specs), workload)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("example", [0, 1])
def test_the_example_decides_nothing(name: str, example: int) -> None:
    workload = PROGRAMS[name]
    program = export(workload, workload.inputs(0, example), dynamic_shapes=workload.dynamic)
    equals_eager(program, workload)
