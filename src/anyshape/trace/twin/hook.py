"""Calls of hooks, as syntax, and the hooks of operators by their syntax."""

from __future__ import annotations

import ast
from typing import Final

HOOKS: Final = "_anyshape_"
BINARY: Final = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitOr: "or_",
    ast.BitAnd: "and_",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
COMPARED: Final = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Is: "is_",
    ast.IsNot: "is_not",
    ast.In: "contains",
    ast.NotIn: "lacks",
}
UNARY: Final = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_LOAD: Final = ast.Load()


def hook_itself(name: str) -> ast.Attribute:
    """A hook that Python calls."""
    return ast.Attribute(ast.Name(HOOKS, _LOAD), name, _LOAD)


def hook(name: str, *args: ast.expr) -> ast.Call:
    """A call of a hook."""
    made = ast.Call(hook_itself(name), list(args), [])
    return ast.copy_location(made, args[0]) if args and hasattr(args[0], "lineno") else made


def around(n: ast.stmt, before: ast.Call, *after: ast.Call) -> list[ast.stmt]:
    """A statement between calls of hooks."""
    first, *others = [ast.copy_location(ast.Expr(call), n) for call in (before, *after)]
    return [first, n, *others]


def set_display(n: ast.Set) -> ast.Call:
    """A display of a set, for whose parts with stars Python does not ask how long they may be."""
    for part in n.elts:
        if isinstance(part, ast.Starred):
            part.value.func.attr = "iterated"  # type: ignore[attr-defined]
    is_plain = all(isinstance(e, ast.Constant) for e in n.elts)
    return hook("born", n) if is_plain else hook("new_set", ast.List(n.elts, _LOAD))


def hashed(key: ast.expr) -> ast.expr:
    """A key of a display or a comprehension, which Python hashes and compares by itself."""
    return key if isinstance(key, ast.Constant | ast.Starred) else hook("hashed", key)
