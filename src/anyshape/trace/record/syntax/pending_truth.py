"""Symbolic truths before quiet operands of `and` and `or`, and functions that only ask.

A function is a question if it takes nothing, does nothing and answers about the process: one of
torch's, such as `torch.compiler.is_compiling`, or one of Python that gives the answers of others.
"""

from __future__ import annotations

import ast
import functools
import sys
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.symbolic.sym_bool import SymBool
from anyshape.torch_compat.torch_script import is_scripting
from anyshape.trace.record.builtin.torch_call import OPTIMIZERS
from anyshape.trace.twin.quiet_operand import ANSWER, path_of
from anyshape.trace.twin.source import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

    from anyshape.trace.record.call.call import Calls

QUESTIONS: Final = (
    torch.compiler.is_compiling,
    torch.compiler.is_dynamo_compiling,
    torch.compiler.is_exporting,
    is_scripting,
)
_DEPTH: Final = 3  # of functions that give the answers of others


class Questions:
    """The hook for symbolic truths in chains."""

    calls: Calls

    def before(self, o: Any, end: bool, *following: tuple[str, bool, Any]) -> Any:
        """A truth, and the quiet operands that follow it: what all of them give, where that is the
        same for either truth. `end` is what ends the chain.

        `o and False` is False, and `o or True` True, if operands before them are neither.
        """
        if type(o) is not SymBool:
            return o
        frame = sys._getframe(1)
        for kind, is_negated, what in following:
            answer = self._answer(frame, what) if kind == ANSWER else what
            if type(answer) is not bool:
                return o
            if (answer is not is_negated) is end:
                return end
        return o

    def _answer(self, frame: types.FrameType, path: tuple[str, ...]) -> Any:
        """The answer of a question; None for another function, which is not called.

        Optimizers of torch get other answers, which their own frames ask for.
        """
        space: Any = frame.f_globals
        is_optimizer = frame.f_code.co_filename.startswith(OPTIMIZERS)
        if is_optimizer or _found(space.real, path) is None:
            return None
        f = space[path[0]]
        for name in path[1:]:
            f = self.calls.attributes.attribute(f, name)
        return self.calls.ready(f)() if is_question(f) else None


def is_question(f: Any, depth: int = _DEPTH) -> bool:
    """Whether a function does nothing but to answer."""
    if any(f is question for question in QUESTIONS):
        return True
    if type(f) is not types.FunctionType or not depth:
        return False
    asked = _asked(f.__code__)
    if asked is None or any(name not in sys.modules for name in asked.modules.values()):
        return False
    space = {**f.__globals__, **{k: sys.modules[m] for k, m in asked.modules.items()}}
    found = [_found(space, path) for path in asked.paths]
    return all(inner is not None and is_question(inner, depth - 1) for inner in found)


def _found(space: Any, path: tuple[str, ...]) -> Any:
    """What a path leads to through modules; None if one of its names is not there."""
    o = space.get(path[0])
    for name in path[1:]:
        o = vars(o).get(name) if type(o) is types.ModuleType else None
    return o


class _Asked(NamedTuple):
    """What a function imports, by the local name, and the paths of the functions that it calls."""

    modules: dict[str, str]
    paths: list[tuple[str, ...]]


class _NotAQuestionError(Exception):
    pass


@functools.lru_cache(maxsize=1024)
def _asked(code: CodeType) -> _Asked | None:
    """What a function that may be a question needs; None if it does more."""
    if code.co_argcount or code.co_kwonlyargcount or code.co_freevars or code.co_cellvars:
        return None
    node = source_of(code)
    if not isinstance(node, ast.FunctionDef) or node.args.vararg or node.args.kwarg:
        return None
    found = _Asked({}, [])
    try:
        _read_statements(node.body, found)
    except _NotAQuestionError:
        return None
    return found


def _read_statements(body: Iterable[ast.stmt], found: _Asked) -> None:
    for s in body:
        match s:
            case ast.Expr(ast.Constant()) | ast.Pass() | ast.Return(None):
                pass
            case ast.Return(value) if value is not None:
                _read(value, found)
            case ast.Import(names) if all(a.asname or "." not in a.name for a in names):
                found.modules.update({a.asname or a.name: a.name for a in names})
            case ast.If(test, body, orelse):
                _read(test, found)
                _read_statements([*body, *orelse], found)
            case ast.Try(body, handlers, orelse, final) if all(not h.name for h in handlers):
                inner = [x for h in handlers for x in h.body]
                _read_statements([*body, *inner, *orelse, *final], found)
            case _:
                raise _NotAQuestionError


def _read(e: ast.expr, found: _Asked) -> None:
    match e:
        case ast.Constant():
            pass
        case ast.UnaryOp(ast.Not(), operand):
            _read(operand, found)
        case ast.BoolOp(_, values):
            for value in values:
                _read(value, found)
        case ast.Call():
            path = path_of(e)
            if path is None:
                raise _NotAQuestionError
            found.paths.append(path)
        case _:
            raise _NotAQuestionError
