"""What the exported function read outside of its arguments: the program holds it as it was.

`compile` guards such values; an exported program has no function to trace again. So it lists them,
and the list tells which of them have changed since. Settings and modes of the process that it has
read are conditions, too: a call where one is something else is refused, see
`trace/argument/condition.py`.
"""

from __future__ import annotations

import builtins
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodWrapperType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.trace.record.object_kind import ATOMS, SYMBOLIC
from anyshape.trace.record.read.read import ABSENT, CALL, CONTENT, KIND, LENGTH, META, MISSING, Read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyshape.trace.capture import Captured

_DATA: Final = ATOMS - SYMBOLIC - {BuiltinFunctionType, MethodWrapperType, CodeType}
_BASES: Final[Any] = (str, bytes, int, float, complex)  # of classes like `enum.IntEnum`
_LONGEST: Final = 80  # characters of the text of a value
_OF_FUNCTIONS: Final = ("__defaults__", "__kwdefaults__", "__mro__")


class Constant(NamedTuple):
    """Something from outside: its name in the user's words, and its text.

    `is_code`: it is a function, a class, or where something was found, and no value. `read` is None
    in a program that was loaded.
    """

    name: str
    value: str
    is_code: bool = False
    read: Read | None = None

    @property
    def is_stale(self) -> bool:
        """Whether something else is there now; the program goes on with what was there."""
        return self.read is not None and not self.read.holds()

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


def constants_of(variants: Sequence[Captured]) -> list[Constant]:
    """What the variants of a program read outside: values first, then code."""
    found: dict[Any, Constant] = {}
    for tracer in [t for variant in variants for t in variant.tracers]:
        recorder = tracer.recorder
        if recorder is None:
            continue
        watch = recorder.finish()
        for place, read in watch.places.items():
            if place not in found:
                found[place] = Constant(watch.label(read), _text(read), not _is_value(read), read)
    return sorted(found.values(), key=lambda c: c.is_code)


def _is_value(read: Read) -> bool:
    """Whether a read is about data, and not about functions, classes and where things are."""
    owner, key, value = read.owner, read.key, read.value
    if read.kind in (KIND, META) or (type(key) is str and key in _OF_FUNCTIONS):
        return False
    if read.kind == LENGTH and isinstance(owner, MappingProxyType):
        return False
    if read.kind == CONTENT:
        return len(value) > 1 and all(_is_data(x) for x in value[1:])
    if read.kind == ABSENT:
        is_found = key in vars(builtins) or "_parameters" in owner  # elsewhere
        return type(owner) is dict and not is_found
    return read.kind == CALL or _is_data(value)


def _is_data(x: Any) -> bool:
    if isinstance(x, tuple):  # as `sys.version_info`
        return all(type(part) in _DATA for part in tuple.__iter__(x))
    return type(x) in _DATA or isinstance(x, (torch.Tensor, *_BASES))


def _text(read: Read) -> str:
    """The text of what was read; no method of the user's is called for it."""
    if read.kind == ABSENT or read.value is MISSING:
        return "(absent)"
    text = ", ".join(_words(read))
    text = f"[{text}]" if read.kind == CONTENT else text
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _words(read: Read) -> Iterator[str]:
    parts = read.value[1:] if read.kind == CONTENT else (read.value,)
    for x in parts[:_LONGEST]:
        if type(x) not in ATOMS and isinstance(x, _BASES):
            yield next(base.__repr__(x) for base in _BASES if isinstance(x, base))
        elif type(x) in ATOMS or (read.kind == CALL and type(x) is tuple):
            yield repr(x) if not isinstance(x, tuple) or not _is_deep(x) else type(x).__name__
        elif isinstance(x, tuple) and _is_data(x):
            yield repr(tuple(tuple.__iter__(x)))
        elif isinstance(x, torch.Tensor):
            yield f"a tensor of shape {list(x.shape)}"
        elif isinstance(x, type | FunctionType):
            yield x.__qualname__
        elif isinstance(x, ModuleType):
            yield x.__name__
        else:
            yield f"a {type(x).__name__}"


def _is_deep(x: tuple[Any, ...]) -> bool:
    return any(type(part) not in ATOMS for part in x)
