"""Enumeration fuzzer of the engine: every answer against all assignments that the facts allow.

    python -m tests.soundness.fuzz 20000          seeds 0..19999
    python -m tests.soundness.fuzz 20000 500000   seeds 500000..519999

One seed makes an environment with three symbols of small finite range, learns random facts that
some assignment satisfies, and asks about random expressions. Truth is by enumeration. Checked: no
wrong YES or NO, no value outside a range, `simplify` keeps every value, a contradictory fact is
refused and changes no answer. The share of decidable questions that were decided is reported.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from anyshape import expr as ex
from anyshape.env import Env, Fact
from anyshape.env.learn import learn
from anyshape.errors import ConstraintError
from anyshape.expr import Bool, Expr
from anyshape.expr.opaque import bit_and, bit_or, bit_xor

Values = tuple[int, ...]
Meaning = Callable[[Values], Any]
UNDEFINED = (ZeroDivisionError, ValueError, OverflowError)


@dataclass
class Tally:
    """What a run saw."""

    decidable: int = 0
    decided: int = 0
    refused: int = 0
    unsound: list[str] = field(default_factory=list)


@dataclass
class World:
    """One environment, its symbols and the assignments that are still possible."""

    seed: int
    width: int = 6
    facts: bool = True
    rng: random.Random = field(init=False)
    env: Env = field(init=False)
    symbols: list[Expr] = field(init=False)
    live: list[Values] = field(init=False)
    told: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.rng = rng = random.Random(self.seed)
        self.env = Env()
        self.symbols = []
        self.told = []
        ranges = []
        for _ in range(3):
            lo = rng.randint(-2, 3)
            hi = lo + rng.randint(0, self.width)
            ranges.append(range(lo, hi + 1))
            if rng.random() < 0.4:
                hint = rng.randint(lo, hi)
                e = self.env.backed(hint, size=False, min=lo, max=hi)
            else:
                e = self.env.unbacked(min=lo, max=hi)
            self.told.append(f"{ex.show(e)} in [{lo}, {hi}]")
            self.symbols.append(e)
        self.live = list(itertools.product(*ranges))

    def expression(self, depth: int) -> tuple[Expr, Meaning]:
        """A random expression and what it means."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            if rng.random() < 0.7:
                i = rng.randrange(3)
                return self.symbols[i], lambda v: v[i]
            c = rng.randint(-4, 8)
            return self.env.pool.const(c), lambda v: c
        x, fx = self.expression(depth - 1)
        op = rng.choice("++--**kkddmmxxnnaDMbit2")
        if op == "k":
            c = rng.randint(-4, 5)
            return x.scale(c), lambda v: c * fx(v)
        if op == "d":
            c = rng.choice([2, 3, 4, 8, -2, -3])
            return ex.floordiv(x, self.env.pool.const(c)), lambda v: fx(v) // c
        if op == "m":
            c = rng.choice([2, 3, 4, 8, -2, -3])
            return ex.modulo(x, self.env.pool.const(c)), lambda v: fx(v) % c
        if op == "a":
            return ex.absolute(x), lambda v: abs(fx(v))
        if op == "2":
            return ex.power(x, self.env.pool.const(2)), lambda v: fx(v) ** 2
        y, fy = self.expression(depth - 1)
        if op in BINARY:
            if op in "DM" and y.is_const and y.c == 0:
                op = "+"
            build, mean = BINARY[op]
            return build(x, y), lambda v: mean(fx(v), fy(v))
        condition, holds = self.condition(depth - 1)
        return ex.choose(condition, x, y), lambda v: fx(v) if holds(v) else fy(v)

    def condition(self, depth: int) -> tuple[Bool, Meaning]:
        """A random condition and what it means."""
        rng = self.rng
        if depth > 1 and rng.random() < 0.25:
            a, fa = self.condition(depth - 1)
            b, fb = self.condition(depth - 1)
            if rng.random() < 0.5:
                return ex.conj(self.env.pool, [a, b]), lambda v: fa(v) and fb(v)
            return ex.disj(self.env.pool, [a, b]), lambda v: fa(v) or fb(v)
        x, fx = self.expression(depth)
        return self.relation(x, fx)

    def relation(self, x: Expr, fx: Meaning) -> tuple[Bool, Meaning]:
        """A random relation between `x` and a constant near one of its values."""
        rng = self.rng
        value = _or_none(fx, rng.choice(self.live))
        c = (value if value is not None else 0) + rng.choice([0, 0, 0, 1, -1, rng.randint(-6, 6)])
        op = rng.choice("gglen")
        e = x.shift(-c)
        if op == "g":
            return ex.ge0(e), lambda v: fx(v) >= c
        if op == "l":
            return ex.ge0(-e), lambda v: fx(v) <= c
        if op == "e":
            return ex.eq0(e), lambda v: fx(v) == c
        return ex.ne0(e), lambda v: fx(v) != c

    def tell(self, b: Bool, holds: Meaning) -> bool | None:
        """Learn a fact that some assignment satisfies; None when none does."""
        left = [v for v in self.live if _or_none(holds, v)]
        if not left:
            return None
        self.told.append(ex.show(b))
        learn(self.env.knowledge, Fact(b, "check"))
        self.live = left
        return True


def _or_none(mean: Meaning, values: Values) -> Any:
    try:
        return mean(values)
    except UNDEFINED:
        return None


BINARY: dict[str, tuple[Callable[[Expr, Expr], Expr], Callable[[int, int], int]]] = {
    "+": (lambda x, y: x + y, lambda a, b: a + b),
    "-": (lambda x, y: x - y, lambda a, b: a - b),
    "*": (ex.multiply, lambda a, b: a * b),
    "x": (lambda x, y: ex.maximum([x, y]), max),
    "n": (lambda x, y: ex.minimum([x, y]), min),
    "D": (ex.floordiv, lambda a, b: a // b),
    "M": (ex.modulo, lambda a, b: a % b),
    "b": (bit_and, lambda a, b: a & b),
    "i": (bit_or, lambda a, b: a | b),
    "t": (bit_xor, lambda a, b: a ^ b),
}


def ask(world: World, b: Bool, holds: Meaning, tally: Tally) -> None:
    """One question against the truth."""
    truths = {t for v in world.live if (t := _or_none(holds, v)) is not None}
    answer = world.env.prove(b).answer
    truth = next(iter(truths)) if len(truths) == 1 else None
    if answer is not None and answer is not truth and truths:
        tally.unsound.append(
            f"seed {world.seed} width {world.width}: {world.told} |- {ex.show(b)}:"
            f" {world.env.prove(b)}, truth {sorted(truths)}"
        )
    if truth is not None:
        tally.decidable += 1
        tally.decided += answer is not None


def inspect(world: World, e: Expr, mean: Meaning, tally: Tally) -> None:
    """`simplify` and `range_of` against all values."""
    simple = world.env.simplify(e)
    lo, hi = world.env.range_of(e)
    names = [ex.show(s) for s in world.symbols]
    for v in world.live[:: max(1, len(world.live) // 20)]:
        value = _or_none(mean, v)
        if value is None:
            continue
        again = ex.evaluate(simple, dict(zip(names, v, strict=True)))
        if value != again or not lo <= value <= hi:
            tally.unsound.append(
                f"seed {world.seed}: {world.told}: {ex.show(e)} -> {ex.show(simple)}"
                f" in [{lo}, {hi}] at {v}: {value} and {again}"
            )
            return


def run(seed: int, tally: Tally, *, width: int = 6, facts: bool = True) -> None:
    """One seed."""
    world = World(seed, width)
    rng = world.rng
    recent: list[tuple[Expr, Meaning]] = []
    for _ in range(8):
        if facts and rng.random() < 0.35:
            b, holds = world.condition(2)
            try:
                if world.tell(b, holds) is None and not refuse(world, b, tally):
                    return
            except ConstraintError as error:
                tally.unsound.append(f"seed {seed}: {world.told}: refused a possible fact: {error}")
                return
        e, mean = world.expression(3)
        inspect(world, e, mean, tally)
        recent.append((e, mean))
        for e, mean in recent[-3:]:
            for _ in range(4):
                ask(world, *world.relation(e, mean), tally)
        (e, f), (g, h) = recent[-1], rng.choice(recent)
        ask(world, ex.eq0(e - g), lambda v, f=f, h=h: f(v) == h(v), tally)
        if tally.unsound:
            return


def refuse(world: World, b: Bool, tally: Tally) -> bool:
    """Tell a fact that cannot hold; say whether that was seen and left everything as it was."""
    before = {s: world.env.range_of(s) for s in world.symbols}
    try:
        learn(world.env.knowledge, Fact(b, "check"))
    except ConstraintError:
        tally.refused += 1
        after = {s: world.env.range_of(s) for s in world.symbols}
        if before != after:
            tally.unsound.append(f"seed {world.seed}: a refused fact changed {before} to {after}")
        return True
    return False


def main(argv: list[str]) -> int:
    """Run the seeds of the command line and print the tally."""
    count = int(argv[0]) if argv else 2000
    first = int(argv[1]) if len(argv) > 1 else 0
    width = int(argv[2]) if len(argv) > 2 else 6
    tally = Tally()
    start = time.perf_counter()
    for seed in range(first, first + count):
        run(seed, tally, width=width)
        if tally.unsound:
            break
    share = 100 * tally.decided / max(1, tally.decidable)
    print(
        f"seeds {count}, decidable {tally.decidable}, decided {share:.2f}%,"
        f" refused {tally.refused}, unsound {len(tally.unsound)},"
        f" {time.perf_counter() - start:.0f} s"
    )
    for line in tally.unsound[:3]:
        print(line)
    return 1 if tally.unsound else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
