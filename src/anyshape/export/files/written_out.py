"""The length of expressions written out in full, as generated code has them.

In a file, an expression refers to its parts by number. Written out, a part appears as often as it
is referred to: if each of n parts mentions the one before it twice, the text has 2**n characters.
The length is computed from the parts in linear time, without writing the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from anyshape.expr.boolean import Bool
from anyshape.expr.node import Expr
from anyshape.expr.real import Real
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.expr.node import Operand

ALLOWANCE: Final = 1 << 18  # characters for any program; each takes about 140 bytes to compile
_OPERATOR: Final = 8  # characters of an operator, a name or a number with its parentheses


@final
class WrittenOut:
    """The total length of the expressions of one program, and of their texts in its file."""

    __slots__ = ("_lengths", "stored", "total")

    def __init__(self, stored: int = 0) -> None:
        self.total = 0
        self.stored = stored
        self._lengths: dict[Any, int] = {}

    @property
    def is_too_long(self) -> bool:
        """Whether generated code would be out of proportion to the file."""
        return self.total > ALLOWANCE + self.stored

    def add(self, operand: Operand) -> None:
        """Count an expression, a condition or a real."""
        lengths = self._lengths
        if any(part not in lengths for part in _parts(operand)):
            for node in nodes_below((operand,)):  # parts before what has them
                if node not in lengths:
                    lengths[node] = _OPERATOR + sum(map(self._length, node.args))
        self.total += self._length(operand)

    def _length(self, operand: Any) -> int:
        return _OPERATOR + sum([_OPERATOR + self._lengths[part] for part in _parts(operand)])


def _parts(operand: Any) -> Iterable[Any]:
    """The atoms of an integer expression; a condition or a real itself."""
    if type(operand) is Expr:
        return terms(operand)
    return (operand,) if type(operand) in (Bool, Real) else ()
