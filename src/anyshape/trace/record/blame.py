"""Whose error it is that a trace was left with: the program's, or a fault of this package.

An error of the program is raised by its own code, by a library that it called, by a statement
`raise` of this package, which says what eager execution says, or by an operation that this package
performs on the program's behalf: in the hooks and in the arithmetic of numbers. So is what the body
of a function of torch raises by a statement, which runs here as it does in eager execution. All
that is left is a fault: an attribute or a name that is missing here, a failed `assert`, an
operation elsewhere.
"""

from __future__ import annotations

import dis
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyshape.env.site import is_own
from anyshape.errors import AnyshapeError
from anyshape.rules.dispatch.python_body import run_body
from anyshape.trace.record.eager_error import call_of, eager_class
from anyshape.trace.record.effect.effect import raise_unless
from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from types import CodeType, TracebackType

_HOME: Final = Path(__file__).parents[2]
_PERFORMING: Final = tuple(
    [str(_HOME.joinpath(*p)) + os.sep for p in (("trace", "record"), ("symbolic",))]
)
_RAISES: Final = ("RAISE_VARARGS", "RERAISE")
_OPERATIONS: Final = (
    "CALL", "PRECALL", "BINARY_", "COMPARE_", "CONTAINS_", "UNARY_", "STORE_SUBSCR",
    "DELETE_SUBSCR", "STORE_SLICE", "GET_ITER", "FOR_ITER", "FORMAT_", "TO_BOOL", "POP_JUMP",
    "UNPACK_", "BUILD_", "LIST_EXTEND", "DICT_", "SET_UPDATE", "SEND", "CONVERT_VALUE",
)  # fmt: skip


def is_of_program(error: BaseException) -> bool:
    """Whether the program would raise an error in eager execution, too."""
    if isinstance(error, AnyshapeError):
        return True
    last = _last_own(error)
    if last is None:
        return True
    code, operation, is_innermost = last
    if is_innermost and operation.startswith(_RAISES):
        return type(error) is not AssertionError or code is raise_unless.__code__
    if code is run_body.__code__ and _innermost_operation(error).startswith(_RAISES):
        return True
    if code.co_filename.startswith(_PERFORMING) and operation.startswith(_OPERATIONS):
        return True
    call = call_of(error)  # arguments that a rule cannot take, and eager execution neither
    found = None if call is None else eager_class(*call)
    return found is not None and issubclass(type(error), found)


def _last_own(error: BaseException) -> tuple[CodeType, str, bool] | None:
    """The last code of this package on the way to an error, after the last of the program's own;
    its operation, and whether the error arose there.
    """
    tb: TracebackType | None = error.__traceback__
    found, place, is_innermost = None, 0, False
    while tb is not None:
        code = tb.tb_frame.f_code
        if is_own(code.co_filename):
            found, place, is_innermost = code, tb.tb_lasti, True
        elif _is_recorded(code):
            found = None
        else:
            is_innermost = False
        tb = tb.tb_next
    if found is None:
        return None
    return found, _operation(found, place), is_innermost


def _innermost_operation(error: BaseException) -> str:
    tb = error.__traceback__
    assert tb is not None
    while tb.tb_next is not None:
        tb = tb.tb_next
    return _operation(tb.tb_frame.f_code, tb.tb_lasti)


def _is_recorded(code: CodeType) -> bool:
    """Whether code runs as a twin, or is one."""
    return is_twin(code) or is_twinned(code)


def _operation(code: CodeType, place: int) -> str:
    return next((i.opname for i in dis.get_instructions(code) if i.offset == place), "")
