"""The asker of an environment whose expressions users hold as `SymInt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.env.asker import Asker
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from anyshape.expr import Expr


class NumberAsker(Asker):
    """Finds the expression of a `SymInt` among the user's variables."""

    __slots__ = ()

    def expr_of(self, value: object) -> Expr | None:
        """The expression that a variable of the user's holds, if it holds one."""
        return value.expr if type(value) is SymInt else None
