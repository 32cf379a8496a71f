"""Views of dicts from outside, and read-only proxies of mappings.

Both show what a mapping holds at the time they are asked. A view follows the shadow of its dict, if
the trace has changed it.
"""

from __future__ import annotations

import functools
import gc
import operator
import types
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.container import kept_item
from anyshape.trace.record.effect.effect import native
from anyshape.trace.record.object_kind import ATOMS
from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder

_METHODS: Final = {type(getattr({}, name)()): name for name in ("keys", "values", "items")}
Proxy: Final = types.MappingProxyType
VIEWS: Final = frozenset((*_METHODS, Proxy))


def items(proxy: Any) -> tuple[tuple[Any, Any], ...]:
    """The content of a mapping; tuples are compared by their elements."""
    return tuple(proxy.items())


class Views:
    """The views that one trace has got."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._dicts: dict[int, tuple[Any, Any]] = {}  # by the id of the view

    def note(self, view: Any, d: Any) -> Any:
        """Note a view of a dict from outside."""
        if type(view) in _METHODS:
            self._dicts[id(view)] = (view, d)
        return view

    def dict_of(self, view: Any) -> Any:
        """The dict from outside that a view is of; None for any other object."""
        found = self._dicts.get(id(view))
        if found is None and type(view) in _METHODS and self._recorder.is_outside(view):
            (d,) = gc.get_referents(view)
            self._recorder.outside(d)
            found = self._dicts[id(view)] = (view, d)
        return None if found is None else found[1]

    def as_now(self, o: Any) -> Any:
        """A view or proxy with what the trace sees, noted as read; any other object is itself."""
        if type(o) is Proxy:
            return self._content(o)
        d = self.dict_of(o)
        return o if d is None else native(kept_item.seen(self._recorder, d), _METHODS[type(o)])()

    def _shadow(self, proxy: Any) -> Any:
        """The mapping of a proxy as the trace has changed it; None if it has not."""
        return self._recorder.shadows.get(id(gc.get_referents(proxy)[0]))

    def _content(self, proxy: Any) -> Any:
        recorder = self._recorder
        if recorder.is_born(proxy):
            return proxy
        if self._shadow(proxy) is not None:
            return Proxy(recorder.content(gc.get_referents(proxy)[0]))
        asked = functools.partial(items, proxy)
        held = dict(recorder.note(reads.CALL, asked, (), asked()))
        for value in held.values():
            recorder.outside(value)
        return Proxy(held)

    def contains(self, key: Any, o: Any) -> bool:
        """`key in o`."""
        if type(o) in _METHODS and _METHODS[type(o)] != "keys":
            d = self.dict_of(o)
            held = kept_item.whole(self._recorder, gc.get_referents(o)[0] if d is None else d)
            return kept_item.whole(self._recorder, key) in native(held, _METHODS[type(o)])()
        is_noted = type(o) is Proxy and type(key) in ATOMS and self._shadow(o) is None
        if not is_noted or self._recorder.is_born(o):
            return key in self.as_now(o)
        asked = functools.partial(operator.contains, o, key)
        return bool(self._recorder.note(reads.CALL, asked, (), key in o))

    def item(self, proxy: Any, key: Any) -> Any:
        """`proxy[key]`."""
        is_plain = type(key) in ATOMS and self._shadow(proxy) is None
        if self._recorder.is_born(proxy) or not is_plain:
            return self._content(proxy)[key]
        if not self.contains(key, proxy):
            raise KeyError(key)
        return self._recorder.note(reads.ITEM, proxy, key, proxy[key])
