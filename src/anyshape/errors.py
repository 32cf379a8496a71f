"""Every public exception, and the warning. The reference in the docs is generated from here.

A message has up to three parts: what happened, why, and what to do. Errors that users of torch
already catch as `RuntimeError` or `ValueError` are subclasses of those too.
"""

from __future__ import annotations


def shortened(text: str, most: int = 300) -> str:
    """A text for a `repr`: one line, and no longer than `most` characters."""
    line = " ".join(text.split("\n"))
    return line if len(line) <= most else f"{line[: most - 3]}..."


class AnyshapeError(Exception):
    """The base class of all errors that anyshape raises on purpose.

    `what`, `why` and `fix` are the parts of the text; `why` and `fix` may be empty. `is_refusal` if
    eager execution would not raise it. `can_break` if the graph may break there: what raises it may
    run as Python, between two pieces of the function. `is_once` if only this call cannot be traced,
    because it makes what the next ones use.
    """

    is_refusal = False
    can_break = True
    is_once = False

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        self.what = what
        self.why = why
        self.fix = fix
        lines = [what]
        if why:
            lines.append(f"  why: {why}")
        if fix:
            lines.append(f"  fix: {fix}")
        super().__init__("\n".join(lines))


class DataDependentError(AnyshapeError, RuntimeError):
    """A branch or a conversion needs a value that is only known at run time."""

    is_refusal = True


class ConstraintError(AnyshapeError, ValueError, RuntimeError):
    """A fact contradicts the known ones, or inputs are outside the contract of a program.

    A `RuntimeError` too, because a failed `torch._check` is one.
    """


class ConstraintViolation(AnyshapeError, ValueError):
    """The program specializes or narrows a size that the user declared to vary."""


class RuntimeAssertError(AnyshapeError, RuntimeError):
    """A condition that was assumed while tracing does not hold for the values at run time.

    `by_rule`: an op required it, not the user.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "", by_rule: bool = False) -> None:
        super().__init__(what, why=why, fix=fix)
        self.by_rule = by_rule


class DivisionAssertError(RuntimeAssertError, ZeroDivisionError):
    """A divisor that is only known at run time is 0."""


class DomainAssertError(RuntimeAssertError, ValueError):
    """An operand that is only known at run time is invalid in Python, such as a negative shift."""


class OverflowAssertError(RuntimeAssertError, OverflowError):
    """An operand that is only known at run time gives a result that overflows in Python."""


class IndexAssertError(RuntimeAssertError, IndexError):
    """An index that is only known at run time is out of range."""


class ShapeError(AnyshapeError, RuntimeError):
    """The operands of an op do not fit at any size; eager execution would refuse them too."""


class DimError(ShapeError, IndexError):
    """A dimension or an index that does not exist."""


class UnsupportedError(AnyshapeError, NotImplementedError):
    """The program uses something that anyshape does not support; the message names it."""


class NoHashError(UnsupportedError, TypeError):
    """A symbolic number is used as a key. A `TypeError`, as for every unhashable value."""


class MissingRuleError(UnsupportedError):
    """An op has neither a shape rule nor a fake kernel: what it returns is unknown."""


class EffectError(UnsupportedError):
    """The program has a side effect that is not an op of torch."""


class ParseError(AnyshapeError, ValueError):
    """Text is not an expression, or is beyond the limits of the parser."""


class ConfigError(AnyshapeError, ValueError, AttributeError):
    """A setting does not exist, or does not accept the value.

    An `AttributeError` too, so that `hasattr(config, name)` works.
    """


class ArgumentError(AnyshapeError, TypeError):
    """An argument has the wrong type, or is not among the accepted values."""


class StateError(AnyshapeError, RuntimeError):
    """The tensors of a program are missing, or are not such as it was exported for.

    A `RuntimeError` too, as that of a module's `load_state_dict`.
    """


class LoadError(AnyshapeError, ValueError):
    """A file is not a saved program, is damaged, or needs an op that is not available."""


class RecompileLimitError(AnyshapeError, RuntimeError):
    """A function would be compiled more often than its limit allows."""


class AuditError(AnyshapeError, RuntimeError):
    """A compiled program is not what its function does now: something was read and not guarded."""


class AnyshapeWarning(UserWarning):
    """The program works, but probably not as intended."""


class RuleSignatureWarning(AnyshapeWarning):
    """torch accepts a call that the shape rule of the op does not; the slow meta kernel is used."""


class BackendError(AnyshapeError, RuntimeError):
    """A backend of `compile` failed; its own error is the cause."""
