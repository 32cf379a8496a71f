"""Whether some regions of sizes cover all sizes that a spec allows: a proof, a hole, or no answer.

For facts F, `covered(F)` holds if F is contradictory, or if F implies all guards of some region, or
if for a guard g both `covered(F and g)` and `covered(F and not g)` hold. The engine decides the
guards, so that the answer is about all sizes and not about those that were tried. Where the engine
has no proof, z3 is asked, if it is installed: for a proof, or for sizes in no region. `first_hole`
tries sizes one by one where neither has an answer.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.env import Env
from anyshape.errors import AnyshapeError, ConstraintError, UnsupportedError
from anyshape.expr import Bool, Expr, parse, symbol
from anyshape.expr.atom import operand_interval
from anyshape.expr.boolean import conj, negate
from anyshape.expr.real import Real
from anyshape.expr.table.op import FLOORDIV
from anyshape.expr.text.show import show
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_MAX_CASES: Final = 512
_MAX_DIVISORS: Final = 3
_RESOURCES: Final = 1_000_000  # of z3's steps
_MAX_TRIED: Final = 40_000
_SPANS: Final = {1: 4096, 2: 200, 3: 32, 4: 12}  # sizes tried of each symbol, by their number


class Size(NamedTuple):
    """A symbol of the inputs: its name, and its bounds by type or, for an unbacked one, by spec."""

    name: str
    least: float
    most: float

    def admits(self, value: Any) -> bool:
        """Whether a value is within the bounds."""
        return bool(self.least <= value <= self.most)


class Coverage(NamedTuple):
    """`is_proved`: the regions cover everything. `hole`: sizes that are perhaps in none."""

    is_proved: bool
    hole: dict[str, int] | None = None


def coverage(
    sizes: Sequence[Size], allowed: Sequence[Bool], regions: Iterable[Sequence[Bool]]
) -> Coverage:
    """What can be proved of the regions: that every value of `sizes` that is allowed lies in one,
    or a value that lies in none.
    """
    regions = [[*region] for region in regions]
    given = set(allowed)
    if any(given.issuperset(region) for region in regions):
        return Coverage(True)
    cases = _Cases(sizes, [str(p) for p in allowed], [[str(p) for p in r] for r in regions])
    try:
        is_total = _is_total(itertools.chain(allowed, *regions))
        divisors = [] if is_total else cases.divisors()
        if divisors is None or len(divisors) > _MAX_DIVISORS:
            return Coverage(False)
        return _by_divisors(cases, divisors)
    except AnyshapeError:  # an expression that is too long, say
        return Coverage(False)


def _is_total(conditions: Iterable[Bool]) -> bool:
    """Whether conditions have a value at all sizes, whatever the bounds of their operands: to read
    their text again gives no ops that they lack.
    """
    nodes = nodes_below([*conditions])
    return all(type(node) is not Real and node.op.partial is None for node in nodes)


def _by_divisors(cases: _Cases, divisors: Sequence[str]) -> Coverage:
    """Coverage where each divisor is 0, and no condition with it has a value, and where it is not.

    A condition without a value is false, like its opposite. Divisors come after those inside them.
    """
    if not divisors:
        return Coverage(True) if cases.covered(()) else cases.solved()
    divisor, *rest = divisors
    without = [r for r in cases.regions if divisor not in (cases.divisors_in(r) or ())]
    for condition, regions in ((f"{divisor} == 0", without), (f"{divisor} != 0", cases.regions)):
        part = _Cases(cases.sizes, [*cases.allowed, condition], regions)
        found = _by_divisors(part, rest)
        if not found.is_proved:
            return found
    return Coverage(True)


def first_hole(
    sizes: Sequence[Size],
    least: Mapping[str, int],
    example: Mapping[str, Any],
    is_hole: Callable[[dict[str, Any]], bool],
    limit: int = _MAX_TRIED,
) -> dict[str, Any] | None:
    """The first sizes in no region among small ones, from `least` on, at most `limit` of them;
    other symbols than `sizes` have the values of the example.
    """
    span = _SPANS.get(len(sizes), 0)
    names = [size.name for size in sizes]
    choices = [_tried(size, least.get(size.name, 0), span) for size in sizes]
    for values in itertools.islice(itertools.product(*choices), limit) if span else ():
        found = {**example, **dict(zip(names, values, strict=True))}
        if is_hole(found):
            return found
    return None


def _tried(size: Size, least: int, span: int) -> Iterator[int] | range:
    if size.least >= 0:
        return range(least, int(min(size.most, least + span)) + 1)
    return range(-span // 2, span // 2)


class _Cases:
    """The conditions as text, which each case reads into an environment of its own."""

    def __init__(self, sizes: Sequence[Size], allowed: list[str], regions: list[list[str]]) -> None:
        self.sizes = sizes
        self.allowed = allowed
        self.regions = regions
        self.left = _MAX_CASES

    def divisors(self) -> list[str] | None:
        """What is divided by and may be 0; None if a condition lacks a value for other reasons."""
        found: dict[str, None] = {}
        for region in ([*self.allowed], *self.regions):
            divisors = self.divisors_in(region)
            if divisors is None:
                return None
            found.update(dict.fromkeys(divisors))
        return list(found)

    def divisors_in(self, region: Iterable[str]) -> list[str] | None:
        """`divisors` of one region."""
        env, found = self._env(), []
        for node in nodes_below([_read(env, text) for text in region]):
            if type(node) is Real:
                return None
            if node.op.partial is None:
                continue
            if node.op.partial(*[operand_interval(a) for a in node.args], *node.data):
                if node.op is not FLOORDIV:
                    return None
                found.append(f"({show(node.args[1])})")
        return found

    def _env(self) -> Env:
        env = Env()
        for name, least, most in self.sizes:
            symbol(env.pool, name, least, most)
        return env

    def covered(self, facts: tuple[tuple[str, bool], ...]) -> bool:
        """Whether the regions cover the sizes for which some conditions are true or false."""
        self.left -= 1
        if self.left < 0:
            return False
        env = self._env()
        try:
            for text in self.allowed:
                env.learn(_read(env, text))
            for text, is_true in facts:
                p = _read(env, text)
                env.learn(p if is_true else negate(p))
        except ConstraintError:
            return True  # there are no such sizes
        split = None
        answers: dict[str, bool | None] = {**dict.fromkeys(self.allowed, True), **dict(facts)}
        for region in self.regions:
            open_text = None
            for text in region:
                if text not in answers:
                    answers[text] = env.prove(_read(env, text)).answer
                if answers[text] is False:
                    break
                if answers[text] is None and open_text is None:
                    open_text = text
            else:
                if open_text is None:
                    return True
                split = open_text if split is None else split
        return split is not None and all(
            self.covered((*facts, (split, is_true))) for is_true in (True, False)
        )

    def solved(self) -> Coverage:
        """The answer of z3 to: are there sizes in no region?"""
        try:
            from anyshape.expr.z3_bridge import Problem  # noqa: PLC0415  optional
        except UnsupportedError:
            return Coverage(False)
        env, problem = self._env(), Problem()
        for name, least, most in self.sizes:
            e = env.pool.by_name[name]
            assert type(e) is Expr
            problem.add_range(e, least, most)
        for text in self.allowed:
            problem.add(_read(env, text))
        for region in self.regions:
            problem.add(negate(conj(env.pool, [_read(env, text) for text in region])))
        answer = problem.solution([size.name for size in self.sizes], _RESOURCES)
        return Coverage(answer is False, answer if type(answer) is dict else None)


def _read(env: Env, text: str) -> Bool:
    found = parse(env.pool, text)
    assert type(found) is Bool
    return found
