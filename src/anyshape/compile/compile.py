"""`compile`: a function that is traced when it is called, and again only where it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.compiled import Compiled
from anyshape.compile.compiled_module import CompiledModule
from anyshape.compile.options import Options
from anyshape.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

_DEVIATIONS: Final = ("follow", "raise", "specialize")


def compile(
    fn: Callable[..., Any] | None = None,
    *,
    dynamic: bool | str | None = None,
    fullgraph: bool = False,
    backend: str | Callable[..., Any] = "eager",
    recompile_limit: int | None = None,
    on_deviation: str = "follow",
) -> Any:
    """A function or module that runs traced programs; also a decorator, with or without arguments.

    `dynamic`: None makes a size dynamic once it has changed, True all sizes and numbers, False
    none; "unbacked" makes one program for all sizes. With `fullgraph`, what would break the program
    in parts is an error. `recompile_limit` is `config.recompile_limit` if not given.

    >>> import torch, anyshape
    >>> @anyshape.compile(dynamic="unbacked")
    ... def f(x):
    ...     return x[x > 0] * 2
    >>> [f(torch.arange(n) - 1).tolist() for n in (0, 1, 4)], len(f.entries)
    ([[], [], [2, 4]], 1)
    """
    options = _options(dynamic, fullgraph, backend, recompile_limit, on_deviation)
    if fn is None:
        return lambda fn: _compiled(fn, options)
    return _compiled(fn, options)


def _options(
    dynamic: Any, fullgraph: Any, backend: Any, recompile_limit: Any, on_deviation: Any
) -> Options:
    if type(fullgraph) is not bool:
        raise ArgumentError(f"fullgraph is True or False, not {fullgraph!r}")
    if recompile_limit is not None and (type(recompile_limit) is not int or recompile_limit < 1):
        raise ArgumentError(f"recompile_limit is a number of at least 1, not {recompile_limit!r}")
    if on_deviation not in _DEVIATIONS:
        raise ArgumentError(
            f"on_deviation cannot be {on_deviation!r}", fix=f"one of {', '.join(_DEVIATIONS)}"
        )
    return Options(dynamic, fullgraph, backend, recompile_limit, on_deviation)


def _compiled(fn: Any, options: Options) -> Any:
    if isinstance(fn, torch.nn.Module):
        return CompiledModule(fn, options)
    if not callable(fn) or isinstance(fn, type):
        raise ArgumentError(f"compile takes a function or a module, not {fn!r}")
    return Compiled(fn.fn if type(fn) is Compiled else fn, options)
