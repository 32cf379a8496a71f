"""`TraceOptions`: how a program is traced."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

DONE: Final = "done"
REFUSED: Final = "refused"
REPLAYED: Final = "replayed"
_NONE: Final[Mapping[int, str]] = MappingProxyType({})


class TraceOptions(NamedTuple):
    """How a program is traced.

    `effects`: what the program does outside itself is done while it is traced (`DONE`), refused
    (`REFUSED`), or not done while it is traced but whenever it runs (`REPLAYED`).
    `lists_deviations`: where eager execution differs is listed, and not asserted.
    `is_export`: the program is exported, as `torch.compiler.is_exporting` tells it.
    `lists_effects`: changes outside that are refused at the end of a trace are listed, and the
    program leaves them out.
    `has_draws`: random numbers of Python and NumPy, and clocks, are calls of the graph.
    `keeps_autograd`: the program builds the autograd graph of eager execution, and may ask for it.
    `unsteady`: places outside where every call finds another object; a trace ends where it reads
    one of them.
    `preserved`: the paths of the modules whose calls keep their signatures, by the ids of these.
    """

    effects: str = DONE
    lists_deviations: bool = True
    is_export: bool = False
    lists_effects: bool = False
    has_draws: bool = True
    keeps_autograd: bool = False
    preserved: Mapping[int, str] = _NONE
    unsteady: Container[Any] = frozenset()
