"""Compiled methods: a function with its object, and the compiled functions of each object.

An object is known by its identity, never by its `__eq__`. The programs of an object live as long as
it does and do not keep it alive; `o.method` does, as a bound method of Python.
"""

from __future__ import annotations

import inspect
import types
import weakref
from typing import TYPE_CHECKING, Any

from anyshape.trace.record.effect.held import hold_loosely

if TYPE_CHECKING:
    from collections.abc import Callable


class BoundMethod:
    """A function with its object, which it does not keep alive; otherwise like a bound method."""

    def __init__(self, fn: Callable[..., Any], owner: Any) -> None:
        self.__func__ = fn
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(fn, name, ""))
        self._owner = weakref.ref(owner)

    @property
    def __self__(self) -> Any:
        return self._owner()

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(types.MethodType(self.__func__, self._owner()))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self.__func__(self._owner(), *args, **kwargs)


class CompiledMethod:
    """What `o.method` gives: the compiled function of an object, with the object, kept alive."""

    def __init__(self, compiled: Any, owner: Any) -> None:
        self.compiled = compiled
        self.__self__ = owner
        self.__module__ = compiled.__module__
        self.__doc__ = compiled.__doc__

    @property
    def fn(self) -> Any:
        """The method that was compiled."""
        return types.MethodType(self.compiled.fn.__func__, self.__self__)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self.compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "compiled":  # of a copy that is not made yet
            raise AttributeError(name)
        return getattr(self.compiled, name)

    def __eq__(self, other: object) -> bool:
        return type(other) is CompiledMethod and self.compiled is other.compiled

    def __hash__(self) -> int:
        return hash(self.compiled)

    def __repr__(self) -> str:
        return repr(self.compiled)

    def _repr_html_(self) -> str:
        return str(self.compiled._repr_html_())

    def __reduce__(self) -> Any:
        """A copy or a pickle is the method of the copied object."""
        return getattr, (self.__self__, self.__name__)


class Methods:
    """The compiled functions of objects, by identity, as long as the objects live."""

    def __init__(self, make: Callable[[BoundMethod], Any]) -> None:
        self._make = make
        self._known: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def of(self, owner: Any, fn: Callable[..., Any]) -> CompiledMethod | None:
        """The compiled method of an object; None for one that cannot be referred to weakly."""
        found = self._known.get(id(owner))
        if found is None or found[0]() is not owner:
            found = self._add(owner, fn)
        return None if found is None else CompiledMethod(found[1], owner)

    def _add(self, owner: Any, fn: Callable[..., Any]) -> tuple[weakref.ref[Any], Any] | None:
        key, known = id(owner), self._known

        def forget(ref: weakref.ref[Any]) -> None:
            entry = known.get(key)
            if entry is not None and entry[0] is ref:
                del known[key]

        try:
            ref = weakref.ref(owner, forget)
        except TypeError:
            return None
        hold_loosely(owner)
        made = (ref, self._make(BoundMethod(fn, owner)))
        return known.setdefault(key, made)  # another thread may have been faster

    def clear(self) -> None:
        """Forget all objects."""
        self._known.clear()
