"""`Check`: whether all that a trace read is still there.

The reads of one kind are one test that runs over flat lists in C. A test compares identities; only
where one differs are values compared, exactly.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from itertools import repeat
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.dynamo import tensor_guards
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.alike import split
from anyshape.trace.record.read.exact_equality import same
from anyshape.trace.record.read.read import FAILED, MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anyshape.trace.record.read.read import Read

_DICTS: Final = (dict, OrderedDict)
_KEYED: Final = (dict, OrderedDict, MappingProxyType)
_PLAIN: Final = (dict, OrderedDict, list, tuple, MappingProxyType)
_TENSORS: Final = (torch.Tensor, torch.nn.Parameter)
_LISTED: Final = (dict, OrderedDict, list)
_OF_FUNCTIONS: Final = ("__code__", "__defaults__", "__kwdefaults__")
_FUNCTION, _HOLLOW, _OTHER = "function", "hollow", "other"  # groups, besides the kinds of reads


class Check:
    """Whether everything that was read is still there: all `tests` give True, and none fails."""

    def __init__(self, all_reads: Iterable[Read]) -> None:
        self.reads = list(all_reads)
        self.tests: tuple[Callable[[], bool], ...] = tuple(_tests(self.reads))

    def __call__(self) -> bool:
        """Whether all reads hold."""
        try:
            for test in self.tests:
                if not test():
                    return False
        except FAILED:
            return False
        return True

    def failing(self) -> Read | None:
        """The first read that does not hold."""
        return next((read for read in self.reads if not read.holds()), None)


def _tests(all_reads: list[Read]) -> Iterator[Callable[[], bool]]:
    by_kind: dict[str, list[Read]] = {}
    alike, singles = split(all_reads)
    yield from alike
    for read in singles:
        by_kind.setdefault(_group(read), []).append(read)
    items = by_kind.get(reads.ITEM, [])
    for group, some in by_kind.items():
        if group in _MADE:
            yield _MADE[group](some)
    yield from _absent(by_kind.get(reads.ABSENT, []), items)
    for read in by_kind.get(reads.CONTENT, []):
        yield _content(read)


def _group(read: Read) -> str:
    """The kind of a read, or what it is in particular."""
    kind, owner = read.kind, read.owner
    if kind == reads.ITEM and type(owner) not in _PLAIN:
        return _OTHER
    if kind == reads.ATTRIBUTE and type(owner) is FunctionType and read.key in _OF_FUNCTIONS:
        return _FUNCTION
    if kind == reads.CONTENT:
        if type(owner) in _DICTS and len(read.value) == 1:
            return _HOLLOW
        return reads.CONTENT if type(owner) in _LISTED else _OTHER
    if kind == reads.CALL and read.value is MISSING:
        return _OTHER
    return kind if kind in _MADE or kind == reads.ABSENT else _OTHER


def _columns(some: list[Read]) -> tuple[list[Any], list[Any], list[Any]]:
    return [r.owner for r in some], [r.key for r in some], [r.value for r in some]


def _items(some: list[Read]) -> Callable[[], bool]:
    owners, keys, values = _columns(some)
    item, is_ = operator.getitem, operator.is_

    def test() -> bool:
        return all(map(is_, map(item, owners, keys), values)) or all(
            map(same, map(item, owners, keys), values)
        )

    return test


def _attributes(some: list[Read]) -> Callable[[], bool]:
    owners, keys, values = _columns(some)
    is_ = operator.is_

    def test() -> bool:
        return all(map(is_, map(getattr, owners, keys, repeat(MISSING)), values)) or all(
            map(same, map(getattr, owners, keys, repeat(MISSING)), values)
        )

    return test


def _functions(some: list[Read]) -> Callable[[], bool]:
    """The code and the defaults of functions."""
    by_function: dict[int, tuple[Any, dict[str, Any]]] = {}
    for read in some:
        by_function.setdefault(id(read.owner), (read.owner, {}))[1][read.key] = read.value
    rows = [
        (f, *[found.get(key, getattr(f, key)) for key in _OF_FUNCTIONS])
        for f, found in by_function.values()
    ]

    def test() -> bool:
        for f, code, defaults, named in rows:
            if (
                f.__code__ is not code
                or f.__defaults__ is not defaults
                or f.__kwdefaults__ is not named
            ):
                return all(read.holds() for read in some)
        return True

    return test


def _kinds(some: list[Read]) -> Callable[[], bool]:
    owners, _, values = _columns(some)
    return lambda: all(map(operator.is_, map(type, owners), values))


def _empty(some: list[Read]) -> Callable[[], bool]:
    owners, keys, _ = _columns(some)
    return lambda: not any(map(operator.getitem, owners, keys))


def _hollow(some: list[Read]) -> Callable[[], bool]:
    """Dicts that hold nothing."""
    owners = [read.owner for read in some]
    return lambda: not any(owners)


def _lengths(some: list[Read]) -> Callable[[], bool]:
    owners, _, counts = _columns(some)
    return lambda: list(map(len, owners)) == counts


def _calls(some: list[Read]) -> Callable[[], bool]:
    rows = _columns(some)

    def test() -> bool:
        for function, args, value in zip(*rows, strict=True):
            now = function(*args)
            if now is not value and not same(now, value):
                return False
        return True

    return test


def _others(some: list[Read]) -> Callable[[], bool]:
    return lambda: all(read.holds() for read in some)


def _absent(some: list[Read], items: list[Read]) -> Iterator[Callable[[], bool]]:
    """The absent keys.

    Where all keys of a dict are watched, its length tells that there is no other one.
    """
    known: dict[int, set[Any]] = {}
    for read in items:
        known.setdefault(id(read.owner), set()).add(read.key)
    by_owner: dict[int, tuple[Any, set[Any]]] = {}
    others: list[Read] = []
    for read in some:
        if type(read.owner) in _KEYED:
            by_owner.setdefault(id(read.owner), (read.owner, set()))[1].add(read.key)
        else:
            others.append(read)
    whole = [o for o, _ in by_owner.values() if type(o) in _DICTS and _is_whole(o, known)]
    if whole:
        counts = [len(known.get(id(o), ())) for o in whole]
        yield lambda: list(map(len, whole)) == counts
    is_whole = set(map(id, whole))
    partly = [
        (o.keys().isdisjoint, frozenset(keys))  # views of dicts are live
        for o, keys in by_owner.values()
        if id(o) not in is_whole
    ]
    if partly:
        yield lambda: _are_disjoint(partly)
    if others:
        owners, keys, _ = _columns(others)
        yield lambda: not any(map(operator.contains, owners, keys))


def _is_whole(d: Any, known: dict[int, set[Any]]) -> bool:
    return bool(known.get(id(d), set()) == d.keys())


def _are_disjoint(pairs: list[tuple[Callable[[Any], bool], frozenset[Any]]]) -> bool:
    for is_disjoint, keys in pairs:  # noqa: SIM110  faster than a generator
        if not is_disjoint(keys):
            return False
    return True


def _content(read: Read) -> Callable[[], bool]:
    """All that a list or dict holds, in its order."""
    owner, (kind, *held) = read.owner, read.value
    is_, count = operator.is_, len(held)
    if kind is list:

        def of_list() -> bool:
            return (len(owner) == count and all(map(is_, owner, held))) or read.holds()

        return of_list
    count //= 2
    keys, values = held[:count], held[count:]

    def of_dict() -> bool:
        same_keys = len(owner) == count and all(map(is_, owner, keys))
        return (same_keys and all(map(is_, owner.values(), values))) or read.holds()

    return of_dict


def _metas(some: list[Read]) -> Callable[[], bool]:
    """The metadata of tensors: one call in C++ for those of torch's own classes.

    That call also looks at the state of the thread, so the metadata are compared where it fails.
    """
    fit = [r.owner for r in some if _is_guarded(r)]
    guards = tensor_guards(fit, [list(t.shape) for t in fit], [list(t.stride()) for t in fit])
    fits = set(map(id, fit))
    others = [r for r in some if id(r.owner) not in fits]

    def test() -> bool:
        if fit and not guards.check(*fit) and not all(r.holds() for r in some):
            return False
        return not others or all(r.holds() for r in others)

    return test


def _is_guarded(read: Read) -> bool:
    t = read.owner
    return type(t) in _TENSORS and t.layout is torch.strided and read.holds()


_MADE: Final = {
    reads.ITEM: _items,
    reads.ATTRIBUTE: _attributes,
    reads.KIND: _kinds,
    reads.EMPTY: _empty,
    reads.LENGTH: _lengths,
    reads.CALL: _calls,
    reads.META: _metas,
    _FUNCTION: _functions,
    _HOLLOW: _hollow,
    _OTHER: _others,
}
