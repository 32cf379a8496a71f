"""Classes that a program makes: the code of the user's that Python runs meanwhile.

The body of a class is part of the twin. A metaclass, `__init_subclass__`, `__set_name__` and
`__mro_entries__` are called by the interpreter, which calls no twins: what they read and write
would be lost, so the statement is refused before one of them runs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.site import is_framework
from anyshape.trace.record.object_kind import ATOMS

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_MAKING: Final = ("__prepare__", "__new__", "__init__")


class ClassStatements:
    """The hooks for classes."""

    calls: Calls

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def base(self, cls: Any) -> Any:
        """A base of a class that the program defines: Python tells it of its new subclass."""
        if isinstance(cls, type):
            self._need_untold(cls)
            self.metaclass(type(cls))
        elif self._is_of_user(getattr(type(cls), "__mro_entries__", None)):
            self._refuse(f"a {type(cls).__name__} stands for bases of a class")
        return cls

    def metaclass(self, meta: Any) -> Any:
        """The class of a class that the program defines, or a function that makes it."""
        if meta is type:
            return meta
        if not isinstance(meta, type):
            if not is_framework(getattr(getattr(meta, "__code__", None), "co_filename", "")):
                self._refuse("a class is made by a function")
            return meta
        for name in _MAKING:
            made = self._recorder.lookup(meta, name)
            if self._is_of_user(getattr(made, "__func__", made)):
                self._refuse(f"{meta.__name__}.{name} makes a class")
        return meta

    def class_options(self, named: Any) -> Any:
        """What `**named` gives to a class statement."""
        if "metaclass" in named:
            self.metaclass(named["metaclass"])
        return named

    def class_body(self) -> None:
        """All names of a class are known: Python tells each value that wants it its name."""
        self._need_unnamed(sys._getframe(1).f_locals)

    def class_made(self, cls: Any) -> Any:
        """A class is made: another one on every call."""
        return self._recorder.born(cls)

    def made(self, meta: type, *args: Any) -> None:
        """`type.__new__` makes a class of a name, its bases and its names."""
        if len(args) == 3 and isinstance(args[1], tuple) and isinstance(args[2], dict):
            for cls in args[1]:
                self._need_untold(cls)
                if not issubclass(meta, type(cls)):  # another metaclass makes it
                    self.metaclass(type(cls))
            self._need_unnamed(args[2])

    def _need_untold(self, base: type) -> None:
        told = self._recorder.lookup(base, "__init_subclass__")
        if type(told) is classmethod and self.calls.is_recorded(told.__func__):
            self._refuse(f"a subclass of {base.__name__} is made, which it is told")

    def _need_unnamed(self, space: Any) -> None:
        for value in space.values():
            kind = type(value)
            if kind not in ATOMS and self._is_of_user(getattr(kind, "__set_name__", None)):
                self._refuse(f"a {kind.__name__} is told its name in a class")

    def _is_of_user(self, f: Any) -> bool:
        return self.calls.is_recorded(f) and not is_framework(f.__code__.co_filename)

    def _refuse(self, what: str) -> None:
        raise self._recorder.refusal(what)
