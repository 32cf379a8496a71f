"""`TraceOptions`: how a program is traced."""

from __future__ import annotations

from typing import Final, NamedTuple

DONE: Final = "done"
REFUSED: Final = "refused"
REPLAYED: Final = "replayed"


class TraceOptions(NamedTuple):
    """How a program is traced.

    `effects`: what the program does outside itself is done while it is traced (`DONE`), refused
    (`REFUSED`), or not done while it is traced but whenever it runs (`REPLAYED`).
    `refuses_changed_objects`: it may change no object among its arguments, not only no list or
    dict.
    `lists_deviations`: where eager execution differs is listed, and not asserted.
    """

    effects: str = DONE
    refuses_changed_objects: bool = False
    lists_deviations: bool = True
