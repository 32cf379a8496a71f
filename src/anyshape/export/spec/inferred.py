"""`infer_dynamic_shapes`: the spec that several calls show; what differs in them is dynamic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import ArgumentError
from anyshape.export.spec.dim import Dim
from anyshape.public_call import public
from anyshape.torch_compat import pytree
from anyshape.trace import tree
from anyshape.trace.argument.arguments import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_USE: Final = "write infer_dynamic_shapes(fn, (x,), (y,)), where fn(x) and fn(y) are calls"


@public
def infer_dynamic_shapes(
    fn: Callable[..., Any], *calls: tuple[Any, ...] | dict[str, Any]
) -> dict[str, Any]:
    """The `dynamic_shapes` for calls of a function or module.

    A call is a tuple of positional arguments, or a dict of keyword arguments. Each size and each
    number that is not the same in all of them is `Dim.DYNAMIC`; the others are static.
    """
    if not callable(fn):
        raise ArgumentError(
            f"infer_dynamic_shapes takes a function or a module first, not {type(fn).__name__}",
            fix=_USE,
        )
    if len(calls) < 2:
        raise ArgumentError(
            "infer_dynamic_shapes needs two calls or more", why="it compares them", fix=_USE
        )
    signature = signature_of(fn)
    bound = []
    for i, call in enumerate(calls):
        if not isinstance(call, tuple | dict):
            raise ArgumentError(
                f"call {i} is a {type(call).__name__}",
                fix="give a tuple of arguments, or a dict of keyword arguments",
            )
        try:
            given = signature.bind(**call) if isinstance(call, dict) else signature.bind(*call)
        except TypeError as e:
            names = ", ".join(signature.parameters)
            raise ArgumentError(
                f"call {i} does not fit the function: {e}", fix=f"it takes ({names})", code="AS301"
            ) from None
        bound.append(given.arguments)
    for i, arguments in enumerate(bound[1:], 1):
        if [*arguments] != [*bound[0]]:
            raise ArgumentError(
                f"call {i} has the arguments {', '.join(arguments) or 'none'}, and call 0"
                f" {', '.join(bound[0]) or 'none'}"
            )
    return {name: _entry([b[name] for b in bound], name) for name in bound[0]}


def _entry(values: Sequence[Any], path: str) -> Any:
    """The spec of the values of one place in all calls."""
    first = values[0]
    if all(isinstance(x, torch.Tensor) for x in values):
        return _sizes(values, path)
    levels = [tree.level(x) for x in values]
    if levels[0] is None:
        return _number(values, path)
    found = [level for level in levels if level is not None]
    shapes = [(level.kind, level.context, len(level.parts)) for level in found]
    if len(found) < len(levels) or any(shape != shapes[0] for shape in shapes):
        raise _differs(values, path)
    keys = [pytree.keystr((key,)) for key in found[0].keys]
    parts = [_entry([level.parts[i] for level in found], path + key) for i, key in enumerate(keys)]
    if not isinstance(first, dict):
        return parts
    return dict(zip(found[0].context, parts, strict=True)) if type(first) is dict else parts


def _sizes(tensors: Sequence[torch.Tensor], path: str) -> dict[int, Any] | None:
    ranks = {t.dim() for t in tensors}
    if len(ranks) > 1:
        raise ArgumentError(f"{path} has the ranks {sorted(ranks)} in the calls")
    shapes = [tuple(t.shape) for t in tensors]
    varying = [d for d in range(tensors[0].dim()) if len({shape[d] for shape in shapes}) > 1]
    return dict.fromkeys(varying, Dim.DYNAMIC) or None


def _number(values: Sequence[Any], path: str) -> Any:
    first = values[0]
    if any(type(x) is not type(first) for x in values):
        raise _differs(values, path)
    if all(x is first or x == first for x in values):
        return None
    if type(first) in (int, float, bool):
        return Dim.DYNAMIC
    raise _differs(values, path)


def _differs(values: Sequence[Any], path: str) -> ArgumentError:
    shown = ", ".join(dict.fromkeys(_shown(x) for x in values))
    return ArgumentError(
        f"{path} is {shown} in the calls", why="only sizes and numbers can be dynamic"
    )


def _shown(x: Any) -> str:
    if type(x) in (int, float, bool, str, type(None)):
        return repr(x)
    found = tree.level(x)
    return f"a {type(x).__name__}" + (f" of {len(found.parts)}" if found is not None else "")
