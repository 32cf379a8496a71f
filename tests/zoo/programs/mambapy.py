"""Mamba with a parallel scan in Python."""

from __future__ import annotations

import torch
from mambapy.mamba import Mamba, MambaConfig

from tests.zoo.case import Case


def parallel() -> Case:
    model = Mamba(MambaConfig(d_model=8, n_layers=1, d_state=4))
    return Case(model, [(torch.randn(b, s, 8),) for b, s in ((2, 8), (1, 13), (3, 4))])


def sequential() -> Case:
    model = Mamba(MambaConfig(d_model=8, n_layers=1, d_state=4, pscan=False))
    return Case(model, [(torch.randn(b, 6, 8),) for b in (2, 1, 3)])


PROGRAMS = {make.__name__: make for make in (parallel, sequential)}
