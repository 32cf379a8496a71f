"""Calls of hooks, as syntax."""

from __future__ import annotations

import ast
from typing import Final

HOOKS: Final = "_anyshape_"
_LOAD: Final = ast.Load()


def hook(name: str, *args: ast.expr) -> ast.Call:
    """A call of a hook."""
    function = ast.Attribute(ast.Name(HOOKS, _LOAD), name, _LOAD)
    made = ast.Call(function, list(args), [])
    return ast.copy_location(made, args[0]) if args and hasattr(args[0], "lineno") else made


def hashed(key: ast.expr) -> ast.expr:
    """A key of a display or a comprehension, which Python hashes and compares by itself."""
    return key if isinstance(key, ast.Constant | ast.Starred) else hook("hashed", key)
