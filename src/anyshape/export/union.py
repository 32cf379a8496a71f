"""The guards of a variant that serves the regions of several, in few words where that is possible.

With common guards C and the others R1, ..., Rn of each region, the union is `C and (R1 or ... or
Rn)`. It is C if `R1 or ... or Rn` is proved wherever C holds and the spec allows; and bounds of a
symbol if each R is one interval of it, and the intervals join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.domain import INF, NINF, Interval
from anyshape.env import Env
from anyshape.env.fact import DECLARED, Fact
from anyshape.env.obligation import Obligation
from anyshape.export.coverage import Size, coverage
from anyshape.expr import Bool, parse, symbol
from anyshape.expr.boolean import conj, disj, negate
from anyshape.expr.text.show import show
from anyshape.expr.traverse import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.trace.capture import Captured


def widen(variants: Sequence[Captured], sizes: Sequence[Size]) -> None:
    """Let the first of some variants serve the sizes of all."""
    variant, own = variants[0], variants[0].guards
    env = variant.tracer.env
    declared = env.declared
    texts = [[show(o.condition) for o in v.guards if o.origin != DECLARED] for v in variants]
    common = [text for text in texts[0] if all(text in other for other in texts)]
    rests = [[text for text in region if text not in common] for region in texts]
    kept = [o for o in own if o.origin != DECLARED and show(o.condition) in common]
    added = _union([show(o.condition) for o in declared] + common, rests, sizes)
    changed = [o for o in own if o.origin != DECLARED and o not in kept]  # some, if any are added
    facts = [
        Fact(_read(env.pool, text), changed[0].origin, changed[0].site, changed[0].message)
        for text in added
    ]
    variant.widened = True
    variant.__dict__["ranges"] = _joined([v.ranges for v in variants])
    variant.__dict__["guards"] = [
        *[Obligation(Fact(o.condition, DECLARED, o.site), env.knowledge) for o in declared],
        *kept,
        *[Obligation(fact, env.knowledge) for fact in facts],
    ]


def _joined(ranges: Sequence[dict[str, Interval]]) -> dict[str, Interval]:
    """The smallest range of each symbol that contains all of its ranges."""
    found = dict(ranges[0])
    for other in ranges[1:]:
        for name, (lo, hi) in other.items():
            found[name] = Interval(min(lo, found[name].lo), max(hi, found[name].hi))
    return found


def _union(given: list[str], rests: list[list[str]], sizes: Sequence[Size]) -> list[str]:
    """`or` of the conjunctions `rests`, as a list of conditions that hold together."""
    if not all(rests):
        return []
    env = _env(sizes)
    conditions = [[_read(env.pool, text) for text in rest] for rest in rests]
    if coverage(sizes, [_read(env.pool, text) for text in given], conditions).is_proved:
        return []
    names = {name for rest in conditions for name in names_of(*rest)}
    alone = {negate(rest[0]) for rest in conditions if len(rest) == 1}
    conditions = [[p for p in rest if p not in alone] for rest in conditions]
    if len(names) == 1:
        (name,) = names
        intervals = [_interval(name, rest, sizes) for rest in rests]
        if None not in intervals:
            least = next(size.least for size in sizes if size.name == name)
            bounds = _bounds(name, [i for i in intervals if i is not None])
            return [text for text in bounds if text != f"{name} >= {least}"]
    return [show(disj(env.pool, [conj(env.pool, rest) for rest in conditions]))]


def _interval(name: str, rest: list[str], sizes: Sequence[Size]) -> Interval | None:
    """The interval of a symbol that conditions on it are equivalent to; None if they are not."""
    env = _env(sizes)
    for text in rest:
        env.learn(_read(env.pool, text))
    found = env.range_of(env.pool.by_name[name])  # type: ignore[arg-type]  # of an integer
    fresh = _env(sizes)
    for text in _bounds(name, [found]):
        fresh.learn(_read(fresh.pool, text))
    proved = all(fresh.prove(_read(fresh.pool, text)).answer for text in rest)
    return found if proved else None


def _bounds(name: str, intervals: list[Interval]) -> list[str]:
    """The union of intervals, as conditions that hold together."""
    joined: list[Interval] = []
    for lo, hi in sorted(intervals):
        if joined and lo <= joined[-1].hi + 1:
            joined[-1] = Interval(joined[-1].lo, max(hi, joined[-1].hi))
        else:
            joined.append(Interval(lo, hi))
    parts = []
    for lo, hi in joined:
        ends = [f"{name} >= {lo}"] if lo > NINF else []
        ends += [f"{name} <= {hi}"] if hi < INF else []
        parts.append(ends if lo < hi else [f"{name} == {lo}"])
    if len(parts) == 1:
        return parts[0]
    return [" or ".join(" and ".join(ends) for ends in parts)]


def _env(sizes: Sequence[Size]) -> Env:
    env = Env()
    for name, least, most in sizes:
        symbol(env.pool, name, least, most)
    return env


def _read(pool: object, text: str) -> Bool:
    found = parse(pool, text)  # type: ignore[arg-type]
    assert type(found) is Bool
    return found
