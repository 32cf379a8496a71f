"""Taking iterators in C apart, copying them and setting where they stand, without a warning.

From Python 3.12 on, those of `itertools` warn that this is deprecated. A program that hands one out
did nothing of the kind, so the warning is not for its user. `warnings` has no filters per thread:
they are changed for these classes alone, on these versions.
"""

from __future__ import annotations

import copy
import itertools
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_WARN = sys.version_info >= (3, 12)


def _quietly(iterator: Any, act: Callable[[], Any]) -> Any:
    if not _WARN or type(iterator).__module__ != itertools.__name__:
        return act()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return act()


def parts_of(iterator: Any) -> tuple[Any, ...]:
    """What `__reduce__` tells: the function to call, its arguments, perhaps a state."""
    parts: tuple[Any, ...] = _quietly(iterator, iterator.__reduce__)
    return parts


def copied(iterator: Any) -> Any:
    """An iterator over what is left of this one, which does not move."""
    return _quietly(iterator, lambda: copy.copy(iterator))


def place(iterator: Any, state: Any) -> None:
    """Set where an iterator stands."""
    _quietly(iterator, lambda: iterator.__setstate__(state))
