"""Whose code a function is: whether it runs as a twin.

The user's functions do, and those of torch and of Python that hold the user's state or call the
user's functions back. What remains has no state of the user's, or is recorded as a call.

The files of torch and of Python are a list, as what a function does with its arguments cannot be
told from them. A file that the list lacks is safe. A function of torch that is given an object with
state, or has one in its closure, runs as a twin anyway (`stateful_function.py`), and so do
functions that it is given; without either it has only torch's own state. A function of Python runs
as it is if it only computes: its arguments are conditions, and those whose methods it might call
are refused. Any other is refused by its name.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import typing
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.site import home_of, is_framework, is_own
from anyshape.trace import record
from anyshape.trace.record.object_kind import HEAP

if TYPE_CHECKING:
    from types import CodeType

_STANDARD: Final = sysconfig.get_paths()["stdlib"] + os.sep
_TORCH: Final = home_of("torch")
_TWINNED: Final = (
    *[
        _TORCH + path.replace("/", os.sep)
        for path in (
            "nn/attention/",
            "nn/modules/",
            "nn/utils/",
            "distributions/",
            "optim/",
            "amp/grad_scaler.py",
            "utils/_foreach_utils.py",
            "utils/_pytree.py",
            "utils/hooks.py",
            "random.py",
            "backends/__init__.py",
            "backends/opt_einsum/",
            "_export/db/",
            "utils/_contextlib.py",
        )
    ],
    *[
        _STANDARD + path.replace("/", os.sep)
        for path in (
            "contextlib.py",
            "functools.py",
            "collections/__init__.py",
            "_collections_abc.py",
            "weakref.py",
            "_weakrefset.py",
            "types.py",
            "graphlib.py",
            "statistics.py",
            "fractions.py",
            "bisect.py",
            "heapq.py",
            "string.py",
            "os.py",
            "posixpath.py",
            "ntpath.py",
            "genericpath.py",
            "enum.py",
            "dataclasses.py",
        )
    ],
    *[
        f"<frozen {name}>"
        for name in ("_collections_abc", "os", "posixpath", "ntpath", "genericpath")
    ],
)
_STACKING: Final = _TORCH + os.sep.join(("_functorch", "functional_call.py"))
_STACKERS: Final = ("stack_module_state", "construct_stacked_leaf")  # they read modules
_LIBRARIES: Final = tuple(
    home_of(name) for name in ("numpy", "sympy", "scipy", "pandas", "_pytest", "pytest")
)
_RECORD: Final = record.__name__ + "."
_known: dict[str, bool] = {}
_GIVING_BACK: Final = (typing.cast, typing.assert_type)  # they do not look at what they are given
_always: set[CodeType] = {f.__code__ for f in _GIVING_BACK}


def is_library(cls: type) -> bool:
    """Whether a class belongs to torch, to Python itself, or to this system."""
    name = cls.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:  # a module of C, or of code without a file, which may have no name either
        is_of_c = name in sys.builtin_module_names and name != "builtins"
        return is_of_c or not cls.__flags__ & HEAP
    return is_framework(file)


def is_hook(cls: type) -> bool:
    """Whether a class is one of this package whose objects report to the recorder."""
    return cls.__module__.startswith(_RECORD)


def is_filled(cell: Any) -> bool:
    """Whether a cell of a closure holds something."""
    try:
        cell.cell_contents  # noqa: B018  an empty cell raises
    except ValueError:
        return False
    return True


def is_twinned(code: CodeType) -> bool:
    """Whether functions with this code run as twins."""
    file = code.co_filename
    known = _known.get(file)
    if known is None:
        known = _known[file] = _is_twinned(file)
    return known or code in _always or (code.co_name in _STACKERS and file == _STACKING)


def is_left_as_is(cls: type) -> bool:
    """Whether a class is one of Python, torch or a library whose methods run as no twins."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is None or not cls.__flags__ & HEAP or is_own(file):
        return False
    return not _is_twinned(file)


def twin_always(code: CodeType) -> None:
    """Let functions with this code, which are torch's, run as twins."""
    _always.add(code)


def _is_twinned(file: str) -> bool:
    if is_own(file):
        return False
    if is_framework(file):
        return file.startswith(_TWINNED)
    return not file.startswith(_LIBRARIES)
