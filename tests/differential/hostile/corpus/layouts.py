"""Layouts of transposed inputs, read at sizes 0 and 1 too."""

from __future__ import annotations

import torch

from tests.differential.hostile.program import Case, program


def tmat(n):
    return (torch.arange(3.0 * n).reshape(3, n).t(),)


def tmat2(n):
    return (torch.arange(3.0 * n).reshape(n, 3).t(),)


def layout(name, f, a):
    def factory():
        return Case(f, calls=[lambda n=n: a(n) for n in (3, 3, 5, 2, 1, 1, 0, 0, 7)])

    factory.__name__, factory.__module__ = name, __name__
    program(factory)


for nm, a in (("a", tmat), ("b", tmat2)):
    layout("stride_" + nm, lambda b: (b + 0).stride(), a)
    layout("stride2_" + nm, lambda b: (b * b).stride(), a)
    layout("stride3_" + nm, lambda b: b.stride(), a)
    layout(
        "stride4_" + nm,
        lambda b: (
            b.clone().stride(),
            b.contiguous().stride(),
            torch.relu(b).stride(),
            b.T.stride(),
        ),
        a,
    )
    layout(
        "order_" + nm,
        lambda b: ((b + 0).dim_order(), b.is_contiguous(), (b + 1).is_contiguous()),
        a,
    )
    layout("branch_" + nm, lambda b: b * 2 if (b + 0).stride(0) == 1 else b * 3, a)
    layout("strideeff_" + nm, lambda b: (b.add_(1), (b + 0).stride()), a)
