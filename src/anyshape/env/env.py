"""The environment: symbols, what is known of them, what must be guarded or asserted. A façade.

Five verbs:

    simplify(e)   the same value in fewer words, under all facts
    prove(p)      YES, NO or UNKNOWN with a reason; `decide`, `at_least`, `equal`: the answer alone
    guard(p)      decides by proof or by the hints, and then records a guard; `value` and
                  `real_value` are a guard on a value, `guard_or` has a fallback instead of an error
    assume(p)     the user's word: a fact, and a runtime assert (a guard if all is backed)
    learn(p)      an invariant of an op's result: a fact, trusted and not checked

The first two record nothing. Besides the others, only a new symbol records facts: the range that is
declared for it and the policy on sizes, as guards where it is backed, else as asserts.

Everything is in terms of `Expr` and `Bool`; `anyshape.symbolic` wraps this for `SymInt`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from anyshape.config import config
from anyshape.domain import INF, NINF, Interval
from anyshape.env import fact as origin
from anyshape.env.announce import tell_equalities, tell_symbol, timed
from anyshape.env.asker import Asker
from anyshape.env.data_dependence import data_dependent, without_value
from anyshape.env.fact import Fact
from anyshape.env.knowledge.equality import form, form_bool
from anyshape.env.knowledge.knowledge import Knowledge, atom_interval
from anyshape.env.knowledge.limit import WIDE
from anyshape.env.ladder.decide import ask, decide, verdict
from anyshape.env.ladder.question import FULL, Question
from anyshape.env.ladder.reason import interval_text
from anyshape.env.ladder.reduce import reduce
from anyshape.env.learning.learn import learn, refusal
from anyshape.env.obligation import Obligation, minimal, natural
from anyshape.env.site import capture
from anyshape.env.symbol import BACKED, UNBACKED, Symbol
from anyshape.errors import ConstraintError, RuntimeAssertError
from anyshape.events import Answer, Assert, Guard, SymbolCreation, emit, listeners
from anyshape.expr import Bool, Pool, eq0, evaluate, ge0, negate, symbol
from anyshape.expr.boolean import RELATIONS
from anyshape.expr.constructor.comparison import equals
from anyshape.expr.real import ANY, CONST, Real, apply, real_symbol
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.table.op_function import SIGN
from anyshape.expr.terms import refresh, terms
from anyshape.expr.traverse import symbols_of

if TYPE_CHECKING:
    from anyshape.env.fact import Message, Verdict
    from anyshape.env.site import Site
    from anyshape.expr import Expr
    from anyshape.expr.table.op_real import Span

_new: Final = tuple.__new__  # what a named tuple does in Python, done in C


class Env:
    """One environment; its expressions never mix with those of another.

    The `asker` is consulted before `guard` raises for what only the run can tell. A statement that
    the hints deny raises, and leaves its opposite as a guard: a program may catch the error.
    """

    def __init__(self, asker: Asker | None = None) -> None:
        self.asker = Asker() if asker is None else asker
        self.pool = Pool()
        self.knowledge = Knowledge(self.pool)
        self.symbols: dict[str, Symbol] = {}
        self.sources = self.knowledge.sources
        self._guards: list[Fact] = []
        self._asserts: list[Fact] = []
        self._sizes: list[Expr] = []
        self._by_hint: dict[int, Expr] = {}
        self._count = {"s": 0, "u": 0, "f": 0}
        self.is_timed = False  # whether the time of a question is being taken

    # ------------------------------------------------------------------ symbols

    def backed(
        self,
        hint: int,
        *,
        source: str = "",
        min: int | None = None,
        max: int | None = None,
        size: bool = True,
    ) -> Expr:
        """A new backed symbol: a size by default, any integer with `size=False`.

        Without `min`, a size is subject to the policy of 0/1 specialization; with it, to the
        declared range alone. Both are recorded as guards.
        """
        site = capture()
        self._need_range(source or f"s{self._count['s']}", hint, min, max, size=size)
        e = self._new("s", BACKED, source, hint, None, site, size=size)
        self._declare(e, min, max, site)
        if not size or min is not None:
            return e
        if config.specialize_zero_one and not config.backed_size_oblivious:
            policy = eq0(e.shift(-hint)) if hint in (0, 1) else ge0(e.shift(-2))
            self._record(policy, origin.POLICY, site, None)
        if config.duck_shape:
            twin = self._by_hint.setdefault(hint, e)
            if twin is not e:
                self._record(eq0(e - twin), origin.POLICY, site, None)
        return e

    def unbacked(
        self,
        *,
        source: str = "",
        min: int | None = None,
        max: int | None = None,
        size: bool = False,
        hint: int | None = None,
    ) -> Expr:
        """A new unbacked symbol: any integer, or a size; `hint` is for optimization only."""
        site = capture()
        if min is None and max is None:
            return self._new("u", UNBACKED, source, None, hint, site, size=size)
        self._need_range(source or f"u{self._count['u']}", None, min, max, size=size)
        e = self._new("u", UNBACKED, source, None, hint, site, size=size)
        self._declare(e, min, max, site)
        return e

    def unbacked_at(self, site: Site | None, *, size: bool = False) -> Expr:
        """A new unbacked symbol without a declared range, made at a place that the caller knows."""
        return self._new("u", UNBACKED, "", None, None, site, size=size)

    def real(self, hint: float | None = None, *, source: str = "", span: Span = ANY) -> Real:
        """A new floating-point symbol, backed when it has a hint."""
        name = self._name("f")
        if source:
            self.sources[name] = source
        if SymbolCreation in listeners:
            tell_symbol(self, name, UNBACKED if hint is None else BACKED, source, hint, None)
        return real_symbol(self.pool, name, hint, span)

    def _name(self, letter: str) -> str:
        self._count[letter] += 1
        return f"{letter}{self._count[letter] - 1}"

    def _new(
        self,
        letter: str,
        kind: str,
        source: str,
        hint: int | None,
        optimization_hint: int | None,
        site: Site | None,
        *,
        size: bool,
    ) -> Expr:
        name = self._name(letter)
        e = symbol(self.pool, name, 0 if size else NINF, INF, hint)
        described = (name, kind, source, hint, optimization_hint, site, e)
        self.symbols[name] = _new(Symbol, described)
        if source:
            self.sources[name] = source
        elif site is not None:
            self.knowledge.births[name] = site
        if size:
            self._sizes.append(e)
        if listeners and SymbolCreation in listeners:
            tell_symbol(self, name, kind, source, hint, site)
        return e

    @staticmethod
    def _need_range(
        label: str, hint: int | None, lo: int | None, hi: int | None, *, size: bool
    ) -> None:
        """Refuse a declaration that has no value, or not the one seen, before a symbol is made."""
        low = max(0 if size else NINF, NINF if lo is None else lo)
        high = INF if hi is None else hi
        if low > high:
            raise ConstraintError(f"no value is left for {label} in {interval_text(low, high)}")
        if hint is not None and not low <= hint <= high:
            raise ConstraintError(
                f"the value {hint} of {label} is outside {interval_text(low, high)}",
                why="a size is not negative" if size and hint < 0 else "",
            )

    def _declare(self, e: Expr, lo: int | None, hi: int | None, site: Site | None) -> None:
        """Record a declared range: as guards for a backed symbol, else as asserts."""
        if lo is not None:
            self._record(ge0(e.shift(-lo)), origin.DECLARED, site, None)
        if hi is not None:
            self._record(ge0((-e).shift(hi)), origin.DECLARED, site, None)

    # ------------------------------------------------------------------ the verbs

    def simplify(self, e: Expr) -> Expr:
        """The same value under all facts, in fewer words."""
        k = self.knowledge
        result = reduce(Question(k), form(k, e))
        refresh(result)
        return self.pool.const(int(result.lo)) if result.lo == result.hi else result

    def prove(self, p: Bool) -> Verdict:
        """Whether `p` always holds, never, or neither is known."""
        if listeners and Answer in listeners and not self.is_timed:
            return timed(self, "prove", p, self.prove, p)
        return verdict(self.knowledge, p)

    def decide(self, p: Bool, effort: int = FULL) -> bool | None:
        """The answer of `prove` without its reason, at a given effort."""
        if listeners and Answer in listeners and not self.is_timed:
            return timed(self, "decide", p, self.decide, p, effort)
        if effort:  # not FULL
            return decide(self.knowledge, p, effort)
        known = p.answer
        if known is not None:
            truth = known[1]
            if truth is not None:
                return truth
        return ask(self.knowledge, p)[1]

    def at_least(self, e: Expr, bound: int) -> bool | None:
        """Whether `e >= bound`: the answer of `prove`, without a condition where ranges tell."""
        if e.lo >= bound:
            return True
        if e.hi < bound:
            return False
        p = ge0(e.shift(-bound))
        return self.decide(p) if listeners else decide(self.knowledge, p)

    def equal(self, a: Expr, b: Expr) -> bool | None:
        """Whether `a == b`: the answer of `prove`, at once where they are one object."""
        if a is b:
            return True
        p = eq0(a - b)
        return self.decide(p) if listeners else decide(self.knowledge, p)

    def guard(self, p: Bool) -> bool:
        """The truth of `p`: proved, or by the hints and then guarded."""
        if listeners and Answer in listeners and not self.is_timed:
            return timed(self, "guard", p, self.guard, p)
        answer = decide(self.knowledge, p)
        return self._guard_open(p) if answer is None else answer

    def _guard_open(self, p: Bool) -> bool:
        """The truth of a condition that is not decided: by the hints, and then guarded."""
        backed = self._over_backed(p)
        if backed is None:
            answer = self.asker.settle(self, p)
            if answer is None:
                raise data_dependent(self, p)
            self.assume(p if answer else negate(p), None, origin.RULE)
            return answer
        hint = backed.hint is True
        self._record(backed if hint else negate(backed), origin.GUARD, capture(), None)
        return hint

    def value(self, e: Expr) -> int:
        """The value of `e`: proved, or its hint and then guarded, or an error."""
        simple = self.simplify(e)
        if simple.is_const:
            return simple.c
        backed = simple if simple.hint is not None else e
        value = backed.hint
        if value is None:
            raise without_value(self, simple, "a Python int")
        if not self.guard(eq0(backed.shift(-value))):
            raise ConstraintError(
                f"{self.text(e)} is {value} while tracing, and cannot be that",
                why="conditions that were checked before exclude it, so the program would stop"
                " there",
            )
        return value

    def real_value(self, r: Real) -> float:
        """The value of a real: its hint, which is then guarded with its sign, or an error."""
        value: float | None = r.hint
        if value is None:
            raise without_value(self, r, "a float")
        if r.op != CONST:
            self.guard(equals(r, value))
            if not value:
                self.guard(equals(apply(SIGN, r), math.copysign(1.0, value)))
        return value

    def guard_or(self, p: Bool, fallback: bool) -> bool:
        """`guard`, but `fallback` where only the run could tell; then nothing is recorded."""
        if listeners and Answer in listeners and not self.is_timed:
            return timed(self, "guard_or", p, self.guard_or, p, fallback)
        answer = decide(self.knowledge, p, config.aggressive_guard_free_semantics)
        if answer is None and self.hint_for_guard(p) is not None:
            if not config.backed_size_oblivious:
                return self.guard(p)
            answer = decide(self.knowledge, p)
        return fallback if answer is None else answer

    def assume(self, p: Bool, message: Message | None = None, from_: str = origin.CHECK) -> None:
        """Take the user's word for `p`: a fact, and a runtime assert or a guard.

        With the origin `RULE`, it is the word of an op, which eager execution may not give.
        """
        if listeners and Answer in listeners and not self.is_timed:
            timed(self, "assume", p, self.assume, p, message, from_)
            return
        site = capture()
        condition = self._open(p, site, message)
        if condition is not None:
            self._record(condition, from_, site, message)

    def learn(self, p: Bool) -> None:
        """Trust an invariant of an op's result, as that a count is at most a number of elements."""
        if listeners and Answer in listeners and not self.is_timed:
            timed(self, "learn", p, self.learn, p)
            return
        self._learn(Fact(p, origin.NATURE, capture(), None))

    # ------------------------------------------------------------------ recording

    def _open(self, p: Bool, site: Site | None, message: Message | None) -> Bool | None:
        """What of `p` is left to be checked at run time; None when it is proved."""
        answer = ask(self.knowledge, p)[1]
        if answer is None:
            backed = self._over_backed(p)
            if backed is None:
                return p
            if backed.hint:
                return backed
            self._record(negate(backed), origin.GUARD, site, None)
            seen = [self.symbols[s.name] for s in symbols_of(backed)[:4]]
            values = [f"{self.text(known.expr)} is {known.hint}" for known in seen]
            raise RuntimeAssertError(
                (message() if callable(message) else message) or f"{self.text(p)} does not hold",
                why=f"{self.text(backed)} is false for the values seen while tracing, "
                + ", ".join(values)
                + (f"; checked at {site}" if site else ""),
            )
        if answer:
            return None
        raise refusal(self.knowledge, Fact(p, origin.CHECK, site, message))

    def _over_backed(self, p: Bool) -> Bool | None:
        """What `p` says of backed symbols alone; None where it needs an unbacked one."""
        if p.hint is not None:
            return p
        k = self.knowledge
        if not k.log:
            return None
        if p.op in RELATIONS and p.expr.width > WIDE and not k.may_be_respelt(p.expr):
            return None
        spelt = form_bool(k, p)
        return spelt if spelt is not p and spelt.hint is not None else None

    def _record(
        self, condition: Bool, from_: str, site: Site | None, message: Message | None
    ) -> None:
        """Learn a condition and oblige the program to it."""
        fact = _new(Fact, (condition, from_, site, message))
        self._learn(fact)
        self._oblige(fact)

    def _learn(self, fact: Fact) -> None:
        k = self.knowledge
        known = len(k.log)
        learn(k, fact)
        if listeners and len(k.log) > known:
            tell_equalities(self, known, fact.site)

    def _oblige(self, fact: Fact) -> None:
        if fact.condition.hint is None:
            self._assert(fact)
            return
        self._guards.append(fact)
        if listeners and Guard in listeners:
            emit(Guard(self, fact.condition, fact.origin, fact.site))

    def _assert(self, fact: Fact) -> None:
        self._asserts.append(fact)
        if listeners and Assert in listeners:
            emit(Assert(self, fact.condition, fact.origin, fact.site))

    # ------------------------------------------------------------------ answers

    @property
    def guards(self) -> list[Obligation]:
        """The guards that imply all recorded ones."""
        return self._listed(self._guards)

    @property
    def declared(self) -> list[Obligation]:
        """All declared ranges of backed symbols, also those that a guard makes tighter."""
        facts = [fact for fact in self._guards if fact.origin == origin.DECLARED]
        return [Obligation(fact, self.knowledge) for fact in facts]

    @property
    def runtime_asserts(self) -> list[Obligation]:
        """The runtime asserts that imply all recorded ones."""
        return self._listed(self._asserts)

    @property
    def last_assert(self) -> Fact | None:
        """The fact of the newest runtime assert."""
        return self._asserts[-1] if self._asserts else None

    def _listed(self, facts: list[Fact]) -> list[Obligation]:
        recorded = tuple(facts)
        kept = minimal(recorded, natural(self._sizes))
        return [Obligation(fact, self.knowledge, recorded) for fact in kept]

    @property
    def replacements(self) -> dict[str, Expr]:
        """Symbols that are known to equal an expression of older ones."""
        k = self.knowledge
        return {a.name: form(k, a.node) for a in k.replacements if a.name}

    def range_of(self, e: Expr) -> Interval:
        """The range of an expression under all facts."""
        refresh(e)
        as_made = Interval(e.lo, e.hi)
        e = self.simplify(e)
        composed = Interval(e.c, e.c)
        for atom, m in terms(e).items():
            own = Interval(atom.lo, atom.hi)
            if atom.op is not SYMBOL:
                own = own.intersect(atom_interval(atom)) or own
            composed = composed.add(own.scale(m))
        composed = composed.intersect(Interval(e.lo, e.hi)) or composed
        return composed.intersect(as_made) or composed

    def hint_of(self, e: Expr, missing: int | None = None) -> int | None:
        """The value under all hints, those for optimization included, and `missing` for symbols
        without one.
        """
        if e.hint is not None:
            return e.hint
        e = form(self.knowledge, e)
        values: dict[str, int | float] = {}
        for s in symbols_of(e):
            known = self.symbols[s.name]
            value = known.hint if known.hint is not None else known.optimization_hint
            value = missing if value is None else value
            if value is None:
                return None
            values[s.name] = value
        try:
            result: int = evaluate(e, values)
        except (ZeroDivisionError, OverflowError, ValueError, KeyError):
            return None
        return result

    def text(self, operand: Bool | Expr | Real) -> str:
        """An expression over the sources, for messages."""
        return self.knowledge.brief(operand)

    def hint_for_guard(self, p: Bool) -> bool | None:
        """The truth of `p` under the hints of backed symbols, as a guard would decide it."""
        backed = self._over_backed(p)
        return None if backed is None else backed.hint
