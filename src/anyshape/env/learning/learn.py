"""How a fact enters the knowledge; all of it or nothing.

`learn(k, fact)` takes any condition. A relation tightens ranges, its direction, congruences, solved
equalities; a conjunction is its parts; a disjunction loses the parts that are false and waits as a
clause until one is left. A fact that cannot hold raises `ConstraintError` with both sides and where
each comes from, and the knowledge is as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.domain import INF, NINF, ceil_div, floor_div
from anyshape.env.fact import ContradictionError
from anyshape.env.knowledge.clause import (
    hull_of,
    inherit_watchers,
    open_clause,
    wake,
    wake_denied,
)
from anyshape.env.knowledge.direction import NO_HOLES, UNKNOWN_DIRECTION, Direction, direction_of
from anyshape.env.knowledge.equality import form, respelt, solvable, solve_for
from anyshape.env.knowledge.limit import MATERIALIZE, NARROW
from anyshape.env.knowledge.relation import Relation
from anyshape.env.knowledge.residue import learn_residues
from anyshape.env.ladder.decide import ask, decide, verdict
from anyshape.env.ladder.definedness import has_value
from anyshape.env.ladder.question import BUDGET
from anyshape.env.ladder.reduce import has_ops
from anyshape.env.learning.alternatives import alternatives
from anyshape.env.learning.lone_bound import bound_alone
from anyshape.env.learning.mention import inherit_mentions, mention
from anyshape.env.learning.propagation import narrow_atom, narrow_terms, newly_defined, propagate
from anyshape.env.learning.refused import error_of
from anyshape.expr import boolean
from anyshape.expr.boolean import RELATIONS, eq0, ge0, ne0, negate, relation
from anyshape.expr.table.op import CHOICE, MAXIMUM, PRODUCT
from anyshape.expr.terms import LONG, content, from_terms, has_more_terms, refresh, terms
from anyshape.expr.traverse import ancestors_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from anyshape.domain import Bound
    from anyshape.env.fact import Fact
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.env.learning.propagation import Moved
    from anyshape.errors import ConstraintError
    from anyshape.expr import Bool, Expr
    from anyshape.expr.node import Atom
    from anyshape.expr.table.row import Op

_new: Final = tuple.__new__  # what a named tuple does in Python, done in C
_BY_CASES: Final = (CHOICE, PRODUCT)


def learn(k: Knowledge, fact: Fact) -> None:
    """Add a fact, with what follows from it."""
    condition = fact.condition
    if condition.op is boolean.GE and condition.expr.width == 1 and bound_alone(k, fact):
        _remember(k, fact)
        return
    k.begin()
    try:
        is_wide = _learn(k, condition, fact)
        if k.renamed or k.agenda:
            _look_again(k)
        if not is_wide:
            mention(k, condition)
    except ContradictionError as contradiction:
        k.roll_back()
        raise error_of(k, fact, contradiction) from None
    except BaseException:  # a limit of the engine, or the user's interrupt
        k.roll_back()
        raise
    k.commit()
    _remember(k, fact)


def refusal(k: Knowledge, fact: Fact) -> ConstraintError:
    """The error for a fact that is known to be false; the knowledge stays as it is."""
    k.begin()
    try:
        _learn(k, fact.condition, fact)
        _look_again(k)
        contradiction = ContradictionError(verdict(k, fact.condition).reason)
    except ContradictionError as found:
        contradiction = found
    finally:
        k.roll_back()
    return error_of(k, fact, contradiction)


def _remember(k: Knowledge, fact: Fact) -> None:
    """Keep the condition word for word, and its negation where no range or direction tells it."""
    condition = fact.condition
    k.tell(condition, True, fact)
    if condition.op not in RELATIONS:
        k.tell(negate(condition), False, fact)


def _learn(k: Knowledge, b: Bool, fact: Fact) -> bool:
    """Learn one condition; say whether it is a relation on many atoms."""
    op = b.op
    if op in RELATIONS:
        return _relation(k, b, fact)
    if op is boolean.FALSE:
        raise ContradictionError("it is false")
    if op is boolean.AND:
        for part in b.args:
            _learn(k, part, fact)
    elif op is boolean.OR:
        _clause(k, b, fact)
    return False


def _relation(k: Knowledge, b: Bool, fact: Fact) -> bool:
    op, e = b.op, b.expr
    if k.clauses:
        wake_denied(k, b)
    is_long = e.width > LONG and has_more_terms(e, LONG)
    if is_long and op is not boolean.NE:
        _long(k, e, op, fact)
        return True
    is_wide = e.width > NARROW and (is_long or has_more_terms(e, NARROW))
    by_cases = () if is_wide else _cases(k, e, op)
    if op is boolean.GE:
        _at_least_zero(k, e, fact)
    else:
        (_zero if op is boolean.EQ else _not_zero)(k, e, fact)
    for condition in by_cases:
        _learn(k, condition, fact)
    return is_wide


def _cases(k: Knowledge, e: Expr, op: Op) -> Iterable[Bool]:
    """What a short relation says case by case."""
    return alternatives(form(k, e), op) if has_ops(e, _BY_CASES) else ()


# ---------------------------------------------------------------------- at least zero


def _at_least_zero(k: Knowledge, e: Expr, fact: Fact) -> None:
    if e.width > LONG and has_more_terms(e, LONG):
        _long(k, e, boolean.GE, fact)
        return
    if e.version < e.pool.ranges:
        refresh(e)
    if e.lo >= 0:
        return
    e = form(k, e)
    of_e = terms(e)
    if not of_e:
        if e.c < 0:
            raise ContradictionError(f"{e.c} is negative")
        return
    if len(of_e) == 1:
        ((atom, m),) = of_e.items()
        lo, hi = (-(e.c // m), INF) if m > 0 else (NINF, e.c // -m)
        _narrow(k, atom, lo, hi, fact)
        return
    _bound_direction(k, e, fact)
    _file(k, ge0(_primitive(e)), fact)
    _spread(k, narrow_terms(k, e, boolean.GE, fact), fact)
    _above_maximum(k, e, fact)
    wake(k, of_e)


def _above_maximum(k: Knowledge, e: Expr, fact: Fact) -> None:
    """What is at least a maximum is at least each of its operands."""
    maxima = [(a, m) for a, m in terms(e).items() if m < 0 and a.op is MAXIMUM]
    if len(maxima) != 1 or len(maxima[0][0].args) > MATERIALIZE:
        return
    ((atom, m),) = maxima
    rest = from_terms(k.pool, {a: v for a, v in terms(e).items() if a is not atom}, e.c)
    for operand in (k.pool.zero, *atom.exprs):
        _at_least_zero(k, rest + operand.scale(m), fact)


def _primitive(e: Expr) -> Expr:
    """For `e >= 0`: the same condition with coprime coefficients."""
    g = content(terms(e).values())
    return e if g == 1 else from_terms(e.pool, {a: v // g for a, v in terms(e).items()}, e.c // g)


def _long(k: Knowledge, e: Expr, op: Op, fact: Fact) -> None:
    """A long sum: its direction and the ends of its two sides, without its terms.

    Its terms are needed where replacements may make it short.
    """
    if k.log and k.may_be_respelt(e):
        spelt = form(k, e)
        if not has_more_terms(spelt, LONG):
            (_zero if op is boolean.EQ else _at_least_zero)(k, spelt, fact)
            return
    if op is boolean.EQ:
        _bound_direction_both(k, e, fact)
    else:
        if e.version < e.pool.ranges:
            refresh(e)
        if e.lo >= 0:
            return
        _bound_direction(k, e, fact)
    _long_sides(k, e, op, fact)


def _long_sides(k: Knowledge, e: Expr, op: Op, fact: Fact) -> None:
    """The ends of the two sides that a long sum was made of: `above - below >= 0`, or `== 0`."""
    difference = e if e.right is not None or e.left is None else e.left
    above, below = difference.left, difference.right
    if above is None or below is None or difference.times != -1:
        return
    for side in (above, below):
        if side.version < k.pool.ranges:
            refresh(side)
    c = e.c - above.c + below.c
    is_equal = op is boolean.EQ
    of_above = (below.lo - c, below.hi - c if is_equal else INF)
    of_below = (above.lo + c if is_equal else NINF, above.hi + c)
    for side, (lo, hi) in ((above, of_above), (below, of_below)):
        if side.width == 1 and not side.c:
            ((atom, m),) = terms(side).items()
            if m == 1:
                _narrow(k, atom, lo, hi, fact)


def _bound_direction(k: Knowledge, e: Expr, fact: Fact) -> None:
    """Tighten the range of the direction of `e` from `e >= 0`."""
    key, factor = direction_of(e)
    known = k.directions.get(key, UNKNOWN_DIRECTION)
    lo, hi, low_fact, high_fact = known
    if factor > 0:
        bound: Bound = ceil_div(-e.c, factor)
        if bound > lo:
            lo, low_fact = bound, fact
    else:
        bound = floor_div(e.c, -factor)
        if bound < hi:
            hi, high_fact = bound, fact
    holes = k.direction_holes.get(key)
    if holes is not None:
        while lo in holes and lo <= hi:
            lo += 1
        while hi in holes and lo <= hi:
            hi -= 1
    if lo > hi:
        raise ContradictionError("no value is left", high_fact if factor > 0 else low_fact)
    if lo != known.lo or hi != known.hi:
        k.put(k.directions, key, _new(Direction, (lo, hi, low_fact, high_fact)))
        if lo == hi and known.lo != known.hi and len(terms(e)) <= NARROW:
            _zero(k, from_terms(k.pool, terms(e), 0).shift(-int(lo) * factor), fact)


def _file(k: Knowledge, condition: Bool, fact: Fact, *, is_definition: bool = False) -> None:
    """File a relation on few atoms under each of them, for propagation and elimination."""
    if 1 < len(terms(condition.expr)) <= NARROW:
        k.file(Relation(condition, fact, is_definition=is_definition))


# ---------------------------------------------------------------------- zero


def _zero(k: Knowledge, e: Expr, fact: Fact) -> None:
    e = form(k, e)
    of_e = terms(e)
    g = content(of_e.values())
    if not of_e:
        if e.c:
            raise ContradictionError(f"{e.c} is not 0")
        return
    if e.c % g:
        raise ContradictionError(f"the left side is {e.c % g} modulo {g}")
    if g != 1:
        e = from_terms(k.pool, {a: v // g for a, v in of_e.items()}, e.c // g)
        of_e = terms(e)
    if len(of_e) == 1:
        ((atom, m),) = of_e.items()
        if _narrow(k, atom, -e.c * m, -e.c * m, fact):  # else it was made with that one value
            k.renamed[atom] = None
        return
    divided = learn_residues(k, e)
    _bound_direction_both(k, e, fact)
    atom_ = solvable(e) if len(of_e) <= NARROW else None
    is_definition = atom_ is not None and atom_ not in k.replacements
    _file(k, eq0(e), fact, is_definition=is_definition)
    if atom_ is not None and is_definition:
        by = solve_for(e, atom_)
        k.replace(atom_, by)
        _transfer(k, atom_, by, fact)
        k.renamed[atom_] = None
    changed = [(a, 0) for a in divided] + narrow_terms(k, e, boolean.EQ, fact)
    # An end of a range may have to move to the next member of a congruence.
    changed = [(a, moved | narrow_atom(k, a, a.lo, a.hi, fact)) for a, moved in changed]
    _spread(k, changed, fact)
    for side in (e, -e):
        _above_maximum(k, side, fact)
    wake(k, of_e)


def _bound_direction_both(k: Knowledge, e: Expr, fact: Fact) -> None:
    key, factor = direction_of(e)
    known = k.directions.get(key, UNKNOWN_DIRECTION)
    value, rest = divmod(-e.c, factor)
    if rest:
        raise ContradictionError(f"the left side is {-rest % abs(factor)} modulo {abs(factor)}")
    if not known.lo <= value <= known.hi or value in k.direction_holes.get(key, NO_HOLES):
        low = value < known.lo
        raise ContradictionError("no value is left", known.low_fact if low else known.high_fact)
    if known.lo != known.hi:
        k.put(k.directions, key, known._replace(lo=value, hi=value, low_fact=fact, high_fact=fact))


def _transfer(k: Knowledge, atom: Atom, by: Expr, fact: Fact) -> None:
    """What was known of the range of a replaced atom holds for its replacement."""
    if atom.lo > by.lo:
        _at_least_zero(k, by.shift(-int(atom.lo)), k.blame.get((atom, False), fact))
    if atom.hi < by.hi:
        _at_least_zero(k, -by.shift(-int(atom.hi)), k.blame.get((atom, True), fact))
    for hole in k.holes.get(atom, NO_HOLES):
        _not_zero(k, by.shift(-hole), fact)


def _replaced(k: Knowledge, atom: Atom) -> None:
    """Learn again, in the new spelling, what mentions a replaced atom or one made of it."""
    made = ancestors_of(atom)
    related = dict.fromkeys(r for a in made for r in k.linear.get(a, ()) if not r.is_definition)
    for old in related:
        e = old.condition.expr
        new = form(k, e)
        if new is not e:
            if len(terms(new)) <= NARROW:
                k.withdraw(old)
            _learn(k, relation(old.condition.op, new), old.fact)
    for a in made[1:]:
        _same_value(k, a)
    inherit_mentions(k, atom, made)
    inherit_watchers(k, atom)


def _same_value(k: Knowledge, atom: Atom) -> None:
    """Pass the range of an atom on to what it is spelt as now."""
    new = respelt(k, atom)
    if new is atom.node or not has_value(k, atom):
        return
    fact_low, fact_high = k.blame.get((atom, False)), k.blame.get((atom, True))
    if fact_low is not None and atom.lo > new.lo:
        _at_least_zero(k, new.shift(-int(atom.lo)), fact_low)
    if fact_high is not None and atom.hi < new.hi:
        _at_least_zero(k, -new.shift(-int(atom.hi)), fact_high)


# ---------------------------------------------------------------------- not zero


def _not_zero(k: Knowledge, e: Expr, fact: Fact) -> None:
    e = form(k, e)
    of_e = terms(e)
    if not of_e:
        if not e.c:
            raise ContradictionError("0 is 0")
        return
    if len(of_e) > 1:
        _not_zero_direction(k, e, fact)
        return
    ((atom, m),) = of_e.items()
    if e.c % m == 0:
        value = -e.c // m
        k.include(k.holes, atom, value)
        lo = atom.lo + 1 if value == atom.lo else atom.lo
        hi = atom.hi - 1 if value == atom.hi else atom.hi
        if not _narrow(k, atom, lo, hi, fact):
            wake(k, [atom])
            _spread(k, newly_defined(k, [atom]), fact)


def _not_zero_direction(k: Knowledge, e: Expr, fact: Fact) -> None:
    key, factor = direction_of(e)
    if e.c % factor:
        return
    value = -e.c // factor
    known = k.directions.get(key, UNKNOWN_DIRECTION)
    if known.lo == known.hi == value:
        raise ContradictionError("the two sides are equal", known.low_fact)
    k.include(k.direction_holes, key, value)
    _file(k, ne0(e), fact)
    if value == known.lo:
        _at_least_zero(k, (e if factor > 0 else -e).shift(-abs(factor)), fact)
    elif value == known.hi:
        _at_least_zero(k, (-e if factor > 0 else e).shift(-abs(factor)), fact)
    wake(k, terms(e))
    _spread(k, newly_defined(k, terms(e)), fact)


# ---------------------------------------------------------------------- clauses


def _clause(k: Knowledge, b: Bool, fact: Fact) -> None:
    """A disjunction: drop what is false; learn the last one left, else wait."""
    left = []
    for part in b.args:
        answer = decide(k, part)
        if answer:  # maybe by a search that used this very clause, so others have to hear of it
            _learn(k, part, fact)
            return
        if answer is None:
            left.append(part)
    if len(left) > 1:
        open_clause(k, b, left, fact)
        _bound_together(k, left, fact)
    else:
        _last(k, left, fact)


def _last(k: Knowledge, left: Iterable[Bool], fact: Fact) -> None:
    """A disjunction of which at most one part is left."""
    for part in left:
        _learn(k, part, fact)
        return
    raise ContradictionError("each alternative is false")


def _part(k: Knowledge, clause: Bool, part: Bool, steps: int) -> None:
    """Look again at one part of an open disjunction."""
    parts = k.clauses.get(clause, {})
    if part not in parts:
        return
    answer = ask(k, part, steps)[1]
    if answer is None:
        return
    fact = parts[part]
    if answer:
        k.remove(k.clauses, clause)
        _learn(k, part, fact)
        return
    k.remove(parts, part)
    if len(parts) > 1:
        _bound_together(k, parts, fact)
        return
    k.remove(k.clauses, clause)
    _last(k, (last for last in parts if decide(k, last) is not False), fact)


def _bound_together(k: Knowledge, parts: Collection[Bool], fact: Fact) -> None:
    """Alternatives that each bound one and the same atom bound it together."""
    hull = hull_of(k, parts)
    if hull is not None:
        _narrow(k, *hull, fact)


# ---------------------------------------------------------------------- consequences


def _narrow(k: Knowledge, atom: Atom, lo: Bound, hi: Bound, fact: Fact) -> bool:
    """Intersect the range of an atom with [lo, hi], with what follows; say whether it changed."""
    moved = narrow_atom(k, atom, lo, hi, fact)
    if moved:
        _spread(k, [(atom, moved)], fact)
    return moved != 0


def _spread(k: Knowledge, changed: list[Moved], fact: Fact) -> None:
    """Propagate ranges; note the atoms that became constants and the clauses to look at again."""
    log = len(k.log)
    propagate(k, changed, fact)
    atoms = [a for a, _ in changed]
    pinned = k.log[log:] + [a for a in atoms if a.lo == a.hi and a in k.replacements]
    k.renamed.update(dict.fromkeys(pinned))
    wake(k, [*atoms, *pinned])


def _look_again(k: Knowledge) -> None:
    """Respell what mentions replaced atoms, decide the clauses with news; one by one."""
    while k.renamed or k.agenda:
        if k.renamed:
            atom = next(iter(k.renamed))
            del k.renamed[atom]
            _replaced(k, atom)
            continue
        steps = BUDGET // len(k.agenda) or 1
        clause, part = next(iter(k.agenda))
        del k.agenda[clause, part]
        _part(k, clause, part, steps)
