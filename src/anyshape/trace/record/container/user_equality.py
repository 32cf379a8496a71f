"""Equality and hashes of the user's, where C asks for them: in sets and dicts, and of containers.

C calls the user's methods unseen. So a trace first asks twins of them what C is about to ask, pair
by pair, in the order of C; what they read is recorded, and their answers are conditions.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from anyshape.symbolic.numpy_scalar import value_of
from anyshape.trace.graph.graph import SYMBOLIC as NUMBERS
from anyshape.trace.record.container.lookup import are_apart, is_compared, own_hash
from anyshape.trace.record.object_kind import ATOMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.trace.record.container.container import Containers
    from anyshape.trace.record.recorder import Recorder

_ORDERED: Final = (list, tuple, deque)
_HASHED: Final = (set, frozenset)
_DEPTH: Final = 8


class Comparisons:
    """Such comparisons in one trace."""

    def __init__(self, containers: Containers, recorder: Recorder) -> None:
        self._containers = containers
        self._recorder = recorder

    def compared(self, key: Any, o: Any) -> None:
        """Run twins of what Python runs itself to find a key of the user's class."""
        self._recorder.need_value(key)
        if type(key) is tuple:
            for part in key:
                if type(part) not in ATOMS:
                    self.compared(part, ())
            for other in o if has_compared(key) else ():
                self.equal(other, key)
            return
        effects = self._recorder.effects
        find_hash = self._special(key, "__hash__")
        found = own_hash(key) if find_hash is None else find_hash()
        if type(found) in NUMBERS:  # C takes no stand-in for it
            raise self._recorder.unsupported(
                f"the hash of a {type(key).__name__} depends on a size",
                why="sets and dicts of Python are built by its value",
                fix="use int(...) in __hash__, which specializes on the size",
            )
        compares = is_compared(key)
        for other in o:
            if other is not key and (compares or is_compared(other)):
                if self._special(other, "__hash__") is None and are_apart(found, own_hash(other)):
                    continue
                self.equal(other, key)
        if self._recorder.effects != effects:
            raise self._recorder.refusal(f"the hash or equality of {type(key).__name__} has one")

    def hashed(self, key: Any) -> Any:
        """A key that Python is about to hash, and to compare with others of its class."""
        if type(key) in NUMBERS:
            return value_of(key)
        if type(key) not in ATOMS:
            effects = self._recorder.effects
            self.compared(key, ())
            if is_compared(key):
                self._containers.calls.operators.eq(key, key)
            if self._recorder.effects != effects:
                raise self._recorder.refusal(f"the equality of {type(key).__name__} has one")
        return key

    def _special(self, o: Any, name: str) -> Any:
        return self._containers.calls.operators.special(o, name)

    def hash_all(self, keys: Iterable[Any], among: Iterable[Any] = ()) -> None:
        """Compare keys as C does when it puts them into a container, one after the other."""
        there = list(among)
        for key in keys:
            if type(key) not in ATOMS:
                self.compared(key, there)
            there.append(key)

    def new_set(self, items: list[Any]) -> Any:
        """A display of a set, or a comprehension."""
        keys = [value_of(key) if type(key) in NUMBERS else key for key in items]
        self.hash_all(keys)
        return self._containers.made(set(keys))

    def new_dict(self, pairs: list[tuple[Any, Any]]) -> Any:
        """A comprehension of a dict."""
        keys = [value_of(key) if type(key) in NUMBERS else key for key, _ in pairs]
        self.hash_all(keys)
        return self._containers.made(dict(zip(keys, [value for _, value in pairs], strict=True)))

    def removed(self, o: Any, key: Any) -> None:
        """`o.remove(key)` of a list that was born."""
        place = self.found(o, "index", key)
        self._containers.del_item(o, place)

    def has_equality(self, key: Any, o: Any) -> bool:
        """Whether a search for a key compares by a method of the user's."""
        return any(map(is_compared, (key, *o)))

    def equal(self, a: Any, b: Any) -> bool:
        """Whether C takes two objects for equal."""
        operators = self._containers.calls.operators
        return a is b or bool(operators.truth(operators.eq(a, b)))

    def found(self, o: Any, name: str, key: Any) -> int:
        """`o.index(key)` or `o.count(key)`, by the user's comparisons."""
        places = [i for i, x in enumerate(o) if self.equal(x, key)]
        if name == "count":
            return len(places)
        return places[0] if places else o.index(object())  # raises

    # ------------------------------------------------------------------ containers

    def asks(self, a: Any, b: Any) -> bool:
        """Whether C would compare parts of two containers by methods of the user's."""
        return has_compared(a) or has_compared(b)

    def compare(self, plain: Any, a: Any, b: Any) -> Any:
        """`==` or `!=` of two containers; other operators of such containers are refused."""
        if plain not in (operator.eq, operator.ne) or isinstance(a, _HASHED):
            raise self._recorder.refusal("objects in a container are compared by their methods")
        return self._have_equal_parts(a, b) is (plain is operator.eq)

    def _have_equal_parts(self, a: Any, b: Any) -> bool:
        base = next((k for k in (*_ORDERED, dict) if isinstance(a, k)), None)
        if base is None or not isinstance(b, base):
            return False
        a, b = self._recorder.content(a), self._recorder.content(b)
        if len(a) != len(b):
            return False
        if isinstance(a, dict):
            if a.keys() != b.keys():
                return False
            pairs = [(value, b[key]) for key, value in a.items()]
        else:
            pairs = list(zip(a, b, strict=True))
        return all(self.equal(x, y) for x, y in pairs)


def has_compared(x: Any, depth: int = _DEPTH) -> bool:
    """Whether a container has parts that are compared by methods of the user's."""
    if type(x) in ATOMS or not isinstance(x, (*_ORDERED, *_HASHED, dict)) or depth == 0:
        return False
    parts = dict.values(x) if isinstance(x, dict) else x
    return any(is_compared(part) or has_compared(part, depth - 1) for part in parts)
