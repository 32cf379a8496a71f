"""The containers in which torch returns several results."""

from __future__ import annotations

import functools
from typing import Any

import torch

from anyshape.rules.dispatch.result import Done


def named(name: str) -> Any:
    """The class of the named tuple that an op returns; it takes a list."""
    return getattr(torch.return_types, name)


def with_out(build: Any) -> Any:
    """The class of the named tuple that a call with `out=` returns; some have one of their own."""
    return getattr(torch.return_types, f"{getattr(build, '__name__', '')}_out", build)


def contained(kind: type, handler: Any, tracer: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """A call of an op of `torch.ops` that returns its results in a container of this class.

    The function of the same name has the same rule, and may return a named tuple.
    """
    result = handler(tracer, func, args, kwargs)
    if not isinstance(result, tuple | list) or kwargs.get("out") is not None:
        return result
    return tracer.record(func, (), {}, Done(result if type(result) is kind else kind(result)))


def row_of(handler: Any) -> Any:
    """The handler that has the row of a rule, or is none of one, inside `contained`."""
    is_around = type(handler) is functools.partial and handler.func is contained
    return handler.args[1] if is_around else handler
