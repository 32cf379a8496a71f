"""What the inputs of one function have been so far: which sizes and numbers have changed.

A size or number that had a second value is dynamic from then on, it alone. A tensor is followed for
each rank and dtype on its own, a number for each type. Truth values and other plain values are
never dynamic. Safe to be used by several threads; what is dynamic stays so.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence


class Place(NamedTuple):
    """A dimension of the tensor that `source` names; or the number, where `dim` is None."""

    source: str
    dim: int | None


class History:
    """The values seen; `dynamic` are places that are known to change, of any rank or type."""

    def __init__(self, dynamic: Iterable[tuple[str, int | None]] = ()) -> None:
        self._lock = threading.Lock()
        self._first: dict[tuple[str, Hashable], tuple[Any, ...]] = {}
        self._changed: dict[tuple[str, Hashable], frozenset[int | None]] = {}
        self._latest: dict[str, Hashable] = {}
        self._known = {Place(*place) for place in dynamic}

    def note(self, names: Sequence[str], flat: Sequence[Any]) -> set[Place]:
        """Look at the inputs of a call; the places that are dynamic by this call and were not."""
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
        """Know of more places that change."""
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
    return None, {}


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (a != a and b != b)  # noqa: PLR0124  a NaN is the same as another
