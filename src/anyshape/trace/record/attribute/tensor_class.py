"""What the user has put into `torch.Tensor`: attributes, methods and operators of all tensors.

Traced tensors have the methods that the class had when this system was imported. A program depends
on how many names the class has: it is another one after a name has been added, or has hidden one of
the classes in C below. Of the methods that the class has in Python, it depends on those that it
looks up by name, and of the special ones on those that it uses (`tensor/python_method.py`) and on
those that copy, pickle and override. While the user has special methods in it, there is no program.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.tensor.python_method import PYTHON_METHODS, is_special, is_torchs
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.tracer import Tracer

NAMES: Final[Any] = vars(torch.Tensor)  # a live view
_PLAIN: Final = dict(NAMES)
_SPECIAL: Final = {
    name: f
    for name, f in _PLAIN.items()
    if is_special(name) and (callable(f) or hasattr(type(f), "__get__"))
}
_PUT: Final = frozenset(name for name, f in _SPECIAL.items() if not is_torchs(f))
_UNNOTED: Final = {name: f for name, f in _SPECIAL.items() if name not in PYTHON_METHODS}
_METHODS: Final = frozenset(n for n, f in _PLAIN.items() if type(f) is FunctionType)


def reads_of(tracer: Tracer) -> Iterator[tuple[str, Any, Any, Any]]:
    """What a trace has read of the class without looking a name up."""
    yield reads.LENGTH, NAMES, None, len(NAMES)
    for name, f in _UNNOTED.items():
        yield reads.ITEM, NAMES, name, f
    for name in sorted(tracer.met_methods):
        yield reads.ITEM, NAMES, name, PYTHON_METHODS[name]


class TensorClass:
    """The class in one trace; `names` are those that have to be looked up."""

    __slots__ = ("_recorder", "names")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.names: frozenset[str] = _METHODS
        for name, method in _SPECIAL.items():
            if NAMES.get(name) is not method or name in _PUT:
                raise recorder.refusal(f"torch.Tensor has another {name} than torch's")
        if len(NAMES) != len(_PLAIN):
            added = NAMES.keys() - _PLAIN.keys()
            self.names |= added
            for name in added:
                if name.startswith("__") and hasattr(torch.Tensor.__base__, name):
                    raise recorder.refusal(f"torch.Tensor has another {name} than torch's")

    def attribute(self, t: torch.Tensor, name: str, calls: Calls) -> Any:
        """The attribute of a tensor that the user has put into the class, or `MISSING`."""
        if name not in self.names:
            return MISSING
        recorder, raw = self._recorder, NAMES.get(name, MISSING)
        if raw is MISSING:
            recorder.note(reads.ABSENT, NAMES, name, MISSING)
            return MISSING
        recorder.note(reads.ITEM, NAMES, name, raw)
        if raw is _PLAIN.get(name):
            return MISSING
        if type(raw) is property:
            return calls.ready(raw.fget)(t)
        if name in vars(t):
            return MISSING
        return raw.__get__(t, torch.Tensor) if hasattr(type(raw), "__get__") else raw
