"""Expressions as Python source that computes them, for generated code.

`source` writes one expression. Its text uses only names given by the caller, the builtins `max`,
`sum`, `round`, `abs`, `float` and the names in `SCOPE`. It is as long as the expression written
out, and where that nests over 200 levels, Python will not read it. `function` compiles a function
of positional values that computes every part once and has no such limits.

Both give what `anyshape.expr.evaluate` gives, wherever that gives a value.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import UnsupportedError
from anyshape.expr.node import Expr
from anyshape.expr.table import op_math, op_numpy
from anyshape.expr.table.op import SYMBOL, power_of
from anyshape.expr.terms import terms
from anyshape.expr.text.bounded_text import ANY, MAX_TEXT, Layout, Part, write
from anyshape.expr.traverse import nodes_below
from anyshape.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anyshape.expr.node import Operand
    from anyshape.expr.text.bounded_text import Piece

SCOPE: Final[Mapping[str, Any]] = {
    "math": math,
    "math_ops": op_math.VALUES,
    "numpy_ops": op_numpy.VALUES,
    "power_of": power_of,
}
"""What the names in generated text mean."""

LONG_SUM: Final = 100  # Python's compiler recurses over the terms of a sum


def source(operand: Operand, names: Mapping[str, str]) -> str:
    """The Python text of `operand`; `names` has a name or call for each symbol."""
    if type(operand) is Expr and operand.width == 1:
        (piece, *rest) = _sum(operand, names)
        if type(piece) is str and not rest:
            return piece

    def layout(node: Any) -> Layout:
        pieces = _pieces(node, names)
        if {*map(type, pieces)} == {str}:
            return Layout(("".join(pieces),), ANY)  # type: ignore[arg-type]
        return Layout(tuple(pieces), ANY)

    text, is_complete = write(operand, layout, MAX_TEXT)
    if not is_complete:
        raise refused(
            UnsupportedError,
            "an expression too long to write as Python",
            why=f"its text has more than {MAX_TEXT} characters",
            fix="compile it with `function`, which computes shared parts once",
        )
    return text


def function(operands: Sequence[Operand], symbols: Sequence[str]) -> Callable[..., Any]:
    """A function of the values of `symbols`, in order, that returns the tuple of the operands."""
    names = {symbol: f"v{i}" for i, symbol in enumerate(symbols)}
    texts: dict[object, str] = {}

    def text(pieces: Iterable[Piece]) -> str:
        return "".join([p if isinstance(p, str) else refer(p.content) for p in pieces])

    def refer(operand: object) -> str:
        """An operand by the names of the parts that were computed before."""
        return text(_sum(operand, names)) if type(operand) is Expr else texts[operand]

    lines = [f"def made({', '.join(names.values())}):"]
    scope: dict[str, Any] = dict(SCOPE)
    for node in nodes_below(operands):
        op = node.op
        if op is SYMBOL:
            texts[node] = text(_pieces(node, names))
            continue
        if op.by_value:
            scope[f"value_{op.name}"] = op.value
            value = f"value_{op.name}({', '.join(map(refer, node.args))})"
        else:
            value = text(_pieces(node, names))
        texts[node] = name = f"t{len(lines)}"
        lines.append(f" {name} = {value}")
    lines.append(f" return ({''.join(f'{refer(o)}, ' for o in operands)})")
    exec("\n".join(lines), scope)  # our own text, with no name from outside
    made: Callable[..., Any] = scope["made"]
    return made


# ---------------------------------------------------------------------- pieces of each node


def _pieces(node: Any, names: Mapping[str, str]) -> Sequence[Piece]:
    """The text of a node: strings, and the operands that stand between them."""
    if type(node) is Expr:
        return _sum(node, names)
    if node.op is SYMBOL:
        return (names[node.name],)
    pieces: Sequence[Piece] = node.op.python(*node.args, *node.data)
    return pieces


def _sum(e: Expr, names: Mapping[str, str]) -> list[Piece]:
    of_e = terms(e)
    if not of_e:
        return [f"({e.c})" if e.c < 0 else str(e.c)]
    if len(of_e) == 1 and not e.c and 1 in of_e.values():
        (atom,) = of_e
        return [names[atom.name] if atom.op is SYMBOL else Part(atom, ANY)]
    start, sign, end = ("sum((", ", ", "))") if len(of_e) > LONG_SUM else ("(", " + ", ")")
    pieces: list[Piece] = []
    for atom in sorted(of_e, key=attrgetter("index")):
        k = of_e[atom]
        before = sign if pieces else start
        pieces += (
            before if k == 1 else f"{before}{k} * ",
            names[atom.name] if atom.op is SYMBOL else Part(atom, ANY),
        )
    pieces.append(f"{sign}{e.c}{end}" if e.c else end)
    return pieces
