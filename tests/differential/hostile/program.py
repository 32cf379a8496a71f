"""How a program of the corpus is written.

A program is a factory, marked with `@program`, that returns a `Case`: a function and what happens
to it, call by call. The factory runs once for each execution, in a module that is executed anew, so
that two executions share no global, class, cell or object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIRST, OTHER = 3, 5  # sizes


class Call(NamedTuple):
    """Arguments of one call, where it has keywords."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012  nobody writes to it


class Step(NamedTuple):
    """One call: `change` is done to the outside before it, `make` makes its arguments."""

    change: Callable[[], Any] | None
    make: Callable[[], tuple[Any, ...] | Call]


def vector(n: int) -> tuple[Any, ...]:
    return (torch.arange(n) + 1.0,)


def leaf(n: int) -> tuple[Any, ...]:
    return ((torch.arange(n) + 1.0).requires_grad_(),)


def matrix(n: int) -> tuple[Any, ...]:
    return (torch.arange(4.0 * n).reshape(n, 4) - 2.0,)


class Case:
    """A function and its calls.

    The changes are done one after the other, each followed by a call of the first size; then sizes
    change, and the first change is done and the last one again. `args` makes the arguments for a
    size. `calls`, thunks that may change things and give arguments, replaces all this. `drive` is
    called with the function and its arguments in place of the function. `backward` accumulates
    gradients after each call. `looks_at` is state that is not reachable from the function.
    `cleanup` is called at the end. `options` are further options of `compile`, `settings` are
    those of `config` that are patched. A program about the identity of containers is not
    `exported`: exported programs take and return structures, whose containers are new ones.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *changes: Callable[[], Any],
        args: Callable[[int], tuple[Any, ...] | Call] = vector,
        sizes: Sequence[int] = (0, 1),
        calls: Sequence[Callable[[], tuple[Any, ...] | Call]] = (),
        drive: Callable[..., Any] | None = None,
        backward: bool = False,
        looks_at: Any = None,
        cleanup: Callable[[], Any] | None = None,
        options: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        exported: bool = True,
    ) -> None:
        self.fn = fn
        self.drive = drive
        self.backward = backward
        self.looks_at = looks_at
        self.cleanup = cleanup
        self.options = options or {}
        self.settings = settings or {}

        def at(n: int, change: Callable[[], Any] | None = None) -> Step:
            return Step(change, lambda: args(n))

        told = [Step(None, make) for make in calls]
        first = [at(FIRST), at(FIRST), *(at(FIRST, change) for change in changes)]
        last = at(FIRST, changes[-1] if len(changes) > 1 else None)
        again = at(2, changes[0] if changes else None)
        self.steps = told or [*first, at(OTHER), again, *map(at, sizes), last]
        self.few = told or [*first, again, last]  # where a trace is expensive
        self.sizes = (
            []
            if calls or not exported
            else [at(n) for n in (FIRST, FIRST, OTHER, 2, *reversed(sizes))]
        )


PROGRAMS: dict[str, dict[str, Callable[[], Case]]] = {}  # by module, by name


def program(factory: Callable[[], Case]) -> Callable[[], Case]:
    """Register a factory under its module."""
    PROGRAMS.setdefault(factory.__module__, {})[factory.__name__] = factory
    return factory


class Box:
    """An object with attributes."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def attribute(owner: Any, name: str, *values: Any) -> list[Callable[[], None]]:
    """Changes that set an attribute to one value after the other."""
    return [lambda v=v: setattr(owner, name, v) for v in values]  # type: ignore[misc]


def item(owner: Any, key: Any, *values: Any) -> list[Callable[[], None]]:
    """Changes that set an item to one value after the other."""
    return [lambda v=v: owner.__setitem__(key, v) for v in values]  # type: ignore[misc]


def body(*changes: Callable[[], Any], **options: Any) -> Callable[[Any], Any]:
    """Register a function as a program of its name; what it shares with others is in its module."""

    def register(fn: Any) -> Any:
        def factory() -> Case:
            return Case(fn, *changes, **options)

        factory.__name__, factory.__module__ = fn.__name__, fn.__module__
        program(factory)
        return fn

    return register
