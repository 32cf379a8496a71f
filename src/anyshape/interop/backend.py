"""Backends: what runs a traced program.

"eager" is our own generated Python. "inductor" is TorchInductor. Any other name is looked up among
the backends that torch knows (`torch.compiler.list_backends(exclude_tags=())`). A function that
takes a `GraphModule` and example inputs and returns a function is a backend too.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import torch

from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning, ArgumentError, BackendError, nearest
from anyshape.events import Lowering, emit, listeners
from anyshape.interop.compiler_turn import turn_of
from anyshape.interop.held_warning import HeldWarnings
from anyshape.torch_compat.dynamo import lookup_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx import GraphModule

    from anyshape.trace.capture import Captured

    Compiler: TypeAlias = Callable[[GraphModule, list[Any]], Callable[..., Any]]

EAGER: Final = "eager"
INDUCTOR: Final = "inductor"


class Backend(NamedTuple):
    """A backend by name; `compiler` is None for our own and for Inductor.

    `settings` are those of Inductor, or further arguments of a compiler.
    """

    name: str
    compiler: Compiler | None = None
    settings: dict[str, Any] = {}  # noqa: RUF012  of a named tuple, which nobody changes

    @property
    def is_plain(self) -> bool:
        """Whether programs run as generated Python."""
        return self.name == EAGER and self.compiler is None


class Lowered(NamedTuple):
    """A lowered program.

    `run` takes the flat list of inputs and returns the flat list of outputs, in the order of the
    graph. `holds`, if it is not None, must be called before each run: it returns None if the
    guards of the lowering hold for the inputs, else the first that fails, as text. `guards` are
    those on sizes, as a user reads them; `regions` says which parts were lowered once for many
    calls, or why none.
    """

    run: Callable[[list[Any]], Sequence[Any]]
    holds: Callable[[list[Any]], str | None] | None
    guards: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()


def find_backend(
    backend: str | Compiler, mode: str | None = None, options: dict[str, Any] | None = None
) -> Backend:
    """The backend of that name, or the function itself as a backend; its mode or its options."""
    found = _find_backend(backend)
    if mode is None and options is None:
        return found
    if mode is not None and options is not None:
        raise ArgumentError(
            "mode and options are given both", why="a mode is a set of options", fix="give one"
        )
    if options is not None and not isinstance(options, dict):
        raise ArgumentError(f"options is a dict of names and values, not {options!r}")
    if found.name == EAGER and found.compiler is None:
        which = "mode" if options is None else "options"
        raise ArgumentError(
            f"{which} is not for the backend 'eager', which has none",
            fix="backend='inductor', or leave the backend out",
        )
    if found.compiler is None:
        from anyshape.interop.inductor_setting import settings_of  # noqa: PLC0415  loads slowly

        return found._replace(settings=settings_of(mode, options))
    given = {"mode": mode if mode != "default" else None, "options": options}
    return found._replace(settings={name: value for name, value in given.items() if value})


def _find_backend(backend: str | Compiler) -> Backend:
    if not isinstance(backend, str):
        if not callable(backend):
            raise ArgumentError(
                f"a backend cannot be {backend!r}",
                fix="a name, or a function from a GraphModule and example inputs to a function",
            )
        return Backend(getattr(backend, "__name__", type(backend).__name__), backend)
    if backend in (EAGER, INDUCTOR):
        return Backend(backend)
    known = torch.compiler.list_backends(exclude_tags=())
    if backend not in known:
        listed = dict.fromkeys([EAGER, INDUCTOR, *known])
        raise ArgumentError(
            f"there is no backend {backend!r}",
            fix=f"{nearest(backend, listed)}one of {', '.join(listed)}, or a function",
        )
    return Backend(backend, lookup_backend(backend))


def lower(captured: Captured, backend: Backend, flat: list[Any]) -> Lowered:
    """The program, lowered for inputs like these.

    Raises `BackendError` if the backend fails on the program, and `RuntimeAssertError` if an
    assert over these inputs fails.
    """
    error, start = None, perf_counter_ns()
    try:
        return _lower(captured, backend, flat)
    except Exception as e:
        error = e
        raise
    finally:
        if Lowering in listeners:
            spent = perf_counter_ns() - start
            emit(Lowering(backend.name, captured.graph, error, start, spent))


def _lower(captured: Captured, backend: Backend, flat: list[Any]) -> Lowered:
    if (backend.name == EAGER and backend.compiler is None) or not captured.graph.nodes:
        return Lowered(captured.program.function(), None)
    from anyshape.interop.lowering import lower_graph  # noqa: PLC0415  torch's compilers load slowly

    with turn_of(backend), HeldWarnings():
        return lower_graph(captured, backend, flat)


def lower_program(
    captured: Captured, backend: Backend, strict: bool, flat: list[Any], name: str
) -> Lowered:
    """A program lowered to a backend, or left to generated Python if the backend cannot take it.

    If it is `strict`, a backend that fails is an error; a program that no compiler of torch should
    be given runs as it is.
    """
    try:
        return lower(captured, backend, flat)
    except BackendError as e:
        if strict and not e.is_refusal:
            raise
        told = f"{name} runs as plain Python: {e.text}"
        warn(AnyshapeWarning(told, code="AS702"))
    return lower(captured, Backend(EAGER), flat)
