"""Symbols: who they are, where they come from. What is known of them is in the knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.env.written import assigned_name

if TYPE_CHECKING:
    from anyshape.env.site import Site
    from anyshape.expr import Expr

BACKED: Final = "backed"
UNBACKED: Final = "unbacked"


class Symbol(NamedTuple):
    """One symbol.

    A backed one has a hint, the value seen while tracing, which may decide a branch and is then
    guarded. An unbacked one may have an optimization hint, which never decides anything. `source`
    is the text that computes the value at run time, such as `x.size(0)`; empty when unnamed.
    """

    name: str
    kind: str
    source: str
    hint: int | None
    optimization_hint: int | None
    site: Site | None
    expr: Expr

    @property
    def label(self) -> str:
        """How to show the symbol to a user."""
        return self.source or self.name

    @property
    def known_as(self) -> str:
        """The source, or else the variable that it was assigned to, which may hold others too, or
        else the name.
        """
        return self.source or assigned_name(self.site) or self.name
