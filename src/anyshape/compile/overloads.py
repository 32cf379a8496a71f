"""The types of `compile`: what it takes and gives, for type checkers and readers.

A compiled function is called like the function that it was made of: the same parameters, the same
result. Nothing here exists at run time but as names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Concatenate, Self

    import torch

    from anyshape.compile.cache.entry import Entry
    from anyshape.compile.cache.recompilation import Stats
    from anyshape.compile.compiled_module import CompiledModule
    from anyshape.events import Recompilation

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Owner = TypeVar("Owner")

Dynamic = bool | Literal["unbacked"] | None
Mode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite"]
OnDeviation = Literal["follow", "raise", "specialize"]


class CompileOptions(TypedDict, total=False):
    """The options of `compile`, which says what they mean."""

    dynamic: Dynamic
    fullgraph: bool
    backend: str | Callable[..., Any] | None
    mode: Mode | None
    options: dict[str, Any] | None
    disable: bool
    recompile_limit: int | None
    on_deviation: OnDeviation


class CompiledFunction(Protocol[P, R_co]):
    """A compiled function: called like the function, with what is known of its programs."""

    entries: list[Entry]
    stats: Stats
    recompilations: list[Recompilation]
    eager_because: str | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the program for these inputs; trace the call if there is none."""

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(
        self: CompiledFunction[Concatenate[Owner, Q], R], owner: Owner, kind: type | None = ...
    ) -> CompiledFunction[Q, R]: ...

    def explain(self) -> str:
        """The entries with their guards, asserts and graph breaks, and all recompilations."""

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write what is known of the programs to one file of HTML."""

    def reset(self) -> None:
        """Drop all entries and the history of the inputs."""


class Decorator(Protocol):
    """`compile` with options and without a function."""

    @overload
    def __call__(self, fn: torch.nn.Module, /) -> CompiledModule: ...

    @overload
    def __call__(self, fn: Callable[P, R], /) -> CompiledFunction[P, R]: ...
