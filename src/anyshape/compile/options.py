"""`Options`: the options of `compile`."""

from __future__ import annotations

from typing import Any, NamedTuple

from anyshape.config import config
from anyshape.interop.backend import EAGER, INDUCTOR


class Options(NamedTuple):
    """The options of `compile`."""

    dynamic: Any
    fullgraph: bool
    backend: Any
    recompile_limit: int | None
    on_deviation: str
    mode: str | None = None
    settings: dict[str, Any] | None = None  # `options` of the backend

    @property
    def limit(self) -> int:
        """How many programs a function may have."""
        own = self.recompile_limit
        return config.recompile_limit if own is None else own

    @property
    def lowering(self) -> tuple[Any, str | None, dict[str, Any] | None]:
        """The backend with its mode and options; these mean Inductor where no backend is given."""
        backend = self.backend
        if backend is None:
            backend = EAGER if self.mode is None and self.settings is None else INDUCTOR
        return backend, self.mode, self.settings

    def of_part(self, is_plain: bool) -> Options:
        """The options of a part of a function in pieces; a plain one is not lowered."""
        part = self._replace(fullgraph=False)
        return part._replace(backend=EAGER, mode=None, settings=None) if is_plain else part
