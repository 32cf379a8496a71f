"""The symbols of an environment and the expressions over them, to text and back.

The text and the normal form of an expression depend on the relative age of its parts. So a file has
the parts in the order of their creation, and reading creates them in that order. Expressions refer
to a part by its number, which is a label: reading allocates nothing in proportion to it.
"""

from __future__ import annotations

import math
import re
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.domain import EVERYTHING
from anyshape.env import Env, Obligation
from anyshape.env.fact import ORIGINS, Fact
from anyshape.env.site import Site
from anyshape.env.symbol import BACKED, UNBACKED, Symbol
from anyshape.errors import AnyshapeError, LoadError, UnsupportedError
from anyshape.export.files import checked
from anyshape.export.files.shared_expression import Namer
from anyshape.expr import Bool, Expr, eq0, ge0, parse, symbol
from anyshape.expr.constructor.product import MAX_EXPONENT, factors, monomial
from anyshape.expr.node import Atom
from anyshape.expr.real import ANY, Real, real_symbol
from anyshape.expr.table.op import PRODUCT, SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.domain import Interval
    from anyshape.domain.bound import Bound
    from anyshape.export.files.written_out import WrittenOut
    from anyshape.expr.node import Operand
    from anyshape.expr.pool import Pool

REAL: Final = "real"
_NAME: Final = re.compile(r"[suf][0-9]{1,9}")
_SYMBOL: Final = ("aim", "at", "hint", "kind", "name", "range", "size", "source")
_REAL: Final = ("hint", "kind", "name", "source")
_OBLIGATION: Final = ("at", "condition", "message", "origin")
_NO_RANGES: Final[Mapping[str, Interval]] = MappingProxyType({})


class SavedSite(NamedTuple):
    """A line of the program that was exported, as text."""

    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        place = f"{Path(self.file).name}:{self.line} in {self.function}"
        return f"{place}: {self.text}" if self.text else place


class Sites:
    """The source lines in a file, each once."""

    def __init__(self) -> None:
        self.numbers: dict[SavedSite, int] = {}
        self._known: dict[Any, int] = {}

    def number(self, site: Any) -> int | None:
        """The number of a line; None for no line."""
        if site is None:
            return None
        found = self._known.get(site)
        if found is None:
            saved = (
                SavedSite(site.file, site.line, site.function, site.text)
                if type(site) is Site
                else site
            )
            found = self._known[site] = self.numbers.setdefault(saved, len(self.numbers))
        return found


# ---------------------------------------------------------------------- to text


class ScopeWriter:
    """Writes the expressions of one environment, and then the atoms in them.

    With None for `ranges`, the symbols have none: what the environment knows does not hold wherever
    the expressions are used.
    """

    def __init__(
        self,
        pool: Pool,
        sources: dict[str, str],
        sites: Sites,
        env: Env | None,
        length: WrittenOut,
        ranges: Mapping[str, Interval] | None = _NO_RANGES,
    ) -> None:
        self.length = length
        self.ranges = ranges  # those of the inputs
        self.pool = pool
        self.sources = sources
        self.sites = sites
        self.env = env
        self.sizes = set() if env is None else set(env._sizes)
        self.written: list[Operand] = []
        self.namer = Namer()

    def text(self, operand: Operand) -> str:
        """The text of an expression, condition or real."""
        self.written.append(operand)
        found = self.namer.text(operand)
        if len(found) > checked.MAX_TEXT:
            raise UnsupportedError(
                f"cannot save an expression of {len(found)} characters", code="AS511"
            )
        self.length.stored += len(found)
        self.length.add(operand)
        return found

    def obligation(self, o: Any) -> dict[str, Any]:
        """A guard or an assert."""
        return {
            "at": self.sites.number(o.site),
            "condition": self.text(o.condition),
            "message": o.message,
            "origin": o.origin,
        }

    def terms(self) -> list[dict[str, Any]]:
        """The symbols and all parts of the expressions that were written, oldest first."""
        below = nodes_below(self.written)
        inner = {part for n in below for part in n.args if type(part) is Bool}
        entries: list[tuple[int, dict[str, Any]]] = []
        for name, e in self.pool.by_name.items():
            if not _NAME.fullmatch(name):
                continue
            if type(e) is Real:
                entries.append((e.index, self._real(name, e)))
            elif type(e) is Expr:
                atom = next(iter(terms(e)))
                entries.append((atom.index, self._symbol(name, atom)))
        for node in sorted(below, key=attrgetter("index")):
            if type(node) is Atom and node.op is not SYMBOL:
                entries.append((node.index, self._atom(node)))
            elif type(node) is Bool and node in inner:
                entries.append((node.index, {"text": self.namer.text(node)}))
        return [entry for _, entry in sorted(entries, key=lambda pair: pair[0])]

    def _atom(self, atom: Atom) -> dict[str, Any]:
        place = self.namer.number(atom)
        if atom.op is not PRODUCT:
            return {"place": place, "text": self.namer.atom(atom)}
        powers = [[self.namer.text(a.node), k] for a, k in factors(atom)]
        return {"place": place, "powers": powers}

    def _real(self, name: str, r: Real) -> dict[str, Any]:
        hint = None if r.hint is None else repr(r.hint)
        return {"hint": hint, "kind": REAL, "name": name, "source": self.sources.get(name, "")}

    def _symbol(self, name: str, atom: Atom) -> dict[str, Any]:
        known = None if self.env is None else self.env.symbols.get(name)
        lo, hi = EVERYTHING
        if self.env is not None and self.ranges is not None:
            lo, hi = self.ranges.get(name, self.env.range_of(atom.node))
        kind = BACKED if atom.hint is not None else UNBACKED
        return {
            "aim": None if known is None else known.optimization_hint,
            "at": None if known is None else self.sites.number(known.site),
            "hint": atom.hint,
            "kind": kind,
            "name": name,
            "range": [_finite(lo), _finite(hi)],
            "size": atom.node in self.sizes,
            "source": self.sources.get(name, ""),
        }


def _finite(bound: Bound) -> int | None:
    return int(bound) if math.isfinite(bound) else None


# ---------------------------------------------------------------------- from text


class ScopeReader:
    """Restores an environment, and reads expressions over it."""

    def __init__(
        self,
        data: Any,
        sites: list[SavedSite],
        where: str,
        env: Env | None,
        length: WrittenOut,
    ) -> None:
        self.env = env = env or Env()
        self.length: WrittenOut | None = None  # not for parts, only for what refers to them
        self.sites = sites
        self.where = where
        self.facts: list[tuple[Expr, int | None, int | None]] = []
        self.reals: set[str] = set()
        for entry in checked.items(data, where):
            if type(entry) is not dict:
                checked.refuse(where, "an object", entry)
            if entry.get("kind") == REAL:
                self._real(*checked.fields(entry, _REAL, where))
            elif "name" in entry:
                known = {k: v for k, v in entry.items() if k != "place"}  # in formats 1 and 2
                self._symbol(checked.fields(known, _SYMBOL, where))
            elif "powers" in entry:
                self._product(*checked.fields(entry, ("place", "powers"), where))
            elif "place" in entry:
                place, text = checked.fields(entry, ("place", "text"), where)
                self._name_part(place, self.int(text))
            else:
                self.bool(checked.fields(entry, ("text",), where)[0])
        self.length = length

    def _name_part(self, place: Any, e: Expr) -> None:
        """Let expressions refer to a part by its number."""
        checked.number(place, self.where, 0)
        if _atom_of(e) is None or f"a{place}" in self.env.pool.by_name:
            raise LoadError(f"{self.where} has {str(e)[:60]!r} as part {place}")
        self.env.pool.by_name[f"a{place}"] = e

    def _product(self, place: Any, powers: Any) -> None:
        where = self.where
        found: dict[Atom, int] = {}
        for pair in checked.items(powers, where):
            text, exponent = checked.items(pair, where, 2)
            atom = _atom_of(self.int(text))
            if atom is None or atom.op is PRODUCT or atom in found:
                raise LoadError(f"{where} has {text[:60]!r} as a factor")
            found[atom] = checked.number(exponent, where, 1, MAX_EXPONENT)
        self._name_part(place, monomial(self.env.pool, found))

    def _named(self, name: Any, source: Any) -> tuple[str, str]:
        if type(name) is not str or not _NAME.fullmatch(name) or name in self.env.pool.by_name:
            checked.refuse(self.where, "the name of a new symbol", name)
        return name, checked.text(source, self.where)

    def _real(self, hint: Any, _kind: Any, name: Any, source: Any) -> None:
        name, source = self._named(name, source)
        real_symbol(self.env.pool, name, checked.optional(checked.real, hint, self.where), ANY)
        self.reals.add(name)
        if source:
            self.env.sources[name] = source

    def _symbol(self, parts: list[Any]) -> None:
        aim, at, hint, kind, name, range_, size, source = parts
        env, where = self.env, self.where
        name, source = self._named(name, source)
        where = f"{where}: {name}"
        lo, hi = [
            checked.optional(checked.number, n, where) for n in checked.items(range_, where, 2)
        ]
        if lo is not None and hi is not None and lo > hi:
            raise LoadError(f"{where} has no value left: {lo} > {hi}")
        checked.optional(checked.number, hint, where)
        checked.optional(checked.number, aim, where)
        if checked.one_of(kind, (BACKED, UNBACKED), where) != (
            UNBACKED if hint is None else BACKED
        ):
            raise LoadError(f"{where} is {kind} and its hint is {hint}")
        e = symbol(env.pool, name, 0 if checked.flag(size, where) else -math.inf, math.inf, hint)
        env.symbols[name] = Symbol(name, kind, source, hint, aim, self.site(at), e)
        if source:
            env.sources[name] = source
        if size:
            env._sizes.append(e)
        self.facts.append((e, lo, hi))

    def site(self, at: Any) -> Any:
        """The line of that number."""
        if at is None:
            return None
        return self.sites[checked.number(at, self.where, 0, len(self.sites) - 1)]

    def learn(self, replacements: Any) -> None:
        """Learn the saved equalities and ranges; called after all expressions are read."""
        env = self.env
        pairs = []
        for pair in checked.items(replacements, self.where):
            name, text = checked.items(pair, self.where, 2)
            if type(name) is not str or name not in env.symbols:
                checked.refuse(self.where, "the name of a symbol", name)
            pairs.append((env.symbols[name].expr, self.int(text)))
        self._learn_ranges([fact for fact in self.facts if fact[1] != fact[2]])
        for e, equal in pairs:
            env.learn(eq0(e - equal))
        self._learn_ranges(self.facts)

    def _learn_ranges(self, facts: list[tuple[Expr, int | None, int | None]]) -> None:
        env = self.env
        for e, lo, hi in facts:
            if lo is not None and e.lo < lo:
                env.learn(ge0(e.shift(-lo)))
            if hi is not None and e.hi > hi:
                env.learn(ge0((-e).shift(hi)))

    def _parse(self, x: Any, kind: type) -> Any:
        text = checked.text(x, self.where)
        try:
            found = parse(self.env.pool, text)
        except AnyshapeError as e:
            raise LoadError(f"{self.where} has {text[:60]!r} in it", why=e.text[:300]) from e
        if type(found) is not kind:
            raise LoadError(f"{self.where} has {text[:60]!r}, which is not of type {kind.__name__}")
        if self.length is not None:
            self.length.add(found)
            if self.length.is_too_long:
                raise LoadError(
                    f"{self.where}: its expressions are too long for a file of this size",
                    why=f"written out they have {self.length.total} characters",
                )
        return found

    def int(self, x: Any) -> Expr:
        """An integer expression."""
        found: Expr = self._parse(x, Expr)
        return found

    def bool(self, x: Any) -> Bool:
        """A condition."""
        found: Bool = self._parse(x, Bool)
        return found

    def real(self, x: Any) -> Real:
        """A floating-point expression."""
        found: Real = self._parse(x, Real)
        return found

    def obligations(self, data: Any, where: str) -> list[Obligation]:
        """Guards or asserts."""
        return [Obligation(f, self.env.knowledge) for f in self._facts(data, where)]

    def asserts(self, data: Any, recorded: Any, where: str) -> list[Obligation]:
        """Asserts, with the recorded conditions that they imply, in the order of the program.

        A file of an old version has no recorded conditions: each assert is its own.
        """
        facts = self._facts(data, where)
        numbers = range(len(facts)) if recorded is None else checked.items(recorded, where)
        listed = {number for number in numbers if type(number) is int}
        found = []
        for x in numbers:
            if type(x) is int:
                found.append(facts[checked.number(x, where, 0, len(facts) - 1)])
            else:
                found.append(self._fact(x, where))
        knowledge, recorded_facts = self.env.knowledge, tuple(found)
        return [
            Obligation(fact, knowledge, recorded_facts if i in listed else ())
            for i, fact in enumerate(facts)
        ]

    def _facts(self, data: Any, where: str) -> list[Fact]:
        return [self._fact(o, where) for o in checked.items(data, where)]

    def _fact(self, data: Any, where: str) -> Fact:
        at, condition, message, origin = checked.fields(data, _OBLIGATION, where)
        checked.one_of(origin, tuple(ORIGINS), where)
        checked.optional(checked.text, message, where)
        return Fact(self.bool(condition), origin, self.site(at), message)


def _atom_of(e: Expr) -> Atom | None:
    """The atom that an expression consists of; None for a sum, a multiple or a constant."""
    of_e = terms(e)
    if len(of_e) != 1 or e.c:
        return None
    atom, k = next(iter(of_e.items()))
    return atom if k == 1 else None


def read_sites(data: Any) -> list[SavedSite]:
    """The table of source lines."""
    found = []
    for entry in checked.items(data, "sites"):
        file, line, function, text = checked.items(entry, "a site", 4)
        found.append(
            SavedSite(
                checked.text(file, "a site"),
                checked.number(line, "a site", 0, 1 << 31),
                checked.text(function, "a site"),
                checked.text(text, "a site"),
            )
        )
    return found
