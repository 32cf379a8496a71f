"""Integers in place of objects that stand for them; see `tensor/index_operand.py`."""

from __future__ import annotations

import operator
from typing import Any

import torch

from anyshape.rules.shared.operand import is_tensor, meta_of
from anyshape.symbolic.operand import is_symbolic
from anyshape.tensor.current import current
from anyshape.tensor.index_operand import is_index
from anyshape.torch_compat.torch_function import need_parsed


def index_of(x: Any) -> Any:
    """The integer that an object stands for, which may be symbolic; the trace sees its method."""
    recorder = current().recorder
    method = None if recorder is None else recorder.hooks.calls.operators.special(x, "__index__")
    return operator.index(x) if method is None else method()


def call_with_indices(tracer: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of torch with integers in place of such objects, if torch takes them there."""
    need_parsed(func, _mapped(_stand_in, args), _mapped(_stand_in, kwargs))
    return tracer.call(func, _mapped(_integer, args), _mapped(_integer, kwargs))


def _mapped(f: Any, x: Any) -> Any:
    if type(x) in (tuple, list):
        return type(x)([_mapped(f, part) for part in x])
    return {k: _mapped(f, part) for k, part in x.items()} if type(x) is dict else f(x)


def _integer(x: Any) -> Any:
    return index_of(x) if is_index(x) else x


def _stand_in(x: Any) -> Any:
    if is_index(x):
        return type(type(x).__name__, (), {"__index__": lambda _: 1})()
    if is_tensor(x):
        meta = meta_of(x)
        return torch.empty((1,) * len(meta.shape), dtype=meta.dtype, device="meta")
    return 1 if is_symbolic(x) else x
