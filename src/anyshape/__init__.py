"""anyshape: symbolic shapes for PyTorch programs. Compile once, run at any shape.

The names that need torch are imported on first use, so that the engine alone (`anyshape.env`,
`anyshape.expr`) starts without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from anyshape.config import config as config
from anyshape.errors import AnyshapeError as AnyshapeError
from anyshape.errors import AnyshapeWarning as AnyshapeWarning
from anyshape.errors import ArgumentError as ArgumentError
from anyshape.errors import ConfigError as ConfigError
from anyshape.errors import ConstraintError as ConstraintError
from anyshape.errors import ConstraintViolation as ConstraintViolation
from anyshape.errors import DataDependentError as DataDependentError
from anyshape.errors import DimError as DimError
from anyshape.errors import EffectError as EffectError
from anyshape.errors import LoadError as LoadError
from anyshape.errors import ParseError as ParseError
from anyshape.errors import RecompileLimitError as RecompileLimitError
from anyshape.errors import RuntimeAssertError as RuntimeAssertError
from anyshape.errors import ShapeError as ShapeError
from anyshape.errors import UnsupportedError as UnsupportedError

if TYPE_CHECKING:
    from anyshape.compile import compile as compile
    from anyshape.export import Dim as Dim
    from anyshape.export import ExportedProgram as ExportedProgram
    from anyshape.export import export as export
    from anyshape.export import load as load
    from anyshape.rules import register_rule as register_rule
    from anyshape.symbolic import ShapeEnv as ShapeEnv
    from anyshape.symbolic import SymBool as SymBool
    from anyshape.symbolic import SymFloat as SymFloat
    from anyshape.symbolic import SymInt as SymInt
    from anyshape.symbolic import check as check
    from anyshape.symbolic import guard_or_false as guard_or_false
    from anyshape.symbolic import guard_or_true as guard_or_true
    from anyshape.symbolic import hint as hint
    from anyshape.symbolic import statically_known_false as statically_known_false
    from anyshape.symbolic import statically_known_true as statically_known_true
    from anyshape.symbolic import sym_and as sym_and
    from anyshape.symbolic import sym_ite as sym_ite
    from anyshape.symbolic import sym_max as sym_max
    from anyshape.symbolic import sym_min as sym_min
    from anyshape.symbolic import sym_not as sym_not
    from anyshape.symbolic import sym_or as sym_or
    from anyshape.symbolic import sym_sum as sym_sum
    from anyshape.trace.marks import mark_dynamic as mark_dynamic
    from anyshape.trace.marks import mark_static as mark_static
    from anyshape.trace.marks import mark_unbacked as mark_unbacked
    from anyshape.trace.marks import maybe_mark_dynamic as maybe_mark_dynamic

_SYMBOLIC: Final = (
    "ShapeEnv",
    "SymBool",
    "SymFloat",
    "SymInt",
    "check",
    "guard_or_false",
    "guard_or_true",
    "hint",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_or",
    "sym_sum",
)

_RULES: Final = ("register_rule",)
_MARKS: Final = ("mark_dynamic", "mark_static", "mark_unbacked", "maybe_mark_dynamic")
_COMPILE: Final = ("compile",)
_EXPORT: Final = ("Dim", "ExportedProgram", "export", "load")

__all__ = [  # noqa: PLE0604  the names that follow are strings too
    "AnyshapeError",
    "AnyshapeWarning",
    "ArgumentError",
    "ConfigError",
    "ConstraintError",
    "ConstraintViolation",
    "DataDependentError",
    "DimError",
    "EffectError",
    "LoadError",
    "ParseError",
    "RecompileLimitError",
    "RuntimeAssertError",
    "ShapeError",
    "UnsupportedError",
    "config",
    *_COMPILE,
    *_EXPORT,
    *_MARKS,
    *_RULES,
    *_SYMBOLIC,
]


def __getattr__(name: str) -> Any:
    if name in _SYMBOLIC:
        home = "anyshape.symbolic"
    elif name in _RULES:
        home = "anyshape.rules"
    elif name in _MARKS:
        home = "anyshape.trace.marks"
    elif name in _COMPILE:
        home = "anyshape.compile"
    elif name in _EXPORT:
        home = "anyshape.export"
    else:
        raise AttributeError(f"module 'anyshape' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
