"""The items of a container outside that are still in it once the trace has changed it.

    recorder.kept[id(c)][i] == p       the item at i is the one that was at p before
    recorder.kept[id(c)][i] is None    it is new, and was put at the end, or where one was before
    recorder.kept[id(c)][i] == _INSIDE it is new, and where it is depends on how many there were

A sequence has such a table from its first change on, as long as its changes are followed: an item
that the trace put there says nothing of what was there before, and any other item is one read. So a
program that replaces the items of a list, or adds to it, does not depend on all that it holds. Of a
list that the program empties, it depends on nothing.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.object_kind import ATOMS, CONTAINERS
from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.reader import Reader

_INSIDE: Final = -1
_WITH_PARTS: Final = (list, tuple, deque, OrderedDict, dict)
_MOVING: Final = ("pop", "popleft", "reverse", "rotate")


class _Emptied(list[None]):
    """The table of a list that the trace has emptied, all of whose items are new."""


def start(recorder: Reader, c: Any) -> None:
    """Follow the items of a sequence that is changed for the first time."""
    if type(c) is list:
        recorder.kept[id(c)] = list(range(len(c)))
    elif type(c) is deque:
        recorder.kept[id(c)] = deque(range(len(c)), c.maxlen)


def follow(recorder: Reader, c: Any, method: str, args: tuple[Any, ...]) -> None:
    """A method has changed what the trace sees of `c`: do the same to the places of its items."""
    kept = recorder.kept.get(id(c))
    if kept is None:
        return
    added = len(recorder.shadows[id(c)]) - len(kept)
    if method == "append":
        kept.append(None)
    elif method == "appendleft":  # which may drop the last
        kept.appendleft(_INSIDE)
    elif method in _MOVING:
        getattr(kept, method)(*args)
    elif method in ("extend", "__iadd__") and isinstance(kept, list):
        kept += [None] * added
    elif method == "insert" and isinstance(kept, list):
        kept.insert(args[0], _INSIDE)
    elif method == "clear" and isinstance(kept, list):
        recorder.kept[id(c)] = _Emptied()
    else:
        del recorder.kept[id(c)]


def replaced(recorder: Reader, c: Any, key: Any) -> None:
    """An item of `c`, or a slice, is another one now."""
    kept = recorder.kept.get(id(c))
    if kept is not None and type(key) is int:
        kept[key] = None
    else:
        recorder.kept.pop(id(c), None)


def removed(recorder: Reader, c: Any, key: Any) -> None:
    """An item of `c`, or a slice, is gone."""
    if id(c) in recorder.kept:
        del recorder.kept[id(c)][key]


def has(recorder: Reader, c: Any, key: int) -> bool:
    """Whether a changed sequence has an item at a place, and is not being changed by a method."""
    kept = recorder.kept.get(id(c))
    if kept is None or len(kept) != len(recorder.shadows[id(c)]):
        return False
    return -len(kept) <= key < len(kept)


def item(recorder: Reader, c: Any, key: int) -> Any:
    """The item of a changed sequence at a place that it has."""
    kept, shadow = recorder.kept[id(c)], recorder.shadows[id(c)]
    place, count, from_end = kept[key], len(c), _is_at_end(kept, key, len(c))
    if not from_end and type(kept) is not _Emptied:
        recorder.note_value(reads.LENGTH, c, None, count)
    if place is not None and place != _INSIDE:
        at = place - count if from_end else place
        shadow[key] = recorder.note(reads.ITEM, c, at, c[place])
    return shadow[key]


def _is_at_end(kept: Any, key: int, count: int) -> bool:
    """Whether a place is found from the end, however many items there were: what follows it are
    items that stood at the end before, and new ones.
    """
    if key >= 0 or _INSIDE in kept:
        return False
    tail = [kept[i] for i in range(key, 0)]
    old = tail[: len(tail) - tail.count(None)]
    return old == [*range(count - len(old), count)]


def length(recorder: Reader, c: Any) -> Any:
    """The length of a changed sequence.

    As long as its changes are followed, items of a list were removed only where all were read.
    """
    kept, count = recorder.kept.get(id(c)), len(recorder.shadows[id(c)])
    if type(kept) is _Emptied:
        return count
    if type(kept) is list:
        return recorder.note(reads.LENGTH, c, None, len(c)) + (count - len(c))
    recorder.note_value(reads.LENGTH, c, None, len(c))
    return count


def seen(recorder: Reader, c: Any) -> Any:
    """What the trace sees of a container, all of which is read.

    A list, deque or dict some items of which are inputs of the program is read item by item, if its
    changes were followed.
    """
    if id(c) in recorder.owners_of_inputs:
        is_known = id(c) not in recorder.shadows
        if type(c) in (list, deque) and (is_known or id(c) in recorder.kept):
            return _sequence(recorder, c)
        is_plain = type(c) is dict and all(type(key) in ATOMS for key in c)
        if is_plain and (is_known or id(c) in recorder.assigned):
            return _dict(recorder, c)
    return recorder.content(c)


def _sequence(recorder: Reader, c: Any) -> Any:
    shadow = recorder.shadows.get(id(c))
    if shadow is None:
        shadow = recorder.shadows[id(c)] = c.copy()
        start(recorder, c)
    recorder.note_value(reads.LENGTH, c, None, len(c))
    for i in range(len(shadow)):
        item(recorder, c, i)
    return shadow


def _dict(recorder: Reader, c: dict[Any, Any]) -> dict[Any, Any]:
    shadow: dict[Any, Any] | None = recorder.shadows.get(id(c))
    if shadow is None:
        shadow = recorder.shadows[id(c)] = c.copy()
    assigned = recorder.assigned.setdefault(id(c), set())
    recorder.note_value(reads.KEYS, c, None, tuple(c))
    for key, value in c.items():
        if key not in assigned:
            shadow[key] = recorder.note(reads.ITEM, c, key, value)
    return shadow


def changed(recorder: Reader, x: Any) -> Any:
    """An object as the trace sees it: of a container that it has changed, all is read."""
    return seen(recorder, x) if id(x) in recorder.shadows else x


def changed_below(recorder: Reader, x: Any) -> Any:
    """The same for what a list or a tuple holds, for code that keeps neither."""
    return _with_parts(changed(recorder, x), lambda part: changed_below(recorder, part))


def whole(recorder: Reader, x: Any) -> Any:
    """An object that C compares with others, as the trace sees it: containers are read with what
    they hold at any depth. What is given is for C alone.
    """
    if not isinstance(x, CONTAINERS):
        return x
    return _with_parts(seen(recorder, x), lambda part: whole(recorder, part))


def _with_parts(x: Any, seen_part: Callable[[Any], Any]) -> Any:
    """A list, tuple, deque or dict with other parts, of the class that C takes it for; itself, if
    these are the same objects.
    """
    base: Any = next((kind for kind in _WITH_PARTS if isinstance(x, kind)), None)
    if base is None:
        return x
    old = list(base.values(x) if issubclass(base, dict) else base.__iter__(x))
    parts = [seen_part(part) for part in old]
    if all(map(operator.is_, parts, old)):
        return x
    return base(zip(base.keys(x), parts, strict=True) if issubclass(base, dict) else parts)
