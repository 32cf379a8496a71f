"""Objects that do nothing by themselves: code that is not recorded may be given them.

C calls the methods of an object that its class defines for operators, items, tests and texts. Those
of the user's would run unrecorded.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.object_kind import ATOMS, HEAP, Function

_PLAIN: Final = (list, tuple, set, frozenset, deque)
_HARMLESS: Final = frozenset(
    ("__init__", "__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__repr__",
     "__str__", "__post_init__", "__setattr__", "__delattr__", "__enter__", "__exit__",
     "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__del__", "__dir__")
)  # fmt: skip


def active_method(x: Any) -> str | None:
    """A method of the user's that C may call by itself; None if there is none."""
    kind = type(x)
    if kind in ATOMS or not kind.__flags__ & HEAP:
        return None
    for base in kind.__mro__:
        if base.__flags__ & HEAP:
            for name, f in vars(base).items():
                if name.startswith("__") and name not in _HARMLESS and _is_users(f, base):
                    return f"{base.__name__}.{name}"
    return None


def active_part(x: Any) -> str | None:
    """The same of an object, or of what a plain container holds."""
    return next((m for part in parts_of_call(x) if (m := active_method(part)) is not None), None)


def parts_of_call(x: Any) -> tuple[Any, ...]:
    """An argument of a call, and what it holds, if it is a plain container."""
    parts = (*x.keys(), *x.values()) if type(x) is dict else x if type(x) in _PLAIN else ()
    return (x, *parts)


def _is_users(f: Any, owner: type) -> bool:
    return type(f) is Function and is_twinned(f.__code__) and not is_generated(f, owner)


def is_generated(f: Any, owner: type) -> bool:
    """Whether a method of a class was written by `dataclass` or `namedtuple`: it reads fields, and
    at most assigns those of its own object. Any other function without a file is the user's.
    """
    own = vars(owner)
    has_fields = "__dataclass_fields__" in own or "_fields" in own
    is_own = has_fields and own.get(f.__name__) is f
    return is_own and bool(f.__code__.co_filename == "<string>")
