"""`Op`: one row of the table of ops, with all that the package knows about an op.

Evaluation, bounds, hints, text, parsing, Python source, z3 and rebuilding read the row and nothing
else, so an op is added by adding its row (see the README of this folder). The rows are in
`op_integer.py`, `op_condition.py` and `op_real.py`; `op.py` finds them by name.

The functions of a row take the operands of a node and then its `data`, what is part of the op
itself: the exponents of a product, the sign of a comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from anyshape.expr.table.template import Template
from anyshape.expr.text.bounded_text import ATOMIC, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.expr.text.bounded_text import Piece

    Constructor = TypeVar("Constructor", bound=Callable[..., Any])

INTEGER: Final = "i"
REAL: Final = "r"
CONDITION: Final = "b"


class Op:
    """One row; compared by identity.

    name      unique, and an identifier
    takes     the kind of each operand: `i` integer, `r` real, `n` integer or real, `b` condition;
              the last kind may be followed by `*`: that one, any number of times
    gives     the kind of the result: `i`, `r` or `b`
    value     the value, from the operands' values; raises where Python does
    bounds    what holds every value, from the operands' bounds: an `Interval` of `Interval`s, and
              for reals a `Span` of `Span`s; not for conditions
    truth     of a condition: True or False where the operands' spans decide it, else None
    partial   whether Python may raise for some operands within the bounds; never, if not given
    text      how it is written: a template for `show` and `parse`, or a function that returns a
              `Layout`; without one it is the call `name(operands)`, which `parse` reads by itself
    level     how tightly the text binds
    infix     the sign by which `parse` finds an op of two operands
    python    how Python computes it: a template, or a function that returns pieces of text
    by_value  whether compiled functions call `value`, where Python's own operator has no limit
    z3        the term from the builder of `z3_bridge` and the operands' terms; where it is missing
              or returns None, z3 sees an unknown
    build     the constructor; `builds` sets it. Without one, equal operands are the only normal
              form, and constant operands fold
    """

    __slots__ = (
        "bounds",
        "build",
        "by_value",
        "gives",
        "infix",
        "is_call",
        "layout",
        "level",
        "name",
        "partial",
        "python",
        "takes",
        "truth",
        "value",
        "z3",
    )

    def __init__(  # noqa: PLR0913  the columns of the table
        self,
        name: str,
        takes: str,
        gives: str,
        *,
        value: Callable[..., Any],
        python: str | Callable[..., Sequence[Piece]],
        bounds: Callable[..., Any] | None = None,
        truth: Callable[..., bool | None] | None = None,
        partial: Callable[..., bool] | None = None,
        text: str | Callable[..., Layout] | None = None,
        level: int = ATOMIC,
        infix: str = "",
        by_value: bool = False,
        z3: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.takes = takes
        self.gives = gives
        self.value = value
        self.bounds: Callable[..., Any] = bounds or _unbounded
        self.truth = truth
        self.partial = partial
        self.is_call = text is None
        self.layout = _layout(name + "({*, })" if text is None else text, level)
        self.level = level
        self.infix = infix
        self.python = _pieces(python)
        self.by_value = by_value
        self.z3 = z3
        self.build: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _unbounded(*_bounds: Any) -> Any:
    raise LookupError("an op without bounds")


def _layout(text: str | Callable[..., Layout], level: int) -> Callable[..., Layout]:
    if not isinstance(text, str):
        return text
    template = Template(text)
    return lambda *operands: Layout(tuple(template.fill(operands)), level)


def _pieces(
    python: str | Callable[..., Sequence[Piece]],
) -> Callable[..., Sequence[Piece]]:
    if not isinstance(python, str):
        return python
    template = Template(python)
    return lambda *operands: template.fill(operands)


def builds(op: Op) -> Callable[[Constructor], Constructor]:
    """Make the decorated function the constructor of `op`."""

    def bind(constructor: Constructor) -> Constructor:
        op.build = constructor
        return constructor

    return bind
