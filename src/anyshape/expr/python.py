"""Expressions as Python source that computes them, for generated code.

`source` writes one expression. Its text uses only names given by the caller, the builtins `max`,
`sum`, `round`, `abs`, `float` and the module `math`; it is as long as the expression written out,
and where that nests over 200 levels, Python will not read it. `function` compiles a function of
positional values that computes every part once and has no such limits.

Both give what `anyshape.expr.evaluate` gives, wherever that gives a value.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from anyshape.errors import UnsupportedError
from anyshape.expr import boolean
from anyshape.expr.boolean import Bool
from anyshape.expr.layout import MAX_TEXT, Layout, Part, write
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import MAXIMUM, POWER, PRODUCT, SYMBOL, power_of
from anyshape.expr.real import CONST
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anyshape.expr.node import Operand

    Piece: TypeAlias = "str | Operand | Atom"

LONG_SUM: Final = 100  # Python's compiler recurses over the terms of a sum

# An operand stands where its number is.
_TEMPLATES: Final[dict[str, tuple[str | int, ...]]] = {
    "floordiv": ("(", 0, " // ", 1, ")"),
    "power": ("(", 0, " ** ", 1, ")"),
    "bit_and": ("(", 0, " & ", 1, ")"),
    "bit_or": ("(", 0, " | ", 1, ")"),
    "bit_xor": ("(", 0, " ^ ", 1, ")"),
    "group": (0,),
    "choice": ("(", 1, " if ", 0, " else 0)"),
    "floor": ("math.floor(", 0, ")"),
    "ceil": ("math.ceil(", 0, ")"),
    "round": ("round(", 0, ")"),
    "trunc": ("math.trunc(", 0, ")"),
    "float": ("float(", 0, ")"),
    "ratio": ("(", 0, " / ", 1, ")"),
    "add": ("(", 0, " + ", 1, ")"),
    "sub": ("(", 0, " - ", 1, ")"),
    "mul": ("(", 0, " * ", 1, ")"),
    "div": ("(", 0, " / ", 1, ")"),
    "neg": ("(-", 0, ")"),
    "abs": ("abs(", 0, ")"),
    "sqrt": ("math.sqrt(", 0, ")"),
    "pow": ("math.pow(", 0, ", ", 1, ")"),
    boolean.GE: ("(", 0, " >= 0)"),
    boolean.EQ: ("(", 0, " == 0)"),
    boolean.NE: ("(", 0, " != 0)"),
    boolean.NOT: ("(not ", 0, ")"),
    boolean.TRUE: ("True",),
    boolean.FALSE: ("False",),
}


def source(operand: Operand, names: Mapping[str, str]) -> str:
    """The Python text of `operand`; `names` has a name or call for each symbol."""
    if type(operand) is Expr and operand.width == 1:
        (piece, *rest) = _sum(operand, names)
        if type(piece) is str and not rest:
            return piece

    def layout(node: Any) -> Layout:
        pieces = list(_pieces(node, names))
        if {*map(type, pieces)} == {str}:
            return Layout(("".join(pieces),), 0)  # type: ignore[arg-type]
        return Layout(tuple([p if type(p) is str else Part(p, 0) for p in pieces]), 0)

    text, is_complete = write(operand, layout, MAX_TEXT)
    if not is_complete:
        raise UnsupportedError(
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
        return "".join([p if type(p) is str else refer(p) for p in pieces])

    def refer(operand: object) -> str:
        """An operand by the names of the parts that were computed before."""
        return text(_sum(operand, names)) if type(operand) is Expr else texts[operand]

    lines = [f"def made({', '.join(names.values())}):"]
    for node in nodes_below(operands):
        if node.op is POWER:
            value = text(("power_of(", *_joined(", ", node.args), ")"))
        else:
            value = text(_pieces(node, names))
        if node.op is SYMBOL or node.op == REAL_SYMBOL:
            texts[node] = value
        else:
            texts[node] = name = f"t{len(lines)}"
            lines.append(f" {name} = {value}")
    lines.append(f" return ({''.join(f'{refer(o)}, ' for o in operands)})")
    scope: dict[str, Any] = {"math": math, "power_of": power_of}
    exec("\n".join(lines), scope)  # our own text, with no name from outside
    made: Callable[..., Any] = scope["made"]
    return made


# ---------------------------------------------------------------------- pieces of each node


def _pieces(node: Any, names: Mapping[str, str]) -> Iterable[Piece]:
    """The text of a node: strings, and the operands that stand between them."""
    kind = type(node)
    if kind is Expr:
        return _sum(node, names)
    op, args = node.op, node.args
    if kind is Atom:
        if op is SYMBOL:
            return (names[node.name],)
        if op is MAXIMUM:
            return ("max(0, ", *_joined(", ", args), ")")
        if op is PRODUCT:
            return _product(node)
        op = op.name
    elif kind is Bool:
        if op == boolean.REAL:
            sign, left, right = args
            return ("(", left, f" {sign} ", right, ")")
        if op in (boolean.AND, boolean.OR):
            return ("(", *_joined(f" {op} ", args), ")")
    elif op == CONST:
        return (f"float.fromhex({args[0].hex()!r})",)
    elif op == REAL_SYMBOL:
        return (names[args[0]],)
    return [p if type(p) is str else args[p] for p in _TEMPLATES[op]]


def _joined(sign: str, operands: Iterable[Piece]) -> list[Piece]:
    pieces: list[Piece] = []
    for operand in operands:
        pieces += (sign, operand)
    return pieces[1:]


def _product(atom: Atom) -> list[Piece]:
    pieces: list[Piece] = []
    for base, exponent in zip(atom.args, atom.data, strict=True):
        pieces += (" * " if pieces else "(", base)
        if exponent != 1:
            pieces.append(f" ** {exponent}")
    pieces.append(")")
    return pieces


def _sum(e: Expr, names: Mapping[str, str]) -> list[Piece]:
    of_e = terms(e)
    if not of_e:
        return [f"({e.c})" if e.c < 0 else str(e.c)]
    if len(of_e) == 1 and not e.c and 1 in of_e.values():
        (atom,) = of_e
        return [names[atom.name] if atom.op is SYMBOL else atom]
    start, sign, end = ("sum((", ", ", "))") if len(of_e) > LONG_SUM else ("(", " + ", ")")
    pieces: list[Piece] = []
    for atom in sorted(of_e, key=attrgetter("index")):
        k = of_e[atom]
        before = sign if pieces else start
        pieces += (
            before if k == 1 else f"{before}{k} * ",
            names[atom.name] if atom.op is SYMBOL else atom,
        )
    pieces.append(f"{sign}{e.c}{end}" if e.c else end)
    return pieces
