"""Public functions, and how they refuse arguments that they do not have.

Python's own `TypeError` for a call becomes an `ArgumentError`, which is a `TypeError` too and says
what was probably meant. What is raised inside the function is left alone.
"""

from __future__ import annotations

import os
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from anyshape.errors import ArgumentError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

_ENDINGS: Final = {"report": ".html"}  # of the files that functions write

F = TypeVar("F", bound="Callable[..., Any]")


def public(function: F) -> F:
    """The function, with errors of ours for calls that do not fit its signature."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as e:
            if e.__traceback__ is None or e.__traceback__.tb_next is not None:
                raise  # it is not the call itself that failed
            error = _refusal(function, kwargs, str(e))
        raise error

    return cast("F", call)


def need_path(name: str, path: object) -> None:
    """Raise for what cannot be the path of a file; `name` is the function that was given it."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(
            f"{name} takes the path of a file, not {type(path).__name__}",
            fix=f'write {name}("model{_ENDINGS.get(name, ".any")}")',
        )


def _refusal(function: Callable[..., Any], named: dict[str, Any], said: str) -> ArgumentError:
    name = function.__name__
    if name == "__init__":
        name = function.__qualname__.split(".")[-2]
        said = said.replace(f"{name}.__init__()", name)
    parameters = [p for p in signature(function).parameters if p != "self"]
    there = f"the arguments are {', '.join(parameters)}" if parameters else "it has no arguments"
    unknown = [k for k in named if k not in parameters]
    if unknown:
        meant = nearest(unknown[0], parameters)
        return ArgumentError(
            f"{name} has no argument {unknown[0]!r}",
            fix=f"{meant}{there}",
        )
    return ArgumentError(said, fix=there)
