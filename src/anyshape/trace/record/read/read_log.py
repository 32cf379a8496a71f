"""The log that a trace writes while it runs, and the reads that it stands for.

One step of a program may read at many places: to find a name in a class reads all bases, to call a
module reads its hooks. A trace notes one entry (kind, owner, key, found) per step. Most traces are
never watched, so the entries become `Read`s only in `unfolded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from anyshape.torch_compat.module_attribute import CALL_HOOKS, REGISTRIES
from anyshape.trace.record.object_kind import ATOMS, HEAP, SYMBOLIC
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING, Place, Read

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

CLASS_NAME: Final = "class name"  # class, name: (its mro, how many bases lack it, the value)
OWN_DICT: Final = "own dict"  # dict, None: the object whose dict it is
OWN_ITEM: Final = "own item"  # object, name: (its dict, the value)
REGISTERED: Final = "registered"  # module, name: (its dict, tables, what the last one has)
CALL_HOOKED: Final = "call hooks"  # module, None: (its dict, tables, or None for empty ones)
FUNCTION: Final = "function"  # function, None: (code, defaults, keyword defaults)

Entry: TypeAlias = tuple[str, Any, Any, Any]


class Unfolding:
    """The reads of a log by place, and by the id of an object the place that gave it."""

    def __init__(
        self, log: Iterable[Entry], born: Container[int], inputs: Container[Place]
    ) -> None:
        self.places: dict[Place, Read] = {}
        self.origin: dict[int, Place] = {}
        self._born = born
        self._inputs = inputs  # places that calls may fill anew
        self._dicts: dict[type, Any] = {}  # one proxy for each class
        steps: dict[str, Callable[[Any, Any, Any], None]] = {
            CLASS_NAME: self._class_name,
            OWN_DICT: self._own_dict,
            OWN_ITEM: self._own_item,
            REGISTERED: self._registered,
            CALL_HOOKED: self._call_hooks,
            FUNCTION: self._function,
            reads.CONTENT: self._content,
        }
        for kind, owner, key, found in log:
            step = steps.get(kind)
            if step is None:
                self._read(kind, owner, key, found)
            else:
                step(owner, key, found)

    def _read(self, kind: str, owner: Any, key: Any, value: Any) -> None:
        place = (kind, id(owner), key)
        if place in self.places or place in self._inputs or type(value) in SYMBOLIC:
            return
        self.places[place] = Read(kind, owner, key, value)
        self._gave(place, value)

    def _gave(self, place: Place, value: Any) -> None:
        if type(value) not in ATOMS and id(value) not in self._born:
            self.origin.setdefault(id(value), place)

    def _own_item(self, o: Any, name: str, found: Any) -> None:
        own, value = found
        self._own_dict(own, None, o)
        self._read(reads.ITEM, own, name, value)

    def _own_dict(self, own: Any, _: None, owner: Any) -> None:
        """Give a dict the origin of the object whose dict it is."""
        place = self.origin.get(id(owner))
        if place is not None:
            self.origin.setdefault(id(own), place)

    def _content(self, c: Any, _: None, held: Any) -> None:
        place = (reads.CONTENT, id(c), None)
        if place not in self.places:
            self.places[place] = Read(reads.CONTENT, c, None, held)
            for x in held[1:]:
                self._gave(place, x)

    def _class_name(self, cls: type, name: str, found: Any) -> None:
        mro, lacking, value = found
        for base in mro[:lacking]:
            if base.__flags__ & HEAP:
                self._read(reads.ABSENT, self._dict(base), name, MISSING)
        if value is not MISSING:
            if mro[lacking].__flags__ & HEAP:
                self._read(reads.ITEM, self._dict(mro[lacking]), name, value)
            if cls.__flags__ & HEAP:
                self._read(reads.ATTRIBUTE, cls, "__mro__", mro)

    def _dict(self, cls: type) -> Any:
        found = self._dicts.get(cls)
        if found is None:
            found = self._dicts[cls] = cls.__dict__
        return found

    def _registered(self, m: Any, name: str, found: Any) -> None:
        own, tables, value = found
        self._own_dict(own, None, m)
        self._read(reads.ABSENT, own, name, MISSING)
        last = len(tables) - 1
        for place, table in enumerate(tables):
            if table is None:
                continue
            self._read(reads.ITEM, own, REGISTRIES[place], table)
            self._own_dict(table, None, m)
            if place < last:
                self._read(reads.ABSENT, table, name, MISSING)
            elif value is not MISSING:
                self._read(reads.ITEM, table, name, value)

    def _call_hooks(self, m: Any, _: None, found: Any) -> None:
        own, tables = found
        self._own_dict(own, None, m)
        for name, table in zip(CALL_HOOKS, tables, strict=True):
            if table is None:
                self._read(reads.EMPTY, own, name, ())
            else:
                self._read(reads.ITEM, own, name, table)

    def _function(self, f: Any, _: None, found: Any) -> None:
        for name, value in zip(("__code__", "__defaults__", "__kwdefaults__"), found, strict=True):
            self._read(reads.ATTRIBUTE, f, name, value)
