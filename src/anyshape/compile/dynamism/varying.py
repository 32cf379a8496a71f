"""Places outside the arguments that change from call to call, and become inputs.

A number or a tensor that a program reads from an attribute, a global variable or the like is at
first what it was when traced. If an entry is rejected because another number, or another tensor of
the same class, is there, the place is an input of later traces: a counter or a cache then has one
program. Of a tuple of numbers, which is replaced as a whole, the elements are the inputs.

A place that holds another container or plain object of the same class, as a dictionary that is
made anew in every step, is an input too: what is `held` there is taken apart like an argument. Any
other object, or one whose parts keep changing, is no input. Once a function has as many programs as
it may, its place is `unsteady`: a trace breaks where it is read.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.cache.guard_function import Outside
from anyshape.trace.argument.argument_tree import is_large, level
from anyshape.trace.argument.attribute import Attribute, Elements, Length, View
from anyshape.trace.argument.observation import OuterGradients
from anyshape.trace.record.object_kind import ATOMS
from anyshape.trace.record.read.exact_equality import same
from anyshape.trace.record.read.read import ATTRIBUTE, CONTENT, ITEM, LENGTH, MISSING, Read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyshape.compile.cache.recompilation import Reason
    from anyshape.compile.dynamism.history import History
    from anyshape.trace.record.read.read import Place
    from anyshape.trace.record.read.watch import Watch

_GRAD: Final = "grad"
_VIEWS: Final = {ATTRIBUTE: View, LENGTH: Length}
_SIZED: Final = (list, deque, dict, set)


class Varying:
    """The places of one compiled function that were seen to change. The function `around`, which it
    is a part of, knows the same unsteady places.
    """

    def __init__(self, around: Varying | None = None) -> None:
        self._places: dict[tuple[int, Any], Attribute] = {}
        self.unsteady: dict[Place, Read] = {} if around is None else around.unsteady
        self._broken: set[Place] = set()  # those of them that this function was traced anew for
        self._held: dict[Place, tuple[Attribute, Read]] = {}

    def learn(self, reasons: Iterable[Reason], history: History) -> None:
        """Add the places that made entries reject a call."""
        for reason in reasons:
            condition = reason.condition
            if type(condition) is OuterGradients:
                for t in condition.replaced():
                    name = f"the gradient of tensor {len(self._places)} from outside"
                    self._places.setdefault((id(t), _GRAD), Attribute(View(t), _GRAD, name, True))
                continue
            if isinstance(condition, Outside):
                for read in condition.watch.changed():
                    for part in _items(read) if read.kind == CONTENT else (read,):
                        self._learn(part, condition.watch, history)

    def _learn(self, read: Read, watch: Watch, history: History) -> None:
        if _may_be_input(read):
            self._add(read, watch.label(read), history)
        elif _may_be_held(read) and _place(read) not in self.unsteady:
            self._hold(read, watch.label(read))

    def breaks_at(self, reason: Reason) -> bool:
        """Let later traces break at the place that the reason is about; False if they do already,
        or if it holds no object.
        """
        condition = reason.condition
        if self._held and type(condition) is not Outside:
            return self._release()
        read = condition.watch.failing() if type(condition) is Outside else None
        if read is None or read.kind not in (ITEM, ATTRIBUTE):
            return False
        now, place = read.now(), _place(read)
        if place in self._broken or now is MISSING or type(now) in ATOMS or _is_input(now):
            return False
        self._broken.add(place)
        self.unsteady.setdefault(place, read)
        return True

    def _hold(self, read: Read, label: str) -> None:
        """Let what is at a place be taken apart like an argument, under a name that none has."""
        place, taken = _place(read), {a.name for a, _ in self._held.values()}
        if place not in self._held:
            kind = "variable" if "__builtins__" in _mapping(read.owner) else "attribute"
            name = f"the {kind} {label}" if label.isidentifier() else label  # arguments have such
            while name in taken:
                name += "'"
            owner = View(read.owner) if read.kind == ATTRIBUTE else read.owner
            self._held[place] = Attribute(owner, read.key, name, varies=True), read

    def held(self) -> list[Attribute]:
        """The places whose objects are taken apart, where there is one at the moment."""
        return [a for a, _ in self._held.values() if _can_be_held(_value(a))]

    def _release(self) -> bool:
        """Let later traces break where they read objects that were taken apart."""
        for place, (_, read) in self._held.items():
            self._broken.add(place)
            self.unsteady.setdefault(place, read)
        self._held = {}
        return True

    def _add(self, read: Read, name: str, history: History) -> None:
        owner = _VIEWS[read.kind](read.owner) if read.kind in _VIEWS else read.owner
        found, values = [Attribute(owner, read.key, name, varies=True)], [read.value]
        if type(read.value) is tuple:
            parts = Elements(owner, read.key, len(read.value))
            found = [
                Attribute(parts, i, f"{name}[{i}]", varies=True) for i in range(len(read.value))
            ]
            values = list(read.value)
        for place, value in zip(found, values, strict=True):
            key = (id(read.owner), (read.key, place.key))
            if self._places.setdefault(key, place) is place:
                history.note([place.name], [value])

    def current(self, known: list[Attribute]) -> list[Attribute]:
        """The places that hold a number or a tensor at the moment, without those known already."""
        taken = {(id(a.owner), a.key) for a in known}
        found = [a for a in self._places.values() if _is_input(_value(a))]
        return [a for a in found if (id(a.owner), a.key) not in taken]


def _items(content: Read) -> Iterator[Read]:
    """The items of a container that are other ones now, if it holds as many, by the same keys."""
    owner, (kind, *held) = content.owner, content.value
    keys: Any = range(len(held))
    if kind is dict:
        keys, held = held[: len(held) // 2], held[len(held) // 2 :]
        if not same(tuple(keys), tuple(owner)):
            return
    if kind in (list, deque, dict) and len(owner) == len(held):
        items = [Read(ITEM, owner, key, value) for key, value in zip(keys, held, strict=True)]
        yield from [item for item in items if not item.holds()]


def _may_be_input(read: Read) -> bool:
    if read.kind == LENGTH:
        return type(read.owner) in _SIZED
    if read.kind not in (ITEM, ATTRIBUTE) or isinstance(read.owner, torch.Tensor):
        return False
    now = read.now()
    if type(now) is tuple and type(read.value) is tuple and now:
        kinds = [type(x) for x in now]
        return kinds == [type(x) for x in read.value] and all(map(_is_number, now))
    return type(now) is type(read.value) and _is_input(now)


def _may_be_held(read: Read) -> bool:
    if read.kind not in (ITEM, ATTRIBUTE) or isinstance(read.owner, torch.Tensor):
        return False
    now = read.now()
    return type(now) is type(read.value) and _can_be_held(now)


def _can_be_held(x: Any) -> bool:
    return level(x) is not None and not is_large(x)


def _mapping(x: Any) -> dict[str, Any]:
    return x if type(x) is dict else {}


def _place(read: Read) -> Place:
    return (read.kind, id(read.owner), read.key)


def _is_input(x: Any) -> bool:
    return _is_number(x) or isinstance(x, torch.Tensor)


def _is_number(x: Any) -> bool:
    return type(x) in (int, float)


def _value(a: Attribute) -> Any:
    try:
        return a.value
    except (LookupError, AttributeError, ValueError, TypeError):
        return None
