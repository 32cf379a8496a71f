"""A function with its object, for compiled methods."""

from __future__ import annotations

import inspect
import types
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class BoundMethod:
    """A function with its object, which it does not keep alive; otherwise like a bound method."""

    def __init__(self, fn: Callable[..., Any], owner: Any) -> None:
        self.__func__ = fn
        self.__qualname__ = getattr(fn, "__qualname__", "")
        self._owner = weakref.ref(owner)

    @property
    def __self__(self) -> Any:
        return self._owner()

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(types.MethodType(self.__func__, self._owner()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self.__func__(self._owner(), *args, **kwargs)
