"""The containers among the arguments of a program: what they hold when it begins and when it ends.

A program gets its inputs as flat leaves and builds containers of its own, so what it puts into them
does not reach the caller.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import UnsupportedError
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PLAIN: Final = (list, dict, tuple, OrderedDict, defaultdict, deque, namedtuple, tree.Fields)


class Contents:
    """What the arguments of a call hold."""

    def __init__(self, names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._given = [*zip(names, args, strict=True), *kwargs.items()]
        self._held = [(name, c, _items(c)) for name, x in self._given for c in _containers(x)]
        self._leaves = [tree.flatten(x) for _, x in self._given]

    def need_same(self, *, objects: bool) -> None:
        """Raise if a container of Python or a dataclass holds something else; with `objects`, if
        anything does.
        """
        for name, container, items in self._held:
            now = _items(container)
            if len(now) != len(items) or not all(map(operator.is_, now, items)):
                raise _changed(name)
        if objects:
            for (name, x), (leaves, spec) in zip(self._given, self._leaves, strict=True):
                now, now_spec = tree.flatten(x)
                same = now_spec == spec and len(now) == len(leaves)
                if not same or not all(map(operator.is_, now, leaves)):
                    raise _changed(name)


def _containers(x: Any) -> Iterator[Any]:
    found = tree.level(x)
    if found is None or found.kind not in _PLAIN:
        return
    yield x
    for part in found.parts:
        yield from _containers(part)


def _items(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return [*container, *container.values()]
    found = tree.level(container)
    assert found is not None
    return found.parts


def _changed(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"the program changes what the argument {name} holds",
        why="it gets the leaves of its arguments, so the caller would not see the change",
        fix="return the new value, or work on a copy",
    )
