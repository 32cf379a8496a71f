"""The symbols of an export: one for each name and each unnamed dynamic size of the spec.

A name that is the whole spec of some size is a symbol, bound to the first such size. A name that
occurs only inside expressions is solved for, which requires a linear expression. Every other
occurrence is a relation of the input contract.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyshape.errors import ConstraintError
from anyshape.export.branches.branch_env import BranchEnv
from anyshape.export.spec import dim as dims
from anyshape.export.spec.dim import Derived, Dim, Hint, linear_in, renamed
from anyshape.expr import Expr
from anyshape.expr.text.parse import parse
from anyshape.expr.text.show import show
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.size import plain
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED, Known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.env import Env
    from anyshape.export.spec.dynamic_shapes import Spec
    from anyshape.trace.argument.size_chooser import Chosen, Spot


class SizeSymbols:
    """The `SizeChooser` of an export; `values` replace those of the example.

    With `is_backed`, sizes that the spec declares to be unbacked have values too. Inputs are
    `separate`: it means nothing that the example passes one tensor twice.
    """

    separate = True

    def __init__(self, spec: Spec, values: dict[str, int], *, is_backed: bool = False) -> None:
        self.spec = spec
        self.is_backed = is_backed
        self.values = values
        self.named: dict[str, Any] = {}
        self.bound: set[str] = set()
        self.env: Env | None = None

    def prepare(self, env: Env, sizes: Mapping[tuple[int, int | None], Any]) -> None:
        """Make the symbols of all names, before the first size is chosen."""
        self.env = env
        alone: dict[str, int] = {}
        inside: dict[str, tuple[Derived, int]] = {}
        for place, entry in self.spec.entries.items():
            value = sizes[place]
            if isinstance(entry, Dim):
                alone.setdefault(entry.name, value)
            elif isinstance(entry, Derived):
                for name in entry.dims:
                    inside.setdefault(name, (entry, value))
        for name, d in self.spec.names.items():
            if name in alone:
                hint = self.values.get(name, alone[name])
            else:
                hint = self.values.get(name, self._solved(name, *inside[name]))
            made = env.backed(hint, source=name, min=d.min or 0, max=d.max)
            self.named[name] = SymInt(made, env)
            if d.max is None and isinstance(env, BranchEnv):
                env.unbounded.update(names_of(made))

        if not self.values:
            self._need_example(sizes)

    def _need_example(self, sizes: Mapping[tuple[int, int | None], Any]) -> None:
        """Raise if a size of the example is not what the spec says by the other sizes."""
        for place, entry in self.spec.entries.items():
            if isinstance(entry, Dim):
                text, wanted = entry.name, self.named[entry.name].expr.hint
            elif isinstance(entry, Derived):
                text, wanted = entry.text, self._expression(entry).hint
            else:
                continue
            if wanted != sizes[place]:
                values = [f"{n} is {s.expr.hint}" for n, s in self.named.items() if n in entry.dims]
                raise ConstraintError(
                    f"{self.spec.places[place]} is {sizes[place]} in the example, and {text} in the"
                    f" spec is {wanted}",
                    why=", ".join(values),
                    fix="give an example that the spec allows, or another name",
                    code="AS203",
                )

    def _solved(self, name: str, entry: Derived, value: int) -> int:
        found = linear_in(entry.text, entry.dims)
        if found is None:
            as_one = "_".join(re.findall(r"\w+", entry.text))
            raise ConstraintError(
                f"{name} occurs only in {entry.text!r}, which cannot be solved for it",
                fix=f"name {name} itself as the size of some dimension, or write"
                f' "{as_one}" if that is one name',
                code="AS203",
            )
        _, factor, constant = found
        if (value - constant) % factor or value < constant:
            raise ConstraintError(
                f"a size of {value} in the example is not {entry.text}",
                why=f"no {name} makes it {value}",
                fix=f"give an example whose size is {entry.text} for some {name}, as"
                f" {constant + 2 * factor} is for {name} = 2",
                code="AS203",
            )
        return (value - constant) // factor

    def __call__(self, spot: Spot) -> Chosen:
        """The choice for a size or number among the inputs."""
        entry = self.spec.entry(spot.leaf, spot.dim)
        if isinstance(entry, int):
            return STATIC
        if isinstance(entry, Hint):
            if entry.kind == dims.STATIC:
                return STATIC
            known: dict[str, Any] = {"min": entry.min, "max": entry.max}
            if entry.kind == dims.UNBACKED and not self.is_backed:
                return UNBACKED, {k: v for k, v in known.items() if v is not None}
            if spot.dim is not None and known["min"] is None:
                known["min"] = 0
            hint = self.values.get(spot.source, spot.value)
            return BACKED, {"hint": hint, **{k: v for k, v in known.items() if v is not None}}
        if isinstance(entry, Dim):
            first = entry.name not in self.bound
            self.bound.add(entry.name)
            return Known(self.named[entry.name], binds=first)
        size, unbound = self._derived(entry)
        if unbound is not None:
            self.bound.add(unbound)
            solved = linear_in(entry.text, entry.dims)
            assert solved is not None  # `prepare` raises if it cannot be solved
            name, factor, constant = solved
            symbol = self.named[name]
            return Known(size, binds=True, symbol=symbol, factor=factor, constant=constant)
        return Known(size, binds=False)

    def _derived(self, entry: Derived) -> tuple[Any, str | None]:
        """The size of a derived entry, and the name in it that this size must bind."""
        assert self.env is not None
        found = self._expression(entry)
        names = {n: self.named[n] for n in entry.dims}
        alone = {e.name for e in self.spec.entries.values() if isinstance(e, Dim)}
        unbound = [n for n in names if n not in alone and n not in self.bound]
        return plain(SymInt(found, self.env)), unbound[0] if unbound else None

    def _expression(self, entry: Derived) -> Expr:
        """A derived entry over the symbols of its names."""
        assert self.env is not None
        names = {n: show(self.named[n].expr) for n in entry.dims}
        found = parse(self.env.pool, renamed(entry.text, names))
        assert type(found) is Expr
        return found
