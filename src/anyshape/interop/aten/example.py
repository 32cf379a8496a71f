"""Example inputs of a program of torch: it checks its inputs only if it has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.expr import evaluate
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import strides_of
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.trace.capture import Captured
    from anyshape.trace.inputs import Leaf


def example_of(captured: Captured, hints: Mapping[str, Any]) -> tuple[Any, Any]:
    """Positional and named arguments with these values of the symbols."""
    values = dict(hints)
    env = captured.tracer.env
    for bind in captured.inputs.sizes:
        if bind.name not in values:
            values[bind.name] = evaluate(env.simplify(env.symbols[bind.name].expr), values)
    numbers = {bind.leaf: bind.name for bind in captured.inputs.binds if bind.dim is None}
    flat = []
    for i, leaf in enumerate(captured.inputs.leaves):
        if leaf.value is None:
            flat.append(values[numbers[i]] if i in numbers else leaf.example)
        else:
            flat.append(_tensor(leaf, values))
    args, kwargs = tree.unflatten(flat, captured.inputs.spec)
    return args, kwargs


def _tensor(leaf: Leaf, values: Mapping[str, Any]) -> torch.Tensor:
    """The tensor of the example if it fits and has data, else one of zeros."""
    shape = [_number(n, values) for n in leaf.shape]
    x: torch.Tensor = leaf.example
    if type(x) in (torch.Tensor, torch.nn.Parameter) and list(x.shape) == shape:
        return x
    assert leaf.value is not None
    meta = leaf.value.meta
    strides = [_number(n, values) for n in strides_of(meta)]
    return torch.empty_strided(shape, strides, dtype=meta.dtype, device=meta.device).zero_()


def _number(n: Any, values: Mapping[str, Any]) -> Any:
    return evaluate(n.expr, values) if type(n) is SymInt else n
