"""Every public exception and warning. The reference in the docs is generated from here.

A message has up to three parts: what happened, why, and what to do. It ends with a code, which says
what kind of failure it is and has a page of its own: `error_codes` lists them. Errors that users of
torch already catch as `RuntimeError` or `ValueError` are subclasses of those too.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from anyshape.error_codes import CODES

if TYPE_CHECKING:
    from collections.abc import Iterable


def shortened(text: str, most: int = 300) -> str:
    """A text for a `repr`: one line, and no longer than `most` characters."""
    line = " ".join(text.split("\n"))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def nearest(name: object, known: Iterable[object]) -> str:
    """A question that names what was probably meant, such as `did you mean 'x'? `, or nothing."""
    found = get_close_matches(str(name), [str(k) for k in known], 1)
    return f"did you mean {found[0]!r}? " if found else ""


def counted(count: int, one: str, many: str) -> str:
    """A number of things, with the word for one or for many."""
    return f"{count} {one if count == 1 else many}"


def reason_of(error: OSError) -> str:
    """Why a system call failed, with the path that it failed for."""
    if error.strerror is None or error.filename is None:
        return str(error)
    return f"{error.strerror}: {error.filename}"


class _Told(Exception):
    """The text of an error or a warning: its parts, and the code that it ends with."""

    code: str

    def __init__(self, what: str, *, why: str = "", fix: str = "", code: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix
        if code:
            assert code in CODES, code
            self.code = code
        self.because(why)

    def because(self, why: str) -> None:
        """Give it another reason."""
        self.why = why
        parts = (("", self.what), ("  why: ", why), ("  fix: ", self.fix))
        self.args = ("\n".join(f"{title}{part}" for title, part in parts if part or not title),)

    @property
    def text(self) -> str:
        """The message without the code, to be a part of another message."""
        return super().__str__()

    def __str__(self) -> str:
        return f"{self.text}\n  more: anyshape errors {self.code}"


class AnyshapeError(_Told):
    """The base class of all errors that anyshape raises on purpose.

    `what`, `why` and `fix` are the parts of the text; `why` and `fix` may be empty. `is_refusal` if
    eager execution would not raise it. `can_break` if the graph may break there: what raises it may
    run as Python, between two pieces of the function. `is_once` if only this call cannot be traced,
    because it makes what the next ones use. `asks_history` if it asks for what autograd notes of a
    tensor, which torch's compilers do not keep: such a function is not cut for them. `ends_path` if
    nothing failed: a trace of several ends, because others have the rest. `code` is the kind of
    failure: that of the class, or another one that the class has.
    """

    code = "AS901"
    is_refusal = False
    can_break = True
    asks_history = False
    is_once = False
    ends_path = False


def text_of(error: BaseException) -> str:
    """The message of any error, to be a part of another message."""
    return error.text if isinstance(error, _Told) else str(error)


class DataDependentError(AnyshapeError, RuntimeError):
    """A branch or a conversion needs a value that is only known at run time."""

    code = "AS101"
    is_refusal = True


class ConstraintError(AnyshapeError, ValueError, RuntimeError):
    """A fact contradicts the known ones, or inputs are outside the contract of a program.

    A `RuntimeError` too, because a failed `torch._check` is one.
    """

    code = "AS201"


class ConstraintViolation(AnyshapeError, ValueError):
    """The program specializes or narrows a size that the user declared to vary."""

    code = "AS211"


class RuntimeAssertError(AnyshapeError, RuntimeError):
    """A condition that was assumed while tracing does not hold for the values at run time.

    `by_rule`: an op required it, not the user.
    """

    code = "AS311"

    def __init__(
        self, what: str, *, why: str = "", fix: str = "", code: str = "", by_rule: bool = False
    ) -> None:
        super().__init__(what, why=why, fix=fix, code=code)
        self.by_rule = by_rule


class DivisionAssertError(RuntimeAssertError, ZeroDivisionError):
    """A divisor that is only known at run time is 0."""

    code = "AS312"


class DomainAssertError(RuntimeAssertError, ValueError):
    """An operand that is only known at run time is invalid in Python, such as a negative shift."""

    code = "AS313"


class OverflowAssertError(RuntimeAssertError, OverflowError):
    """An operand that is only known at run time gives a result that overflows in Python."""

    code = "AS314"


class IndexAssertError(RuntimeAssertError, IndexError):
    """An index that is only known at run time is out of range."""

    code = "AS315"


class ShapeError(AnyshapeError, RuntimeError):
    """The operands of an op do not fit at any size; eager execution would refuse them too."""

    code = "AS121"


class DimError(ShapeError, IndexError):
    """A dimension or an index that does not exist."""

    code = "AS122"


class UnsupportedError(AnyshapeError, NotImplementedError):
    """The program uses something that anyshape does not support; the message names it."""

    code = "AS111"


class NoHashError(UnsupportedError, TypeError):
    """A symbolic number is used as a key. A `TypeError`, as for every unhashable value."""

    code = "AS113"


class MissingRuleError(UnsupportedError):
    """An op has neither a shape rule nor a fake kernel: what it returns is unknown."""

    code = "AS112"


class EffectError(UnsupportedError):
    """The program has a side effect that is not an op of torch."""

    code = "AS117"


class ParseError(AnyshapeError, ValueError):
    """Text is not an expression, or is beyond the limits of the parser."""

    code = "AS223"


class ConfigError(AnyshapeError, ValueError, AttributeError):
    """A setting does not exist, or does not accept the value.

    An `AttributeError` too, so that `hasattr(config, name)` works.
    """

    code = "AS601"


class ArgumentError(AnyshapeError, TypeError):
    """An argument has the wrong type, or is not among the accepted values."""

    code = "AS602"


class StateError(AnyshapeError, RuntimeError):
    """The tensors of a program are missing, or are not such as it was exported for.

    A `RuntimeError` too, as that of a module's `load_state_dict`.
    """

    code = "AS521"


class LoadError(AnyshapeError, ValueError):
    """A file is not a saved program, is damaged, or needs an op that is not available."""

    code = "AS501"


class SaveError(AnyshapeError, OSError):
    """A file cannot be written. An `OSError` too, as that of `open`."""

    code = "AS512"


class RecompileLimitError(AnyshapeError, RuntimeError):
    """A function would be compiled more often than its limit allows."""

    code = "AS401"

    @classmethod
    def of(cls, name: str, count: int, why: str, fix: str) -> RecompileLimitError:
        """The error of a function that was compiled so often that it may not be again."""
        times = counted(count, "time", "times")
        return cls(f"{name} was compiled {times}, which is its limit", why=why, fix=fix)


class AuditError(AnyshapeError, RuntimeError):
    """A compiled program is not what its function does now: something was read and not guarded."""

    code = "AS402"


class AnyshapeWarning(_Told, UserWarning):
    """The program works, but probably not as intended. Its parts are those of an error."""

    code = "AS701"


class RuleSignatureWarning(AnyshapeWarning):
    """torch accepts a call that the shape rule of the op does not; the slow meta kernel is used."""

    code = "AS705"


class BackendError(AnyshapeError, RuntimeError):
    """A backend of `compile` failed; its own error is the cause."""

    code = "AS403"
