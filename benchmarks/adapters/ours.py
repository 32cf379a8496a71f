# ruff: noqa: D102  the protocol says what each method does
"""anyshape, the bare engine: `Expr` and `Bool` through `anyshape.env.Env`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from anyshape.env import Env
from anyshape.env.knowledge.equality import form
from anyshape.expr import (
    absolute,
    conj,
    disj,
    eq0,
    floordiv,
    ge0,
    maximum,
    minimum,
    modulo,
    multiply,
    ne0,
)
from benchmarks.adapters import Session

if TYPE_CHECKING:
    from collections.abc import Callable


class Adapter(Session):
    """The engine without wrappers, as the layers above call it."""

    title = "anyshape"

    def __init__(self) -> None:
        self.env = Env()

    # As properties, so that a workload calls the engine's own method and nothing in between.

    @property
    def unbacked(self) -> Any:
        return self.env.unbacked

    @property
    def learn(self) -> Any:
        return self.env.assume

    @property
    def holds(self) -> Any:
        return self.env.decide

    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        return self.env.unbacked(min=lo, max=hi)

    def backed(self, hint: int) -> Any:
        return self.env.backed(hint)

    def fails(self, condition: Any) -> object:
        return self.env.decide(condition) is False

    def reread(self, number: Any) -> Any:
        return form(self.env.knowledge, number)

    def question(self, text: str, names: str) -> Callable[..., object]:
        """The façade's own comparisons, where the text is one."""
        env = self.env
        match ast.parse(text, mode="eval").body:
            case ast.Compare(ast.Name(), [(ast.GtE() | ast.LtE()) as op], [bound]) if _is_int(
                bound
            ):
                k = ast.unparse(bound)
                ask = f"at_least(a, {k})"
                if isinstance(op, ast.LtE):  # as SymInt does: bounds first, then the condition
                    ask = f"a.hi <= {k} or at_least(-a, -({k}))"
                code = f"lambda {', '.join(names.split())}: {ask}"
                asked: Callable[..., object] = eval(code, {"at_least": env.at_least})
                return asked
            case ast.Compare(ast.Name(left), [ast.Eq()], [ast.Name(right)]):
                if f"{left} {right}" == names:
                    return env.equal
        return super().question(text, names)

    def compiled(self, text: str, names: str) -> Callable[..., Any]:
        source = _Calls().expression(ast.parse(text, mode="eval").body)
        function: Callable[..., Any] = eval(
            f"lambda {', '.join(names.split())}: {source}", self.vocabulary()
        )
        return function

    def vocabulary(self) -> dict[str, Any]:
        pool = self.env.pool
        return {
            "all_of": lambda *parts: conj(pool, parts),
            "any_of": lambda *parts: disj(pool, parts),
            "maximum": lambda *parts: maximum(parts),
            "minimum": lambda *parts: minimum(parts),
            "const": pool.const,
            "absolute": absolute,
            "eq0": eq0,
            "floordiv": floordiv,
            "ge0": ge0,
            "modulo": modulo,
            "multiply": multiply,
            "ne0": ne0,
        }


class _Calls:
    """Python text to calls of the expression layer, integers folded into `shift` and `scale`."""

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.BoolOp(op, values):
                name = "all_of" if isinstance(op, ast.And) else "any_of"
                return f"{name}({', '.join(map(self.expression, values))})"
            case ast.Compare(left, [op], [right]):
                return self.relation(left, type(op), right)
            case _:
                return self.symbolic(node)

    def relation(self, left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> str:
        if op in (ast.LtE, ast.Lt):
            left, right = right, left
        difference = self.difference(left, right)
        if op in (ast.Eq, ast.NotEq):
            return f"{'eq0' if op is ast.Eq else 'ne0'}({difference})"
        strict = ".shift(-1)" if op in (ast.Lt, ast.Gt) else ""
        return f"ge0({difference}{strict})"

    def difference(self, left: ast.expr, right: ast.expr) -> str:
        if _is_int(right):
            return self.shifted(self.symbolic(left), f"-({ast.unparse(right)})")
        if _is_int(left):
            return self.shifted(f"(-{self.symbolic(right)})", ast.unparse(left))
        return f"({self.symbolic(left)} - {self.symbolic(right)})"

    @staticmethod
    def shifted(of: str, by: str) -> str:
        return of if by in ("0", "-(0)") else f"{of}.shift({by})"

    def symbolic(self, node: ast.expr) -> str:
        """The text of a symbolic number; a plain integer becomes a constant."""
        if _is_int(node):
            return f"const({ast.unparse(node)})"
        match node:
            case ast.Name(name):
                return name
            case ast.UnaryOp(ast.USub(), operand):
                return f"(-{self.symbolic(operand)})"
            case ast.BinOp(left, op, right):
                return self.binary(left, type(op), right)
            case ast.Call(ast.Name(name), args):
                called = {"max": "maximum", "min": "minimum", "abs": "absolute"}[name]
                return f"{called}({', '.join(map(self.symbolic, args))})"
        raise ValueError(ast.unparse(node))

    def binary(self, left: ast.expr, op: type[ast.operator], right: ast.expr) -> str:
        if op in (ast.Add, ast.Mult) and _is_int(left):
            left, right = right, left
        if op is ast.Mult and _is_int(right):
            return f"{self.symbolic(left)}.scale({ast.unparse(right)})"
        if op is ast.Add and _is_int(right):
            return self.shifted(self.symbolic(left), ast.unparse(right))
        if op is ast.Sub and (_is_int(left) or _is_int(right)):
            return self.difference(left, right)
        if op in (ast.Add, ast.Sub):
            sign = "+" if op is ast.Add else "-"
            return f"({self.symbolic(left)} {sign} {self.symbolic(right)})"
        name = {ast.Mult: "multiply", ast.FloorDiv: "floordiv", ast.Mod: "modulo"}[op]
        return f"{name}({self.symbolic(left)}, {self.symbolic(right)})"


def _is_int(node: ast.expr) -> bool:
    match node:
        case ast.Constant(int()):
            return True
        case ast.Name(name):
            return name.isupper()
        case ast.UnaryOp(_, operand):
            return _is_int(operand)
        case ast.BinOp(left, _, right):
            return _is_int(left) and _is_int(right)
    return False
