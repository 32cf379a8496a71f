"""`TraceOptions`: how a program is traced."""

from __future__ import annotations

from typing import NamedTuple


class TraceOptions(NamedTuple):
    """How a program is traced.

    `records_print`: what the program prints is printed when it runs. `refuses_changed_objects`: it
    may change no object among its arguments, not only no list or dict. `lists_deviations`: where
    eager execution differs is listed, and not asserted.
    """

    records_print: bool = False
    refuses_changed_objects: bool = False
    lists_deviations: bool = True
