"""What a program does with a list whose length only the run knows: it is a list of Python's.

A call that changes the list returns it. Loaded programs call these functions with any arguments:
one that is no list is a `TypeError`.
"""

from __future__ import annotations

from typing import Any, Final

import torch


def _need(items: Any) -> list[Any]:
    if type(items) is not list:
        raise TypeError(f"a list is needed, not a {type(items).__name__}")
    return items


def new_list(items: Any) -> list[Any]:
    """A list of these items."""
    return list(_need(items))


def rows_of(t: Any) -> list[Any]:
    """The rows of a tensor."""
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"a tensor is needed, not a {type(t).__name__}")
    return list(t.unbind(0))


def numbers_of(t: Any) -> list[Any]:
    """The elements of a tensor of one dimension as numbers."""
    if not isinstance(t, torch.Tensor) or t.dim() != 1:
        raise TypeError(f"a tensor of one dimension is needed, not {type(t).__name__}")
    found: list[Any] = t.tolist()
    return found


def list_item(items: Any, place: Any) -> Any:
    """An item."""
    return _need(items)[place]


def inner_list(items: Any, place: Any) -> tuple[list[Any], int]:
    """An item that is a list, and its length."""
    found = _need(_need(items)[place])
    return found, len(found)


def list_part(items: Any, start: Any, stop: Any, step: Any) -> tuple[list[Any], int]:
    """A slice, and its length."""
    found = _need(items)[start:stop:step]
    return found, len(found)


def list_sum(a: Any, b: Any) -> list[Any]:
    """The items of two lists in a new one."""
    return _need(a) + _need(b)


def list_append(items: Any, x: Any) -> list[Any]:
    """One more item at the end."""
    _need(items).append(x)
    return _need(items)


def list_insert(items: Any, place: Any, x: Any) -> list[Any]:
    """One more item before a place."""
    _need(items).insert(place, x)
    return _need(items)


def list_extend(items: Any, more: Any) -> list[Any]:
    """The items of another list at the end."""
    _need(items).extend(_need(more))
    return _need(items)


def list_set(items: Any, place: Any, x: Any) -> list[Any]:
    """Another item at a place."""
    _need(items)[place] = x
    return _need(items)


def list_drop(items: Any, place: Any) -> list[Any]:
    """The list without the item at a place."""
    del _need(items)[place]
    return _need(items)


def list_reverse(items: Any) -> list[Any]:
    """The list in reverse order."""
    _need(items).reverse()
    return _need(items)


def list_clear(items: Any) -> list[Any]:
    """The list without items."""
    _need(items).clear()
    return _need(items)


def list_sort(items: Any, reverse: Any) -> list[Any]:
    """The list in order."""
    _need(items).sort(reverse=reverse)
    return _need(items)


def list_least(items: Any) -> Any:
    """The least item."""
    return min(_need(items))


def list_greatest(items: Any) -> Any:
    """The greatest item."""
    return max(_need(items))


def list_total(items: Any) -> Any:
    """The sum of the items."""
    return sum(_need(items))


def same_object(a: Any, b: Any) -> int:
    """Whether two tensors or lists are one."""
    return int(a is b)


CALLS: Final = (
    *(same_object, new_list, rows_of, numbers_of, list_item, inner_list, list_part, list_sum),
    *(list_append, list_insert, list_extend, list_set, list_drop, list_reverse, list_clear),
    *(list_sort, list_least, list_greatest, list_total),
)
