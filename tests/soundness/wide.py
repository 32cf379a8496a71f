"""Fuzzer for long sums and many symbols: every answer against some assignments, the witnesses.

    python -m tests.soundness.wide 2000      seeds 0..1999

A story has dozens of symbols, chains of additions that share their prefixes, equations that are
told late, and facts that all witnesses satisfy. Too many assignments are left to look at all, so
only wrong answers show: a verdict, a range or a simplification that a witness contradicts.
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from anyshape import expr as ex
from anyshape.env import Env
from anyshape.errors import ConstraintError, RuntimeAssertError

if TYPE_CHECKING:
    from anyshape.expr import Bool, Expr

WITNESSES: Final = 12
SYMBOLS: Final = 12
STEPS: Final = 60


@dataclass(frozen=True, slots=True)
class Value:
    """An expression and its value for each witness."""

    expr: Expr
    at: tuple[int, ...]


@dataclass
class Story:
    """One environment and its witnesses."""

    seed: int
    rng: random.Random = field(init=False)
    env: Env = field(init=False)
    symbols: list[Value] = field(init=False)
    made: list[Value] = field(init=False)
    equations: list[tuple[Value, Value]] = field(init=False, default_factory=list)
    known: list[Value] = field(init=False, default_factory=list)
    told: list[str] = field(init=False, default_factory=list)
    unsound: list[str] = field(init=False, default_factory=list)
    asked: int = field(init=False, default=0)
    decided: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.env = Env()
        self.symbols = []
        for _ in range(SYMBOLS):
            lo = self.rng.choice([0, 0, 1, 2, -3])
            at = tuple(lo + self.rng.choice([0, 1, 5, 40]) for _ in range(WITNESSES))
            self.symbol(at, lo if self.rng.random() < 0.8 else None, lo + 40)
        self.made = list(self.symbols)

    def symbol(self, at: tuple[int, ...], lo: int | None, hi: int) -> Value:
        """A new symbol with these values, often with ends; backed when all are the same."""
        top = hi if self.rng.random() < 0.6 else None
        if len(set(at)) == 1 and self.rng.random() < 0.5:
            e = self.env.backed(at[0], size=False, min=lo, max=top)
        else:
            e = self.env.unbacked(min=lo, max=top)
        value = Value(e, at)
        self.symbols.append(value)
        return value

    # ------------------------------------------------------------------ making

    def step(self) -> None:
        """Make one more value, from old ones."""
        rng = self.rng
        kind = rng.randrange(12)
        if kind == 0:
            self.made.append(self.copy(rng.choice(self.made)))
        elif kind <= 5:
            self.made.append(self.chain(rng.randint(2, 40)))
        elif kind <= 8:
            self.made.append(self.combined(rng.choice(self.made), rng.choice(self.made)))
        else:
            self.made.append(self.atom(rng.choice(self.made), rng.choice(self.made)))

    def copy(self, value: Value) -> Value:
        """A new symbol that is equal to an old value, which is told later or never."""
        new = self.symbol(value.at, None, max(value.at) + 9)
        self.equations.append((new, value))
        return new

    def chain(self, length: int) -> Value:
        """A running sum over some symbols that starts at an old value."""
        total = self.rng.choice(self.made)
        for _ in range(length):
            total = self.plus(total, self.rng.choice(self.symbols), self.rng.choice([1, 1, 1, -1]))
            if self.rng.random() < 0.2:
                self.made.append(total)
        return total

    def plus(self, x: Value, y: Value, sign: int) -> Value:
        """The sum or the difference of two values."""
        e = x.expr + y.expr if sign > 0 else x.expr - y.expr
        return Value(e, tuple(a + sign * b for a, b in zip(x.at, y.at, strict=True)))

    def combined(self, x: Value, y: Value) -> Value:
        """A multiple of one plus another."""
        k, c = self.rng.choice([-2, -1, 1, 3]), self.rng.randint(-5, 5)
        at = tuple(k * a + b + c for a, b in zip(x.at, y.at, strict=True))
        return Value(x.expr.scale(k).shift(c) + y.expr, at)

    def atom(self, x: Value, y: Value) -> Value:
        """A division, a remainder, a maximum, or a product of symbols."""
        kind, d = self.rng.randrange(4), self.rng.choice([2, 3, 4])
        pairs = list(zip(x.at, y.at, strict=True))
        if kind == 0:
            return Value(ex.floordiv(x.expr, self.env.pool.const(d)), tuple(a // d for a in x.at))
        if kind == 1:
            return Value(ex.modulo(x.expr, self.env.pool.const(d)), tuple(a % d for a in x.at))
        if kind == 2:
            return Value(ex.maximum([x.expr, y.expr]), tuple(max(p) for p in pairs))
        x, y = self.rng.choice(self.symbols), self.rng.choice(self.symbols)
        at = tuple(a * b for a, b in zip(x.at, y.at, strict=True))
        return Value(ex.multiply(x.expr, y.expr), at)

    # ------------------------------------------------------------------ telling

    def tell(self) -> None:
        """A fact that all witnesses satisfy."""
        rng = self.rng
        if self.equations and rng.random() < 0.4:
            new, old = self.equations.pop(rng.randrange(len(self.equations)))
            self.assume(ex.eq0(new.expr - old.expr))
            return
        value = rng.choice(self.made)
        if rng.random() < 0.5:
            value = self.plus(value, rng.choice(self.made), -1)
        self.known.append(value)
        kind = rng.randrange(5)
        lowest, highest = min(value.at), max(value.at)
        if kind == 0:
            self.assume(ex.ge0(value.expr.shift(-lowest + rng.choice([0, 1, 7]))))
        elif kind == 1:
            self.assume(ex.ge0((-value.expr).shift(highest + rng.choice([0, 1, 7]))))
        elif kind == 2:
            hole = rng.randint(lowest - 1, highest + 1)
            if hole not in value.at:
                self.assume(ex.ne0(value.expr.shift(-hole)))
        elif kind == 3:
            d = rng.choice([2, 3, 4, 5])
            if len({a % d for a in value.at}) == 1:
                rest = ex.modulo(value.expr, self.env.pool.const(d))
                self.assume(ex.eq0(rest.shift(-(value.at[0] % d))))
        else:
            other = rng.choice(self.made)
            bound = max(min(a, b) for a, b in zip(value.at, other.at, strict=True))
            parts = [ex.ge0((-e).shift(bound)) for e in (value.expr, other.expr)]
            self.assume(ex.disj(self.env.pool, parts))

    def assume(self, b: Bool) -> None:
        """Tell a fact; it must be accepted."""
        self.told.append(ex.show(b))
        try:
            self.env.assume(b)
        except (ConstraintError, RuntimeAssertError) as error:
            self.blame(f"refused a possible fact: {error}")

    # ------------------------------------------------------------------ asking

    def multiple(self) -> Value:
        """What a fact was about, longer, turned around and moved."""
        value = self.rng.choice(self.known or self.made)
        k, c = self.rng.choice([-3, -1, -1, 1, 1, 2]), self.rng.choice([0, 0, 1, -7])
        return Value(value.expr.scale(k).shift(c), tuple(k * a + c for a in value.at))

    def check(self, value: Value) -> None:
        """Range, simplification and verdicts of one value."""
        env, rng = self.env, self.rng
        lo, hi = value.expr.lo, value.expr.hi
        if not lo <= min(value.at) or not max(value.at) <= hi:
            self.blame(f"{ex.show(value.expr)} in [{lo}, {hi}] is {value.at}")
        slack = rng.choice([0, 0, 1, 1, 9, 99, 999])
        bound = rng.choice([rng.choice(value.at), min(value.at) - slack, max(value.at) + slack])
        for b, truths in (
            (ex.ge0(value.expr.shift(-bound)), {a >= bound for a in value.at}),
            (ex.eq0(value.expr.shift(-bound)), {a == bound for a in value.at}),
        ):
            self.asked += 1
            verdict = env.prove(b)
            self.decided += verdict.answer is not None
            if verdict.answer is not None and truths != {verdict.answer}:
                self.blame(f"{ex.show(b)} is {verdict.answer}, because {verdict.reason}: {truths}")
        if rng.random() < 0.2:
            simple = env.simplify(value.expr)
            i = rng.randrange(WITNESSES)
            names = {ex.show(s.expr): s.at[i] for s in self.symbols}
            if ex.evaluate(simple, names) != value.at[i]:
                self.blame(f"{ex.show(value.expr)} -> {ex.show(simple)}")

    def refuse(self) -> None:
        """Tell what is known to be false; nothing may change."""
        value = self.rng.choice(self.made)
        wrong = ex.ge0(value.expr.shift(-max(value.at) - 1))
        if self.env.prove(wrong).answer is not False:
            return
        before = [self.env.range_of(v.expr) for v in self.made[-8:]]
        try:
            self.env.assume(wrong)
            self.blame(f"{ex.show(wrong)} is false and was not refused")
        except (ConstraintError, RuntimeAssertError):
            after = [self.env.range_of(v.expr) for v in self.made[-8:]]
            if before != after:
                self.blame(f"the refused {ex.show(wrong)} changed {before} to {after}")

    def blame(self, what: str) -> None:
        """Note a wrong answer."""
        self.unsound.append(f"seed {self.seed}: {self.told[-12:]}: {what}")


def run(seed: int) -> Story:
    """One seed."""
    story = Story(seed)
    for _ in range(STEPS):
        story.step()
        if story.rng.random() < 0.4:
            story.tell()
        if story.rng.random() < 0.05:
            story.refuse()
        for value in (story.made[-1], story.rng.choice(story.made), story.rng.choice(story.made)):
            story.check(value)
        x, y = story.rng.choice(story.made), story.rng.choice(story.made)
        story.check(story.plus(x, y, -1))
        story.check(story.multiple())
        if story.unsound:
            break
    return story


def main(argv: list[str]) -> int:
    """Run the seeds of the command line and print what was seen."""
    count = int(argv[0]) if argv else 200
    first = int(argv[1]) if len(argv) > 1 else 0
    asked = decided = 0
    unsound: list[str] = []
    start = time.perf_counter()
    for seed in range(first, first + count):
        try:
            story = run(seed)
        except Exception:  # an unexpected error is a finding like any other
            unsound.append(f"seed {seed}: {traceback.format_exc(-4)}")
            break
        asked += story.asked
        decided += story.decided
        unsound += story.unsound
        if unsound:
            break
    print(
        f"wide: seeds {first}..{first + count - 1}, asked {asked}, decided {decided},"
        f" unsound {len(unsound)}, {time.perf_counter() - start:.0f} s"
    )
    print(*unsound[:3], sep="\n", end="\n" if unsound else "")
    return 1 if unsound else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
