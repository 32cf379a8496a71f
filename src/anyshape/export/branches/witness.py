"""Values for the symbols of an earlier state, for which all that was known there holds now.

The search is over few candidates for each symbol: itself, if both paths have it, a bound of its
range, what a fact says that it equals or is bounded by. Facts about symbols that have nothing to do
with those of the state need no values: they held when the earlier state was reached.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from anyshape.domain import INF, NINF
from anyshape.env.ladder.decide import decide
from anyshape.errors import AnyshapeError
from anyshape.expr import ge0, parse
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Expr
from anyshape.expr.real import Real
from anyshape.expr.terms import terms
from anyshape.expr.traverse import names_of
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import Name
from anyshape.trace.path.segment_env import whole_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.export.branches.branch_tracer import BranchTracer
    from anyshape.export.branches.waypoint import Waypoint

_SYMBOL: Final = re.compile(r"\b[uf][0-9]+\b")  # one that only the run knows
_Known: TypeAlias = tuple[bool, Bool, tuple[str, ...]]  # in common, the fact, its symbols
_STEPS: Final = 256  # questions to the engine in one search


class Witness:
    """A search for the values of the symbols of `point`, in the environment of `tracer`.

    `names` are given; symbols among `shared` are the same in both.
    """

    def __init__(
        self, point: Waypoint, tracer: BranchTracer, names: dict[str, str], shared: set[str]
    ) -> None:
        self._old, self._env = point.tracer.paths, tracer.paths
        self._names = names
        self._shared = shared
        self._steps = _STEPS
        pairs = zip(self._old.texts()[: point.facts], self._env.texts(), strict=False)
        common = next((i for i, (a, b) in enumerate(pairs) if a is None or a != b), point.facts)
        guards = {id(fact.condition) for fact in self._old._guards}  # of the whole variant
        self._facts = [
            (i < common, p, tuple(_run_names(p)))
            for i, p in enumerate(self._old.learned[: point.facts])
            if id(p) not in guards
        ]
        sizes = [(names_of(e)[0], ge0(e)) for e in self._old._sizes]
        self._facts += [
            (n in shared, p, (n,)) for n, p in sizes if n in point.names and _SYMBOL.fullmatch(n)
        ]

    def find(self, wanted: set[str]) -> Callable[[str], Any] | None:
        """The values: a function from a name to a number; None if no values were found.

        Symbols that are `wanted` and not in the state are the same in both.
        """
        for n in wanted:
            if n not in self._names:
                if n not in self._shared:
                    return None
                self._names[n] = n
        try:
            free = self._connected()
            if all(self._holds(fact) for fact in self._facts if self._is_given(fact)):
                return self._number if all(map(self._choose, free)) else None
        except AnyshapeError:  # such as an expression that is too long
            pass
        return None

    def _number(self, name: str) -> Any:
        text = self._names.get(name, name)
        if _SYMBOL.fullmatch(text) or not _SYMBOL.fullmatch(name):
            return Name(text)
        found: Any = parse(self._env.pool, text)
        return SymFloat(found, self._env) if type(found) is Real else SymInt(found, self._env)

    def _connected(self) -> list[str]:
        """The symbols that facts connect with those of the state or with sizes of inputs, in order
        and but for the former; the other facts are left out.
        """
        known = set(self._names)
        facts = [(*fact, len(names_of(fact[1]))) for fact in self._facts]
        size = -1
        while len(known) > size:
            size = len(known)
            for _, _, names, count in facts:
                if count > len(names) or not known.isdisjoint(names):
                    known.update(names)
        self._facts = [fact for fact in self._facts if known.issuperset(fact[2])]
        order = {n: None for _, _, names in self._facts for n in names}
        return [n for n in order if n not in self._names]

    def _is_given(self, fact: _Known) -> bool:
        return all(n in self._names for n in fact[2])

    def _holds(self, fact: _Known) -> bool:
        """Whether a fact of the earlier state holds now, with the values of its symbols."""
        is_common, p, names = fact
        if is_common and all(self._names[n] == n for n in names):
            return True
        self._steps -= 1
        text = self._renamed(p)
        if text is None or self._steps < 0:
            return False
        found = parse(self._env.pool, text)
        return type(found) is Bool and decide(self._env.knowledge, found) is True

    def _renamed(self, operand: Any) -> str | None:
        """The text of a condition or an expression with the values of its symbols."""
        text = whole_text(operand)

        def new(m: re.Match[str]) -> str:
            value = self._names[m[0]]
            return value if _SYMBOL.fullmatch(value) else f"({value})"

        return None if text is None else _SYMBOL.sub(new, text)

    def _choose(self, name: str) -> bool:
        """Give a symbol a value with which all facts hold whose symbols have values."""
        about = [fact for fact in self._facts if name in fact[2]]
        for value in self._candidates(name, [p for _, p, _ in about]):
            self._names[name] = value
            if all(self._holds(fact) for fact in about if self._is_given(fact)):
                return True
        self._names.pop(name, None)
        return False

    def _candidates(self, name: str, about: list[Bool]) -> Iterator[str]:
        if name in self._shared:
            yield name
        found = self._old.symbols.get(name)
        if found is None:
            return
        lo, hi = self._old.range_of(found.expr)
        if lo != NINF:
            yield str(int(lo))
        if hi != INF:
            yield str(int(hi))
        for p in about:
            for e in (x for x in p.args if type(x) is Expr):
                m = next((m for atom, m in terms(e).items() if atom.name == name), 0)
                if m in (1, -1):
                    bound = found.expr - e if m == 1 else found.expr + e
                    if all(n in self._names for n in _run_names(bound)):
                        text = self._renamed(bound)
                        if text is not None:
                            yield text


def _run_names(p: Any) -> list[str]:
    return [n for n in names_of(p) if _SYMBOL.fullmatch(n)]
