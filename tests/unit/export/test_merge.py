"""Variants that differ by calls that give a tensor as it is, as one."""

from __future__ import annotations

import pytest
import torch

from anyshape import Dim, export
from anyshape.export import merge

SIZES = (0, 1, 2, 3, 7)
ROW = torch.arange(4.0)[None]


def expanded(x):
    row = ROW
    if x.size(0) != 1:
        row = row.expand(x.size(0), -1)
    return x + row


def expanded_in_a_tuple(x):
    row = ROW if x.size(0) == 1 else ROW.expand((x.size(0), 4))
    return (x * row).sum(1), row.sum()


def reshaped(x):
    y = x if x.size(0) == 3 else x.reshape(x.size(0), 4)
    return y * 2


def changed(x):
    row = torch.zeros(1, 4)
    if x.size(0) != 1:
        row = row.expand(x.size(0), 4)
    row = row.clone()
    row.add_(1)
    return x + row


def keep(f, sizes=SIZES):
    program = export(f, (torch.randn(3, 4),), dynamic_shapes=({0: Dim("n")},))
    for n in sizes:
        x = torch.randn(n, 4)
        torch.testing.assert_close(program(x), f(x), rtol=0, atol=0)
    return len(program.variants)


@pytest.mark.parametrize("f", [expanded, expanded_in_a_tuple, reshaped, changed])
def test_one_variant(f):
    assert keep(f) == 1


def squeezed(x):
    """At size 1 another shape, although it is the same tensor at all others."""
    y = x.squeeze(0) if x.size(0) != 1 else x
    return y + ROW.sum()


def returned(x):
    """The tensor itself at size 1, and a view of it at all others."""
    return ROW if x.size(0) == 1 else ROW.expand(x.size(0), -1)


def other_rows(x):
    row = ROW if x.size(0) == 1 else (ROW + 1).expand(x.size(0), -1)
    return x + row


def more_dims(x):
    row = ROW if x.size(0) == 1 else ROW.expand(1, x.size(0), 4)
    return x + row


def unlike(x):
    """A reshape that is no identity at the other sizes either."""
    y = x if x.size(0) == 1 else x.reshape(4, x.size(0))
    return y * 2


@pytest.mark.parametrize("f", [squeezed, returned, other_rows, more_dims, unlike])
def test_several_variants(f):
    assert keep(f) > 1


def test_the_result_is_the_tensor_itself():
    program = export(returned, (torch.randn(3, 4),), dynamic_shapes=({0: Dim("n")},))
    assert program(torch.randn(1, 4)) is ROW


def test_a_call_that_is_skipped_wrongly_is_noticed(monkeypatch):
    def skip(self, node):
        self.values[node.outs] = self.values[node.args[0]]
        return True

    monkeypatch.setattr(merge._Comparison, "_skip", skip)
    with pytest.raises(AssertionError):
        keep(other_rows)
