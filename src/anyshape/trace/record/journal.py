"""The way back: how things outside were before the effects of a run, and how they are after it.

A call that has to run again, or whose next branch has to be traced, needs the state that it began
with. While a journal is open in a thread, every effect notes there what it is about to change, and
what cannot be taken back, such as a printed line, waits until `commit`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_MISSING: Final = object()


class _Open(threading.local):
    journal: Journal | None = None


_open = _Open()


class Journal:
    """What the effects of one call changed. Open it with `with`, as often as needed."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self._containers: dict[int, tuple[Any, Any]] = {}
        self._after: list[Any] = []
        self._outer: list[Journal | None] = []
        self._waiting: list[Callable[[], None]] = []

    def __enter__(self) -> Journal:
        self._outer.append(_open.journal)
        _open.journal = self
        return self

    def __exit__(self, *_: object) -> None:
        _open.journal = self._outer.pop()

    def commit(self) -> None:
        """Do what waits."""
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()

    def discard(self) -> None:
        """Forget what waits."""
        self._waiting = []

    def roll_back(self) -> None:
        """Put everything back as it was."""
        self._after = [(o, name, _value(o, name)) for o, name, _ in self._places.values()]
        self._after += [(c, None, _content(c)) for c, _ in self._containers.values()]
        for o, name, value in reversed(self._places.values()):
            _assign(o, name, value)
        for c, content in reversed(self._containers.values()):
            fill_container(c, content)

    def roll_forward(self) -> None:
        """Undo `roll_back`."""
        for o, name, value in self._after:
            if name is None:
                fill_container(o, value)
            else:
                _assign(o, name, value)
        self._after = []


def tell(act: Callable[[], None]) -> None:
    """Do what cannot be taken back: at once, or when the call has ended."""
    journal = _open.journal
    if journal is None:
        act()
    else:
        journal._waiting.append(act)


def before_attribute(o: Any, name: str) -> None:
    """An attribute is about to change."""
    journal = _open.journal
    if journal is not None:
        journal._places.setdefault((id(o), name), (o, name, _value(o, name)))


def before_content(c: Any) -> None:
    """A container is about to change."""
    journal = _open.journal
    if journal is not None and id(c) not in journal._containers:
        journal._containers[id(c)] = (c, _content(c))


def _value(o: Any, name: str) -> Any:
    own = vars(o) if hasattr(o, "__dict__") else None
    if own is not None and (name in own or not hasattr(getattr(type(o), name, None), "__set__")):
        return own.get(name, _MISSING)
    try:
        return getattr(o, name, _MISSING)
    except ValueError:  # an empty cell
        return _MISSING


def _assign(o: Any, name: str, value: Any) -> None:
    if value is _MISSING:
        with suppress(AttributeError):
            delattr(o, name) if isinstance(o, type) else object.__delattr__(o, name)
    elif isinstance(o, type):
        setattr(o, name, value)
    elif type(o).__name__ == "cell":
        o.cell_contents = value
    else:
        object.__setattr__(o, name, value)


def _content(c: Any) -> Any:
    if isinstance(c, torch.Generator):
        return c.get_state()
    return list(c.items()) if isinstance(c, dict) else list(c)


def fill_container(c: Any, content: Any) -> None:
    """Replace what a container holds; a dict is filled with pairs."""
    if isinstance(c, torch.Generator):
        c.set_state(content)
    elif isinstance(c, dict):
        base = OrderedDict if isinstance(c, OrderedDict) else dict
        base.clear(c)
        for key, value in content:
            base.__setitem__(c, key, value)
    elif isinstance(c, list):
        list.__setitem__(c, slice(None), content)
    elif isinstance(c, deque | bytearray):
        c.clear()
        c.extend(content)
    else:
        c.clear()
        c.update(content)
