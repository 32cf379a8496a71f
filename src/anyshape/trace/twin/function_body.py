"""The body of a function within a twin: its keywords are born, and a generator tells of its end.

Whether a generator is still to be closed matters where this runs code: a `yield` within `with`, or
within a `try` that ends with `finally` or handles `GeneratorExit`. Such a body calls
`generator_starts` first and `generator_ends` last, however it is left.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.twin.hook import hook
from anyshape.trace.twin.syntax_node import children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_ENDS: Final = "generator_ends"
_YIELDS: Final = (ast.Yield, ast.YieldFrom)


def function_body(n: Any, statements: Any, *, may_yield: bool = True) -> list[ast.stmt]:
    """The statements of the twin of a function; `statements` rewrites those of the user's.

    `may_yield` is false where the function is known to be no generator.
    """
    first = n.body[0]
    leaves_open = may_yield and _yields_within(n.body)
    body: list[ast.stmt] = statements(n.body)
    if n.args.kwarg is not None:
        named = ast.Name(n.args.kwarg.arg, ast.Load())
        body.insert(0, ast.copy_location(ast.Expr(hook("born", named)), first))
    if leaves_open:
        starts = ast.copy_location(ast.Expr(hook("generator_starts")), first)
        ends = ast.copy_location(ast.Expr(hook(_ENDS)), first)
        body = [starts, ast.copy_location(ast.Try(body, [], [], [ends]), first)]
    return body


def _yields_within(body: Iterable[ast.AST]) -> bool:
    """Whether a function may be left suspended in a block with code that runs when it is closed."""
    blocks = filter(_runs_when_closed, _own(body))
    return any(isinstance(node, _YIELDS) for block in blocks for node in _own([block]))


def _runs_when_closed(node: ast.AST) -> bool:
    if isinstance(node, ast.Try):
        return bool(node.finalbody) or any(_takes_exit(handler.type) for handler in node.handlers)
    return isinstance(node, ast.With)


def _takes_exit(kind: ast.expr | None) -> bool:
    """Whether a handler may be one for `GeneratorExit`."""
    if isinstance(kind, ast.Tuple):
        return any(map(_takes_exit, kind.elts))
    known = getattr(builtins, kind.id, None) if isinstance(kind, ast.Name) else None
    return not (isinstance(known, type) and issubclass(known, Exception))


def is_told_of(code: CodeType) -> bool:
    """Whether a generator tells of its end."""
    return _ENDS in code.co_names


def _own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions within it."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if not isinstance(node, _SCOPES):
            yield node
            todo += children(node)
