"""Lists, dicts and the like, as a trace reads and changes them.

A container from outside that the trace changes gets a shadow: a copy that all later reads of the
trace see. The change itself is a call of the graph.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.symbolic.functions import sym_not
from anyshape.symbolic.numpy_scalar import INTEGERS, value_of
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.record.container import kept_item
from anyshape.trace.record.container.container_method import ContainerMethods
from anyshape.trace.record.container.dict_view import VIEWS, Proxy, Views
from anyshape.trace.record.container.live import Driven, Unpacked, checked_iterator, steps
from anyshape.trace.record.container.lookup import equal_key, found_among
from anyshape.trace.record.container.user_equality import Comparisons
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, SYMBOLIC, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING
from anyshape.trace.sequence.open_call import open_part
from anyshape.trace.sequence.sym_list import SymList
from anyshape.trace.sequence.sym_range import SymRange

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_COPIED: Final = (list, dict, set, deque, OrderedDict, defaultdict, Counter, bytearray)
_CHANGED: Final = (list, dict, set, deque, bytearray)
_EXACT: Final = frozenset((list, dict, set, tuple, frozenset, deque))
_NEW: Final = (list, dict, set, tuple, frozenset, deque)


class Containers:
    """The hooks for items."""

    calls: Calls

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.comparisons = Comparisons(self, recorder)
        self._methods = ContainerMethods(self, recorder)
        self.views = Views(recorder)

    def _special(self, o: Any, name: str) -> Any:
        return None if type(o) in _EXACT else self.calls.operators.special(o, name)

    def is_overridden(self, o: Any, name: str) -> bool:
        """Whether a method of a container is one of the user's class."""
        return self._special(o, name) is not None

    # ------------------------------------------------------------------ reading

    def item(self, o: Any, key: Any) -> Any:  # noqa: C901, PLR0912  one case per kind of container
        """`o[key]`."""
        kind = type(o)
        if type(key) is str:
            key = self.calls.operators.plain(key)
        elif type(key) is slice:
            ends = (key.start, key.stop, key.step)
            key = slice(*[n if type(n) in ATOMS else self._key(o, n) for n in ends])
            part = open_part(self._recorder, o, key) if kind is list else None
            if part is not None:
                return part
        elif type(key) not in ATOMS:
            key = self._key(o, key)
        if kind in ATOMS or kind is tuple:
            return o[key] if kind is not str else self.calls.operators.plain(o)[key]
        recorder = self._recorder
        if recorder.is_born(o):
            if type(key) in INTEGERS and isinstance(o, dict):
                key = self.known_key(o, key)
            return self._of_born(o, key)
        if isinstance(o, type):
            return self._of_class(o, key)
        method = self._special(o, "__getitem__")
        if method is not None:
            return method(key)
        if isinstance(o, dict):
            return self._of_dict(o, self.known_key(o, key) if type(key) in INTEGERS else key)
        if id(o) in recorder.shadows:
            return self._of_changed(o, key)
        if isinstance(o, list | deque | bytearray):
            return self._of_sequence(o, key)
        if kind is Proxy:
            return self.views.item(o, key)
        value = o[key]
        if reads.is_array(o):
            recorder.array(o)
        elif recorder.is_outside(o) and not isinstance(o, tuple | torch.nn.Module | torch.Tensor):
            raise recorder.refusal(f"an item of a {kind.__name__} is read")
        return recorder.outside(value) if recorder.is_outside(o) else value

    def _of_sequence(self, o: Any, key: Any) -> Any:
        recorder = self._recorder
        if type(key) is not int or isinstance(o, bytearray):
            return self.fresh(kept_item.seen(recorder, o)[key])
        if -len(o) <= key < len(o):
            return recorder.note(reads.ITEM, o, key, o[key])
        recorder.note_value(reads.LENGTH, o, None, len(o))
        return o[key]  # raises

    def _of_changed(self, o: Any, key: Any) -> Any:
        if type(key) is int and kept_item.has(self._recorder, o, key):
            return kept_item.item(self._recorder, o, key)
        return self._part(kept_item.seen(self._recorder, o), key)

    def _of_born(self, o: Any, key: Any) -> Any:
        method = self._special(o, "__getitem__")
        if method is not None:
            return method(key)
        if type(o) is defaultdict and key not in o and o.default_factory is not None:
            value = self.calls.ready(o.default_factory)()
            self.set_item(o, key, value)
            return value
        missing = getattr(type(o), "__missing__", None) if isinstance(o, dict) else None
        if type(missing) is Function and not dict.__contains__(o, key):
            return self.calls.ready(missing)(o, key)
        return self._part(o, key)

    def _part(self, o: Any, key: Any) -> Any:
        """An item of a container, or a slice, which is a new container."""
        return self.fresh(o[key]) if type(key) is slice else o[key]

    def _of_dict(self, d: Any, key: Any) -> Any:
        recorder = self._recorder
        owner = recorder.dict_owner(d)
        if owner is not None and id(owner) in recorder.changed:
            return self.calls.attributes.in_dict(owner, key)
        shadow = recorder.shadows.get(id(d))
        if shadow is not None and not self._is_base(d, key):
            return shadow[key]
        if dict.__contains__(d, key):
            return recorder.note(reads.ITEM, d, key, dict.__getitem__(d, key))
        recorder.note(reads.ABSENT, d, key, MISSING)
        if isinstance(d, defaultdict) and d.default_factory is not None:
            factory = recorder.note(reads.ATTRIBUTE, d, "default_factory", d.default_factory)
            value = self.calls.ready(factory)()
            self.set_item(d, key, value)
            return value
        missing = getattr(type(d), "__missing__", None)
        if type(missing) is Function:
            return self.calls.ready(missing)(d, key)
        return d[key]

    def _key(self, o: Any, key: Any) -> Any:
        """An index of the user's class as a number; the reads of a key that is compared."""
        index = self._special(key, "__index__")
        if index is not None and not isinstance(o, dict):
            if isinstance(o, torch.Tensor) and self._special(key, "__getitem__") is not None:
                raise self._recorder.refusal("a tensor has an index that is a sequence, too")
            return index()
        if isinstance(o, dict | set | frozenset):
            found = self._recorder.by_identity(key, o)
            if found is not key:
                return found
            self.comparisons.compared(key, o)
        return self.calls.operators.plain(key)

    def _is_base(self, d: Any, key: Any) -> bool:
        """Whether a key of a changed dict is as it was: then only that is read, else all of it."""
        recorder = self._recorder
        assigned = recorder.assigned.get(id(d))
        if assigned is None:
            recorder.content(d)
            return False
        return key not in assigned

    def _of_class(self, cls: type, key: Any) -> Any:
        method = self._special(cls, "__getitem__")
        if method is not None:
            return method(key)
        raw = self._recorder.lookup(cls, "__class_getitem__")
        if type(raw) is classmethod and self.calls.is_recorded(raw.__func__):
            return self.calls.ready(raw.__func__)(cls, key)
        return cls[key]  # type: ignore[index]  # a generic class, or an enum

    def fresh(self, x: Any) -> Any:
        """Note that an operation on a container gave a new one."""
        return self._recorder.born(x) if type(x) in _NEW else x

    def contains(self, key: Any, o: Any) -> Any:  # noqa: C901, PLR0912  one case per kind of container
        """`key in o`."""
        kind = type(o)
        key = self.calls.operators.plain(key)
        if kind is str:
            return key in self.calls.operators.plain(o)
        if kind in ATOMS:
            return key in o
        if kind in VIEWS:
            return self.views.contains(key, o)
        method = self._special(o, "__contains__")
        if method is not None:
            return bool(self.calls.operators.truth(method(key)))
        recorder = self._recorder
        if type(key) not in ATOMS and isinstance(o, dict | set | frozenset):
            found = recorder.by_identity(key, o)
            if found is key:
                self.comparisons.compared(key, o)
            key = found
        if isinstance(o, list | tuple | deque) and self.comparisons.has_equality(key, o):
            seen = kept_item.seen(recorder, o)
            return any(self.comparisons.equal(x, key) for x in seen)
        if isinstance(o, list | tuple | deque) and any(type(x) is SymTensor for x in (key, *o)):
            return found_among(kept_item.whole(recorder, o), kept_item.whole(recorder, key))
        if type(key) in INTEGERS and isinstance(o, dict | set | frozenset):
            key = self.looked_up(o, key)
            if key is MISSING:
                recorder.content(o)
                return False
        shadow = recorder.shadows.get(id(o))
        if shadow is not None and not (isinstance(o, dict) and self._is_base(o, key)):
            return self._finds(key, o)
        if isinstance(o, dict | set) and not recorder.is_born(o) and type(key) not in SYMBOLIC:
            found = key in o
            if isinstance(o, dict) and found:
                recorder.note(reads.ITEM, o, key, dict.__getitem__(o, key))
            elif found:
                recorder.content(o)
            else:
                recorder.note(reads.ABSENT, o, key, MISSING)
            return found
        if not isinstance(o, CONTAINERS):
            o = self.iterated(o) if self._special(o, "__iter__") else o
        return self._finds(key, o)

    def _finds(self, key: Any, o: Any) -> bool:
        """`key in o` by C, which compares it with keys, or with items and what they hold."""
        if isinstance(o, dict | set | frozenset):
            return key in self._recorder.content(o)
        return kept_item.whole(self._recorder, key) in kept_item.whole(self._recorder, o)

    def looked_up(self, o: Any, key: Any) -> Any:
        """The key of a dict or set that a symbolic integer equals; MISSING if none does."""
        return equal_key(key, self._recorder.shadows.get(id(o), o), self.comparisons.equal)

    def known_key(self, o: Any, key: Any) -> Any:
        """A symbolic integer as a key: one that the dict or set has, else its value."""
        found = self.looked_up(o, key)
        return value_of(key) if found is MISSING else found

    def made(self, x: Any) -> Any:
        """A container that an expression made."""
        if type(x) in (dict, set):
            if self._recorder.texts.are_used and any(type(key) in (str, tuple) for key in x):
                self._settle_keys(x)
            for key in x:
                if type(key) not in ATOMS:
                    self.comparisons.compared(key, x)
        return self._recorder.born(x)

    def _settle_keys(self, x: Any) -> None:
        """Give texts among the keys of a new container the values of their numbers."""
        plain = self.calls.operators.plain
        if type(x) is dict:
            held: Any = [(plain(key), value) for key, value in x.items()]
        else:
            held = [plain(key) for key in x]
        x.clear()
        x.update(held)

    def lacks(self, key: Any, o: Any) -> Any:
        """`key not in o`."""
        return sym_not(self.contains(key, o))

    def length(self, o: Any) -> Any:
        """`len(o)`."""
        if type(o) is str:
            return len(self.calls.operators.plain(o))
        if type(o) is SymTensor and o._meta.shape:
            self._recorder.tracer.met_methods.add("__len__")
            return o._meta.shape[0]  # which stays symbolic
        if type(o) is SymList or type(o) is SymRange:
            return o.length
        if type(o) in VIEWS:
            return len(self.views.as_now(o))
        method = self._special(o, "__len__")
        if method is not None:
            return method()
        recorder = self._recorder
        if id(o) in recorder.shadows:
            if isinstance(o, list | deque):
                return kept_item.length(recorder, o)
            return len(recorder.content(o))
        if isinstance(o, CONTAINERS) and not recorder.is_born(o) and not isinstance(o, tuple):
            return recorder.note(reads.LENGTH, o, None, len(o))
        if recorder.is_outside(o) and not isinstance(o, tuple | torch.Tensor):
            return recorder.note(reads.CALL, functools.partial(len, o), (), len(o))
        return len(o)

    def iterated(self, o: Any) -> Any:
        """The iterable of a loop over `o`."""
        kind = type(o)
        if kind in ATOMS or kind is tuple:
            return o if kind is not str else self.calls.operators.plain(o)
        if kind in VIEWS and (kind is Proxy or self.views.dict_of(o) is not None):
            return self.views.as_now(o)
        recorder = self._recorder
        if recorder.is_born(o) and isinstance(o, CONTAINERS):
            method = self._special(o, "__iter__")
            return o if method is None else self._driven(method())
        method = self._special(o, "__iter__")
        if method is not None:
            return self._driven(method())
        if isinstance(o, CONTAINERS):
            return kept_item.seen(recorder, o)
        if not isinstance(o, type) and type(getattr(kind, "__getitem__", None)) is Function:
            return self._by_index(o)
        if recorder.is_outside(o) and not isinstance(o, torch.Tensor | type):
            if reads.is_array(o):
                recorder.array(o)
            else:
                raise recorder.refusal(f"a {kind.__name__} from outside is gone through")
        return o

    def gathered(self, o: Any) -> Any:
        """The iterable of which Python makes a list, or a tuple: it asks how long that may be."""
        found = self.iterated(o)
        for name in ("__len__", "__length_hint__"):
            method = self._special(o, name)
            if method is not None:
                with contextlib.suppress(TypeError):
                    self.calls.operators.truth(method())
                break
        return found

    def _driven(self, iterator: Any) -> Any:
        """What an `__iter__` of the user's gave: an iterator of the user's is moved on by twins."""
        checked_iterator(iterator)
        step = self._special(iterator, "__next__")
        if step is not None:
            return Driven(iterator, step)
        return self.iterated(iterator) if self._recorder.is_outside(iterator) else iterator

    def looped(self, o: Any) -> Any:
        """The iterable of a loop over `o` whose body may change `o`."""
        d = self.views.dict_of(o)
        if d is not None:
            return steps(self._recorder.shadows, d, type(o))
        found = self.iterated(o)
        if isinstance(o, _CHANGED) and not self._recorder.is_born(o):
            is_own = found is self._recorder.shadows.get(id(o), o)
            return steps(self._recorder.shadows, o, type(o)) if is_own else found
        return found

    def _by_index(self, o: Any) -> Any:
        """The old protocol: items by number until there is none."""
        place = 0
        while True:
            try:
                value = self.item(o, place)
            except IndexError:
                return
            yield value
            place += 1

    def unpacked(self, o: Any) -> Any:
        """The sequence that is unpacked into several targets."""
        found = self.iterated(o)
        return Unpacked(found, self) if type(found) is Driven else found

    def mapping(self, o: Any) -> Any:
        """The keyword arguments that `**o` passes."""
        if isinstance(o, dict):
            return self._recorder.content(o)
        if type(o) is Proxy:
            return self.views.as_now(o)
        if self._special(o, "keys") is not None:
            keys = self.iterated(self.calls.method(o, "keys")())
            return {key: self.item(o, key) for key in keys}
        return o

    # ------------------------------------------------------------------ changing

    def shadow(self, c: Any) -> Any:
        """The copy of a container from outside that the trace may change."""
        recorder = self._recorder
        found = recorder.shadows.get(id(c))
        if found is None:
            recorder.need_outside(c)
            if type(c) not in _COPIED and type(getattr(type(c), "__copy__", None)) is Function:
                raise recorder.refusal(f"a {type(c).__name__} is changed")
            if isinstance(c, dict):
                found = copy.copy(c) if type(c) in _COPIED else dict(c)
            else:
                found = copy.copy(c)
            recorder.shadows[id(c)] = found
            kept_item.start(recorder, c)
        return found

    def store_item(self, value: Any, o: Any, key: Any) -> None:
        """`o[key] = value`, with the value first."""
        self.set_item(o, key, value)

    def set_item(self, o: Any, key: Any, value: Any) -> None:
        """`o[key] = value`."""
        key = self.calls.operators.plain(key)
        method = self._special(o, "__setitem__")
        if method is not None:
            method(key, value)
            return
        if type(key) not in ATOMS:
            key = self._key(o, key)
        recorder = self._recorder
        if recorder.may_write(o) or type(o) in ATOMS or not isinstance(o, CONTAINERS):
            if not recorder.may_write(o) and recorder.is_outside(o) and not _is_tensor(o):
                raise recorder.refusal(f"an item of a {type(o).__name__} is assigned")
            if type(key) in INTEGERS and isinstance(o, dict):
                key = value_of(key)
            recorder.before_change(o)
            o[key] = value
            if recorder.is_published(o):
                recorder.repeat(o, effect.set_item, recorder.operand(key), recorder.operand(value))
            return
        if type(key) in SYMBOLIC:
            key = value_of(key)
        owner = recorder.dict_owner(o)
        if owner is not None:
            self.calls.attributes.assign(owner, key, value)
            return
        if isinstance(o, dict):
            known = (
                recorder.assigned.setdefault(id(o), set())
                if id(o) not in recorder.shadows
                else recorder.assigned.get(id(o))
            )
            if known is not None:
                known.add(key)
        elif type(key) is int:
            recorder.note_value(reads.LENGTH, o, None, len(o))
        else:
            recorder.content(o)
        self.shadow(o)[key] = value
        kept_item.replaced(recorder, o, key)
        recorder.emit(effect.set_item, Held(o), recorder.operand(key), recorder.operand(value))
        recorder.look_up_again(key)

    def del_item(self, o: Any, key: Any) -> None:
        """`del o[key]`."""
        key = self.calls.operators.plain(key)
        method = self._special(o, "__delitem__")
        if method is not None:
            method(key)
            return
        recorder = self._recorder
        if recorder.may_write(o) or not isinstance(o, CONTAINERS):
            recorder.before_change(o)
            del o[key]
            if recorder.is_published(o):
                recorder.repeat(o, effect.delete_item, recorder.operand(key))
            return
        owner = recorder.dict_owner(o)
        if owner is not None:
            self.calls.attributes.del_attribute(owner, key)
            return
        recorder.content(o)
        recorder.assigned.pop(id(o), None)
        shadow = self.shadow(o)
        del shadow[key]
        kept_item.removed(recorder, o, key)
        recorder.look_up_again(key)
        recorder.emit(effect.delete_item, Held(o), recorder.operand(key))

    def method(self, o: Any, name: str, *, is_native: bool = False) -> Any:
        """A method of a list, dict or the like; the one in C, if `is_native`."""
        return self._methods.ready(o, name, is_native=is_native)


def _is_tensor(x: Any) -> bool:
    return hasattr(x, "storage_offset")
