"""Builtins that would force a value, replaced while tracing by ones that keep it symbolic.

`max`, `min`, `int`, `float`, `pow` and the functions of `math` in the modules of the traced program
are looked up in the module's globals; for the time of a trace, ours are put there. On plain values
they do what Python's do, so other threads may meet them without harm. `print` is recorded where a
trace wants it.
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
from anyshape.symbolic import functions, math_functions
from anyshape.symbolic.arithmetic import power_modulo
from anyshape.symbolic.operand import is_symbolic
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current, is_tracing
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.output import need_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NUMBERS: Final = (SymInt, SymFloat, SymBool)


def _item(x: Any) -> Any:
    """The number in a tensor that the program may be asking about."""
    if type(x) is SymTensor or (isinstance(x, torch.Tensor) and is_tracing()):
        return x.item()
    return x


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
        kind = type(x)
        if kind is SymBool:
            return functions.sym_ite(x, 1, 0)
        if kind is SymInt:
            return x
        return x.__trunc__() if kind is SymFloat else builtins.int(x, *base, **named)


class _Float(float, metaclass=_Kind):
    stands_for = float

    def __new__(cls, x: Any = 0.0) -> Any:
        x = _item(x)
        kind = type(x)
        if kind is SymBool:
            x = functions.sym_ite(x, 1, 0)
        return x.__sym_float__() if type(x) in (SymInt, SymFloat) else builtins.float(x)


def _extremum(plain: Any, symbolic: Any) -> Any:
    def extremum(*args: Any, **named: Any) -> Any:
        if not is_tracing() or named:
            return plain(*args, **named)
        return symbolic(list(args[0]) if len(args) == 1 else list(args))

    return extremum


def _power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is None or not any(map(is_symbolic, (base, exponent, modulus))):
        return builtins.pow(base, exponent, modulus)
    return power_modulo(base, exponent, modulus)


def _print(*words: Any, **named: Any) -> None:
    if not is_tracing() or not current().options.records_print:
        builtins.print(*words, **named)  # noqa: T201  the user's
        return
    for word in words:
        if type(word) is str:
            need_plain(current(), word)
    current().emit(builtins.print, words, named)


class _Math(ModuleType):
    """The module `math` with functions that stay symbolic."""

    def __getattr__(self, name: str) -> Any:
        return math_functions.FUNCTIONS.get(name) or getattr(math, name)


_SUBSTITUTES: Final[dict[str, tuple[Any, Any]]] = {
    "max": (builtins.max, _extremum(builtins.max, functions.largest)),
    "min": (builtins.min, _extremum(builtins.min, functions.smallest)),
    "int": (builtins.int, _Int),
    "float": (builtins.float, _Float),
    "pow": (builtins.pow, _power),
    "print": (builtins.print, _print),
    "math": (math, _Math("math")),
    **{
        f"math.{name}": (getattr(math, name), function)
        for name, function in math_functions.FUNCTIONS.items()
    },
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
    """Replace builtins by name, and what a module imported from `math` under any name."""
    names = _names_for(str(scope.get("__name__")))
    originals = {id(_SUBSTITUTES[name][0]): _SUBSTITUTES[name][1] for name in names}
    undo = []
    for name, before in list(scope.items()):
        if id(before) in originals:
            scope[name] = originals[id(before)]
            undo.append((name, before))
    for name in names:
        original, substitute = _SUBSTITUTES[name]
        if name not in scope and getattr(builtins, name, None) is original:
            scope[name] = substitute
            undo.append((name, _ABSENT))
    return undo


def _restore(scope: dict[str, Any], undo: list[tuple[str, Any]]) -> None:
    for name, before in undo:
        if before is _ABSENT:
            scope.pop(name, None)
        else:
            scope[name] = before
