"""The code of twins, made once per process and function.

A twin has the parameters, the free variables and the lines of its function, so tracebacks and user
sites are the same.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.twin.function_body import function_body
from anyshape.trace.twin.hook import HOOKS
from anyshape.trace.twin.quiet_operand import Quiet
from anyshape.trace.twin.rewrite import TEMPORARY, NoTwinError, Rewrite
from anyshape.trace.twin.source import compiled, source_of

if TYPE_CHECKING:
    from types import CodeType

    from anyshape.trace.twin.source import Function

_UNFIT: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_twins: dict[tuple[CodeType, str], CodeType | None] = {}  # equal codes may be of different files
_made: set[int] = set()  # the ids of codes of twins, which `_kept` keeps alive
_kept: list[CodeType] = []
_behind: dict[int, CodeType] = {}  # by the id of a code in `_kept`


def twin_code(code: CodeType) -> CodeType | None:
    """The code of the twin of a function; None if it cannot have one."""
    key = code, code.co_filename
    try:
        return _twins[key]
    except KeyError:
        pass
    made = _twin(code)
    return _twins.setdefault(key, made)


def is_twin(code: CodeType) -> bool:
    """Whether a code belongs to a twin, or to a function that a twin defines."""
    return id(code) in _made


def running() -> dict[CodeType, int]:
    """The codes of the twins that run in this thread, with the instruction that each is at."""
    found: dict[CodeType, int] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_twin(frame.f_code):
            found[frame.f_code] = frame.f_lasti
        frame = frame.f_back
    return found


def innermost_frame() -> types.FrameType | None:
    """The frame of the innermost twin that runs in this thread."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not is_twin(frame.f_code):
        frame = frame.f_back
    return frame


def local_variables() -> dict[str, Any]:
    """The variables of the user's in the innermost twin that runs in this thread."""
    frame = innermost_frame()
    found = {} if frame is None else frame.f_locals
    return {name: x for name, x in found.items() if not name.startswith(TEMPORARY)}


def _twin(code: CodeType) -> CodeType | None:
    if code.co_flags & _UNFIT:
        return None
    node = source_of(code)
    if node is None:
        return None
    try:
        made = compiled(node, code, _body(node, code))
    except (NoTwinError, SyntaxError, ValueError, RecursionError, StopIteration):
        return None
    if set(made.co_freevars) - set(code.co_freevars):
        return None
    _register(made, code)
    return made


def code_behind(code: CodeType) -> CodeType | None:
    """The user's code behind that of a function that a twin defines, if there is only one."""
    return _behind.get(id(code))


def _body(node: Function, code: CodeType) -> list[ast.stmt]:
    rewrite = Rewrite(code.co_freevars, owner_of(code), Quiet(code))
    if isinstance(node, ast.Lambda):
        value = rewrite.visit(node.body)
        return [ast.copy_location(ast.Return(value), node.body)]
    is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
    return function_body(node, rewrite.statements, may_yield=is_generator)


def owner_of(code: CodeType) -> str:
    """The name of the class that a function was defined in."""
    parts = code.co_qualname.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""


def _register(code: CodeType, real: CodeType) -> None:
    made, defined = _codes(code), _codes(real)[1:]
    _kept.extend(made)
    _made.update(map(id, made))
    counts = Counter(map(_place, defined)), Counter(map(_place, made[1:]))
    by_place = {_place(c): c for c in defined}
    for c in made[1:]:
        if counts[0][_place(c)] == counts[1][_place(c)] == 1:
            _behind[id(c)] = by_place[_place(c)]


def _codes(code: CodeType) -> list[CodeType]:
    """A code, and those of the functions that are defined in it."""
    found = [code]
    for made in found:
        found += [c for c in made.co_consts if isinstance(c, types.CodeType)]
    return found


def _place(code: CodeType) -> tuple[str, int, int]:
    return code.co_name, code.co_firstlineno, code.co_argcount


__all__ = ["HOOKS", "code_behind", "is_twin", "owner_of", "running", "twin_code"]
