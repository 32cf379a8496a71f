"""Builtins that would force a value, replaced while tracing by ones that keep it symbolic.

`max`, `min`, `int(item)`, `float(item)` and `math.sqrt` in the modules of the traced program look
up their names in the module's globals; for the time of a trace, ours are put there. On plain values
they do what Python's do, so other threads may meet them without harm. `int` and `float` of a backed
number still guard, as torch's users expect. `print` is recorded where a trace wants it.
"""

from __future__ import annotations

import builtins
import inspect
import math
import re
import sys
import threading
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import is_framework
from anyshape.symbolic import functions
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current, is_tracing
from anyshape.tensor.sym_tensor import SymTensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NUMBERS: Final = (SymInt, SymFloat, SymBool)


def _item(x: Any) -> Any:
    """The number in a tensor that the program may be asking about."""
    if type(x) is SymTensor or (isinstance(x, torch.Tensor) and is_tracing()):
        return x.item()
    return x


def _is_open(x: Any) -> bool:
    """Whether only the run knows a number."""
    kind = type(x)
    if kind is SymInt:
        return x.expr.hint is None
    if kind is SymFloat:
        return x.value.hint is None
    return kind is SymBool and x.condition.hint is None


class _Kind(type):
    """A class that is taken for the builtin it stands for."""

    stands_for: type

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.stands_for)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.stands_for)

    def __eq__(cls, other: object) -> bool:
        return other is cls.stands_for or other is cls

    def __hash__(cls) -> int:
        return hash(cls.stands_for)


class _Int(int, metaclass=_Kind):
    stands_for = int

    def __new__(cls, x: Any = 0, *base: Any, **named: Any) -> Any:
        x = _item(x)
        if not _is_open(x):
            return builtins.int(x, *base, **named)
        if type(x) is SymBool:
            return functions.sym_ite(x, 1, 0)
        return x if type(x) is SymInt else x.__trunc__()


class _Float(float, metaclass=_Kind):
    stands_for = float

    def __new__(cls, x: Any = 0.0) -> Any:
        x = _item(x)
        if not _is_open(x):
            return builtins.float(x)
        if type(x) is SymBool:
            x = functions.sym_ite(x, 1, 0)
        return x if type(x) is SymFloat else x.__sym_float__()


def _extremum(plain: Any, symbolic: Any) -> Any:
    def extremum(*args: Any, **named: Any) -> Any:
        if not is_tracing() or named:
            return plain(*args, **named)
        operands = list(args[0]) if len(args) == 1 else list(args)
        integers = all(isinstance(x, int) for x in operands)
        if integers and any(type(x) is SymInt for x in operands):
            return symbolic(operands)
        return plain(operands)

    return extremum


def _sqrt(x: Any) -> Any:
    if type(x) in (SymInt, SymFloat):
        return x.__sym_sqrt__()
    return math.sqrt(x)


def _print(*words: Any, **named: Any) -> None:
    if not is_tracing() or not current().options.records_print:
        builtins.print(*words, **named)  # noqa: T201  the user's
        return
    for word in words:
        if type(word) is str:
            current().need_plain(word)
    current().emit(builtins.print, words, named)


class _Math(ModuleType):
    """The module `math` with a square root that stays symbolic."""

    sqrt = staticmethod(_sqrt)

    def __getattr__(self, name: str) -> Any:
        return getattr(math, name)


_SUBSTITUTES: Final[dict[str, tuple[Any, Any]]] = {
    "max": (builtins.max, _extremum(builtins.max, functions.sym_max)),
    "min": (builtins.min, _extremum(builtins.min, functions.sym_min)),
    "int": (builtins.int, _Int),
    "float": (builtins.float, _Float),
    "print": (builtins.print, _print),
    "math": (math, _Math("math")),
    "sqrt": (math.sqrt, _sqrt),
}
# torch's own module that turns a buffer into a float in the middle of its forward pass
_TORCH_MODULES: Final = ("torch.nn.modules.batchnorm",)
_COMPARES: Final = re.compile(r"\bis\s+(?:not\s+)?(int|float)\b")


@lru_cache(maxsize=4096)
def _names_for(module: str) -> tuple[str, ...]:
    """The names to replace in a module: not the classes that it compares types with by identity."""
    found = sys.modules.get(module)
    try:
        source = inspect.getsource(found) if found is not None else ""
    except (OSError, TypeError):
        source = ""
    compared = set(_COMPARES.findall(source))
    return tuple(name for name in _SUBSTITUTES if name not in compared)


def modules_of(fn: Any) -> dict[int, torch.nn.Module]:
    """The modules that the program is known to use: itself, its object, and what it closes over."""
    roots = [fn, getattr(fn, "__self__", None)]
    cells = getattr(fn, "__closure__", None) or ()
    roots += [cell.cell_contents for cell in cells if is_filled(cell)]
    found: dict[int, torch.nn.Module] = {}
    todo = [r for r in roots if isinstance(r, torch.nn.Module)]
    while todo:
        module = todo.pop()
        if id(module) not in found:
            found[id(module)] = module
            todo += module.children()
    return found


def codes_of(fn: Any, modules: Iterable[torch.nn.Module]) -> list[Any]:
    """The functions that the program is known to consist of: itself, and the forward of modules."""
    kinds = {type(m) for m in modules}
    found = [inspect.unwrap(kind.forward) for kind in kinds]
    if hasattr(fn, "__code__"):
        found.append(inspect.unwrap(fn))
    elif not isinstance(fn, torch.nn.Module):
        found.append(getattr(fn, "__func__", type(fn).__call__))
    return [f for f in found if hasattr(f, "__code__")]


def is_filled(cell: Any) -> bool:
    """Whether a cell of a closure holds something."""
    try:
        cell.cell_contents  # noqa: B018  an empty cell raises
    except ValueError:
        return False
    return True


def _scopes(codes: Iterable[Any]) -> dict[int, dict[str, Any]]:
    """The globals of the program's functions, and of torch's modules that need it."""
    scopes = [vars(sys.modules[name]) for name in _TORCH_MODULES]
    scopes += [f.__globals__ for f in codes if not is_framework(f.__code__.co_filename)]
    return {id(scope): scope for scope in scopes}


class _Shared:
    """How many traces use the substitutes in each scope, over all threads."""

    lock = threading.Lock()
    users: dict[int, int] = {}  # noqa: RUF012  shared on purpose
    undo: dict[int, list[tuple[str, Any]]] = {}  # noqa: RUF012


_ABSENT: Final = object()


@contextmanager
def substituted(codes: Iterable[Any]) -> Iterator[None]:
    """Put the substitutes where the functions of a program look, for the body of a `with` block."""
    scopes = _scopes(codes)
    with _Shared.lock:
        for key, scope in scopes.items():
            count = _Shared.users.get(key, 0)
            _Shared.users[key] = count + 1
            if count == 0:
                _Shared.undo[key] = _install(scope)
    try:
        yield
    finally:
        with _Shared.lock:
            for key, scope in scopes.items():
                _Shared.users[key] -= 1
                if _Shared.users[key] == 0:
                    del _Shared.users[key]
                    _restore(scope, _Shared.undo.pop(key))


def _install(scope: dict[str, Any]) -> list[tuple[str, Any]]:
    undo = []
    for name in _names_for(str(scope.get("__name__"))):
        original, substitute = _SUBSTITUTES[name]
        before = scope.get(name, _ABSENT)
        builtin = before is _ABSENT and getattr(builtins, name, None) is original
        if builtin or before is original:
            scope[name] = substitute
            undo.append((name, before))
    return undo


def _restore(scope: dict[str, Any], undo: list[tuple[str, Any]]) -> None:
    for name, before in undo:
        if before is _ABSENT:
            scope.pop(name, None)
        else:
            scope[name] = before
