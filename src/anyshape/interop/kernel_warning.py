"""Calls whose kernels may warn. A compiled kernel does not repeat the warning on every run.

Whether a kernel warns depends on the sizes and dtypes of each run, so that no single run tells.
`torch.tensor(t)` warns of every tensor, a cast of a complex number to a real one of what it drops,
and a variance over n elements with a correction c where n <= c.

The calls are a list because kernels do not tell: a warning is known when it happens, and a program
is lowered before the sizes at which it will run. A call that the list lacks computes the same; its
warning comes while the program is lowered, or not at all, which the documentation says. With the
eager backend all warnings come on every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.trace.graph.graph import Value, leaves

if TYPE_CHECKING:
    from anyshape.trace.graph.graph import Node

_SPREADS: Final = frozenset(
    getattr(owner, name)
    for name in ("std", "var", "std_mean", "var_mean")
    for owner in (torch, torch.Tensor)
    if hasattr(owner, name)
)
_CASTS: Final = frozenset(
    (torch.Tensor.to, torch.Tensor.float, torch.Tensor.double, torch.Tensor.half,
     torch.Tensor.bfloat16, torch.Tensor.int, torch.Tensor.long, torch.Tensor.type,
     torch.Tensor.copy_)
)  # fmt: skip


def may_warn(node: Node) -> bool:
    """Whether the kernel of a call warns at some sizes that the program accepts."""
    given = [x for x in leaves((node.args, node.kwargs)) if type(x) is Value]
    if node.func is torch.tensor:
        return bool(given)
    if node.func in _CASTS:
        return _drops_imaginary(node, given)
    if node.func not in _SPREADS or not given:
        return False
    return _least_count(given[0], node) <= _correction(node)


def _drops_imaginary(node: Node, given: list[Value]) -> bool:
    out = node.outs if type(node.outs) is Value else given[0] if given else None
    into_real = out is not None and not out.meta.dtype.is_complex
    return into_real and any(x.meta.dtype.is_complex for x in given)


def _correction(node: Node) -> float:
    """How many elements of the reduced ones do not count; infinite where it is not known."""
    named = node.kwargs
    unbiased = named.get("unbiased", next((a for a in node.args[1:] if type(a) is bool), True))
    found: Any = named.get("correction", int(bool(unbiased)))
    return float(found) if type(found) in (int, float) else float("inf") if found is not None else 1


def _least_count(x: Value, node: Node) -> float:
    """The least number of elements that are reduced to one."""
    dims = node.kwargs.get("dim", next((a for a in node.args[1:] if type(a) is not bool), None))
    shape = x.meta.shape
    picked = range(len(shape)) if dims in (None, (), []) else (dims,) if type(dims) is int else dims
    count = 1.0
    for d in picked:
        size: Any = shape[d] if type(d) is int else 0
        count *= size if type(size) is int else float(size.expr.lo)
    return count
