"""What a trace calls in place of torch's higher-order functions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.autograd import forward_ad

from anyshape.torch_compat import flex_attention, higher_order
from anyshape.torch_compat.thread_state import ENTER_AUTOCAST, EXIT_AUTOCAST
from anyshape.trace.higher_order import attention, cond, loop, torch_graph, transform

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.recorder import Recorder

_TRANSFORMS: Final = ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian")


def HIGHER_ORDER() -> Iterator[tuple[Any, Any]]:  # noqa: N802  as the table that it is a part of
    """Pairs of a function and what to call in its place, which gets the recorder first."""
    yield torch.cond, cond.cond
    yield higher_order.OPERATORS["cond"], cond.operator
    yield higher_order.while_loop, loop.while_loop
    yield higher_order.OPERATORS["while_loop"], loop.while_loop
    yield higher_order.map, loop.map
    yield higher_order.OPERATORS["map_impl"], loop.map_operator
    yield higher_order.scan, loop.scan
    yield higher_order.OPERATORS["scan"], loop.scan_operator
    yield higher_order.associative_scan, loop.associative_scan
    yield higher_order.OPERATORS["wrap"], cond.wrap
    for name in _TRANSFORMS:
        yield getattr(torch.func, name), functools.partial(transform.transform, name)
    yield torch.func.vjp, transform.vjp
    yield torch.func.jvp, transform.jvp
    yield torch.func.linearize, transform.linearize
    yield torch.func.functionalize, transform.functionalize
    for operator, by_copies in higher_order.FUNCTIONALIZED.items():
        yield operator, functools.partial(torch_graph.on_copies, by_copies)
    for begin in higher_order.LEVELS:
        yield begin, torch_graph.refuse_level
    yield flex_attention.OPERATOR, attention.flex_attention
    yield flex_attention.create_mask, attention.create_mask
    yield flex_attention.SET_UP, attention.set_up
    yield flex_attention.WARN_ONCE, attention.no_warning
    yield torch.compile, attention.as_it_is
    yield ENTER_AUTOCAST, cond.enter_autocast
    yield EXIT_AUTOCAST, cond.exit_autocast
    for name in ("dual_level", "enter_dual_level", "exit_dual_level"):
        yield getattr(forward_ad, name), transform.dual_level


def transformed(recorder: Recorder, f: Any) -> Any:
    """What to call for a function that torch has transformed before; None for any other."""
    found = higher_order.transform_of(f)
    if found is None:
        return None
    name, function, options = found
    return transform.transform(name, recorder, recorder.outside(function), **options)
