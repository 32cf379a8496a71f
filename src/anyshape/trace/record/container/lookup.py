"""Symbolic integers as keys of dicts and sets.

Python looks a key up by its hash, which only a value has. A lookup asks which of the keys is equal,
so it is a series of comparisons: `n in {1, 3}` is `n == 1 or n == 3`, and the size stays symbolic
where it is neither. Many keys, and keys that may equal an integer by rules of their own, are left
to the value of the integer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.symbolic.numpy_scalar import value_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.record.object_kind import ATOMS, Function
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_KEYS: Final = 16
_KEPT: Final = 1 << 60  # a hash below it stays as it is
_NUMBERS: Final = frozenset((int, float, bool))
_OTHERS: Final = frozenset((str, bytes, tuple, type, type(None), torch.dtype, torch.device))


def own_hash(x: Any) -> int | None:
    """The hash of an object whose class has none of the user's; None for what has no hash."""
    return hash(x) if type(x).__hash__ is not None else None


def are_apart(a: Any, b: int | None) -> bool:
    """Whether the hash that a method gave surely differs from another one: then Python does not
    compare the two keys. Python changes a few of the numbers that methods give.
    """
    return type(a) is int and 0 <= a < _KEPT and b is not None and a != b


def equal_key(key: Any, keys: Iterable[Any], is_equal: Callable[[Any, Any], bool]) -> Any:
    """The one of the keys that equals a symbolic integer; MISSING if none does.

    Where the keys are not compared one by one, it is the value of the integer.
    """
    numbers = []
    for k in keys:
        kind = type(k)
        if kind in _NUMBERS:
            numbers.append(k)
        elif kind not in _OTHERS:
            return value_of(key)
    if len(numbers) > MAX_KEYS:
        return value_of(key)
    return next((k for k in numbers if is_equal(k, key)), MISSING)


def _item(t: SymTensor) -> Any:
    return t.item()


def found_among(parts: Any, key: Any) -> Any:
    """Whether one of some tensors and other objects equals a key; of the last, the run may know."""
    count = len(parts)
    for i, x in enumerate(parts):
        if x is key:
            return True
        found = x == key
        if type(found) is SymTensor:
            found = _item(found)
            if i == count - 1 and type(found) is SymBool:
                return found
        if found:
            return True
    return False


def is_compared(x: Any) -> bool:
    """Whether an object is compared by a method of the user's."""
    return type(x) not in ATOMS and type(getattr(type(x), "__eq__", None)) is Function
