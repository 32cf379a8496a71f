"""Special methods of the class of a compiled module: `len(m)`, `m[0]`, `x in m`, `if m:`.

Python looks them up in the class of an object, not in the object, so a compiled module is of a
class with those that the original's class has. How a module is made, called, copied and shown, and
how its attributes are found, stays the compiled module's own.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from anyshape.trace.record.foreign.territory import twin_always

_OWN: Final = frozenset(
    f"__{name}__"
    for name in [
        "init",
        "new",
        "del",
        "call",
        "repr",
        "copy",
        "deepcopy",
        "reduce",
        "reduce_ex",
        "getstate",
        "setstate",
        "getnewargs",
        "getnewargs_ex",
        "getattr",
        "getattribute",
        "setattr",
        "delattr",
        "init_subclass",
        "subclasshook",
        "class_getitem",
        "set_name",
        "sizeof",
        "dir",
    ]
)
_METHODS: Final = (functools.partialmethod, type(None))


def special_methods(kind: type) -> tuple[tuple[str, bool], ...]:
    """The names of the special methods that a class of modules has and `torch.nn.Module` lacks,
    wherever among its bases they are, and whether each is there: None forbids what it is for.
    """
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base not in torch.nn.Module.__mro__:
            for name, method in vars(base).items():
                if name.startswith("__") and name.endswith("__") and name not in _OWN:
                    found.setdefault(name, method)
    return tuple(
        (name, method is not None)
        for name, method in sorted(found.items(), key=lambda pair: pair[0])
        if callable(method) or isinstance(method, _METHODS)
    )


@functools.cache
def with_methods(cls: type, names: tuple[tuple[str, bool], ...]) -> Any:
    """A class whose special methods are those of `original`, an entry of each object's dict."""
    if not names:
        return cls
    methods = {name: _passed_on(name) if is_there else None for name, is_there in names}
    return type(cls.__name__, (cls,), {**methods, "__module__": cls.__module__})


def _passed_on(name: str) -> Any:
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        original = self.__dict__["original"]
        result = getattr(type(original), name)(original, *args, **kwargs)
        return self if result is original else result  # as of `__enter__` and `__iadd__`

    method.__name__ = name
    return method


twin_always(_passed_on("__len__").__code__)  # in a trace of a function around it
