"""Numbers that a program carries from one round of a loop to the next, and where they are.

A place is a way from a frame of the program to a number: a local variable or the iterator of a
loop, then items of lists, tuples and dicts, attributes of objects that the trace made, and the size
of a tensor in a dimension. The length of a list is a size, too. The number at a place may be
replaced by an equal one of another form; a list whose length is replaced becomes one of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.live_locals import live_after
from anyshape.torch_compat.local_variable import assign_local
from anyshape.trace.graph.graph import RESULT, Value
from anyshape.trace.path.respelled import same_tensor
from anyshape.trace.sequence.list_meta import ListMeta
from anyshape.trace.sequence.sym_list import SymList, list_of
from anyshape.trace.sequence.walker import WALKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from anyshape.trace.path.program_state import Position
    from anyshape.trace.path.segment_tracer import SegmentTracer

VARIABLE: Final = "variable"
STACK: Final = "stack"
ITEM: Final = "item"
ATTRIBUTE: Final = "attribute"
SIZE: Final = "size"
_MANY: Final = 4096  # numbers in one state
_NUMBERS: Final = (int, float, SymInt, SymFloat)
_SIZED: Final = (SymTensor, SymList)

Way: TypeAlias = tuple[tuple[str, Any], ...]


class Place(NamedTuple):
    """The frame, counted from the innermost, and the way from there."""

    frame: int
    way: Way

    @property
    def is_size(self) -> bool:
        """Whether the number is a size of a tensor."""
        return self.way[-1][0] == SIZE

    @property
    def owner(self) -> Place:
        """The place of what holds the number."""
        return Place(self.frame, self.way[:-1])

    def is_below(self, others: Container[Place]) -> bool:
        """Whether it is inside of something at one of the places."""
        ways = [self.way[:i] for i in range(1, len(self.way) - self.is_size)]
        return any(Place(self.frame, way) in others for way in ways)

    def __str__(self) -> str:
        (_, name), *rest = self.way
        return str(name) + "".join([_STEPS[kind].format(x) for kind, x in rest])


_STEPS: Final = {ITEM: "[{!r}]", ATTRIBUTE: ".{}", SIZE: ".size({})"}


class Carried:
    """The numbers in the variables of frames that may still be read, and in iterators of loops.

    `lists` has the places of each list of Python's, by id.
    """

    def __init__(self, position: Position, is_born: Callable[[Any], bool]) -> None:
        self._frames, self._stacks = position.frames, position.stacks
        self._is_born = is_born
        self._seen: set[int] = set()
        self.numbers: dict[Place, Any] = {}
        self.lists: dict[int, list[Place]] = {}
        for i, held in enumerate(self._stacks):
            for k, x in enumerate(held):
                if type(x) in WALKERS:
                    self._read(x, Place(i, ((STACK, k),)))
        for i, frame in enumerate(self._frames):
            live = live_after(frame.f_code, frame.f_lasti)
            for name, x in frame.f_locals.items():
                if name in live:
                    self._read(x, Place(i, ((VARIABLE, name),)))

    def _read(self, x: Any, place: Place) -> None:
        kind = type(x)
        if len(self.numbers) >= _MANY:
            return
        if kind in _NUMBERS:
            self.numbers[place] = x
        elif kind in _SIZED:
            self._read_sizes(x, place)
        elif kind is list:
            self.lists.setdefault(id(x), []).append(place)
            if id(x) not in self._seen and self._is_born(x):
                self.numbers[_below(place, SIZE, 0)] = len(x)
            self._read_parts(x, place, ITEM, enumerate(x))
        elif isinstance(x, tuple):
            self._read_parts(x, place, ITEM, enumerate(x))
        elif kind is dict:
            self._read_parts(x, place, ITEM, x.items())
        elif kind in WALKERS:
            self._read_parts(x, place, ATTRIBUTE, x.parts().items())
        elif self._is_born(x) and type(getattr(x, "__dict__", None)) is dict:
            self._read_parts(x, place, ATTRIBUTE, vars(x).items())

    def _read_sizes(self, x: Any, place: Place) -> None:
        if id(x) not in self._seen:
            self._seen.add(id(x))
            sizes = [(d, n) for d, n in enumerate(x._meta.shape) if n is not None]
            self.numbers.update({_below(place, SIZE, d): n for d, n in sizes})

    def _read_parts(self, x: Any, place: Place, kind: str, parts: Any) -> None:
        is_own = isinstance(x, (tuple, *WALKERS)) or self._is_born(x)
        if id(x) in self._seen or not is_own:
            return
        self._seen.add(id(x))
        for key, part in list(parts):
            if type(key) in (int, str):
                self._read(part, _below(place, kind, key))

    # ------------------------------------------------------------------ replacement

    def replace(self, tracer: SegmentTracer, new: dict[Place, Any]) -> None:
        """Put equal numbers of another form in their places."""
        sizes: dict[Place, dict[int, Any]] = {}
        for place, n in new.items():
            if place.is_size:
                sizes.setdefault(place.owner, {})[place.way[-1][1]] = n
            else:
                self._set(place, n)
        for place, by_dim in sizes.items():
            x = self._get(place)
            _respell(tracer, self._listed(tracer, x) if type(x) is list else x, by_dim)

    def _listed(self, tracer: SegmentTracer, x: list[Any]) -> SymList:
        """Put a list of the graph in all places of a list."""
        made = list_of(tracer, x)
        for place in self.lists[id(x)]:
            self._set(place, made)
        return made

    def owner(self, place: Place) -> Any:
        """What holds the number at a place, which is no variable."""
        return self._get(place.owner)

    def _get(self, place: Place) -> Any:
        (root, name), *rest = place.way
        x = (
            self._stacks[place.frame][name]
            if root == STACK
            else self._frames[place.frame].f_locals[name]
        )
        for kind, key in rest:
            x = getattr(x, key) if kind == ATTRIBUTE else x[key]
        return x

    def _set(self, place: Place, value: Any) -> None:
        if len(place.way) == 1:
            assign_local(self._frames[place.frame], place.way[0][1], value)
            return
        owner = place.owner
        kind, key = place.way[-1]
        x = self._get(owner)
        if isinstance(x, tuple):
            parts = [*x[:key], value, *x[key + 1 :]]
            self._set(owner, type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts))
        elif kind == ATTRIBUTE:
            vars(x)[key] = value
        else:
            x[key] = value


def _respell(tracer: SegmentTracer, t: SymTensor | SymList, sizes: dict[int, Any]) -> None:
    """Give a tensor or a list sizes of another form."""
    old: Meta = t._meta
    shape = tuple([sizes.get(d, n) for d, n in enumerate(old.shape)])
    if isinstance(old, ListMeta):
        meta: Meta = old.with_shape(shape)
    else:
        meta = Meta(shape, old.dtype, old.layout, old.device, old.requires_grad)
    node = tracer.emit(same_tensor, (t,))
    node.outs = value = Value(tracer.next_result(), RESULT, meta, node)
    value.root = t._value.root
    tracer.rebind(t, value)


def _below(place: Place, kind: str, key: Any) -> Place:
    return Place(place.frame, (*place.way, (kind, key)))
