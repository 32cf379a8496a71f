"""`export`: a program for every size that the spec allows, with a list of its assumptions."""

from __future__ import annotations

from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import torch

from anyshape.config import config
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.events import phase
from anyshape.export.draft import problems_of
from anyshape.export.explore import explore
from anyshape.export.lazy_module import initialize_lazy_modules
from anyshape.export.program import ExportedProgram
from anyshape.export.spec import dynamic_shapes as specs
from anyshape.export.spec.specialized_dim import need_no_violation
from anyshape.export.spec.tied_dims import warn_of_ties
from anyshape.export.state.call_path import name_calls
from anyshape.export.state.conversion import Origin
from anyshape.export.state.hierarchy import ProgramModule
from anyshape.export.state.identifier import name_values
from anyshape.export.state.naming import Naming
from anyshape.export.state.preserved_call import need_one_graph, paths_of, preserved_modules
from anyshape.export.state.state import state_of
from anyshape.observe import wanted
from anyshape.observe.profile import Profiled
from anyshape.observe.progress import Progress
from anyshape.public_call import need_bool, need_one_of, public
from anyshape.trace.argument.arguments import signature_of
from anyshape.trace.record.attribute.scratch import need_unread

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from anyshape.export.spec.dynamic_shapes import Spec

_DEVIATION: Final = ("follow", "raise")
_CONTROL_FLOW: Final = ("tree", "raise")


@public
def export(  # noqa: PLR0913  each is an option of its own
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    on_deviation: Literal["follow", "raise"] = "follow",
    allow_partial: bool = False,
    control_flow: Literal["tree", "raise"] = "tree",
    draft: bool = False,
    profile: str | os.PathLike[str] | None = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Export a function, a method or a module.

    `dynamic_shapes` declares which sizes are dynamic, as for `torch.export`: by argument name or
    position, a dict `{dim: spec}` or a list for each tensor. A spec is a `Dim`, an expression of
    Dims, a string, `Dim.DYNAMIC`, `Dim.AUTO`, `Dim.UNBACKED`, a number, or None for static. The
    example decides nothing: its sizes may be 0 or 1, and equal sizes are not assumed to be equal.

    All but `Dim.AUTO` mean the whole declared range: `ConstraintViolation` if the program refuses
    sizes of it that eager execution takes; with `allow_partial`, the program is made anyway.
    A branch on data is traced on all sides, and loops close where the state of the program repeats;
    with `control_flow="raise"` it is a `DataDependentError`.

    A `draft` goes on where that is possible: `program.problems` lists all that would have been an
    error or a warning, each with its line and a fix. What only data decides is as at the example.
    `profile` is a folder for a report of where the time goes; None means `config.profile`.

    The others are arguments of `torch.export`. `strict` changes nothing: the program runs as
    Python, as with `strict=False`, and what it does besides is seen, as with `strict=True`. With
    `prefer_deferred_runtime_asserts_over_guards`, sizes that the program refuses are refused when
    it is called and not by `export`, as with `allow_partial`. `preserve_module_call_signature` are
    the paths of modules whose calls keep their arguments and results: `torch.export.unflatten` of
    `program.to_torch()` has modules there that are called as the original ones, and can be swapped.
    """
    if not callable(fn):
        raise ArgumentError(
            f"export takes a function or a module, not {type(fn).__name__}",
            fix="write export(fn, (x,)), without quotes and without calling fn",
        )
    if iscoroutinefunction(fn) or isgeneratorfunction(fn) or isasyncgenfunction(fn):
        raise ArgumentError(
            f"export takes a function that returns its results, and {_name(fn)} is a"
            f" {'generator' if isgeneratorfunction(fn) else 'coroutine'}",
            fix="export the function that computes, without async and yield",
        )
    if isinstance(fn, type) and issubclass(fn, torch.nn.Module):
        raise ArgumentError(
            f"export takes a module, and {fn.__name__} is a class of modules",
            fix=f"make a module first, as {fn.__name__}(...)",
        )
    if not isinstance(args, tuple):
        raise ArgumentError(
            f"args must be a tuple, not {type(args).__name__}",
            fix="write (), and the dict as kwargs" if isinstance(args, dict) else "write (x,)",
        )
    if kwargs is not None and not isinstance(kwargs, dict):
        raise ArgumentError(
            f"kwargs must be a dict, not {type(kwargs).__name__}",
            fix='write {"name": x}, and all that is given by position into args',
        )
    deferred = prefer_deferred_runtime_asserts_over_guards
    need_bool("allow_partial", allow_partial)
    need_bool("draft", draft)
    need_bool("strict", strict)
    need_bool("prefer_deferred_runtime_asserts_over_guards", deferred)
    wanted.follow_environment()
    allowed = allow_partial or deferred
    kept = paths_of(preserve_module_call_signature)
    request = Request(_name(fn), on_deviation, allowed, control_flow, draft, profile, kept)
    request.need_valid()
    args, kwargs = tuple(args), kwargs or {}  # a named tuple too
    initialize_lazy_modules(fn, args, kwargs)
    spec = specs.read(fn, args, kwargs, dynamic_shapes)
    try:
        program = build(fn, args, kwargs, spec, request)
    except TypeError as e:
        if not isinstance(e, AnyshapeError):
            need_fitting(fn, args, kwargs, request.name)
        raise
    program.origin = Origin(fn, args, kwargs, partial(_again, dynamic_shapes, request))
    return program


def need_fitting(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> None:
    """Raise if the arguments do not fit the signature of a function that failed with them."""
    try:
        signature = signature_of(fn)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as e:
        names = ", ".join(signature.parameters)
        raise ArgumentError(
            f"{name} cannot be called with the arguments of the example: {e}",
            fix=f"give export({name}, args, kwargs) examples of what {name}({names}) takes",
            code="AS301",
        ) from None


def _again(
    dynamic_shapes: Any, request: Request, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ExportedProgram:
    """Export a function with the options of an earlier export."""
    program = build(fn, args, kwargs, specs.read(fn, args, kwargs, dynamic_shapes), request)
    program.origin = Origin(fn, args, kwargs, partial(_again, dynamic_shapes, request))
    return program


class Request(NamedTuple):
    """What is to be made besides the function, its arguments and their sizes; see `export`."""

    name: str
    on_deviation: str = "follow"
    allow_partial: bool = False
    control_flow: str = "tree"
    draft: bool = False
    profile: str | os.PathLike[str] | None = None
    preserved: tuple[str, ...] = ()

    def need_valid(self) -> None:
        """Raise for an option that does not exist."""
        need_one_of("on_deviation", self.on_deviation, _DEVIATION)
        need_one_of("control_flow", self.control_flow, _CONTROL_FLOW)


def build(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    spec: Spec,
    request: Request,
) -> ExportedProgram:
    """The program of a function for the sizes that a spec allows."""
    name, draft, follows = request.name, request.draft, request.on_deviation == "follow"
    folder = config.profile if request.profile is None else request.profile
    profiled, began = Profiled(folder, name), perf_counter()
    with Progress(name), profiled as is_profiled:
        found = explore(
            fn,
            args,
            kwargs,
            spec,
            branches=request.control_flow == "tree",
            lists_deviations=follows,
            lists_effects=draft,
            preserved=preserved_modules(fn, request.preserved),
        )
        if not draft:
            need_unread([tracer for trace in found.traces for tracer in trace.variant.tracers])
        need_one_graph(found.variants, request.preserved)
        if not request.allow_partial and not draft:
            need_no_violation(found, spec)
        found.rest()
        warn_of_ties(found, spec)
        for variant in found.variants:
            variant.raises_on_deviation = not follows
        naming = Naming(fn)
        state = state_of(found.variants, naming)
        name_calls(found.variants, naming)
        name_values(found.variants, state)
        program = ExportedProgram(name, found, state, request.on_deviation, fn)
        program.problems = problems_of(found, spec) if draft else []
        if is_profiled:
            _complete(program)
    program.seconds, program.profile = perf_counter() - began, profiled.tree
    return program


def _complete(program: ExportedProgram) -> None:
    """Compute what is otherwise computed on demand, so that the profile includes its time."""
    with phase("guards and asserts"):
        for variant in program.variants:
            _ = variant.guards, variant.runtime_asserts
    with phase("code"):
        for variant in program.variants:
            _ = variant.code


def _name(fn: Any) -> str:
    if isinstance(fn, ProgramModule):
        fn = fn.anyshape_bound.program()
    if isinstance(fn, ExportedProgram):
        return fn.name
    if isinstance(fn, torch.nn.Module):
        return type(fn).__name__
    return str(getattr(fn, "__name__", type(fn).__name__))
