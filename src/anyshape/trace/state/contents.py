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
        given = [*zip(names, args, strict=True), *kwargs.items()]
        inside = [(name, c) for name, x in given for c in _containers(x)]
        self._plain = [(name, c, _items(c)) for name, c in inside if _is_plain(c)]
        self._objects = [(name, c, tree.flatten(c)) for name, c in inside if not _is_plain(c)]

    def containers(self) -> Iterator[Any]:
        """All containers among the arguments."""
        yield from [c for _, c, _ in self._plain]
        yield from [c for _, c, _ in self._objects]

    def need_same(self, result: Any, *, objects: bool) -> None:
        """Raise if a container of Python or a dataclass holds something else.

        An object of another class may do so if the program returns it, unless `objects` is set: the
        caller then gets what it holds now.
        """
        for name, container, items in self._plain:
            now = _items(container)
            if len(now) != len(items) or not all(map(operator.is_, now, items)):
                raise _changed(name)
        for name, x, (leaves, spec) in self._objects:
            now, now_spec = tree.flatten(x)
            same = now_spec == spec and all(map(operator.is_, now, leaves))
            if not same and (objects or not any(c is x for c in _containers(result))):
                raise _changed(name)


def _is_plain(x: Any) -> bool:
    found = tree.level(x)
    return found is not None and found.kind in _PLAIN


def _containers(x: Any) -> Iterator[Any]:
    found = tree.level(x)
    if found is not None:
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
        fix="return it, if it is no container of Python; or work on a copy",
    )
