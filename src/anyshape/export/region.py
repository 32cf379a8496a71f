"""Regions of sizes: those that a variant serves, and those for which the program raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import DataDependentError, UnsupportedError
from anyshape.trace.graph.codegen import guard_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyshape.env import Obligation


class Region:
    """The sizes for which some guards hold."""

    def __init__(self, guards: Sequence[Obligation], names: Sequence[str]) -> None:
        self.guards = guards
        self.names = names
        self.check = guard_function(guards, names)

    def holds(self, values: dict[str, int]) -> bool:
        """Whether the sizes are in the region."""
        return bool(self.check(*[values[n] for n in self.names]) < 0)


class Refused(NamedTuple):
    """A branch that no variant serves: its guards, the error, and the guards as a function.

    The function raises the error itself, or it is a refusal: eager execution would go on.
    """

    guards: list[Obligation]
    error: Exception
    check: Callable[..., int]

    def holds(self, values: list[int]) -> bool:
        """Whether the values of the symbols, in the order of the inputs, lead to this branch."""
        return self.check(*values) < 0

    def drop_frames(self) -> None:
        """Let the error, and those that it follows, hold no frames; their texts stay."""
        error: BaseException | None = self.error
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            error.__traceback__ = None
            error = error.__cause__ or error.__context__

    @property
    def is_refusal(self) -> bool:
        """Whether eager execution would go on."""
        return is_refusal(self.error)


def _with_subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for subclass in kind.__subclasses__():
        yield from _with_subclasses(subclass)


_REFUSALS: Final = {  # by name, as files hold them
    kind.__name__
    for refusal in (DataDependentError, UnsupportedError)
    for kind in _with_subclasses(refusal)
}


def is_refusal(error: Exception) -> bool:
    """Whether an error is one of the system's own, which eager execution would not raise."""
    return type(error).__name__ in _REFUSALS or getattr(error, "is_refusal", False)


class Hole(NamedTuple):
    """Sizes, by the user's names, that the program refuses though eager execution takes them.

    `guards`: those that the sizes violate, or those of the branch with the `error`.
    """

    sizes: dict[str, Any]
    guards: list[Obligation]
    error: Exception | None = None
