"""`pkg.module:factory`: a function without arguments that gives a program and calls of it.

A factory returns `(fn, args)`, `(fn, args, dynamic_shapes)`, or a dict with `fn` and any of `args`,
`kwargs`, `dynamic_shapes` and `calls`: more calls, each a tuple of arguments or a dict of keyword
arguments. `path/file.py:factory` names one in a file.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from anyshape.cli.user_place import raised_by
from anyshape.errors import AnyshapeError, ArgumentError

if TYPE_CHECKING:
    from types import ModuleType

    from anyshape.cli.console import Output

_MEMBERS: Final = ("fn", "args", "kwargs", "dynamic_shapes", "calls")
_KINDS: Final = {"args": (tuple, list), "kwargs": (dict,), "calls": (list, tuple)}
_EXAMPLES: Final = {"args": "(x,)", "kwargs": '{"x": x}', "calls": "[(x,), (y,)]"}
_FORMS: Final = "return (fn, args), (fn, args, dynamic_shapes), or a dict of " + ", ".join(_MEMBERS)


class Call(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Target(NamedTuple):
    """What a factory gave: a function, an example call, what is dynamic in it, and more calls."""

    fn: Any
    example: Call
    dynamic_shapes: Any
    calls: list[Call]


def read_target(text: str, output: Output) -> Target:
    """Call the factory that a text names."""
    where, _, name = text.rpartition(":")
    if not where or not name.isidentifier():
        raise click.BadParameter(
            f"{text!r} is not of the form pkg.module:factory", param_hint="TARGET"
        )
    try:
        with output.for_user():
            factory = getattr(_module(where), name, None)
            if not callable(factory):
                raise click.BadParameter(f"{where} has no function {name!r}", param_hint="TARGET")
            made = factory()
    except (AnyshapeError, click.ClickException):
        raise
    except (Exception, SystemExit) as e:
        raise raised_by(text, e) from e
    return _read(text, made)


def _module(where: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if not where.endswith(".py"):
        try:
            return importlib.import_module(where)
        except ModuleNotFoundError as e:
            if e.name is not None and where.startswith(e.name):
                raise click.BadParameter(
                    f"there is no module {e.name!r}", param_hint="TARGET"
                ) from e
            raise
    if not Path(where).is_file():
        raise click.BadParameter(f"there is no file {where}", param_hint="TARGET")
    folder = str(Path(where).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = Path(where).stem
    spec = importlib.util.spec_from_file_location(name, where)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _read(text: str, made: Any) -> Target:
    if isinstance(made, tuple) and 2 <= len(made) <= 3:
        made = dict(zip(("fn", "args", "dynamic_shapes"), made, strict=False))
    if not isinstance(made, dict) or not callable(made.get("fn")):
        shown = f"a {type(made).__name__} without a function `fn`"
        raise ArgumentError(f"{text} returned {shown}", fix=_FORMS)
    unknown = [key for key in made if key not in _MEMBERS]
    if unknown:
        raise ArgumentError(f"{text} returned a dict with {unknown[0]!r}", fix=_FORMS)
    given = {key: value for key, value in made.items() if value is not None}
    for key, kinds in _KINDS.items():
        if not isinstance(given.setdefault(key, kinds[0]()), kinds):
            raise ArgumentError(
                f"{text} returned {key} that is a {type(given[key]).__name__}",
                fix=f"give a {kinds[0].__name__}, as in {_EXAMPLES[key]}",
            )
    example = Call(tuple(given["args"]), given["kwargs"])
    calls = [_call(text, call) for call in given["calls"]]
    return Target(made["fn"], example, made.get("dynamic_shapes"), calls)


def _call(text: str, call: Any) -> Call:
    if isinstance(call, dict):
        return Call((), call)
    if isinstance(call, tuple):
        return Call(call, {})
    raise ArgumentError(
        f"{text} returned a call that is a {type(call).__name__}",
        fix="a call is a tuple of arguments, or a dict of keyword arguments",
    )
