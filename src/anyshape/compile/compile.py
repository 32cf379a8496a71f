"""`compile`: a function that is traced when it is called, and again only where it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, overload

import torch

from anyshape.compile.bound_method import CompiledMethod
from anyshape.compile.compiled import Compiled
from anyshape.compile.compiled_module import CompiledModule
from anyshape.compile.options import Options
from anyshape.errors import ArgumentError
from anyshape.export.program import ExportedProgram
from anyshape.interop.backend import find_backend
from anyshape.public_call import need_bool, need_one_of, public
from anyshape.torch_compat.dynamo import is_disabled

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from anyshape.compile.overloads import (
        CompiledFunction,
        CompileOptions,
        Decorator,
        Dynamic,
        Mode,
        OnDeviation,
        P,
        R,
    )

_DEVIATIONS: Final = ("follow", "raise", "specialize")


@overload
def compile(fn: torch.nn.Module, **options: Unpack[CompileOptions]) -> CompiledModule: ...


@overload
def compile(fn: Callable[P, R], **options: Unpack[CompileOptions]) -> CompiledFunction[P, R]: ...


@overload
def compile(fn: None = None, **options: Unpack[CompileOptions]) -> Decorator: ...


@public
def compile(  # noqa: PLR0913  each is an option of its own
    fn: Callable[..., Any] | None = None,
    *,
    dynamic: Dynamic = None,
    fullgraph: bool = False,
    backend: str | Callable[..., Any] | None = None,
    mode: Mode | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    on_deviation: OnDeviation = "follow",
) -> Any:
    """A function or module that runs traced programs; also a decorator, with or without arguments.

    `dynamic`: None makes a size dynamic once it has changed, True all sizes and numbers, False
    none; "unbacked" makes one program for all sizes. With `fullgraph`, what would break the program
    in parts is an error. `recompile_limit` is `config.recompile_limit` if not given.

    `backend` is "eager", our own generated Python, if not given. `mode` and `options` are those of
    `torch.compile`: they are for Inductor, which is the backend where they are given and no other
    is named; another backend gets them as arguments. With `disable`, `fn` itself is returned.

    An exported program is not traced again: it is lowered by the backend, as `program.compile` has
    it.

    >>> import torch, anyshape
    >>> @anyshape.compile(dynamic="unbacked")
    ... def f(x):
    ...     return x[x > 0] * 2
    >>> [f(torch.arange(n) - 1).tolist() for n in (0, 1, 4)], len(f.entries)
    ([[], [], [2, 4]], 1)
    """
    made = Options(dynamic, fullgraph, backend, recompile_limit, on_deviation, mode, options)
    _need_valid(made, disable)
    if fn is None:
        return lambda fn: _compiled(fn, made, disable)
    return _compiled(fn, made, disable)


def _need_valid(options: Options, disable: Any) -> None:
    """Raise for an option that does not exist."""
    recompile_limit, on_deviation = options.recompile_limit, options.on_deviation
    need_bool("fullgraph", options.fullgraph)
    need_bool("disable", disable)
    if recompile_limit is not None and (type(recompile_limit) is not int or recompile_limit < 1):
        raise ArgumentError(f"recompile_limit is a number of at least 1, not {recompile_limit!r}")
    need_one_of("on_deviation", on_deviation, _DEVIATIONS)
    if options.mode is not None or options.settings is not None:
        find_backend(*options.lowering)


def _compiled(fn: Any, options: Options, disable: bool) -> Any:
    if isinstance(fn, type):
        raise ArgumentError(
            f"compile takes a function or a module, and {fn.__name__} is a class",
            fix=f"make an object first, as compile({fn.__name__}(...))",
        )
    if not callable(fn):
        raise ArgumentError(
            f"compile takes a function or a module, not {fn!r}",
            fix="write compile(fn), without quotes and without calling fn",
        )
    if disable:
        return fn
    if isinstance(fn, torch.nn.Module):
        return CompiledModule(fn, options)
    if isinstance(fn, ExportedProgram):
        return _lowered(fn, options)
    made = Compiled(fn.fn if isinstance(fn, Compiled | CompiledMethod) else fn, options)
    if is_disabled(fn) and not options.fullgraph:
        made.eager_because = "torch.compiler.disable keeps it out of compiled programs"
    return made


def _lowered(program: ExportedProgram, options: Options) -> ExportedProgram:
    """An exported program, which has its sizes already, lowered by the backend."""
    if options.dynamic is False:
        raise ArgumentError(
            "dynamic=False is not for an exported program",
            why="it is for all sizes that it was exported for",
            fix="export it with other dynamic_shapes",
        )
    backend, mode, settings = options.lowering
    return program.compile(backend=backend, mode=mode, options=settings)
