"""Every public exception, and the warning.

A message has up to three parts: what happened, why, and what to do. Errors that users of torch
already catch as `RuntimeError` or `ValueError` are subclasses of those too.
"""

from __future__ import annotations


class AnyshapeError(Exception):
    """The root of all errors raised on purpose by anyshape.

    `what`, `why` and `fix` are the parts of the text; `why` and `fix` may be empty.
    """

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
    """A branch or a conversion needs a value that is known only when the program runs."""


class ConstraintError(AnyshapeError, ValueError, RuntimeError):
    """Contradictory input: a fact that cannot hold together with what is already known.

    A `RuntimeError` too, because a failed `torch._check` is one.
    """


class ConstraintViolation(AnyshapeError, ValueError):
    """The program needs a dimension to be less general than the user said it is."""


class RuntimeAssertError(AnyshapeError, RuntimeError):
    """A condition that was assumed while tracing does not hold for the values at run time.

    `by_rule` if an op needed it, and not the user.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "", by_rule: bool = False) -> None:
        super().__init__(what, why=why, fix=fix)
        self.by_rule = by_rule


class DivisionAssertError(RuntimeAssertError, ZeroDivisionError):
    """A divisor that only the run knows is 0."""


class DomainAssertError(RuntimeAssertError, ValueError):
    """An operand that only the run knows is one that Python refuses, as a negative shift."""


class OverflowAssertError(RuntimeAssertError, OverflowError):
    """An operand that only the run knows gives a result that Python has no number for."""


class IndexAssertError(RuntimeAssertError, IndexError):
    """An index that only the run knows is out of range."""


class ShapeError(AnyshapeError, RuntimeError):
    """An op got operands that do not fit at any size, as eager execution would find too."""


class DimError(ShapeError, IndexError):
    """A dimension or an index that does not exist."""


class UnsupportedError(AnyshapeError, NotImplementedError):
    """Something the system does not handle, named so that it can be avoided or added."""


class NoHashError(UnsupportedError, TypeError):
    """A symbolic number as a key; a `TypeError` too, as for everything that has no hash."""


class EffectError(UnsupportedError):
    """The program changes something outside of it that no op of torch changes."""


class ParseError(AnyshapeError, ValueError):
    """Text that is not an expression, or one beyond the limits of the parser."""


class ConfigError(AnyshapeError, ValueError, AttributeError):
    """An unknown setting, or a value that the setting does not take.

    An `AttributeError` too, so that `hasattr(config, name)` answers.
    """


class ArgumentError(AnyshapeError, TypeError):
    """An argument of the wrong type."""


class LoadError(AnyshapeError, ValueError):
    """A file that is not a saved program, is damaged, or needs what this process does not have."""


class RecompileLimitError(AnyshapeError, RuntimeError):
    """A function would be compiled once more than it may be."""


class AnyshapeWarning(UserWarning):
    """Something that works and is likely not what was meant."""


class RuleSignatureWarning(AnyshapeWarning):
    """torch takes a call that the shape rule of the op does not take, and answers it slowly."""


class BackendError(AnyshapeError, RuntimeError):
    """A compiler behind `compile` failed; the error that it raised is the cause."""
