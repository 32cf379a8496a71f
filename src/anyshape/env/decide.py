"""The ladder: from a condition to YES, NO or UNKNOWN, the cheapest rung first.

    identity      the condition is a constant by structure
    range         bounds composed on the way up
    known         a remembered condition; the range of its direction, by key
    equality      the same under the replacements, with fresh bounds
    reduction     atoms that the facts make simpler
    congruence    values modulo a constant
    elimination   combination with definitions and known relations, within a fixed fuel
    search        all assignments, when few are left
    solver        z3, when `config.solver` asks for it

A shallow elimination is tried before the reduction, because it is cheaper than all its questions.
A YES or NO is remembered on the condition for ever, an UNKNOWN until something is learnt. `k.why`
holds the rung and its data for the sentence that explains the verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.config import config
from anyshape.domain import INF, NINF
from anyshape.env.equality import form, form_bool
from anyshape.env.fact import Verdict
from anyshape.env.knowledge import FUEL, MATERIALIZE, UNKNOWN_DIRECTION, direction_of
from anyshape.env.linear import DEPTH, SHALLOW, lower_bound, worth_trying
from anyshape.env.reals import decide_reals
from anyshape.env.reduce import reduce
from anyshape.env.residue import residue_of
from anyshape.env.small import search
from anyshape.env.spine import between
from anyshape.expr import boolean
from anyshape.expr.boolean import relation
from anyshape.expr.node import tighten
from anyshape.expr.op import SYMBOL
from anyshape.expr.terms import is_fresh, refresh, terms

if TYPE_CHECKING:
    from anyshape.env.knowledge import Knowledge
    from anyshape.expr import Bool, Expr
    from anyshape.expr.node import Atom
    from anyshape.expr.row import Op

FULL: Final = 0
RANGES: Final = 1
REPLACEMENTS: Final = 2


def verdict(k: Knowledge, b: Bool) -> Verdict:
    """The answer with its reason."""
    answer = decide(k, b)
    why = b.reason
    return Verdict(answer, lambda: explain(k, b, answer, why))


def decide(k: Knowledge, b: Bool, effort: int = FULL) -> bool | None:
    """True, False, or None for unknown."""
    if b.verdict is not None or (b.verdict_version == k.pool.version and _is_answered(k, b)):
        return b.verdict
    if effort != FULL:
        return _cheaply(k, b, effort)
    k.why = None
    if b.op in _JUNCTIONS:
        _decide_inner(k, b)
    answer = _CASES[b.op](k, b)
    b.verdict = answer
    b.verdict_version = k.pool.version
    b.reason = k.why if answer is not None else config.solver
    return answer


def _is_answered(k: Knowledge, b: Bool) -> bool:
    """Whether the verdict of `b` is up to date, and not open for want of the solver of now."""
    if b.verdict is not None:
        return True
    return b.verdict_version == k.pool.version and (b.reason is not None or config.solver is None)


def _cheaply(k: Knowledge, b: Bool, effort: int) -> bool | None:
    """Replacements only, or replacements and ranges."""
    b = form_bool(k, b)
    if b.op in (boolean.TRUE, boolean.FALSE):
        return b.op == boolean.TRUE
    if effort == RANGES and b.op in (boolean.AND, boolean.OR):
        answers = {_cheaply(k, part, effort) for part in b.args}
        deciding = b.op == boolean.OR
        return deciding if deciding in answers else None if None in answers else not deciding
    if effort == REPLACEMENTS or b.op not in (boolean.GE, boolean.EQ, boolean.NE):
        return None
    refresh(b.expr)
    return _by_range(k, b.expr, b.op)


def _last_rungs(k: Knowledge, b: Bool) -> bool | None:
    answer = search(k, form_bool(k, b))
    if answer is not None:
        k.why = ("search",)
    elif config.solver is not None:
        from anyshape.env.solver import ask  # noqa: PLC0415  z3 is an optional dependency

        answer = ask(k, b)
        if answer is not None:
            k.why = ("solver",)
    return answer


# ---------------------------------------------------------------------- relations


def _by_range(k: Knowledge, e: Expr, op: Op) -> bool | None:
    if op == boolean.GE:
        answer = True if e.lo >= 0 else False if e.hi < 0 else None
    elif e.lo > 0 or e.hi < 0:
        answer = op == boolean.NE
    else:
        answer = (op == boolean.EQ) if e.lo == e.hi else None
    if answer is not None:
        k.why = ("range", e, e.lo, e.hi)
    return answer


def _by_direction(k: Knowledge, e: Expr, op: Op) -> bool | None:
    """The answer from the range of the direction of `e`, found by its key."""
    if op != boolean.GE and k.holes and e.width == 1:
        ((atom, m),) = terms(e).items() or ((None, 1),)
        if e.c % m == 0 and -e.c // m in k.holes.get(atom, ()):  # type: ignore[arg-type]
            k.why = ("hole", e)
            return op == boolean.NE
    if not k.directions and not k.direction_holes:
        return None
    key, factor = direction_of(e)
    known = k.directions.get(key, UNKNOWN_DIRECTION)
    lo, hi = (known.lo, known.hi) if factor > 0 else (known.hi, known.lo)
    low, high = factor * lo + e.c, factor * hi + e.c
    if op == boolean.GE:
        answer = True if low >= 0 else False if high < 0 else None
    elif (
        low > 0
        or high < 0
        or (e.c % factor == 0 and -e.c // factor in k.direction_holes.get(key, ()))
    ):
        answer = op == boolean.NE
    else:
        answer = (op == boolean.EQ) if low == high else None
    if answer is not None:
        fact = known.low_fact or known.high_fact
        k.why = ("hole", e) if fact is None else ("known", fact)
    return answer


def _relation(k: Knowledge, b: Bool) -> bool | None:
    e, op = b.expr, b.op
    answer = _by_range(k, e, op)
    if answer is None and e.width == 1:
        atom = next(iter(terms(e)))
        if atom.op is SYMBOL and atom not in k.replacements:
            return _one_symbol(k, e, atom, op)
    if answer is None:
        answer = _by_direction(k, e, op)
    if answer is None and e.width > 2 * MATERIALIZE:
        return _wide(k, e, op)
    if answer is None:
        k.fuel = FUEL
        answer = sign_of(k, e, op)
    return _last_rungs(k, b) if answer is None else answer


def _wide(k: Knowledge, e: Expr, op: Op) -> bool | None:
    """A long sum: its terms are looked at only where that can tell more than its bounds do."""
    answer = None
    if not is_fresh(e):
        answer = _by_spine(k, e, op)
        if answer is None:
            refresh(e)
            answer = _by_range(k, e, op)
    if answer is None:
        cancelled = e.width <= 2 * MATERIALIZE
        if cancelled or k.is_any_replaced(e.oldest, e.newest):
            answer = sign_of(k, e, op)
    return answer


def _one_symbol(k: Knowledge, e: Expr, atom: Atom, op: Op) -> bool | None:
    """A relation on one symbol: its range, holes and congruence are all that is known of it."""
    answer = None
    if not is_fresh(e):
        refresh(e)
        answer = _by_range(k, e, op)
    if answer is None and op != boolean.GE:
        answer = _by_direction(k, e, op)
        known = e.c % terms(e)[atom] or atom.mark in k.residues
        if answer is None and known and not residue_of(k, e).contains(0):
            k.why = ("congruence", e)
            answer = op == boolean.NE
    if answer is None and (atom in k.mentions or config.solver is not None):
        answer = _last_rungs(k, relation(op, e))
    return answer


def sign_of(k: Knowledge, e: Expr, op: Op) -> bool | None:
    """The rungs from `equality` to `elimination` for `e >= 0`, `e == 0` or `e != 0`."""
    e = form(k, e)
    refresh(e)
    answer = _by_range(k, e, op)
    if answer is None:
        answer = _by_direction(k, e, op)
    if answer is not None or len(terms(e)) > 2 * MATERIALIZE:
        return answer
    if worth_trying(k, e):
        answer = _by_elimination(k, e, op, SHALLOW)
        if answer is not None:
            return answer
    reduced = reduce(k, e, nonnegative)
    if reduced is not e:
        refresh(reduced)
        answer = _by_range(k, reduced, op)
        if answer is None:
            answer = _by_direction(k, reduced, op)
        e = reduced
    if answer is None and op != boolean.GE and not residue_of(k, e).contains(0):
        k.why = ("congruence", e)
        answer = op == boolean.NE
    if answer is None and worth_trying(k, e):
        answer = _by_elimination(k, e, op, DEPTH)
    return answer


def nonnegative(k: Knowledge, e: Expr) -> bool | None:
    """Whether `e >= 0`, for a question inside another one; shares its fuel."""
    answer = _by_range(k, e, boolean.GE)
    if answer is None and k.fuel > 0:
        answer = sign_of(k, e, boolean.GE)
    return answer


def _by_elimination(k: Knowledge, e: Expr, op: Op, depth: int) -> bool | None:
    """Bounds by elimination; each search stops at the first bound that decides its question."""
    at_least: int | float = NINF
    at_most: int | float = INF
    answer = None
    if op == boolean.GE:
        at_least = lower_bound(k, e, 1, depth)
        if at_least >= 0:
            answer = True
        else:
            at_most = -1 - lower_bound(k, e, -1, depth, -1)
            answer = False if at_most < 0 else None
    else:
        at_least = lower_bound(k, e, 1, depth, -1) + 1
        if at_least <= 0:
            at_most = -1 - lower_bound(k, e, -1, depth, -1)
        if at_least > 0 or at_most < 0:
            answer = op == boolean.NE
        elif lower_bound(k, e, 1, depth) >= 0 and lower_bound(k, e, -1, depth) >= 0:
            at_least = at_most = 0
            answer = op == boolean.EQ
    if answer is not None:
        k.why = ("elimination", e, at_least, at_most)
    return answer


def _by_spine(k: Knowledge, e: Expr, op: Op) -> bool | None:
    """A pending `a - b` where one is a prefix of the other's chain of additions."""
    parts = e.parts
    if isinstance(parts, tuple) and len(parts) == 1:
        parts = parts[0].parts
    if isinstance(parts, dict) or len(parts) != 3 or parts[2] != -1:
        return None
    a, b, _ = parts
    span = between(k.links, a, b)
    if span is None:
        span = between(k.links, b, a)
        if span is None:
            return None
        span = (-span[1], -span[0])
    c = e.c - a.c + b.c
    tighten(e, span[0] + c, span[1] + c)
    return _by_range(k, e, op)


# ---------------------------------------------------------------------- connectives


def _decide_inner(k: Knowledge, b: Bool) -> None:
    """Decide the junctions inside `b`, innermost first, so that recursion stays shallow."""
    stack = [b]
    while stack:
        inner = [p for p in stack[-1].args if p.op in _JUNCTIONS and not _is_answered(k, p)]
        if inner:
            stack.extend(inner)
        else:
            done = stack.pop()
            if done is not b:
                decide(k, done)


def _and(k: Knowledge, b: Bool) -> bool | None:
    answer: bool | None = True
    for part in b.args:
        of_part = decide(k, part)
        if of_part is False:
            k.why = ("part", part)
            return False
        if of_part is None:
            answer = None
    k.why = ("parts",)
    return _last_rungs(k, b) if answer is None else answer


def _or(k: Knowledge, b: Bool) -> bool | None:
    answer: bool | None = False
    for part in b.args:
        of_part = decide(k, part)
        if of_part:
            k.why = ("part", part)
            return True
        if of_part is None:
            answer = None
    k.why = ("parts",)
    return _last_rungs(k, b) if answer is None else answer


def _constant(k: Knowledge, b: Bool) -> bool | None:
    k.why = ("identity",)
    return b.op == boolean.TRUE


def _not(k: Knowledge, b: Bool) -> bool | None:
    answer = decide(k, b.args[0])
    return None if answer is None else not answer


_JUNCTIONS: Final = (boolean.AND, boolean.OR)
_CASES: Final = {
    boolean.TRUE: _constant,
    boolean.FALSE: _constant,
    boolean.GE: _relation,
    boolean.EQ: _relation,
    boolean.NE: _relation,
    boolean.AND: _and,
    boolean.OR: _or,
    boolean.NOT: _not,
    boolean.REAL: decide_reals,
}


# ---------------------------------------------------------------------- sentences


def explain(k: Knowledge, b: Bool, answer: bool | None, why: object) -> str:
    """One sentence for a verdict."""
    if answer is None:
        return f"nothing known decides {k.brief(b)}"
    rung, *data = why if isinstance(why, tuple) else ("identity",)
    if rung == "range":
        e, lo, hi = data
        return f"{k.brief(e)} is in {interval_text(lo, hi)}"
    if rung == "elimination":
        e, lo, hi = data
        return f"{k.brief(e)} is {_bound_text(lo, hi)} by the known relations"
    if rung == "known":
        return f"it follows from {data[0].describe(k.brief)}"
    if rung == "hole":
        return f"{k.brief(data[0])} is known not to be 0"
    if rung == "congruence":
        return f"{k.brief(data[0])} is never 0 by its remainders"
    if rung == "part":
        return f"{k.brief(data[0])} {'holds' if answer else 'does not hold'}"
    return _PLAIN[str(rung)]


_PLAIN: Final = {
    "identity": "it holds or fails by structure",
    "parts": "each part holds, or none does",
    "search": "all assignments left agree",
    "solver": "the solver proved it",
    "real": "the ranges of both sides decide it",
}


def interval_text(lo: int | float, hi: int | float) -> str:
    """An interval with infinite ends as text."""
    low = "(-inf" if lo == NINF else f"[{lo}"
    high = "inf)" if hi == INF else f"{hi}]"
    return f"{low}, {high}"


def _bound_text(lo: int | float, hi: int | float) -> str:
    if lo >= 0 and hi <= 0:
        return "0"
    return f"at least {lo}" if lo >= 0 else f"at most {hi}"
