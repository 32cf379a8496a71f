"""Values of the symbols of a program's inputs, at which compilers trace it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.expr import evaluate
from anyshape.expr.traverse import symbols_of
from anyshape.trace.graph.codegen import guard_function

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyshape.env import Obligation
    from anyshape.expr import Expr
    from anyshape.trace.capture import Captured


def derived_symbols(captured: Captured) -> dict[str, Expr]:
    """The symbols of the inputs that are expressions over earlier ones."""
    env = captured.tracer.env
    before: set[str] = set()
    found: dict[str, Expr] = {}
    for bind in captured.inputs.binds:
        symbol = env.symbols.get(bind.name)
        if symbol is not None:
            derived = env.simplify(symbol.expr)
            if all(s.name in before for s in symbols_of(derived)):
                found[bind.name] = derived
        before.add(bind.name)
    return found


def choose_hints(
    captured: Captured, flat: list[Any], early: Sequence[Obligation]
) -> dict[str, Any]:
    """Hints near the values of the call, distinct if the guards allow it."""
    binds = captured.inputs.binds
    actual = {bind.name: _plain(bind.read(flat)) for bind in binds}
    moved = distinct_hints(captured, actual)
    conditions = [*captured.guards, *early]
    fails = guard_function(conditions, list(actual))
    return moved if fails(*moved.values()) < 0 else actual


def actual_hints(captured: Captured, flat: list[Any]) -> dict[str, Any]:
    """The values of the symbols in a call."""
    return {bind.name: _plain(bind.read(flat)) for bind in captured.inputs.binds}


def distinct_hints(captured: Captured, actual: Mapping[str, Any]) -> dict[str, Any]:
    """Values near these, distinct and neither 0 nor 1, which need not fit the guards."""
    sizes = {bind.name for bind in captured.inputs.binds if bind.dim is not None}
    derived = derived_symbols(captured)
    moved: dict[str, Any] = {}
    taken: set[int] = set()
    for name, value in actual.items():
        if name in derived:
            moved[name] = evaluate(derived[name], moved)
        elif name in sizes:
            moved[name] = next(n for n in range(max(value, 2), value + 4096) if n not in taken)
        else:
            moved[name] = value
        if name in sizes:
            taken.add(moved[name])
    return moved


def _plain(x: Any) -> Any:
    return int(x) if type(x) is bool else x
