"""The output of a program as data and back: prints, writes to standard streams, warnings, log
records, errors.

A file names these ops, and beside their plain arguments only this: a logger by its name, a builtin
class of warnings or errors, and text for a class that is shown. No other object is ever found by a
name in a file; an error of another class is one of a new class of the same name and builtin base.
"""

from __future__ import annotations

import builtins
import logging
import sys
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export.files import checked, plain
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import Name
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.effect import Shown
from anyshape.trace.record.effect.held import Held

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.graph.graph import Node

OPS: Final[dict[str, Any]] = {
    "anyshape.print": effect.print_out,
    "anyshape.write": effect.write_out,
    "anyshape.warn": effect.warn,
    "anyshape.log": effect.log,
    "anyshape.show": effect.show,
    "anyshape.join": effect.join,
    "anyshape.size": effect.size,
    "anyshape.raise_unless": effect.raise_unless,
}
OUTLETS: Final = frozenset(OPS.values())
_CATEGORIES: Final = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Warning)
}
_ERRORS: Final = {
    name: kind
    for name, kind in {**vars(sys.modules[LoadError.__module__]), **vars(builtins)}.items()
    if isinstance(kind, type) and issubclass(kind, Exception)
}
_STREAMS: Final = ("stdout", "stderr")
_WAYS: Final = ("str", "repr", "format", "percent")
_LEAVES: Final = ("value", "numpy", "int", "bool", "real")
_MADE: Final = "made_"
_LONGEST_NAME: Final = 200  # of a logger


# ---------------------------------------------------------------------- to data


def arguments(node: Node, arg: Callable[[Any], Any]) -> list[Any]:
    """The arguments of an outlet as data; `arg` encodes those that ops may have."""

    def word(x: Any) -> Any:
        kind = type(x)
        if kind is Name:
            return made(x)
        if kind is Shown:
            return {"shown": x.text}
        if kind is Held:
            return _held(x.object, node)
        if kind in (tuple, list, dict):
            return plain.encode(x, f"what it says at {node.site}", word)
        return arg(x)

    args = node.args
    if node.func is effect.warn:
        message, category, *place, _ = args
        message, category = _warning(message, category, node)
        args = (message, category, *place)
    try:
        return [word(a) for a in args]
    except UnsupportedError as e:
        raise _unsaved(node, e.what) from e


def made(name: Name) -> dict[str, int]:
    """The name of what an outlet uses."""
    return {"made": int(name.removeprefix(_MADE))}


def _held(x: Any, node: Node) -> Any:
    """An object from outside."""
    if isinstance(x, logging.Logger):
        name = "" if x is logging.root else x.name
        if len(name) <= _LONGEST_NAME and logging.getLogger(name) is x:
            return {"logger": name}
    if isinstance(x, type) and issubclass(x, Exception):
        return {"error": [x.__name__, next(c.__name__ for c in x.__mro__ if _is_known(c))]}
    if isinstance(x, type):
        return {"shown": str(x)}
    raise _unsaved(node, f"it says an object of class {type(x).__name__}")


def _is_known(kind: type) -> bool:
    return _ERRORS.get(kind.__name__) is kind


def _warning(message: Any, category: Any, node: Node) -> Any:
    """The text and the name of the class of a warning."""
    name = str(category.object.__name__)
    if _CATEGORIES.get(name) is not category.object:
        raise _unsaved(node, f"a {name} is not a warning of Python's own")
    if type(message) is Held:
        if len(message.object.args) != 1 or type(message.object.args[0]) is not str:
            raise _unsaved(node, f"a {name} with arguments other than one text")
        message = message.object.args[0]
    return message, name


def _unsaved(node: Node, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"cannot save what the program says at {node.site}",
        why=why,
        fix="say it with text, numbers and tensors, and a logger that logging.getLogger finds",
        code="AS511",
    )


# ---------------------------------------------------------------------- from data


class Outlets:
    """Reads the outlets of one variant; `arg` decodes the arguments that ops may have."""

    def __init__(self, arg: Callable[[Any, str, int], Any]) -> None:
        self._arg = arg
        self._made: set[str] = set()
        self._registries: dict[str, dict[Any, Any]] = {}

    def define(self, func: Any, outs: Any, where: str) -> Name | None:
        """The name of what a call makes, which is then known."""
        if func not in effect.COMPUTED:
            if outs is not None:
                checked.refuse(where, "a call without a result", outs)
            return None
        return self.new(outs, where)

    def new(self, data: Any, where: str) -> Name:
        """The name of something that is made here."""
        (number,) = checked.fields(data, ("made",), where)
        name = Name(f"{_MADE}{checked.number(number, where, 0, 1 << 40)}")
        if name in self._made:
            raise LoadError(f"{where} defines {name} again")
        self._made.add(name)
        return name

    def made(self, data: Any, where: str) -> Name:
        """The name of something that was made before."""
        found = self._word(data, where)
        if type(found) is not Name:
            checked.refuse(where, "something that is made before", data)
        return found

    def know(self, data: Any, where: str) -> Name:
        """A name in a frame, which an earlier segment made."""
        (number,) = checked.fields(data, ("made",), where)
        name = Name(f"{_MADE}{checked.number(number, where, 0, 1 << 40)}")
        self._made.add(name)
        return name

    def arguments(self, func: Any, data: list[Any], where: str) -> tuple[Any, ...]:
        """The arguments of an outlet, checked."""
        return tuple(_READ[func](self, data, where))

    def _word(self, data: Any, where: str, depth: int = 0) -> Any:
        """A word of a message."""
        if type(data) is dict and len(data) == 1:
            ((tag, content),) = data.items()
            if tag == "made":
                name = Name(f"{_MADE}{checked.number(content, where, 0, 1 << 40)}")
                if name not in self._made:
                    checked.refuse(where, "something that is made before", content)
                return name
            if tag == "shown":
                return Shown(checked.text(content, where))
            if tag in _LEAVES:
                return self._arg(data, where, depth)
        return plain.decode(data, where, depth, self._word)

    def _text(self, data: Any, where: str) -> Any:
        """Text, or text that is made before."""
        found = self._word(data, where)
        return found if type(found) is Name else checked.text(found, where)

    def _words(self, data: Any, where: str) -> tuple[Any, ...]:
        found = self._word(data, where)
        if type(found) is not tuple:
            checked.refuse(where, "a tuple", data)
        return found

    def _printed(self, data: list[Any], where: str) -> list[Any]:
        words, named = checked.items(data, where, 2)
        options = self._word(named, where)
        if type(options) is not dict or not options.keys() <= {"sep", "end", "file", "flush"}:
            checked.refuse(where, "the options of print", named)
        for key in ("sep", "end"):
            if options.get(key) is not None and type(options[key]) is not Name:
                checked.text(options[key], where)
        checked.one_of(options.get("file", "stdout"), _STREAMS, where)
        checked.flag(options.get("flush", False), where)
        return [self._words(words, where), options]

    def _wrote(self, data: list[Any], where: str) -> list[Any]:
        stream, text = checked.items(data, where, 2)
        return [checked.one_of(stream, _STREAMS, where), self._text(text, where)]

    def _warned(self, data: list[Any], where: str) -> list[Any]:
        message, category, file, line, module = checked.items(data, where, 5)
        kind = checked.one_of(category, _CATEGORIES, where)
        place = [checked.text(file, where), checked.number(line, where, 0, 1 << 31)]
        registry = self._registries.setdefault(checked.text(module, where), {})
        return [self._text(message, where), Held(kind), *place, module, Held(registry)]

    def _logged(self, data: list[Any], where: str) -> list[Any]:
        logger, level, place_, message, args, extra = checked.items(data, where, 6)
        (name,) = checked.fields(logger, ("logger",), where)
        place = checked.items(self._words(place_, where) and place_["tuple"], where, 3)
        checked.text(place[0], where)
        checked.number(place[1], where, 0, 1 << 31)
        checked.text(place[2], where)
        given, more = self._word(args, where), self._word(extra, where)
        if type(given) not in (tuple, dict) or (more is not None and type(more) is not dict):
            checked.refuse(where, "the arguments of a log record", args)
        if len(checked.text(name, where)) > _LONGEST_NAME:
            raise LoadError(f"{where} has a logger with a name of {len(name)} characters")
        return [
            Held(logging.getLogger(name)),
            checked.number(level, where, 0, 1 << 20),
            tuple(place),
            self._word(message, where),
            given,
            more,
        ]

    def _shown(self, data: list[Any], where: str) -> list[Any]:
        value, how, spec = checked.items(data, where, 3)
        return [
            self._word(value, where),
            checked.one_of(how, _WAYS, where),
            checked.text(spec, where),
        ]

    def _joined(self, data: list[Any], where: str) -> list[Any]:
        (parts,) = checked.items(data, where, 1)
        found = self._words(parts, where)
        for part in found:
            if type(part) is not Name:
                checked.text(part, where)
        return [found]

    def _raised(self, data: list[Any], where: str) -> list[Any]:
        holds_, kind_, args_, state_ = checked.items(data, where, 4)
        holds, state = self._word(holds_, where), self._word(state_, where)
        if type(holds) not in (bool, SymBool):
            checked.refuse(where, "a condition", holds_)
        if type(state) is not dict or not all(type(k) is str for k in state):
            checked.refuse(where, "the attributes of an error", state_)
        (pair,) = checked.fields(kind_, ("error",), where)
        name, base_ = checked.items(pair, where, 2)
        base = checked.one_of(base_, _ERRORS, where)
        if not checked.text(name, where).isidentifier() or len(name) > _LONGEST_NAME:
            checked.refuse(where, "the name of an error", name)
        kind = base if name == base_ else type(name, (base,), {})
        return [holds, Held(kind), self._words(args_, where), state]

    def _sized(self, data: list[Any], where: str) -> list[Any]:
        (parts,) = checked.items(data, where, 1)
        found = self._words(parts, where)
        if any(type(n) not in (int, SymInt) for n in found):
            checked.refuse(where, "a shape", parts)
        return [found]


_READ: Final[dict[Any, Callable[[Outlets, list[Any], str], list[Any]]]] = {
    effect.print_out: Outlets._printed,
    effect.write_out: Outlets._wrote,
    effect.warn: Outlets._warned,
    effect.log: Outlets._logged,
    effect.show: Outlets._shown,
    effect.join: Outlets._joined,
    effect.size: Outlets._sized,
    effect.raise_unless: Outlets._raised,
}
