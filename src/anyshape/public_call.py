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
    from collections.abc import Callable, Sequence

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
            error = _refusal(function, args, kwargs, str(e))
        raise error

    return cast("F", call)


def need_path(name: str, path: object) -> None:
    """Raise for what cannot be the path of a file; `name` is the function that was given it."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        given = "an empty text" if path == "" else type(path).__name__
        raise ArgumentError(
            f"{name} takes the path of a file, not {given}",
            fix=f'write {name}("model{_ENDINGS.get(name, ".any")}")',
        )


def need_bool(name: str, value: object) -> None:
    """Raise for the value of an option that is either on or off."""
    if type(value) is not bool:
        raise ArgumentError(f"{name} is True or False, not {value!r}")


def need_one_of(name: str, value: object, valid: Sequence[str]) -> None:
    """Raise for the value of an option that is none of the valid ones."""
    if value not in valid:
        raise ArgumentError(
            f"{name} cannot be {value!r}",
            fix=f"{nearest(value, valid)}use one of {', '.join(map(repr, valid))}",
        )


def need_number(name: str, value: object, count: int) -> None:
    """Raise for what is not the number of one of `count` things, which `name` is a word for."""
    if type(value) is not int or not 0 <= value < count:
        last = "0" if count == 1 else f"0 to {count - 1}"
        raise ArgumentError(f"there is no {name} {value!r}", fix=f"give {last}")


def _refusal(
    function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], said: str
) -> ArgumentError:
    name = function.__name__
    if name in ("__init__", "__call__"):  # users write the name of the class, or the object
        owner = function.__qualname__.split(".")[-2]
        written = owner if name == "__init__" else repr(args[0])
        said = said.replace(f"{owner}.{name}()", written)
        name = written
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
