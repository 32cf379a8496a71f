"""What a program depends on outside: arrays, objects in circles; where an effect was refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import anyshape
from anyshape.errors import EffectError


class Node:
    def __init__(self) -> None:
        self.k = 1.0
        self.parent: Any = None
        self.children: list[Node] = []
        self.last: Any = None


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_method_of_an_array_reads_its_elements(size: int) -> None:
    array = np.array([2.0])

    def f(x: Any) -> Any:
        return x * float(array.sum())

    compiled = anyshape.compile(f)
    for value in (2.0, 5.0, 2.0):
        array[0] = value
        x = torch.ones(size)
        assert torch.equal(compiled(x), f(x))


@pytest.mark.parametrize("size", [0, 1, 3])
def test_code_without_source_reads_all_that_it_is_given(size: int) -> None:
    root = Node()
    for _ in range(6):
        child = Node()
        child.parent = root
        child.children = [root, child]
        root.children.append(child)
    scope: dict[str, Any] = {}
    exec("def scaled(x, node): return x * node.children[3].k", scope)
    scaled = scope["scaled"]

    def f(x: Any) -> Any:
        return scaled(x, root)

    compiled = anyshape.compile(f)
    for value in (1.0, 4.0, 7.0):
        root.children[3].k = value
        x = torch.ones(size)
        assert torch.equal(compiled(x), f(x))


def test_a_refused_effect_names_its_own_line() -> None:
    node = Node()

    def f(x: Any) -> Any:
        node.k = 2.0
        node.k = 1.0
        node.last = x
        return x

    node.k = 1.0
    with pytest.raises(EffectError, match=r"Node\.(k|last).*node\.(k = 2.0|last = x)"):
        anyshape.export(f, (torch.ones(2),))
    assert node.last is None
    assert node.k == 1.0
