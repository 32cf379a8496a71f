"""`Options`: the options of `compile`."""

from __future__ import annotations

from typing import Any, NamedTuple


class Options(NamedTuple):
    """The options of `compile`."""

    dynamic: Any
    fullgraph: bool
    backend: Any
    recompile_limit: int | None
    on_deviation: str
