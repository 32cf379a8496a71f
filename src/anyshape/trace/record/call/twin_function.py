"""The functions that a trace calls in place of those of the user."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.foreign.unrecorded import call_unrecorded
from anyshape.trace.record.object_kind import Function
from anyshape.trace.twin.twin import is_twin, twin_code

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader


def make_twin(reader: Reader, f: Any, *, wraps: bool) -> Any:
    """Make the twin of a function of the user's, or of one that `wraps` one; what needs none is
    called as it is.
    """
    code = f.__code__
    if is_twin(code):
        return f
    new = twin_code(code) if wraps or is_twinned(code) else None
    if new is None:
        if is_twinned(code):
            found = reader._twins[f] = functools.partial(call_unrecorded, reader, f)
            return found
        reader._twins[f] = f
        return f
    defaults, named = reader.note_function(f)
    closure: Any = None
    if new.co_freevars:
        cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
        closure = tuple([reader.cell(cells[n], n) for n in new.co_freevars])
    varying = reader.attribute_input(f, "__defaults__")  # where they are inputs of the program
    defaults = defaults if varying is None else varying
    made = Function(new, reader.space(f.__globals__), f.__name__, defaults, closure)
    made.__kwdefaults__ = named
    made.__qualname__, made.__module__ = f.__qualname__, f.__module__
    if f.__dict__:
        made.__dict__.update(f.__dict__)
    reader._twins[f] = made
    return made
