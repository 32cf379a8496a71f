"""Equivariant layers of e3nn, which scripts the code that it generates."""

from __future__ import annotations

import torch
from e3nn import nn as enn
from e3nn import o3

from tests.zoo.case import Case

SIZES = (5, 1, 8)


def linear() -> Case:
    return Case(o3.Linear("4x0e+2x1o", "3x0e+1x1o"), [(torch.randn(n, 10),) for n in SIZES])


def tensor_product() -> Case:
    model = o3.FullyConnectedTensorProduct("2x0e+1x1o", "1x0e+1x1o", "2x0e+1x1o")
    return Case(model, [(torch.randn(n, 5), torch.randn(n, 4)) for n in SIZES])


def harmonics() -> Case:
    model = o3.SphericalHarmonics([0, 1, 2], normalize=True)
    return Case(model, [(torch.randn(n, 3),) for n in SIZES])


def gate() -> Case:
    model = enn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    return Case(model, [(torch.randn(n, 12),) for n in SIZES])


def norm() -> Case:
    return Case(enn.BatchNorm("2x0e+1x1o"), [(torch.randn(n, 5),) for n in (5, 3, 8)])


PROGRAMS = {make.__name__: make for make in (linear, tensor_product, harmonics, gate, norm)}
