"""A function as Python whose calls are routed: what it calls may be compiled in turn."""

from __future__ import annotations

import ast
import types
from typing import Any

from anyshape.compile.pieces.outline import CALLEE, Routed, can_cut
from anyshape.trace.twin.private_name import PrivateNames
from anyshape.trace.twin.source import compiled, source_of
from anyshape.trace.twin.twin import owner_of


def routed(f: types.FunctionType, callees: Any) -> types.FunctionType | None:
    """The function with its calls through `callees`; None if its source is not to be had."""
    node = source_of(f.__code__)
    if node is None or isinstance(node, ast.Lambda) or not can_cut(node):
        return None
    PrivateNames(owner_of(f.__code__)).visit(node)
    body = [Routed().visit(s) for s in node.body]
    code = with_constants(compiled(node, f.__code__, body), {CALLEE: callees})
    made = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, cells_of(f, code))
    made.__kwdefaults__ = f.__kwdefaults__
    made.__qualname__, made.__module__ = f.__qualname__, f.__module__
    return made


def cells_of(f: types.FunctionType, code: types.CodeType) -> tuple[types.CellType, ...]:
    """The cells of a function for another code with names of its own."""
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return tuple([cells[n] for n in code.co_freevars])


def with_constants(code: types.CodeType, found: dict[Any, Any]) -> types.CodeType:
    """A code in which objects stand for their markers."""
    constants = [
        with_constants(c, found) if isinstance(c, types.CodeType) else _at(c, found)
        for c in code.co_consts
    ]
    return code.replace(co_consts=tuple(constants))


def _at(constant: Any, found: dict[Any, Any]) -> Any:
    return found.get(constant, constant) if type(constant) is bytes else constant
