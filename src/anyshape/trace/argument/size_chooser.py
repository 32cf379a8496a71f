"""The choice, for each size and number among the inputs of a trace, whether it is static, backed or
unbacked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from anyshape.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyshape.env import Env

STATIC: Final = "static"
BACKED: Final = "backed"
UNBACKED: Final = "unbacked"


class Spot(NamedTuple):
    """A size or a number among the inputs: leaf number `leaf`, named `source`; `dim` is None for a
    number.
    """

    leaf: int
    source: str
    dim: int | None
    value: Any


class Known(NamedTuple):
    """A size that is a symbolic number already: bound to this place, or a relation of the contract.

    If it binds, `symbol` (the size itself, if None) is `(size - constant) / factor`.
    """

    size: Any
    binds: bool
    symbol: Any = None
    factor: int = 1
    constant: int = 0


Chosen = str | tuple[str, dict[str, Any]] | Known
"""A kind; a kind with `min`, `max` and `hint` of its symbol; or a symbol that exists already."""


@runtime_checkable
class SizeChooser(Protocol):
    """Chooses for one trace: `prepare` is called first, then the chooser for each size."""

    @property
    def separate(self) -> bool:
        """Whether a tensor that is given twice is two inputs."""

    def prepare(self, env: Env, sizes: Mapping[tuple[int, int | None], Any]) -> None:
        """Begin a trace in `env`; `sizes` are those of the call, by leaf and dimension."""

    def __call__(self, spot: Spot) -> Chosen:
        """What the size or number is."""


class EachSize:
    """The chooser that calls a function for each size and number."""

    separate = False

    def __init__(self, choose: Callable[[Spot], Chosen]) -> None:
        self._choose = choose

    def prepare(self, env: Env, sizes: Mapping[tuple[int, int | None], Any]) -> None:
        """See `SizeChooser`."""

    def __call__(self, spot: Spot) -> Chosen:
        """The result of the function."""
        return self._choose(spot)


def as_chooser(dynamic: str | SizeChooser | Callable[[Spot], Chosen]) -> SizeChooser:
    """The chooser for an argument: itself; a function; or one kind for all sizes of tensors, with
    static numbers.
    """
    if isinstance(dynamic, str):
        kind = dynamic
        if kind not in (STATIC, BACKED, UNBACKED):
            raise ArgumentError(f"dynamic cannot be {kind!r}", fix="static, backed or unbacked")
        return EachSize(lambda spot: STATIC if spot.dim is None else kind)
    return dynamic if isinstance(dynamic, SizeChooser) else EachSize(dynamic)
