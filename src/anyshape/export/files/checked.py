"""Reads of untrusted data: the type and range of every value are checked."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

import torch

from anyshape.errors import LoadError

MAX_PARTS: Final = 1 << 22  # commas and brackets in a file
MAX_DEPTH: Final = 64
MAX_TEXT: Final = 1 << 20
MAX_INT: Final = 1 << 64
MAX_SIZE: Final = (1 << 63) - 1
MAX_RANK: Final = 64
_REAL: Final = re.compile(r"nan|-?(inf|[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?)")
_DEVICE: Final = re.compile(r"[a-z]{1,16}(:[0-9]{1,4})?")


def _named(kind: type) -> dict[str, Any]:
    found = (getattr(torch, name) for name in dir(torch))
    return {str(x).removeprefix("torch."): x for x in found if type(x) is kind}


DTYPES: Final[dict[str, torch.dtype]] = _named(torch.dtype)
FORMATS: Final[dict[str, torch.memory_format]] = _named(torch.memory_format)
LAYOUTS: Final[dict[str, torch.layout]] = _named(torch.layout)


def refuse(where: str, wanted: str, found: Any) -> NoReturn:
    """Raise: `where` is `found`, not `wanted`."""
    shown = repr(found) if type(found) in (int, float, bool, type(None)) else type(found).__name__
    if type(found) is str:
        shown = repr(found[:60])
    raise LoadError(f"{where} is {shown}, not {wanted}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise LoadError("an object of program.json has a key twice")
    return found


def _int(digits: str) -> int:
    if len(digits) > 40:
        raise LoadError(f"a number of {len(digits)} digits in program.json")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits) if len(digits) <= 40 else math.inf
    if not math.isfinite(value):
        raise LoadError(f"the number {digits[:40]} in program.json is not finite")
    return value


def _constant(name: str) -> NoReturn:
    raise LoadError(f"{name} in program.json is not a number")


def parse(data: bytes, name: str = "program.json") -> Any:
    """JSON to plain objects; LoadError for what is not JSON, or is too large."""
    if sum(data.count(sign) for sign in (b",", b"[", b"{")) > MAX_PARTS:
        raise LoadError(f"{name} has over {MAX_PARTS} parts")
    try:
        return json.loads(
            data.decode("ascii" if name == "program.json" else "utf-8"),
            object_pairs_hook=_object,
            parse_int=_int,
            parse_float=_float,
            parse_constant=_constant,
        )
    except RecursionError:
        raise LoadError(f"{name} is nested too deeply") from None
    except LoadError:
        raise
    except ValueError as e:
        raise LoadError(f"{name} is not JSON", why=str(e)[:200]) from e


def fields(x: Any, names: tuple[str, ...], where: str) -> list[Any]:
    """The values of an object that has exactly these keys, in their order."""
    if type(x) is not dict:
        refuse(where, "an object", x)
    missing = [n for n in names if n not in x]
    extra = [n for n in x if n not in names]
    if missing or extra:
        raise LoadError(
            f"{where} has no {missing[0]!r}" if missing else f"{where} has {extra[0][:60]!r} in it"
        )
    return [x[n] for n in names]


def items(x: Any, where: str, length: int | None = None) -> list[Any]:
    """A list, of that length where one is given."""
    if type(x) is not list:
        refuse(where, "a list", x)
    if length is not None and len(x) != length:
        raise LoadError(f"{where} has {len(x)} parts, not {length}")
    return x


def text(x: Any, where: str) -> str:
    """A text."""
    if type(x) is not str:
        refuse(where, "text", x)
    if len(x) > MAX_TEXT:
        raise LoadError(f"{where} has {len(x)} characters", why=f"at most {MAX_TEXT} are allowed")
    return x


def one_of(x: Any, choices: Any, where: str) -> Any:
    """A text among `choices`; if that is a dict, its value there."""
    if type(x) is not str or x not in choices:
        refuse(where, "one of the names that are known there", x)
    return choices[x] if isinstance(choices, dict) else x


def flag(x: Any, where: str) -> bool:
    """True or False."""
    if type(x) is not bool:
        refuse(where, "true or false", x)
    return x


def number(x: Any, where: str, lo: int = -MAX_INT, hi: int = MAX_INT) -> int:
    """An integer in a range."""
    if type(x) is not int or not lo <= x <= hi:
        refuse(where, f"a number from {lo} to {hi}", x)
    return x


def real(x: Any, where: str) -> float:
    """Any float, finite or not, as the text that Python writes."""
    if type(x) is not str or not _REAL.fullmatch(x):
        refuse(where, "a float", x)
    return float(x)


def optional(read: Any, x: Any, *rest: Any) -> Any:
    """None, or the result of `read`."""
    return None if x is None else read(x, *rest)


def sizes(x: Any, where: str) -> tuple[int, ...]:
    """Sizes or strides: numbers that are not negative."""
    if len(items(x, where)) > MAX_RANK:
        raise LoadError(f"{where} has {len(x)} dimensions")
    return tuple([number(n, where, 0, MAX_SIZE) for n in x])


def device(x: Any, where: str) -> torch.device:
    """A device; whether this machine has it does not matter."""
    if type(x) is not str or not _DEVICE.fullmatch(x):
        refuse(where, "a device", x)
    try:
        return torch.device(x)
    except RuntimeError as e:
        raise LoadError(f"{where} is {x!r}, which is not a device") from e
