"""The arguments of `torch.export.export` that mean something else here, or nothing."""

from __future__ import annotations

import pytest
import torch

from anyshape import ArgumentError, ConstraintError, ConstraintViolation, export

SHAPES = ({0: "n"},)


class Halves(torch.nn.Module):
    def forward(self, x):
        if x.size(0) % 2 == 1:
            x = torch.from_numpy(x.numpy())  # only even sizes can be exported
        return x.reshape(2, -1)


@pytest.mark.parametrize("strict", [True, False])
def test_strict_changes_nothing(strict):
    net = torch.nn.Linear(3, 3)
    program = export(net, (torch.randn(4, 3),), dynamic_shapes=SHAPES, strict=strict)
    plain = export(net, (torch.randn(4, 3),), dynamic_shapes=SHAPES)
    assert program.code == plain.code
    for n in (0, 1, 5):
        x = torch.randn(n, 3)
        assert torch.equal(program(x), net(x))


def test_deferred_asserts_accept_sizes_that_the_program_refuses():
    x = torch.randn(4)
    with pytest.raises(ConstraintViolation):
        export(Halves(), (x,), dynamic_shapes=SHAPES)
    program = export(
        Halves(), (x,), dynamic_shapes=SHAPES, prefer_deferred_runtime_asserts_over_guards=True
    )
    for n in (0, 2, 6):
        x = torch.randn(n)
        assert torch.equal(program(x), Halves()(x)) if n else program(x).numel() == 0
    with pytest.raises(ConstraintError):
        program(torch.randn(5))


@pytest.mark.parametrize(
    "option", [{"strict": None}, {"prefer_deferred_runtime_asserts_over_guards": 1}]
)
def test_wrong_values(option):
    with pytest.raises(ArgumentError, match="is True or False"):
        export(torch.nn.Linear(3, 3), (torch.randn(4, 3),), **option)
