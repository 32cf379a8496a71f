"""What the settings `logs` and `trace`, and their environment variables, want to be told.

Importing this module makes the settings work; what writes is loaded when something is wanted. A
variable counts from the import of anyshape on; one that is set later is noticed by the next
`compile` or `export`. A variable whose name is nearly one of ours gets a warning, once.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from anyshape.config import config, misspelt_variables
from anyshape.errors import AnyshapeWarning

if TYPE_CHECKING:
    from anyshape.config import Closing


class _Nothing:
    def close(self) -> None:
        pass


class _Followed:
    """A setting, its variable, and the module that writes what is wanted."""

    def __init__(self, name: str, module: str) -> None:
        self._setting = getattr(type(config), name)
        self._setting.watcher = self._open
        self._variable: str = self._setting.environment[0]
        self._module = module
        self._seen = ""
        self._opened: Closing = _Nothing()
        self._changing = threading.Lock()

    def _open(self, value: Any) -> Closing:
        if not value:
            return _Nothing()
        opened: Closing = import_module(self._module).open_setting(value)
        return opened

    def follow(self) -> None:
        """Want what the variable asks for now."""
        value = os.environ.get(self._variable, "")
        if value == self._seen:
            return
        with self._changing:
            self._seen = value
            self._opened.close()
            self._opened = _Nothing()
            if value:
                self._opened = import_module(self._module).open_variable(value)


_followed: Final = (
    _Followed("logs", "anyshape.observe.logs"),
    _Followed("trace", "anyshape.observe.trace_file"),
)


def follow_environment() -> None:
    """Look at the environment variables, which may have changed."""
    for one in _followed:
        one.follow()


def _tell_misspelt() -> None:
    for name, meant in misspelt_variables():
        what = f"{name} is no variable of anyshape, and is ignored"
        warning = AnyshapeWarning(what, fix=f"did you mean {meant!r}?", code="AS731")
        import_module("anyshape.env.site").warn(warning)


_tell_misspelt()
follow_environment()
