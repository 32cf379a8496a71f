"""Expressions as Python source that computes them, for generated code.

`source` writes one expression; `function` compiles a function of positional values. The text uses
only names given by the caller and the builtins `max`, `round`, `abs`, `float` and the module `math`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from anyshape.expr import boolean
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import SYMBOL
from anyshape.expr.real import CONST
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyshape.expr.node import Operand

_INTEGER: Final = {
    "floordiv": "({} // {})",
    "power": "({} ** {})",
    "bit_and": "({} & {})",
    "bit_or": "({} | {})",
    "bit_xor": "({} ^ {})",
    "group": "{}",
    "choice": "({1} if {0} else 0)",
    "floor": "math.floor({})",
    "ceil": "math.ceil({})",
    "round": "round({})",
    "trunc": "math.trunc({})",
}
_REAL: Final = {
    "float": "float({})",
    "ratio": "({} / {})",
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "div": "({} / {})",
    "neg": "(-{})",
    "abs": "abs({})",
    "sqrt": "math.sqrt({})",
    "pow": "math.pow({}, {})",
}
_RELATION: Final = {boolean.GE: ">=", boolean.EQ: "==", boolean.NE: "!="}


def source(operand: Operand, names: Mapping[str, str]) -> str:
    """The Python text of `operand`, each symbol written as `names` says."""
    texts: dict[object, str] = {}
    for node in nodes_below((operand,)):
        if type(node) is Atom:
            texts[node] = _atom(node, texts, names)
        elif type(node) is Bool:
            texts[node] = _condition(node, texts)
        else:
            texts[node] = _real(node, texts, names)
    return _operand(operand, texts)


def function(operands: Sequence[Operand], symbols: Sequence[str]) -> Callable[..., Any]:
    """A function of the values of `symbols`, in order, that returns the tuple of the operands."""
    names = {symbol: f"v{i}" for i, symbol in enumerate(symbols)}
    body = "".join(f"{source(o, names)}, " for o in operands)
    code = f"lambda {', '.join(names.values())}: ({body})"
    made: Callable[..., Any] = eval(code, {"math": math})  # noqa: S307  our own text, no user input
    return made


def _operand(operand: Any, texts: dict[object, str]) -> str:
    if type(operand) is not Expr:
        return texts[operand]
    pieces = []
    for atom, k in terms(operand).items():
        pieces.append(texts[atom] if k == 1 else f"{k} * {texts[atom]}")
    if operand.c or not pieces:
        pieces.append(str(operand.c))
    text = " + ".join(pieces)
    return text if text.isalnum() else f"({text})"


def _atom(atom: Atom, texts: dict[object, str], names: Mapping[str, str]) -> str:
    if atom.op is SYMBOL:
        return names[atom.name]
    args = [_operand(a, texts) for a in atom.args]
    if atom.op.name == "maximum":
        return f"max(0, {', '.join(args)})"
    if atom.op.name == "product":
        factors = [
            f"({a}) ** {k}" if k > 1 else f"({a})" for a, k in zip(args, atom.data, strict=True)
        ]
        return f"({' * '.join(factors)})"
    return _INTEGER[atom.op.name].format(*args)


def _condition(b: Bool, texts: dict[object, str]) -> str:
    if b.op in (boolean.TRUE, boolean.FALSE):
        return str(b.op == boolean.TRUE)
    if b.op in _RELATION:
        return f"({_operand(b.expr, texts)} {_RELATION[b.op]} 0)"
    if b.op == boolean.REAL:
        sign, left, right = b.args
        return f"({texts[left]} {sign} {texts[right]})"
    if b.op == boolean.NOT:
        return f"(not {texts[b.args[0]]})"
    return f"({f' {b.op} '.join(texts[part] for part in b.args)})"


def _real(r: Any, texts: dict[object, str], names: Mapping[str, str]) -> str:
    if r.op == CONST:
        return f"float.fromhex({r.args[0].hex()!r})"
    if r.op == REAL_SYMBOL:
        return names[r.args[0]]
    return _REAL[r.op].format(*(_operand(a, texts) for a in r.args))
