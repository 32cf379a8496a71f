"""`SymList`: a list whose length only the run knows; what is done to it are calls of the graph.

A `SymList` and the list of the run are one and one: a list of Python's that becomes a `SymList` is
replaced in all places that hold it. A list inside another is never changed, nor is one that was
taken out of another: there would be two for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.expr.traverse import names_of
from anyshape.refusal import refused
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.identity import stand_for
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import known, plain
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.graph.graph import RESULT, Name, Value
from anyshape.trace.sequence import list_call
from anyshape.trace.sequence.list_meta import FLOAT, INTEGER, TENSOR, ListMeta
from anyshape.trace.sequence.walker import Backward, Forward

if TYPE_CHECKING:
    from collections.abc import Container, Iterable


_TWICE: Final = "two places for one list"
WHOLE: Final = "a list, tuple or call made of all items"


class SymList:
    """A list of tensors, of integers, of floats, or of lists of these."""

    __slots__ = ("__weakref__", "_is_shared", "_meta", "_tracer", "_value")

    _meta: ListMeta

    def __init__(self, value: Value, tracer: Any, *, is_shared: bool = False) -> None:
        assert type(value.meta) is ListMeta
        self._value, self._meta, self._tracer = value, value.meta, tracer
        self._is_shared = is_shared
        tracer.track(self)

    @property
    def length(self) -> Any:
        """The number of items, which may be symbolic."""
        return self._meta.length

    # ------------------------------------------------------------------ reading

    def __len__(self) -> int:
        """What code in C asks that takes all items; `len` gives `length`."""
        if type(self.length) is int:
            return self.length
        raise refusal_of(WHOLE)

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __iter__(self) -> Forward:
        return Forward(self._tracer, self)

    def __reversed__(self) -> Backward:
        return Backward(self._tracer, self)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            return part_of(self._tracer, self, self._meta, key)
        return self._item(index_of(key))

    def _item(self, place: Any) -> Any:
        tracer, meta = self._tracer, self._meta
        need_unchanged(tracer)
        if meta.nested:
            inner = _inside(meta)
            return _with_length(tracer, list_call.inner_list, (self, place), inner, is_shared=True)
        if meta.items == INTEGER:
            return tracer.mint(list_call.list_item, (self, place))
        if meta.items == FLOAT:
            return tracer.mint_float(list_call.list_item, (self, place))
        shape = tuple([tracer.fresh_size() if n is None else n for n in meta.shape[1:]])
        item = Meta(shape, meta.dtype, meta.item_layout(), meta.device, meta.requires_grad)
        made = tracer.record(list_call.list_item, (self, place), {}, item)
        made._value.root = self._value.root
        return made

    def copy(self) -> SymList:
        """A new list of the same items."""
        return part_of(self._tracer, self, self._meta, slice(None))

    def __add__(self, other: Any) -> SymList:
        return _sum(self._tracer, self, other)

    def __radd__(self, other: Any) -> SymList:
        return _sum(self._tracer, other, self)

    # ------------------------------------------------------------------ changing

    def append(self, x: Any) -> None:
        """One more item at the end."""
        self._change(list_call.list_append, (x,), self._with([x], 1))

    def insert(self, place: Any, x: Any) -> None:
        """One more item before a place."""
        self._change(list_call.list_insert, (index_of(place), x), self._with([x], 1))

    def extend(self, more: Any) -> None:
        """The items of another list at the end."""
        if type(more) is SymList:
            meta = self._meta.joined(more._meta, plain(self.length + more.length))
            self._change(list_call.list_extend, (more,), meta or self._refuse_mixed())
        else:
            items = list(more)
            if items:
                self._change(list_call.list_extend, (items,), self._with(items, len(items)))

    def __iadd__(self, more: Any) -> SymList:
        self.extend(more)
        return self

    def __setitem__(self, place: Any, x: Any) -> None:
        if type(place) is slice:
            self._refuse("the assignment of a slice")
        self._change(list_call.list_set, (index_of(place), x), self._with([x], 0))

    def __delitem__(self, place: Any) -> None:
        if type(place) is slice:
            self._refuse("the deletion of a slice")
        self._drop(index_of(place))

    def pop(self, place: Any = -1) -> Any:
        """An item, which the list does not have any more."""
        place = index_of(place)
        found = self._item(place)
        self._drop(place)
        return found

    def _drop(self, place: Any) -> None:
        less = self._meta.of_length(plain(self.length - 1))
        self._change(list_call.list_drop, (place,), less)
        holds = self.length >= 0
        if type(holds) is SymBool:  # else it has raised
            self._tracer.env.learn(holds.condition)

    def reverse(self) -> None:
        """The list in reverse order."""
        self._change(list_call.list_reverse, (), self._meta)

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        """The list in order."""
        self._need_numbers("sort() of tensors or lists, or with a key", key)
        self._change(list_call.list_sort, (bool(reverse),), self._meta)

    def _need_numbers(self, what: str, key: Any = None) -> None:
        if key is not None or self._meta.nested or self._meta.items == TENSOR:
            self._refuse(what)

    def number(self, func: Any) -> Any:
        """A number that a function of `list_call` makes of all items, which are numbers."""
        self._need_numbers("min(), max() or sum() of tensors or lists")
        if self._meta.items == INTEGER:
            return self._tracer.mint(func, (self,))
        if func is list_call.list_total and not self:
            return 0
        return self._tracer.mint_float(func, (self,))

    def clear(self) -> None:
        """The list without items."""
        self._change(list_call.list_clear, (), self._meta.of_length(0))

    def _change(self, func: Any, args: tuple[Any, ...], meta: ListMeta) -> None:
        if self._is_shared:
            self._refuse("a change of a list that is in another list")
        tracer = self._tracer
        node = tracer.emit(func, (self, *args))
        node.outs = value = Value(tracer.next_result(), RESULT, meta, node)
        value.root = self._value.root
        tracer.rebind(self, value)

    def _with(self, items: list[Any], more: int) -> ListMeta:
        """What is known of the list with some items more, or with others."""
        made: ListMeta | None = self._meta
        length = plain(self.length + more)
        for x in items:
            assert made is not None
            made = made.joined(meta_of_item(self._tracer, x), length)
            if made is None:
                return self._refuse_mixed()
        assert made is not None
        for x in items:
            share(self._tracer, x)
        return made

    # ------------------------------------------------------------------ what is not known

    def _refuse_mixed(self) -> NoReturn:
        self._refuse("items of two kinds, dtypes or ranks, or some that require gradients")

    def _refuse(self, what: str) -> NoReturn:
        raise refusal_of(what)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        raise refusal_of(f".{name}()")

    def _asked(self, *_: Any) -> NoReturn:
        raise refusal_of("a comparison or a search")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _asked
    __mul__ = __rmul__ = __imul__ = _asked
    __hash__ = None  # type: ignore[assignment]  # as lists have none

    def __repr__(self) -> str:
        return f"SymList({self._value}: {self._meta})"


stand_for(SymList, [])


def refusal_of(what: str) -> UnsupportedError:
    """The error for what no such list can do."""
    site = capture_site()
    return refused(
        UnsupportedError,
        f"{what}, of a list whose length is known only when the program runs"
        + (f", at {site}" if site else ""),
        why="the program has such lists of tensors or numbers of one kind, and can append, insert,"
        " pop, index, slice, sort, reverse, go through, stack, concatenate and return them",
        fix="write a for statement that appends to a list, or keep results of rounds in a tensor,"
        " such as torch.cat([out, new])",
    )


def index_of(key: Any) -> Any:
    """An index as a number."""
    if isinstance(key, torch.Tensor):
        key = key.item()
    return plain(key) if type(key) is SymInt else int(key)


def meta_of_item(tracer: Any, x: Any) -> ListMeta:
    """What is known of a list of one item; raises if there is no such list."""
    kind = type(x)
    if kind is SymTensor or isinstance(x, torch.Tensor):
        meta = x._meta if kind is SymTensor else tracer.lift(x).meta
        layout = meta.layout.found()
        dense = layout.dense and layout.order is None and not layout.uncertain
        at_start = type(layout.offset) is int and layout.offset == 0
        return ListMeta.of(meta, dense=dense and at_start)
    if kind is int or kind is SymInt:
        return ListMeta((1,), INTEGER)
    if kind is float or kind is SymFloat:
        return ListMeta((1,), FLOAT, dtype=torch.float64)
    if kind is SymList and not x._meta.nested:
        made: ListMeta = x._meta.of_length(1)
        made.nested = True
        return made
    if kind is list and tracer.recorder.is_born(x):
        made_of = meta_of_items(tracer, x)
        if made_of is not None and not made_of.nested:
            made = made_of.of_length(1)
            made.nested = True
            return made
    raise refusal_of(f"an item of class {kind.__name__}")


def share(tracer: Any, x: Any) -> None:
    """Note that an object is put into a list. The graph gets a copy of a list of Python's, which
    the program must not change or use in another place from then on.
    """
    if type(x) is SymList:
        x._is_shared = True
    elif type(x) is SymTensor:
        tracer.listed.add(x._value)
    elif type(x) is list:
        if id(x) in tracer.frozen:
            raise refusal_of(_TWICE)
        tracer.frozen[id(x)] = (x, tuple(x))


def need_unused(tracer: Any, used: Container[int]) -> None:
    """Raise if lists that were put into others are among those that are used on, by id."""
    if any(x in used for x in tracer.frozen):
        raise refusal_of(_TWICE)


def need_unchanged(tracer: Any) -> None:
    """Raise if a list of Python's was changed after it was put into a list of the graph."""
    for x, before in tracer.frozen.values():
        if len(x) != len(before) or any(a is not b for a, b in zip(x, before, strict=True)):
            raise refusal_of("a change of a list that is in another list")


def _inside(meta: ListMeta) -> ListMeta:
    made = meta.of_length(None)
    made.nested = False
    return made


def meta_of_items(tracer: Any, items: Iterable[Any]) -> ListMeta | None:
    """What is known of a list with these items; None if there is no such list."""
    made: ListMeta | None = None
    for i, x in enumerate(items):
        try:
            one = meta_of_item(tracer, x)
        except UnsupportedError:
            return None
        made = one if made is None else made.joined(one, i + 1)
        if made is None:
            return None
    return made


def make_list(tracer: Any, func: Any, args: tuple[Any, ...], meta: ListMeta) -> SymList:
    """The list that a call gives."""
    node = tracer.emit(func, args)
    node.outs = value = Value(tracer.next_result(), RESULT, meta, node)
    tracer.has_lists = True
    return SymList(value, tracer)


def _with_length(
    tracer: Any, func: Any, args: tuple[Any, ...], meta: ListMeta, *, is_shared: bool = False
) -> SymList:
    """The list that a call gives with its length."""
    n = tracer.env.unbacked_at(capture_site(), size=True)
    node = tracer.emit(func, args)
    value = Value(tracer.next_result(), RESULT, meta.of_length(SymInt(n, tracer.env)), node)
    node.outs = (value, Name(names_of(n)[0]))
    tracer.has_lists = True
    return SymList(value, tracer, is_shared=is_shared)


def list_of(tracer: Any, items: list[Any]) -> SymList:
    """A list of known length as one of the graph."""
    meta = meta_of_items(tracer, items)
    if meta is None:
        raise refusal_of("items of several kinds")
    for x in items:
        share(tracer, x)
    return make_list(tracer, list_call.new_list, (items,), meta)


def part_of(tracer: Any, items: Any, meta: ListMeta, key: slice) -> SymList:
    """A slice of a list; of one of known length, too."""
    ends = [None if n is None else index_of(n) for n in (key.start, key.stop, key.step)]
    need_unchanged(tracer)
    made = _with_length(tracer, list_call.list_part, (items, *ends), meta)
    if type(items) is SymList:
        made._value.root = items._value.root
    bound = made.length <= meta.length
    if known(bound) is None:
        tracer.env.learn(bound.condition)
    return made


def _sum(tracer: Any, a: Any, b: Any) -> SymList:
    if not all(type(x) in (list, SymList) for x in (a, b)):
        raise TypeError("can only concatenate list to list")
    for one, other in ((a, b), (b, a)):
        if type(one) is list and not one:
            copied: SymList = other.copy()
            return copied
    metas = [m._meta if type(m) is SymList else meta_of_items(tracer, m) for m in (a, b)]
    lengths = [m.length if type(m) is SymList else len(m) for m in (a, b)]
    first, second = metas
    made = None
    if first is not None and second is not None:
        made = first.joined(second, plain(lengths[0] + lengths[1]))
    if made is None:
        raise refusal_of("items of two kinds")
    for x in (*(a if type(a) is list else ()), *(b if type(b) is list else ())):
        share(tracer, x)
    return make_list(tracer, list_call.list_sum, (a, b), made)
