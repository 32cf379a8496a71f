"""Operands of `and` and `or` that can be evaluated although Python might not: they do nothing and
cannot fail.

`n > 1 and mask is None` is False wherever `mask` is not None, whatever `n` is. A symbolic truth is
therefore decided only after the quiet operands that follow it were looked at.
"""

from __future__ import annotations

import ast
import dis
import inspect
import opcode
from types import CodeType
from typing import Any, Final

VALUE: Final = "value"  # an operand that is evaluated where the truth is
ANSWER: Final = "answer"  # the path of a function without parameters, from a global name on
_REST: Final = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
_NAMING: Final = {  # instructions that make names unbound, or assign those that are not local
    opcode.opmap[name]
    for name in (
        "DELETE_FAST", "DELETE_DEREF", "DELETE_NAME", "DELETE_GLOBAL", "STORE_NAME", "STORE_GLOBAL",
    )
}  # fmt: skip


class Quiet:
    """Such operands in the outermost body of one function."""

    def __init__(self, code: CodeType) -> None:
        count = code.co_argcount + code.co_kwonlyargcount
        count += sum(bool(code.co_flags & flag) for flag in _REST)
        unbound, self._local = _assigned(code)
        self._bound = set(code.co_varnames[:count]) - unbound

    def operand(self, n: ast.expr) -> ast.Tuple | None:
        """A copy of an operand: how it is to be read, whether it is negated, and what it is."""
        is_negated = isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not)
        inner: Any = n.operand if isinstance(n, ast.UnaryOp) and is_negated else n
        if isinstance(inner, ast.Call):
            path = path_of(inner)
            if path is None or path[0] in self._local:
                return None
            names = [ast.Constant(name) for name in path]
            return _tuple(ANSWER, is_negated, ast.Tuple([*names], ast.Load()))
        copied = self._value(inner)
        return None if copied is None else _tuple(VALUE, is_negated, copied)

    def _value(self, n: ast.expr) -> ast.expr | None:
        match n:
            case ast.Constant(bool()):
                return ast.Constant(n.value)
            case ast.Name() if n.id in self._bound:
                return ast.Name(n.id, ast.Load())
            case ast.Compare(ast.Name() as name, [ast.Is() | ast.IsNot() as op], [ast.Constant()]):
                if name.id in self._bound and n.comparators[0].value is None:  # type: ignore[attr-defined]
                    return ast.Compare(ast.Name(name.id, ast.Load()), [op], [ast.Constant(None)])
        return None


def path_of(n: ast.Call) -> tuple[str, ...] | None:
    """The names in `a.b.f()`."""
    if n.args or n.keywords:
        return None
    names: list[str] = []
    f = n.func
    while isinstance(f, ast.Attribute):
        names.append(f.attr)
        f = f.value
    if not isinstance(f, ast.Name):
        return None
    names.append(f.id)
    return None if any(name.startswith("__") for name in names) else tuple(reversed(names))


def _tuple(kind: str, is_negated: bool, what: ast.expr) -> ast.Tuple:
    return ast.Tuple([ast.Constant(kind), ast.Constant(is_negated), what], ast.Load())


def _assigned(code: CodeType) -> tuple[set[str], set[str]]:
    """The names that a function, or one within it, may make unbound, and those that it assigns."""
    unbound: set[str] = set()
    stored = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    if not _NAMING.isdisjoint(code.co_code[::2]):
        for i in dis.get_instructions(code):
            if i.opcode in _NAMING:
                stored.add(i.argval)
                if i.opname.startswith("DELETE"):
                    unbound.add(i.argval)
    for c in code.co_consts:
        if isinstance(c, CodeType):
            inner = _assigned(c)
            unbound |= inner[0]
            stored |= inner[1]
    return unbound, stored
