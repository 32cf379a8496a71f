"""anyshape: symbolic shapes for PyTorch programs. Compile or export once, run at any shape.

What people use:

    compile(fn)         a function or module that is traced when it is called; also a decorator
    export(fn, args)    a program for all sizes that `dynamic_shapes` allows; save it, `load` it
    Dim                 a named size of `dynamic_shapes`; infer_dynamic_shapes finds it from calls
    mark_dynamic, mark_unbacked, mark_static
                        what is dynamic, said of a tensor
    check(condition)    a condition that holds at run time, and that the engine may use
    config              settings; `config.logs = "recompiles, guards"` tells what happens
    from_torch(program) a program of torch.export; `program.to_torch()` is the way back

Below them: `ShapeEnv` and the symbolic numbers `SymInt`, `SymBool` and `SymFloat`, with
`guard_or_false`, `statically_known_true`, `sym_max` and the like; `register_rule` for ops of your
own. Every error is an `AnyshapeError`. `anyshape --help` lists the commands.
"""

# The public names are the imports below. Those that need torch are imported on first use, so that
# the engine alone (`anyshape.env`, `anyshape.expr`) starts without it: a type checker reads them as
# ordinary imports, and `__getattr__`, `__dir__` and `__all__` read the same statements from the
# compiled code of this module.

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.config import config as config
from anyshape.errors import AnyshapeError as AnyshapeError
from anyshape.errors import AnyshapeWarning as AnyshapeWarning
from anyshape.errors import ArgumentError as ArgumentError
from anyshape.errors import AuditError as AuditError
from anyshape.errors import BackendError as BackendError
from anyshape.errors import ConfigError as ConfigError
from anyshape.errors import ConstraintError as ConstraintError
from anyshape.errors import ConstraintViolation as ConstraintViolation
from anyshape.errors import DataDependentError as DataDependentError
from anyshape.errors import DimError as DimError
from anyshape.errors import DivisionAssertError as DivisionAssertError
from anyshape.errors import DomainAssertError as DomainAssertError
from anyshape.errors import EffectError as EffectError
from anyshape.errors import IndexAssertError as IndexAssertError
from anyshape.errors import LoadError as LoadError
from anyshape.errors import MissingRuleError as MissingRuleError
from anyshape.errors import NoHashError as NoHashError
from anyshape.errors import OverflowAssertError as OverflowAssertError
from anyshape.errors import ParseError as ParseError
from anyshape.errors import RecompileLimitError as RecompileLimitError
from anyshape.errors import RuleSignatureWarning as RuleSignatureWarning
from anyshape.errors import RuntimeAssertError as RuntimeAssertError
from anyshape.errors import SaveError as SaveError
from anyshape.errors import ShapeError as ShapeError
from anyshape.errors import StateError as StateError
from anyshape.errors import UnsupportedError as UnsupportedError
from anyshape.observe import wanted as _wanted  # noqa: F401  it makes two settings work
from anyshape.version import __version__ as __version__

if TYPE_CHECKING:
    from anyshape.compile import audit as audit
    from anyshape.compile import compile as compile
    from anyshape.export import Dim as Dim
    from anyshape.export import ExportedProgram as ExportedProgram
    from anyshape.export import export as export
    from anyshape.export import from_torch as from_torch
    from anyshape.export import infer_dynamic_shapes as infer_dynamic_shapes
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
    from anyshape.trace.argument.marks import mark_dynamic as mark_dynamic
    from anyshape.trace.argument.marks import mark_static as mark_static
    from anyshape.trace.argument.marks import mark_unbacked as mark_unbacked
    from anyshape.trace.argument.marks import maybe_mark_dynamic as maybe_mark_dynamic

else:  # hidden from type checkers, for which an unknown name is an error

    def _homes() -> dict[str, str]:
        """Each name that this module imports from the package, and the module that it is in."""
        import dis  # noqa: PLC0415  the engine alone does not need it

        homes, module = {}, ""
        for instruction in dis.get_instructions(__spec__.loader.get_code(__name__)):
            if instruction.opname == "IMPORT_NAME":
                module = instruction.argval
            elif instruction.opname == "IMPORT_FROM" and module.startswith(f"{__name__}."):
                homes[instruction.argval] = module
        for name in ("wanted", "__version__"):  # not of the public interface
            homes.pop(name)
        return homes

    def __getattr__(name: str) -> object:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        homes = _homes()
        if name == "__all__":
            value = sorted(homes)
        elif name in homes:
            from importlib import import_module  # noqa: PLC0415  as `dis`

            value = getattr(import_module(homes[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted(_homes())
