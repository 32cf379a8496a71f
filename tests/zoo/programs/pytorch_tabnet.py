"""TabNet's network and its sparse activations."""

from __future__ import annotations

import torch
from pytorch_tabnet import sparsemax
from pytorch_tabnet.tab_network import TabNet

from tests.zoo.case import Case


def tabnet() -> Case:
    model = TabNet(6, 2, n_d=4, n_a=4, group_attention_matrix=torch.eye(6), virtual_batch_size=4)
    return Case(model, [(torch.randn(n, 6),) for n in (8, 1, 12)])


def sparse() -> Case:
    return Case(sparsemax.Sparsemax(dim=-1), [(torch.randn(n, 6),) for n in (8, 1, 12)])


PROGRAMS = {make.__name__: make for make in (tabnet, sparse)}
