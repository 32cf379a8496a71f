# ruff: noqa: D102, N802  the protocol says what each method does; ast names the visitors
"""sympy: assumptions on symbols, no facts between them.

A question is asked of the expanded difference of the two sides, through `is_zero` and
`is_nonnegative`; a bare relation of sympy answers less. sympy's cache is one for the process, so a
session starts by clearing it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy
from sympy.core.cache import clear_cache

from benchmarks.adapters import Connectives, Session, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Relation(NamedTuple):
    """`difference >= 0` or `difference == 0`."""

    difference: Any
    equal: bool


class Adapter(Session):
    """Integer symbols with a sign."""

    title = f"sympy {sympy.__version__}"

    def __init__(self) -> None:
        clear_cache()
        self.count = 0

    def unbacked(self) -> Any:
        self.count += 1
        return sympy.Symbol(f"u{self.count}", integer=True)

    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        if hi is not None or lo < 0:
            raise Unsupported
        self.count += 1
        sign = {"positive": True} if lo else {"nonnegative": True}
        return sympy.Symbol(f"u{self.count}", integer=True, **sign)

    def holds(self, condition: Any) -> object:
        difference, equal = condition
        expanded = sympy.expand(difference)
        return expanded.is_zero if equal else expanded.is_nonnegative

    def replace(self, name: str, by: Any, numbers: Mapping[str, Any]) -> None:
        self.replacement = {numbers[name]: by}

    def reread(self, number: Any) -> Any:
        return number.xreplace(self.replacement)

    def compiled(self, text: str, names: str) -> Callable[..., Any]:
        tree = Relations().visit(ast.parse(text, mode="eval"))
        source = f"lambda {', '.join(names.split())}: {ast.unparse(tree)}"
        function: Callable[..., Any] = eval(source, self.vocabulary())
        return function

    def vocabulary(self) -> dict[str, Any]:
        return {
            "max": sympy.Max,
            "min": sympy.Min,
            "at_least": lambda a, b: Relation(a - b, False),
            "equal": lambda a, b: Relation(a - b, True),
        }


class Relations(Connectives):
    """Comparisons become calls: `==` of sympy is equality of structure."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        raise Unsupported

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        left, op, right = node.left, node.ops[0], node.comparators[0]
        if isinstance(op, ast.NotEq):
            raise Unsupported
        if isinstance(op, ast.Lt | ast.LtE):
            left, right = right, left
        if isinstance(op, ast.Lt | ast.Gt):
            left = ast.BinOp(left, ast.Sub(), ast.Constant(1))
        name = "equal" if isinstance(op, ast.Eq) else "at_least"
        return ast.Call(ast.Name(name, ast.Load()), [left, right], [])
