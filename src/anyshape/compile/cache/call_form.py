"""The canonical form of a call: calls that mean the same are one call to the cache.

In this form every parameter of the function has a value, defaults included. Parameters that may be
positional are positional. Keyword-only ones are keywords in the order of the signature, followed by
those that `**` collects in the order of the call, which a program can observe.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.module_attribute import calls_forward

if TYPE_CHECKING:
    from collections.abc import Callable

_ANY: Final = range(1 << 62)
_Module: Final = torch.nn.Module


class CallForm:
    """The canonical form of calls of one function.

    `counts` are the numbers of positional arguments with which a call without keywords is in this
    form already.
    """

    def __init__(self, fn: Any) -> None:
        self._fn = fn
        self._binder: Any = None
        function, bound = _function(fn)
        self.counts = _ANY if function is None else _counts(function.__code__, bound)

    def __call__(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments in canonical form; as they are, if the function would not take them."""
        function, bound = _function(self._fn)
        if function is None:
            return args, kwargs
        binder = self._binder
        code, defaults = _binder_code(function.__code__, bound), function.__defaults__
        if code is None:
            return args, kwargs
        if binder is None or binder.__code__ is not code or binder.__defaults__ is not defaults:
            binder = self._binder = types.FunctionType(code, {}, "bind", defaults)
        binder.__kwdefaults__ = function.__kwdefaults__
        try:
            found: tuple[tuple[Any, ...], dict[str, Any]] = binder(*args, **kwargs)
        except TypeError:
            return args, kwargs
        return found

    def omitted(self, count: int, named: Any) -> frozenset[str]:
        """The parameters that a call leaves to their defaults: it has `count` positional arguments
        and the names `named`.
        """
        function, bound = _function(self._fn)
        if function is None:
            return frozenset()
        code = function.__code__
        positional = code.co_varnames[bound : code.co_argcount]
        only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        return frozenset((*positional[count:], *only)) - frozenset(named)


def _function(fn: Any) -> tuple[Any, int]:
    """The Python function that a call calls, and how many arguments are bound to it already; None
    where the spelling of a call can be observed, or the parameters are not known.
    """
    if isinstance(fn, _Module):
        if not calls_forward(fn):
            return None, 0
        fn = fn.forward
    bound = 0
    if hasattr(fn, "__func__") and hasattr(fn, "__self__"):
        fn, bound = fn.__func__, 1
    return (fn, bound) if type(fn) is types.FunctionType else (None, 0)


def _counts(code: types.CodeType, bound: int) -> range:
    count = code.co_argcount - bound
    if code.co_kwonlyargcount:
        return range(0)
    return (
        range(count, _ANY.stop) if code.co_flags & inspect.CO_VARARGS else range(count, count + 1)
    )


@functools.lru_cache(maxsize=4096)
def _binder_code(code: types.CodeType, bound: int) -> types.CodeType | None:
    """The code of a function with the same parameters that returns them in canonical form."""
    names = code.co_varnames
    count, only = code.co_argcount, code.co_kwonlyargcount
    positional, named = names[bound:count], names[count : count + only]
    if count < bound or not all(map(str.isidentifier, names[: count + only])):
        return None
    rest = list(names[count + only :])
    parameters, collected = list(positional), list(positional)
    if code.co_posonlyargcount > bound:
        parameters.insert(code.co_posonlyargcount - bound, "/")
    if code.co_flags & inspect.CO_VARARGS:
        parameters.append(f"*{rest[0]}")
        collected.append(f"*{rest.pop(0)}")
    elif named:
        parameters.append("*")
    parameters += named
    keywords = [f"{name!r}: {name}" for name in named]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parameters.append(f"**{rest[0]}")
        keywords.append(f"**{rest[0]}")
    values = "".join(f"{name}, " for name in collected)
    scope: dict[str, Any] = {}
    text = f"def bind({', '.join(parameters)}): return ({values}), {{{', '.join(keywords)}}}"
    exec(text, scope)  # our own text, and names of parameters
    made: Callable[..., Any] = scope["bind"]
    return made.__code__
