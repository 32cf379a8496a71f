"""Which modules and packages there are: asked again before every run.

`import_module`, `find_spec` and the like look at `sys.modules` and at files. What they answer is a
condition, also that they raise an error; so is that an `import` statement fails. What other
functions of `importlib` do is refused by their names.
"""

from __future__ import annotations

import builtins
import importlib.metadata
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.reader import Reader

_TELLING: Final[Any] = (
    importlib.util.find_spec, importlib.import_module, builtins.__import__,
    importlib.metadata.version,
)  # fmt: skip
_PLAIN: Final = (str, int, bool, type(None))
_FAILED: Final = (ImportError, ValueError)


class Asked:
    """A call that tells of modules; it gives what its answer is compared by."""

    __slots__ = ("args", "func", "named")

    def __init__(self, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.func, self.args, self.named = func, args, named

    def __call__(self) -> Any:
        """What the answer is compared by, or the error."""
        try:
            return _compared(self.func(*self.args, **self.named))
        except _FAILED as error:
            return (type(error).__name__, str(error))


def module_calls() -> Iterator[tuple[Any, Any]]:
    """Pairs of a function and what to call in its place, with the recorder first."""
    for f in _TELLING:
        yield f, lambda recorder, *args, _f=f, **named: _asked(recorder, _f, args, named)


def _asked(recorder: Reader, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    parts = [p for a in (*args, *named.values()) for p in (a if type(a) in (list, tuple) else (a,))]
    if not all(type(p) in _PLAIN for p in parts):
        raise recorder.refusal(f"{f.__name__}() is called with objects")
    copied = [tuple(a) if type(a) is list else a for a in args]
    ask = Asked(f, tuple(copied), {k: tuple(a) if type(a) is list else a for k, a in named.items()})
    try:
        found = f(*args, **named)
    except _FAILED as error:
        recorder.note(reads.CALL, ask, (), (type(error).__name__, str(error)))
        raise
    recorder.note(reads.CALL, ask, (), _compared(found))
    return recorder.outside(found)


def _compared(x: Any) -> Any:
    if not isinstance(x, ModuleSpec):
        return x
    places = tuple(x.submodule_search_locations or ())
    return (x.name, x.origin, x.cached, type(x.loader).__qualname__, places)


def note_failed_import(recorder: Reader, module: str, names: tuple[str, ...]) -> None:
    """Note that a module could not be imported, or that it lacks one of some names."""
    recorder.note(reads.CALL, Asked(is_there, (module,), {}), (), is_there(module))
    found = sys.modules.get(module)
    for name in names:
        if found is None:
            break
        if name not in vars(found):
            recorder.note(reads.ABSENT, vars(found), name, reads.MISSING)
            if hasattr(found, "__path__"):
                note_failed_import(recorder, f"{module}.{name}", ())


def is_there(module: str) -> bool:
    """Whether a module can be found."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # of a package that it would be in
        return False
    except ValueError:  # it is there, without a specification
        return True
