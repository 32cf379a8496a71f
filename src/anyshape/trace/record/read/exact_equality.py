"""When a value that was read is the value that was there: exact equality.

Objects are the same by identity. Numbers and texts are equal with their type and bits, so that
`1`, `1.0` and `True` differ, and `0.0` and `-0.0`. Tuples, also named ones, and frozen sets of such
values are compared by what they hold.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import torch

BY_VALUE: Final = frozenset({int, str, bool, bytes, type(None), torch.device, torch.Size})
_bits: Final = struct.Struct("d").pack


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same to a program that reads one of them."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in BY_VALUE:
        return bool(a == b)
    if kind is float:
        return _bits(a) == _bits(b)
    if kind is complex:
        return _bits(a.real) + _bits(a.imag) == _bits(b.real) + _bits(b.imag)
    if kind is tuple or _is_only_a_tuple(kind):
        return len(a) == len(b) and all(map(same, a, b))
    if kind is frozenset:
        return a == b and sorted(map(repr, a)) == sorted(map(repr, b))
    return False


def _is_only_a_tuple(kind: type) -> bool:
    """Whether objects of a class are their items, as those of named tuples are."""
    return issubclass(kind, tuple) and kind.__eq__ is tuple.__eq__ and not kind.__dictoffset__
