"""Programs for every shape that a spec allows. See the folder's README.

The package shares its name with the function: Python makes it an attribute of `anyshape` when it is
imported, so it can be called too, and `anyshape.export(...)` works either way.
"""

import sys
from types import ModuleType
from typing import Any

from anyshape.export.export import export as export
from anyshape.export.files.load import load as load
from anyshape.export.files.stand_in import StandIn as StandIn
from anyshape.export.program import ExportedProgram as ExportedProgram
from anyshape.export.spec.dim import Dim as Dim
from anyshape.export.spec.inferred import infer_dynamic_shapes as infer_dynamic_shapes
from anyshape.export.torch_program.from_torch import from_torch as from_torch


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> ExportedProgram:
        return export(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
