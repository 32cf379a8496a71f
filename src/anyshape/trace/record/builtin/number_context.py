"""Settings that arithmetic depends on besides its operands: of decimal numbers, and of arrays.

The context of decimal numbers, and what NumPy does about errors and how it shows arrays, are
conditions of every program that meets such a number or array: one from outside, or one that it
makes. What counts is the context after the trace, since arithmetic raises flags in it: a program
that would raise one again is traced again. To ask for a decimal context, or to set one, is refused.
"""

from __future__ import annotations

import decimal
import sys
from typing import TYPE_CHECKING, Any

from anyshape.symbolic.numpy_scalar import value_of
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anyshape.env import Env


def for_decimal(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of `Decimal(...)`, which takes no symbolic number."""
    return tuple([value_of(a) if type(a) is SymInt else a for a in args])


def contexts_of(env: Env, *objects: Iterable[Any]) -> Iterator[Callable[[], str]]:
    """Functions that tell of the settings which arithmetic with these objects, and with the
    symbolic scalars of an environment, depends on.
    """
    kinds = {kind for some in objects for kind in set(map(type, some))}
    if any(issubclass(kind, decimal.Decimal) for kind in kinds):
        yield _of_decimals
    if env.asker.met_scalars or any(kind.__module__ == "numpy" for kind in kinds):
        yield _of_arrays


def array_errors() -> dict[str, str] | None:
    """What NumPy does about errors; None if it is not imported."""
    numpy: Any = sys.modules.get("numpy")
    found: dict[str, str] | None = None if numpy is None else numpy.geterr()
    return found


def _of_decimals() -> str:
    """The context of this thread, with its flags."""
    return str(decimal.getcontext())


def _of_arrays() -> str:
    numpy: Any = sys.modules["numpy"]
    return f"{numpy.geterr()} {numpy.get_printoptions()}"
