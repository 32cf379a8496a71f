"""Loops with counters: numbers that change from round to round become symbols.

A loop closes where the state of the program repeats, and a counter is another number in each round.
A `Widening` names a question and the numbers that differ between its rounds. After each answer to
that question, every such number is replaced by an equal one: a new symbol u, which the program sets
to the number. Nothing is known of u but what was proved of the number: so the next round is in the
same state but for its symbols, and the loop closes.

Of the numbers that change by constants, one leads. Another that changes q times as much is
replaced by q * u + (n - q * m), where n and m are the numbers and u stands for m: an equation that
holds by itself, so that sizes that grow together are known to.

The length of a list that grows is such a number, too: the list becomes one of the graph.

What is known of u: where the leader m grew from m0, u >= m0 if m >= m0 was proved. It is proved for
the first round and, from what is known of the symbol before, for each round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.env.ladder.decide import decide
from anyshape.errors import AnyshapeError
from anyshape.expr import ge0, parse
from anyshape.expr.node import Expr
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.size import plain
from anyshape.trace.graph.graph import operand_of
from anyshape.trace.path.respelled import same_number
from anyshape.trace.path.segment_env import whole_text
from anyshape.trace.sequence.sym_list import meta_of_items

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyshape.export.branches.branch_tracer import BranchTracer
    from anyshape.export.branches.carried import Carried, Place

ROUNDS: Final = 7  # of a loop that are traced before its counters become symbols
FEW: Final = 2  # rounds that are enough where the program would have too many segments
LIMIT: Final = 12  # widenings of one variant

Texts = dict["Place", Any]  # the numbers of a state, symbolic ones as text


class Change(NamedTuple):
    """A number that differs between rounds: its first form, and by how much it changes if that is
    always the same.
    """

    place: Place
    first: Any
    step: int | None


class Widening(NamedTuple):
    """`at` is the question by the places of all frames."""

    at: Any
    changes: tuple[Change, ...]


def texts_of(carried: Carried, tracer: BranchTracer) -> Texts:
    """The numbers of a state as they may be compared with those of another trace."""
    return {place: _text(n, tracer) for place, n in carried.numbers.items()}


def _text(n: Any, tracer: BranchTracer) -> Any:
    if type(n) is SymInt:
        e = tracer.env.simplify(n.expr)
        return int(e.lo) if e.is_const else whole_text(e)
    return n if type(n) in (int, float) else whole_text(operand_of(n))


def widening_of(
    at: Any,
    rounds: Sequence[Texts],
    count: int,
    tracer: BranchTracer,
    before: Widening | None = None,
) -> Widening | None:
    """What differs between so many rounds of a loop, besides what did `before`; None where nothing
    more can be widened.
    """
    grown = _grown(rounds)
    rounds = [{place: n for place, n in r.items() if not place.is_below(grown)} for r in rounds]
    last = rounds[-1]
    rounds = [r for r in rounds if r.keys() == last.keys()]
    if len(rounds) < count:
        return None
    changes = {c.place: c for c in before.changes} if before is not None else {}
    known = len(changes)
    for place, n in last.items():
        if place in changes:
            continue
        seen = [r[place] for r in rounds]
        if any(x != n or type(x) is not type(n) for x in seen):
            if None in seen:
                return None
            changes[place] = Change(place, seen[0], _step(seen, tracer))
    unsteady = _unsteady(list(changes.values()), rounds, tracer)
    for c in unsteady:
        changes[c.place] = c._replace(step=None)
    is_new = len(changes) > known or unsteady
    return Widening(at, tuple(changes.values())) if is_new else None


def _unsteady(changes: list[Change], rounds: Sequence[Texts], tracer: BranchTracer) -> list[Change]:
    """The numbers that do not always change as their leader does."""
    found = []
    for c, leader, q in _led([c for c in changes if c.step]):
        seen = [(_expr(r[c.place], tracer), _expr(r[leader.place], tracer)) for r in rounds]
        apart = [n - m.scale(q) for n, m in seen if n is not None and m is not None]
        same = [tracer.env.simplify(e - apart[0]) for e in apart[1:]]
        if any(not e.is_const or e.c for e in same):
            found.append(c)
    return found


def _led(steady: list[Change]) -> Iterator[tuple[Change, Change, int]]:
    """Each number that changes by steps, with its leader and how often it changes as much."""
    rest = steady
    while rest:
        leader = min(rest, key=lambda c: (abs(c.step or 0), c.place.is_size, len(c.place.way)))
        assert leader.step is not None
        pairs = [(c, divmod(c.step or 0, leader.step)) for c in rest]
        yield from [(c, leader, q) for c, (q, remainder) in pairs if not remainder]
        rest = [c for c, (_, remainder) in pairs if remainder]


def _grown(rounds: Sequence[Texts]) -> set[Place]:
    """The places of what has another length from round to round, and of tensors of other sizes."""
    last = rounds[-1]
    differ = [p for p, n in last.items() if p.is_size and any(r.get(p, n) != n for r in rounds)]
    return {place.owner for place in differ}


def _step(seen: list[Any], tracer: BranchTracer) -> int | None:
    """By how much a number changes in each of the first rounds, if it always does by as much."""
    exprs = [_expr(x, tracer) for x in seen[:4]]
    found = [e for e in exprs if e is not None]
    if len(found) < len(exprs):
        return None
    simplify = tracer.env.simplify
    steps = [simplify(a - b) for a, b in zip(found[1:], found, strict=False)]
    if any(not e.is_const for e in steps) or len({e.c for e in steps}) > 1:
        return None
    return int(steps[0].c)


def _expr(x: Any, tracer: BranchTracer) -> Expr | None:
    """A number as an expression of this path, if the path has its symbols."""
    if type(x) is int:
        return tracer.env.pool.const(x)
    try:
        found = parse(tracer.env.pool, x) if type(x) is str else None
    except AnyshapeError:
        return None
    return found if type(found) is Expr else None


def widen(
    widening: Widening,
    carried: Carried,
    tracer: BranchTracer,
    references: dict[int, int],
    *,
    apart: bool,
) -> None:
    """Replace the numbers that a loop changes by symbols; each is one of its own, if `apart`.

    `references` counts those to lists.
    """
    now = {place: _simple(n, tracer) for place, n in carried.numbers.items()}
    changes = [c for c in widening.changes if c.place in now]
    if len(changes) < len(widening.changes):
        return
    changes = [c for c in changes if not _is_empty(c.place, carried)]
    if not _are_respelled(changes, carried, tracer, references):
        return
    new: dict[Place, Any] = {}
    steady = [c for c in changes if c.step and _is_integer(now[c.place]) and not apart]
    symbols: dict[Place, SymInt] = {}
    for c, leader, q in _led(steady):
        n, m = now[c.place], now[leader.place]
        u = symbols.get(leader.place)
        if u is None:
            u = symbols[leader.place] = _integer(leader, m, tracer)
        new[c.place] = u if c is leader else plain(u * q + (n - m * q))
    for c in changes:
        if c.place not in new:
            n = now[c.place]
            if _is_integer(n):
                new[c.place] = _integer(c, n, tracer)
            else:
                new[c.place] = tracer.mint_float(same_number, (n,))
    carried.replace(tracer, new)


def _is_empty(place: Place, carried: Carried) -> bool:
    """Whether it is the length of a list to which no round has added: what it will hold is open,
    and rounds in which it stays empty differ in the other numbers alone.
    """
    owner = carried.owner(place) if place.is_size else None
    return type(owner) is list and not owner


def _are_respelled(
    changes: list[Change], carried: Carried, tracer: BranchTracer, references: dict[int, int]
) -> bool:
    """Whether the layouts of tensors are the same in terms of other sizes, and lists can become
    lists of the graph, in all places where the program has them.
    """
    for x in [carried.owner(c.place) for c in changes if c.place.is_size]:
        if type(x) is list:
            is_everywhere = len(carried.lists[id(x)]) == references.get(id(x))
            if not is_everywhere or meta_of_items(tracer, x) is None:
                return False
        elif not x._meta.layout.found().dense:
            return False
    return True


def _simple(n: Any, tracer: BranchTracer) -> Any:
    return plain(SymInt(tracer.env.simplify(n.expr), tracer.env)) if type(n) is SymInt else n


def _is_integer(n: Any) -> bool:
    return type(n) in (int, SymInt)


def _integer(change: Change, n: Any, tracer: BranchTracer) -> SymInt:
    """A new symbol for an integer, of which is known what can be proved."""
    env = tracer.env
    e = env.pool.const(n) if type(n) is int else n.expr
    bounds = []
    first = _expr(change.first, tracer)
    if change.step and first is not None:
        found = e - first if change.step > 0 else first - e
        if decide(env.knowledge, ge0(found)) is True:
            bounds.append(first)
    u = tracer.mint(same_number, (n,), size=change.place.is_size)
    for bound in bounds:
        env.learn(ge0(u.expr - bound if change.step and change.step > 0 else bound - u.expr))
    return u
