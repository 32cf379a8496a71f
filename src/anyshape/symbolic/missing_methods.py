"""The methods of torch's classes that ours lack: calling one is a clear error.

torch's classes compute through a `SymNode`, which ours do not have. `refuse_inherited` overrides
every method that a subclass does not define itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Callable

_KEPT: Final = {"__dict__", "__weakref__", *vars(object)}


class MissingNodeError(UnsupportedError, AttributeError):
    """An operation of torch's class; an `AttributeError` too, so that `hasattr` answers."""


def refuse_inherited(kind: type) -> None:
    """Override each method that `kind` inherits directly from torch's class."""
    (base,) = kind.__bases__
    for name in vars(base).keys() - vars(kind).keys() - _KEPT:
        setattr(kind, name, _refusal(kind, name))


def _refusal(kind: type, name: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any) -> NoReturn:
        raise refused(
            MissingNodeError,
            f"a {kind.__name__} of anyshape has no {name}",
            why="it needs torch's own symbolic machinery, which has no part in this",
            fix="use Python's operators, the functions of anyshape, or ask for the value",
        )

    return refuse
