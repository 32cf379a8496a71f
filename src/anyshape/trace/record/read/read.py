"""`Read`: what a trace read at one place outside its arguments.

A read names its owner by identity: the read that gave the owner is guarded too, so no path has to
be walked.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import torch

from anyshape.symbolic.operand import is_symbolic
from anyshape.trace.argument.attribute import Elements, Length, View, entry
from anyshape.trace.record.read.exact_equality import same

if TYPE_CHECKING:
    from collections.abc import Callable

ITEM: Final = "item"  # owner[key]
ABSENT: Final = "absent"  # key not in owner
ATTRIBUTE: Final = "attribute"  # getattr(owner, key), or absent
CONTENT: Final = "content"  # all that a container holds
KIND: Final = "kind"  # type(owner)
CALL: Final = "call"  # owner(*key)
KEYS: Final = "keys"  # of a dict, in order
LENGTH: Final = "length"  # len(owner)
EMPTY: Final = "empty"  # owner[key] is an empty container
META: Final = "meta"  # dtype, device, shape and the like of a tensor

MISSING: Final = object()
Place: TypeAlias = tuple[str, int, Any]  # the kind, the id of the owner, the key
FAILED: Final = (KeyError, IndexError, AttributeError, TypeError, ValueError, RuntimeError)


class Read(NamedTuple):
    """One read: the place, and what was there."""

    kind: str
    owner: Any
    key: Any
    value: Any

    def now(self) -> Any:
        """The value that is there now, or `MISSING`."""
        try:
            return _NOW[self.kind](self.owner, self.key)
        except FAILED:
            return MISSING

    def holds(self) -> bool:
        """Whether it is still what was read."""
        now = self.now()
        if self.kind == CONTENT:
            return same_content(now, self.value)
        return same(now, self.value)


def place_of(owner: Any, key: Any) -> Place:
    """The place of an item, an attribute or a length, or of the tuple that has such an element."""
    if type(owner) is Elements:
        owner, key = owner.owner, owner.key
    if type(owner) is View:
        return ATTRIBUTE, id(owner.object), key
    if type(owner) is Length:
        return LENGTH, id(owner.container), None
    return ITEM, id(owner), key


def is_array(x: Any) -> bool:
    """Whether an object is an array of NumPy, or one that shows its memory as such."""
    if isinstance(x, type | torch.Tensor) or is_symbolic(x):
        return False  # what is looked up in a traced tensor is recorded
    return hasattr(x, "tobytes") and hasattr(x, "strides") and hasattr(x, "dtype")


def content_of(c: Any) -> Any:
    """The content of a container as a tuple; of a mapping with its keys."""
    if isinstance(c, OrderedDict):
        return (type(c), *c.keys(), *c.values())
    if isinstance(c, dict):
        return (type(c), *dict.keys(c), *dict.values(c))
    if is_array(c):
        return (type(c), str(c.dtype), tuple(c.shape), tuple(c.strides), c.tobytes())
    if isinstance(c, set | frozenset):
        return (type(c), *sorted(c, key=lambda x: (str(type(x)), repr(x))))
    return (type(c), *c)


def same_content(a: Any, b: Any) -> bool:
    """Whether two contents are the same."""
    if type(a) is not tuple or len(a) != len(b):
        return False
    return all(map(operator.is_, a, b)) or all(map(same, a, b))


def meta_of(t: torch.Tensor) -> tuple[Any, ...]:
    """The metadata of a tensor from outside that a program relies on."""
    strides = t.stride() if t.layout is torch.strided else ()
    return (t.dtype, t.device, tuple(t.shape), t.requires_grad, t.layout, strides)


_NOW: Final[dict[str, Callable[[Any, Any], Any]]] = {
    ITEM: entry,
    ABSENT: lambda owner, key: key if key in owner else MISSING,
    ATTRIBUTE: lambda owner, key: getattr(owner, key, MISSING),
    CONTENT: lambda owner, key: content_of(owner),
    KIND: lambda owner, key: type(owner),
    CALL: lambda owner, key: owner(*key),
    KEYS: lambda owner, key: tuple(owner),
    LENGTH: lambda owner, key: len(owner),
    EMPTY: lambda owner, key: tuple(entry(owner, key)),
    META: lambda owner, key: meta_of(owner),
}
