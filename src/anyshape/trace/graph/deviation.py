"""Conditions under which a program differs from eager execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.env.site import capture as capture_site
from anyshape.errors import AnyshapeError
from anyshape.events import Deviation, emit, listeners
from anyshape.symbolic.sym_bool import SymBool

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer


def deviate(tracer: Tracer, op: str, condition: Any, about: str) -> None:
    """Note that eager execution would do something else where the condition holds."""
    if type(condition) is SymBool:
        if condition.known() is not False:
            found = Deviation(tracer.env, op, condition.condition, about, capture_site())
            tracer.deviations.append(found)
            if Deviation in listeners:
                emit(found)
    elif condition:
        raise AnyshapeError(f"{op} surely differs from eager execution: {about}")
