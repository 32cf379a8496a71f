"""The results of rules: a `Meta` for a new tensor, or one of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Done:
    """The call needs no node; it returns this value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Instead:
    """Record another call, which is equivalent at all sizes that the trace covers."""

    __slots__ = ("args", "func", "kwargs", "out")

    def __init__(self, func: Any, args: tuple[Any, ...], out: Any, **kwargs: Any) -> None:
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.out = out


class Defined:
    """A number among several results: a symbol whose value the call gives."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number


class Many:
    """Several results; `build` makes the container from the list of tensors.

    A part is a `Meta`, another `Many`, a number that is `Defined` by the call, or a plain value,
    which is returned unchanged.
    """

    __slots__ = ("build", "parts")

    def __init__(self, parts: Iterable[Any], build: Callable[[list[Any]], Any] = tuple) -> None:
        self.parts = list(parts)
        self.build = build


class Wrapped:
    """A tensor of a class that wraps others.

    `made` is what the class made of tensors without data. `inner` has the tensors in it by the
    names of their attributes: results, or `Done` with an operand.
    """

    __slots__ = ("inner", "made", "meta")

    def __init__(self, meta: Any, made: Any, inner: dict[str, Any]) -> None:
        self.meta = meta
        self.made = made
        self.inner = inner
