"""Results of two runs: the same structure, and tensors that are close."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH = 8  # of objects in objects; deeper ones are parts of the library, not of the result


def leaves(value: Any, path: str = "", depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """The tensors and numbers in a result, with their paths: of containers and of any object."""
    if isinstance(value, torch.Tensor | int | float | complex | str | None):
        yield path, value
    elif depth:
        for key, item in _items(value):
            yield from leaves(item, f"{path}.{key}", depth - 1)


def _items(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if dataclasses.is_dataclass(value):
        return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    return [(k, v) for k, v in getattr(value, "__dict__", {}).items() if not callable(v)]


def difference(actual: Any, expected: Any, tolerance: float) -> str | None:
    """Where two results differ, or None."""
    mine, theirs = dict(leaves(actual)), dict(leaves(expected))
    if mine.keys() != theirs.keys():
        return f"other parts: {sorted(mine.keys() ^ theirs.keys())[:4]}"
    for path, value in theirs.items():
        if wrong := _differs(mine[path], value, tolerance):
            return f"{path or 'the result'}: {wrong}"
    return None


def _differs(actual: Any, expected: Any, tolerance: float) -> str | None:
    if not isinstance(expected, torch.Tensor):
        same = actual == expected or (actual != actual and expected != expected)
        return None if same else f"{actual!r}, eager gives {expected!r}"
    if not isinstance(actual, torch.Tensor):
        return f"{type(actual).__name__}, eager gives a tensor"
    for what in ("shape", "dtype", "layout", "requires_grad"):
        if getattr(actual, what) != getattr(expected, what):
            return f"{what} {getattr(actual, what)}, eager has {getattr(expected, what)}"
    try:
        torch.testing.assert_close(
            actual.detach(), expected.detach(), rtol=tolerance, atol=tolerance, equal_nan=True
        )
    except AssertionError as error:
        return str(error).splitlines()[-1]
    return None
