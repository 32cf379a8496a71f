"""The spec of a program of torch's: what it declares about the sizes of its inputs.

Each symbol is a name, with the range that torch's program declares for it. A size that is an
expression of symbols is that expression of their names. An expression that no name can be solved
from is dynamic, and torch's own guards relate it to the others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from anyshape.errors import ArgumentError
from anyshape.export.spec import dim as dims
from anyshape.export.spec.dim import Derived, Dim, Hint, linear_in, renamed
from anyshape.export.spec.dynamic_shapes import Spec
from anyshape.expr.name import RESERVED
from anyshape.torch_compat.torch_program import (
    SymbolicSize,
    names_of_symbols,
    ranges_of,
    symbolic_size,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.export import ExportedProgram

    from anyshape.export.spec.dynamic_shapes import Entry


class Place(NamedTuple):
    """A size of a leaf; a number that is a leaf where `dim` is None."""

    leaf: int
    dim: int | None


class DeclaredSizes:
    """The symbolic sizes of the inputs, whose values in torch's graph are `values`, and the floats
    among them that vary.
    """

    def __init__(self, program: ExportedProgram, values: Sequence[Any]) -> None:
        self.sizes: dict[Place, SymbolicSize] = {}
        self.floats: list[Place] = []
        for leaf, value in enumerate(values):
            if isinstance(value, torch.SymInt):
                self._add(Place(leaf, None), value)
            elif isinstance(value, torch.SymFloat):
                self.floats.append(Place(leaf, None))
            elif isinstance(value, torch.Tensor):
                for d, size in enumerate(value.shape):
                    self._add(Place(leaf, d), size)
        self.ranges = ranges_of(program)
        self.names = self._named(names_of_symbols(values))
        alone = [s for s in self.sizes.values() if s.text in s.symbols]
        self._alone = {s.text for s in alone}
        self._dims: dict[str, Dim] = {}

    def _add(self, place: Place, size: Any) -> None:
        found = symbolic_size(size) if isinstance(size, torch.SymInt) else None
        if found is not None:
            self.sizes[place] = found

    def _named(self, given: dict[str, str]) -> dict[str, str]:
        """The name of each symbol: the user's, where there is one that no other symbol has."""
        found: dict[str, str] = {}
        symbols = dict.fromkeys([name for size in self.sizes.values() for name in size.symbols])
        for symbol in symbols:
            name = given.get(symbol, symbol)
            is_name = name.isidentifier() and name not in RESERVED
            found[symbol] = name if is_name and name not in found.values() else symbol
        return found

    def spec(self, places: Sequence[str]) -> Spec:
        """The spec; `places` are the names of the leaves."""
        spec = Spec()
        for place, size in self.sizes.items():
            entry = self._entry(size)
            spec.entries[place] = entry
            where = places[place.leaf]
            spec.places[place] = where if place.dim is None else f"{where}.size({place.dim})"
            if isinstance(entry, Dim | Derived):
                spec.names.update(entry.dims)
        for place in self.floats:
            spec.entries[place] = Hint(dims.DYNAMIC, None, None)
            spec.places[place] = places[place.leaf]
        return spec

    def _entry(self, size: SymbolicSize) -> Entry:
        if size.text in size.symbols:
            return self._dim(size.text)
        try:
            text = renamed(size.text, self.names)
            entry = Derived(text, {self.names[s]: self._dim(s) for s in size.symbols})
            solved = linear_in(entry.text, entry.dims)
        except ArgumentError:  # an expression that a spec has no words for
            return self._dynamic(size.text)
        if all(s in self._alone for s in size.symbols):
            return entry
        if solved is None:
            return self._dynamic(size.text)
        symbol = size.symbols[0]
        self._dims[symbol] = self._solved(size, *solved)
        return Derived(entry.text, {self.names[symbol]: self._dims[symbol]})

    def _dim(self, symbol: str) -> Dim:
        found = self._dims.get(symbol)
        if found is None:
            lo, hi = self.ranges.get(symbol, (None, None))
            found = self._dims[symbol] = Dim(self.names[symbol], min=_least(lo), max=hi)
        return found

    def _solved(self, size: SymbolicSize, name: str, factor: int, constant: int) -> Dim:
        """A name that is no size itself: the range of the size `factor * name + constant`."""
        known = self._dims.get(size.symbols[0])
        lo, hi = self.ranges.get(size.text, (None, None))
        if lo is None and known is not None:
            return known
        least = max(0, math.ceil(((lo or 0) - constant) / factor))
        most = None if hi is None else (hi - constant) // factor
        return Dim(name, min=_least(least), max=most)

    def _dynamic(self, text: str) -> Hint:
        lo, hi = self.ranges.get(text, (None, None))
        return Hint(dims.DYNAMIC, _least(lo), hi)

    def example(self) -> dict[Place, int]:
        """Sizes that the program allows: those of its own example, where they are known."""
        values = {s.text: s.hint for s in self.sizes.values() if s.text in s.symbols}
        chosen: dict[str, int] = {}
        for symbol in self.names:
            hint = values.get(symbol)
            lo, hi = self.ranges.get(symbol, (None, None))
            chosen[symbol] = hint if hint is not None else _within(lo, hi)
        return {
            place: size.hint if size.hint is not None else size.value(chosen)
            for place, size in self.sizes.items()
        }


def _least(bound: int | None) -> int | None:
    """A lower bound that says something of a size."""
    return bound if bound is not None and bound > 0 else None


def _within(lo: int | None, hi: int | None) -> int:
    least = max(lo or 0, 4)
    return least if hi is None else min(least, hi)
