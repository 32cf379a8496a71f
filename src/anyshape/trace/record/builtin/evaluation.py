"""`eval(text)`: an expression as a function of the variables that it names, which runs as a twin.

What looks at the frame, or assigns a variable of it, is refused. So are namespaces that are given,
and expressions with functions or comprehensions inside, which do not see the variables.
"""

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.twin.source import register_source
from anyshape.trace.twin.twin import innermost_frame, local_variables

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_OF_FRAMES: Final = frozenset(("locals", "globals", "vars", "dir", "super", "eval", "exec"))
_SCOPED: Final = (
    ast.NamedExpr, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
_FILE: Final = "<eval>"


def evaluate(calls: Calls, recorder: Recorder, *args: Any) -> Any:
    """The value of an expression in the frame of the innermost twin."""
    frame = innermost_frame()
    if len(args) != 1 or type(args[0]) is not str or frame is None:
        raise recorder.refusal("eval() is called")
    tree = ast.parse(args[0].lstrip(" \t"), _FILE, "eval")
    parts = list(ast.walk(tree))
    names = {n.id for n in parts if isinstance(n, ast.Name)}
    if not names.isdisjoint(_OF_FRAMES) or any(isinstance(n, _SCOPED) for n in parts):
        raise recorder.refusal("eval() of an expression with scopes of its own is called")
    variables = local_variables()
    given = sorted(names & variables.keys())
    arguments = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
    function = ast.Lambda(arguments, tree.body)
    whole = ast.fix_missing_locations(ast.Expression(ast.copy_location(function, tree.body)))
    code: Any = compile(whole, _FILE, "eval")
    (own,) = (c for c in code.co_consts if isinstance(c, types.CodeType))
    register_source(own, function)
    space = frame.f_globals
    f = types.FunctionType(own, getattr(space, "real", space))
    return calls.ready(recorder.outside(f))(*[variables[name] for name in given])
