"""Lower bounds of a sum by elimination.

An atom that keeps the interval from deciding is eliminated through its definition (division,
maximum, product) or through a relation that is known of it, and the rest is bounded again. The
depth is fixed and each step is taken from the question's budget; running out means "no better
bound".

    d*(x // d) lies in [x - d + 1, x]; equals x - r where x is r modulo d
    max(0, e...) is at least each, and equals one of them
    a product lies above and below the planes through the corners of its factors' ranges
    x // y lies in [(x - D + 1) / D, x / d] for x >= 0 and 1 <= d <= y <= D
    ite(c, a, 0) is a where c holds, and 0 where it does not
    y*(x // y) lies in [x - y + 1, x] for y > 0 and in [x, x - y - 1] for y < 0
    x / y, rounded to an integer, is at most x for x >= 0 and y >= 2
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

from anyshape.domain import INF, NINF, ceil_div
from anyshape.env.knowledge.residue import remainder
from anyshape.expr import boolean
from anyshape.expr.constructor.product import factors, monomial
from anyshape.expr.real import Real
from anyshape.expr.table.op import CHOICE, FLOORDIV, GROUP, MAXIMUM, PRODUCT, ROUNDINGS, SYMBOL
from anyshape.expr.table.op_real import DIV, FLOAT, MUL, RATIO
from anyshape.expr.terms import LONG, add_into, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyshape.domain import Bound
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.env.ladder.question import Question
    from anyshape.expr.node import Atom, Expr
    from anyshape.expr.table.row import Op

    Terms = dict[Atom, int]

    LinearForm = tuple[Terms, int, bool]

DEEP: Final = 6
SHALLOW: Final = 2
CASES: Final = 3
HALF: Final = 0.5


def by_elimination(q: Question, e: Expr, op: Op, depth: int) -> bool | None:
    """Whether `e op 0`; each search stops at the first bound that decides its question."""
    at_least: Bound = NINF
    at_most: Bound = INF
    answer = None
    search = _Elimination(q, e, depth)
    if op is boolean.GE:
        at_least = search.lower_bound(1)
        if at_least >= 0:
            answer = True
        else:
            at_most = -1 - search.lower_bound(-1, -1)
            answer = False if at_most < 0 else None
    else:
        at_least = search.lower_bound(1, -1) + 1
        if at_least <= 0:
            at_most = -1 - search.lower_bound(-1, -1)
        if at_least > 0 or at_most < 0:
            answer = op is boolean.NE
        elif search.lower_bound(1) >= 0 and search.lower_bound(-1) >= 0:
            at_least = at_most = 0
            answer = op is boolean.EQ
    if answer is not None:
        q.why = ("elimination", e, at_least, at_most)
    return answer


def is_eliminable(k: Knowledge, e: Expr) -> bool:
    """Whether `e` is short and has an atom with a definition or a relation to eliminate it by."""
    of_e = terms(e)
    return len(of_e) <= LONG and any(a.op is not SYMBOL or a in k.linear for a in of_e)


class _Elimination:
    """The searches for bounds of `e`; `assumed` are the relations that hold in the present case.

    `path[d]` is the atom that is being eliminated with depth `d` left. A sum in which one of them
    turns up again is not searched further: definition and relation would lead in a circle.
    `cases` are those of the maxima that were met.
    """

    __slots__ = ("assumed", "cases", "depth", "e", "k", "path", "q")

    def __init__(self, q: Question, e: Expr, depth: int) -> None:
        self.q = q
        self.k = q.knowledge
        self.e = e
        self.depth = depth
        self.path: list[Atom | None] = [None] * depth
        self.assumed: list[LinearForm] = []
        self.cases: dict[Atom, list[tuple[Expr, list[LinearForm]]]] = {}

    def lower_bound(self, sign: int, shift: int = 0) -> Bound:
        """A number that `sign * e + shift` is never below; stops at the first one >= 0."""
        e = self.e
        of_e = terms(e) if sign == 1 else {a: -v for a, v in terms(e).items()}
        return self.lower(of_e, sign * e.c + shift, self.depth)

    def lower(self, of_e: Terms, c: int, depth: int) -> Bound:
        """A lower bound of `c + sum(of_e)`."""
        total: Bound = c
        unbounded: Atom | None = None
        newest: Atom | None = None
        for atom, m in of_e.items():
            end = m * (atom.lo if m > 0 else atom.hi)
            if end == NINF:
                unbounded = atom
            total += end
            if atom.op is not SYMBOL and (newest is None or atom.index > newest.index):
                newest = atom
        q = self.q
        q.steps -= 1
        if q.steps < 0 or total >= 0 or depth == 0:
            return total
        if depth < self.depth:
            for eliminated in self.path[depth:]:
                if eliminated in of_e:
                    return total
        best = total
        atoms = of_e if unbounded is None else (unbounded,)
        for bound in self.ways(of_e, c, newest, atoms, depth - 1):
            if bound > best:
                best = bound
                if best >= 0:
                    break
            if q.steps < 0:
                break
        return best

    def ways(
        self, of_e: Terms, c: int, newest: Atom | None, atoms: Iterable[Atom], depth: int
    ) -> Iterator[Bound]:
        """Bounds by each elimination: of the newest non-symbol, then of `atoms` by relations."""
        if newest is not None:
            self.path[depth] = newest
            yield from self.by_definition(of_e, c, newest, depth)
        for atom in atoms:
            if self.assumed or atom in self.k.linear:
                self.path[depth] = atom
                yield from self.by_relation(of_e, c, atom, depth)

    def plus(self, rest: Terms, c: int, e: Expr, m: int, depth: int) -> Bound:
        """The lower bound of `rest + c + m * e`; `rest` is changed."""
        add_into(rest, terms(e), m)
        return self.lower(rest, c + m * e.c, depth)

    def by_definition(self, of_e: Terms, c: int, atom: Atom, depth: int) -> Iterable[Bound]:
        op = atom.op
        if op is FLOORDIV:
            if atom.exprs[1].is_const:
                return (self.division(of_e, c, atom, depth),)
            return self.symbolic_division(of_e, c, atom, depth)
        if op is MAXIMUM:
            return self.maximum(of_e, c, atom, depth)
        if op is PRODUCT:
            return self.product(of_e, c, atom, depth)
        if op is GROUP:
            return (self.plus(_without(of_e, atom), c, atom.exprs[0], of_e[atom], depth),)
        if op is CHOICE:
            return (self.choice(of_e, c, atom, depth),)
        x = rounded_ratio(atom) if of_e[atom] < 0 else None
        return () if x is None else (self.plus(_without(of_e, atom), c, x, of_e[atom], depth),)

    def choice(self, of_e: Terms, c: int, atom: Atom, depth: int) -> Bound:
        condition, taken = atom.args
        assert isinstance(condition, boolean.Bool)
        rest = _without(of_e, atom)
        known = len(self.assumed)
        self.assumed += _linear_forms(condition)
        if_taken = self.plus(dict(rest), c, taken, of_e[atom], depth)  # type: ignore[arg-type]
        del self.assumed[known:]
        self.assumed += _linear_forms(boolean.negate(condition))
        if_not = self.lower(rest, c, depth)
        del self.assumed[known:]
        return min(if_taken, if_not)

    def division(self, of_e: Terms, c: int, atom: Atom, depth: int) -> Bound:
        x, y = atom.exprs
        m, d = of_e[atom], y.c
        rest = remainder(self.k, x, d)
        if rest is None:
            rest = d - 1 if m > 0 else 0
        scale = d // gcd(m, d)
        factor = m * scale // d
        bound = self.plus(_without(of_e, atom, scale), c * scale - factor * rest, x, factor, depth)
        return ceil_div(bound, scale)

    def symbolic_division(self, of_e: Terms, c: int, atom: Atom, depth: int) -> Iterator[Bound]:
        """For x >= 0 and 1 <= d <= y <= D: d*(x // y) <= x and D*(x // y) >= x - D + 1."""
        x, y = atom.exprs
        m = of_e[atom]
        end = y.hi if m > 0 else y.lo
        if (
            y.lo < 1
            or isinstance(end, float)
            or (x.lo < 0 and self.lower(terms(x), x.c, depth) < 0)
        ):
            return
        rest = m * (end - 1) if m > 0 else 0
        bound = self.plus(_without(of_e, atom, end), c * end - rest, x, m, depth)
        yield ceil_div(bound, end)

    def maximum(self, of_e: Terms, c: int, atom: Atom, depth: int) -> Iterator[Bound]:
        m = of_e[atom]
        rest = _without(of_e, atom)
        args = atom.exprs
        if m > 0:
            for e in args:
                yield self.plus(dict(rest), c, e, m, depth)
        if len(args) > CASES:
            return
        cases = self.cases.get(atom)
        if cases is None:
            cases = self.cases[atom] = _cases(atom)
        worst: Bound = INF
        assumed = self.assumed
        known = len(assumed)
        for chosen, not_above in cases:
            assumed += not_above
            worst = min(worst, self.plus(rest.copy(), c, chosen, m, depth))
            del assumed[known:]
        yield worst

    def product(self, of_e: Terms, c: int, atom: Atom, depth: int) -> Iterator[Bound]:
        m = of_e[atom]
        powers = factors(atom)
        for quotient, exponent in powers:
            if quotient.op is FLOORDIV and exponent == 1:
                yield from self.quotient_product(of_e, c, atom, quotient, depth)
        for i, (first, exponent) in enumerate(powers[:4]):
            other_powers = dict(powers[:i] + powers[i + 1 :])
            if exponent > 1:
                other_powers[first] = exponent - 1
            yield from self.planes(of_e, c, atom, m, first.node, other_powers, depth)

    def quotient_product(
        self, of_e: Terms, c: int, atom: Atom, quotient: Atom, depth: int
    ) -> Iterator[Bound]:
        x, y = quotient.exprs
        rest = {a: n for a, n in factors(atom) if a is not quotient}
        if monomial(self.k.pool, rest) is not y or y.lo <= 0 <= y.hi:
            return
        m = of_e[atom]
        out = _without(of_e, atom)
        if m > 0 and y.lo > 0:  # y*q >= x - y + 1
            add_into(out, terms(y), -m)
            c += m
        elif m < 0 and y.hi < 0:  # y*q <= x - y - 1
            add_into(out, terms(y), -m)
            c -= m
        yield self.plus(out, c, x, m, depth)

    def planes(
        self, of_e: Terms, c: int, atom: Atom, m: int, x: Expr, others: Terms, depth: int
    ) -> Iterator[Bound]:
        """Through opposite corners: x*y >= ax*y + ay*x - ax*ay for a = lo or a = hi."""
        y = monomial(self.k.pool, others)
        low, high = ((x.lo, y.lo), (x.hi, y.hi)), ((x.hi, y.lo), (x.lo, y.hi))
        for ax, ay in low if m > 0 else high:
            if isinstance(ax, float) or isinstance(ay, float):
                continue
            out = _without(of_e, atom)
            if ax:
                add_into(out, terms(y), m * ax)
            if ay:
                add_into(out, terms(x), m * ay)
            yield self.lower(out, c - m * ax * ay, depth)

    def by_relation(self, of_e: Terms, c: int, atom: Atom, depth: int) -> Iterator[Bound]:
        """With f >= 0 (or f == 0, either sign): |n|*e - |m|*f does not have the atom."""
        m = of_e[atom]
        for of_f, f_c, both in self.relations(atom, m > 0):
            n = of_f[atom]
            same = (n > 0) == (m > 0)
            if not same and not both:
                continue
            scale, factor = abs(n), -abs(m) if same else abs(m)
            if self.is_dead_end(of_e, of_f, scale, factor):
                if not self.q.spend(1):
                    return
                continue
            out = {a: v * scale for a, v in of_e.items()}
            add_into(out, of_f, factor)
            yield ceil_div(self.lower(out, c * scale + factor * f_c, depth), scale)

    def is_dead_end(self, of_e: Terms, of_f: Terms, scale: int, factor: int) -> bool:
        """Whether `scale*e + factor*f` has a symbol without a bound that nothing eliminates."""
        for a, v in of_f.items():
            m = of_e.get(a, 0) * scale + factor * v
            if m and abs(a.lo if m > 0 else a.hi) == INF and not self.is_bounded(a, m > 0):
                return all(b.op is SYMBOL for b in (*of_e, *of_f))
        return False

    def is_bounded(self, atom: Atom, from_below: bool) -> bool:
        """Whether a relation bounds the atom from below, or from above."""
        return next(self.relations(atom, from_below), None) is not None

    def relations(self, atom: Atom, from_below: bool) -> Iterator[LinearForm]:
        """What bounds an atom from below, or from above; equalities do both."""
        for assumed in self.assumed:
            if atom in assumed[0]:
                yield assumed
        related = self.k.linear.get(atom)
        if related is not None:
            for relation in related.below if from_below else related.above:
                e = relation.condition.expr
                yield terms(e), e.c, False
            for relation in related.equal:
                e = relation.condition.expr
                yield terms(e), e.c, True


def _cases(atom: Atom) -> list[tuple[Expr, list[LinearForm]]]:
    """Each operand of a maximum, 0 included, and that it is at least each of the others."""
    candidates = (atom.pool.zero, *atom.exprs)
    found = []
    for chosen in candidates:
        gaps = [chosen - e for e in candidates if e is not chosen]
        found.append((chosen, [(terms(gap), gap.c, False) for gap in gaps]))
    return found


def _linear_forms(condition: boolean.Bool) -> list[LinearForm]:
    """The relations that hold where a condition does."""
    parts = condition.args if condition.op == boolean.AND else (condition,)
    return [
        (terms(b.expr), b.expr.c, b.op == boolean.EQ)
        for b in parts
        if b.op in (boolean.GE, boolean.EQ)
    ]


def _without(of_e: Terms, atom: Atom, scale: int = 1) -> Terms:
    return {a: v * scale for a, v in of_e.items() if a is not atom}


def rounded_ratio(atom: Atom) -> Expr | None:
    """For a rounding of x / y, or of x times c, with x >= 0, y >= 2 and 0 <= c <= 1/2: x, which it
    is never above.
    """
    r = atom.args[0] if atom.op in ROUNDINGS else None
    if not isinstance(r, Real) or r.op not in (RATIO, MUL, DIV):
        return None
    x, y = r.args
    if r.op is RATIO:
        return x if x.lo >= 0 and y.lo >= 2 else None
    if r.op is MUL and x.constant is not None:
        x, y = y, x
    c = y.constant
    if c is None or x.op is not FLOAT or x.args[0].lo < 0:
        return None
    small = 0 <= c <= HALF if r.op is MUL else c >= 1 / HALF
    return x.args[0] if small else None
