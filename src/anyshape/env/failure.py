"""How the failure of a runtime assert is told: in the user's names, with the values of the call."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.written import assigned_name
from anyshape.expr.traverse import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.env.obligation import Obligation

_MOST: Final = 5  # symbols that are shown


def describe_failure(o: Obligation, values: Mapping[str, Any]) -> tuple[str, str]:
    """What failed, and why; `values` are those of the symbols that are known."""
    names = sorted(names_of(o.condition))
    with called_by_variables(o.knowledge, names):
        text = o.text
        what = o.message or f"{text} does not hold"
        parts = [f"{text} is needed" + (f" at {o.site}" if o.site else "")]
        parts += [
            _shown(o.knowledge, name, values[name]) for name in names[:_MOST] if name in values
        ]
    return what, "; ".join(parts)


def _shown(knowledge: Knowledge, name: str, value: Any) -> str:
    site = knowledge.births.get(name)
    text = f"{knowledge.sources.get(name, name)} is {value}"
    return text if site is None else f"{text}, made at {site}"


@contextmanager
def called_by_variables(knowledge: Knowledge, names: list[str]) -> Iterator[None]:
    """Call symbols without a source by the variables that they were assigned to.

    A variable that is not the only one of its name in the environment is no name for a symbol.
    """
    sources, births = knowledge.sources, knowledge.births
    taken = [*sources.values(), *map(assigned_name, births.values())]
    found = {}
    for name in names:
        variable = assigned_name(births.get(name))
        if variable and name not in sources and taken.count(variable) == 1:
            found[name] = variable
    sources.update(found)
    try:
        yield
    finally:
        for name in found:
            sources.pop(name, None)  # another thread may have failed, too
