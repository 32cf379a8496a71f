"""The history of the inputs of a function: which sizes and numbers have changed between calls.

A size or number that takes a second value becomes dynamic, and no other does; it stays dynamic. The
history is separate for each rank and dtype of a tensor, and each type of a number. Booleans and
other plain values are never dynamic. Thread-safe.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from anyshape.symbolic.numpy_scalar import scalar_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence


class Place(NamedTuple):
    """A dimension of the tensor that `source` names; or the number, where `dim` is None."""

    source: str
    dim: int | None


class History:
    """First values, and places that changed; `dynamic` places count for any rank or type."""

    def __init__(self, dynamic: Iterable[tuple[str, int | None]] = ()) -> None:
        self._lock = threading.Lock()
        self._first: dict[tuple[str, Hashable], tuple[Any, ...]] = {}
        self._changed: dict[tuple[str, Hashable], frozenset[int | None]] = {}
        self._latest: dict[str, Hashable] = {}
        self._known = {Place(*place) for place in dynamic}

    def note(self, names: Sequence[str], flat: Sequence[Any]) -> set[Place]:
        """Record the inputs of a call; returns the places that this call made dynamic."""
        changed: set[Place] = set()
        with self._lock:
            for name, x in zip(names, flat, strict=True):
                kind, values = _values(x)
                if values:
                    self._latest[name] = kind
                    changed |= self._note(name, kind, values)
        return changed

    def _note(self, name: str, kind: Hashable, values: dict[int | None, Any]) -> set[Place]:
        key = (name, kind)
        first = self._first.setdefault(key, tuple(values.values()))
        before = self._changed.get(key, frozenset())
        now = {
            d
            for (d, value), old in zip(values.items(), first, strict=True)
            if not _same(value, old)
        }
        self._changed[key] = before | now
        return {Place(name, d) for d in now - before} - self._known

    def learn(self, dynamic: Iterable[tuple[str, int | None]]) -> None:
        """Add places that are known to be dynamic."""
        with self._lock:
            self._known = self._known | {Place(*place) for place in dynamic}

    def is_dynamic(self, source: str, dim: int | None, like: Any = None) -> bool:
        """Whether a size or number has changed, for the rank and type of `like`, if given, or of
        the latest call.
        """
        kind = self._latest.get(source) if like is None else _values(like)[0]
        return dim in self._changed.get((source, kind), ()) or (source, dim) in self._known

    @property
    def dynamic(self) -> set[Place]:
        """All places that are dynamic for some rank or type."""
        with self._lock:
            found = {Place(name, d) for (name, _), dims in self._changed.items() for d in dims}
            return found | self._known


def _values(x: Any) -> tuple[Hashable, dict[int | None, Any]]:
    """The kind of an input and what may change of it."""
    if isinstance(x, torch.Tensor):
        return (x.dim(), x.dtype), dict(enumerate(x.shape))
    if type(x) in (int, float):
        return type(x).__name__, {None: x}
    if scalar_name(x):
        return type(x).__name__, {None: x.item()}
    return None, {}


def _same(a: Any, b: Any) -> bool:
    if type(a) is float and type(b) is float:
        return a.hex() == b.hex()  # the signs of 0 differ, and a NaN is the same as another
    return bool(a == b)
