"""torch's own symbolic shapes: what its compilers take as inputs.

Importing this module takes about a second; only lowering does.
"""

from __future__ import annotations

from pathlib import Path
from traceback import FrameSummary
from typing import TYPE_CHECKING, Any

from torch._dynamo.source import ConstantSource
from torch._guards import TracingContext, tracing
from torch._subclasses import FakeTensorMode
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import (
    SYMPY_INTERP,
    DimDynamic,
    PendingUnbackedSymbolNotFound,
    ShapeEnv,
    compute_unbacked_bindings,
)
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = [
    "SYMPY_INTERP",
    "ConstantSource",
    "DimDynamic",
    "FakeTensorMode",
    "PendingUnbackedSymbolNotFound",
    "PythonPrinter",
    "ShapeEnv",
    "TracingContext",
    "compute_unbacked_bindings",
    "forget_tensors",
    "general_paths",
    "guard_place",
    "int_oo",
    "tracing",
    "without_cache",
]

# - `ShapeEnv` makes torch's symbols: `create_symbol(hint, source, DimDynamic.DYNAMIC, ...)` with a
#   `ConstantSource` for its name, `constrain_symbol_range` with `int_oo` for no bound, and
#   `create_symintnode`. Its `guards` are what a compiler found out about them.
# - `FakeTensorMode(shape_env=...)` makes tensors without data over these symbols.
# - `PendingUnbackedSymbolNotFound` is raised where an op made a size that no result shows. Before
#   torch 2.12 a slice in the general case makes one, and loses it if it is a view of an input.
# - `tracing(TracingContext(mode))` is how a compiler finds the mode, and where AOTAutograd leaves
#   the strides of the outputs.
# - `compute_unbacked_bindings(shape_env, result)` names the symbols that an op has made, which
#   Inductor looks for in the node's `unbacked_bindings`.
# - `PythonPrinter` prints a guard as Python; `SYMPY_INTERP` has the functions that may be in the
#   text of a stride.


def general_paths() -> AbstractContextManager[Any]:
    """A block in which torch answers questions about sizes by the general path, without a guard.

    Without it, lowered code would be tied to whether a size is 0 or 1.
    """
    patched: AbstractContextManager[Any] = _config.patch(  # type: ignore[attr-defined]
        backed_size_oblivious=True
    )
    return patched


def forget_tensors(mode: FakeTensorMode) -> None:
    """Drop what the mode knows of real tensors, once the program over fake ones is compiled.

    It refers to them weakly, and `swap_tensors` refuses tensors that something refers to so.
    """
    mode.fake_tensor_converter.meta_converter.describer.lookup_tensor.clear()


def without_cache(mode: FakeTensorMode) -> FakeTensorMode:
    """The mode, which keeps no results of ops for later ones.

    Keeping one checks it against what it would be made from, which costs more than the op itself
    where sizes are symbols, and asks whether they are 1.
    """
    mode.cache_enabled = False
    return mode


def guard_place(guard: Any) -> str:
    """Where torch took a guard: the function in torch that asked, and its file."""
    place = getattr(getattr(guard, "sloc", None), "framework_loc", None)
    if isinstance(place, FrameSummary):
        return f"{place.name} in {Path(place.filename).name}"
    return str(place or "")
