"""Integers that the caller has marked as dynamic, by torch's `DynamicInt`: they are traced as plain
ones, which vary from the first call on.

A number that is computed from one is a plain integer, as with `torch.compile`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.torch_compat.dynamic_int import DynamicInt
from anyshape.trace.argument.arguments import parameter_names

if TYPE_CHECKING:
    from anyshape.compile.dynamism.history import History


def plain_numbers(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], history: History
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with plain integers for those that are marked, which the history learns to be
    dynamic; None if there are none.
    """
    if not any(type(x) is DynamicInt for x in (*args, *kwargs.values())):
        return None
    names = [*parameter_names(fn, args), *kwargs]
    marked = zip(names, (*args, *kwargs.values()), strict=True)
    history.learn([(name, None) for name, x in marked if type(x) is DynamicInt])
    return tuple(map(_plain, args)), {name: _plain(x) for name, x in kwargs.items()}


def _plain(x: Any) -> Any:
    return int(x) if type(x) is DynamicInt else x
