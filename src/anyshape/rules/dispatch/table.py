"""The table: the name of an op to its rule.

A row serves the function, the method, the in-place and the `out=` form of an op. Its function has
the signature of the op, gets the operands as the program gave them, and returns a `Meta` (or
`Many`, `Done`, `Instead`). `NotImplemented` passes the call on to the next rung of the ladder in
`resolve.py`.

Names are those of torch's own functions: `add`, `linalg_norm`, `special_entr`, `fft_rfft`; a Python
function of `torch.nn.functional` is `F.name`. Where a Python function and the op of its name return
different things, the op is `aten.name`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import ArgumentError
from anyshape.public_call import public

if TYPE_CHECKING:
    from collections.abc import Callable


class Rule(NamedTuple):
    """One row. `view`: the result shares the memory of the first operand. `random`: two equal calls
    give different values.
    """

    name: str
    function: Callable[..., Any]
    view: bool = False
    random: bool = False


RULES: Final[dict[str, Rule]] = {}
USER: Final[dict[Any, Rule]] = {}
RANDOM: Final[set[Any]] = set()  # resolved functions that draw random numbers
PURE: Final[set[Any]] = set()  # resolved functions that are deterministic
_callbacks: Final[list[Callable[[], None]]] = []


def rule(
    *names: str, view: bool = False, random: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a row to the table for each of the names."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in RULES:
                raise ArgumentError(f"two rules for {name}")
            RULES[name] = Rule(name, function, view, random)
        return function

    return add


@public
def register_rule(op: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for the shape rule of your own op.

    The function gets the arguments of the op and returns a tensor of the result's shape and dtype,
    made with `torch.empty`, `x.new_empty` and the like, or a tuple of such.

    >>> import torch, anyshape
    >>> @torch.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.cat([x, x])
    >>> @anyshape.register_rule(torch.ops.docs.twice.default)
    ... def _(x):
    ...     return x.new_empty(2 * x.shape[0], *x.shape[1:])
    """
    if not callable(op):
        named = isinstance(op, str) and "::" in op
        usual = ".".join(op.split("::")) if named else "mylib.twice"
        raise ArgumentError(
            f"register_rule takes an op, which is callable, not {op!r}",
            fix=f"write register_rule(torch.ops.{usual})",
        )

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise ArgumentError(
                f"a rule is a function, not {function!r}",
                fix="write @register_rule(op) above the function",
            )
        USER[op] = Rule(getattr(op, "__name__", str(op)), function)
        for forget in _callbacks:
            forget()
        return function

    return add


def when_registered(forget: Callable[[], None]) -> None:
    """Call `forget` whenever a user registers a rule, so that caches drop stale entries."""
    _callbacks.append(forget)
