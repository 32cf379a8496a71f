"""Enumeration fuzzer of the engine: every answer against all assignments that the facts allow.

    python -m tests.soundness.fuzz 20000               seeds 0..19999
    python -m tests.soundness.fuzz 20000 500000        seeds 500000..519999
    python -m tests.soundness.fuzz 20000 0 20 --wild   ranges of 20 numbers, all kinds of facts

One seed makes a world (see `tests.soundness.world`), tells it random facts that some assignment
satisfies, and asks about random expressions. Checked: no wrong YES or NO, no value outside a range,
`simplify` keeps every value, a contradictory fact is refused and changes no answer; in wild worlds
also that a guard goes the way of the hints and that the listed guards and asserts say exactly what
was told. The share of decidable questions that were decided is reported.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import traceback
from dataclasses import dataclass, field

from anyshape import expr as ex
from anyshape.env import Fact
from anyshape.env.learning.learn import learn
from anyshape.errors import (
    ConstraintError,
    DataDependentError,
    RuntimeAssertError,
    UnsupportedError,
)
from anyshape.expr.text.python import function
from tests.soundness.world import HUGE, UNDEFINED, Claim, Term, World


@dataclass
class Tally:
    """What a run saw."""

    asked: int = 0
    decidable: int = 0
    decided: int = 0
    refused: int = 0
    unsound: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of the decidable questions that were decided."""
        return self.decided / max(1, self.decidable)

    def blame(self, world: World, what: str) -> None:
        """Note a wrong answer."""
        kind = " --wild" * world.wild + " --endless" * world.endless
        self.unsound.append(f"seed {world.seed} {world.width}{kind}: {world.told}: {what}")


def ask(world: World, claim: Claim, tally: Tally) -> None:
    """One question against the truth; in a sampled world only what was decided counts."""
    truths = world.truths(claim)
    verdict = world.env.prove(claim.condition)
    answer = verdict.answer
    truth = next(iter(truths)) if len(truths) == 1 else None
    if answer is not None and answer is not truth and truths:
        tally.blame(world, f"{claim.text} is {answer} because {verdict.reason}; can be {truths}")
    tally.asked += 1
    if truth is not None and (world.exact or answer is not None):
        tally.decidable += 1
        tally.decided += answer is not None


def inspect(world: World, term: Term, tally: Tally) -> None:
    """`simplify`, `range_of` and the hint against the values."""
    simple = world.env.simplify(term.expr)
    lo, hi = world.env.range_of(term.expr)
    hint = term.expr.hint
    step = max(1, len(world.live) // 20)
    for v, value in list(zip(world.live, world.values(term.text), strict=True))[::step]:
        if value is None:
            continue
        again = ex.evaluate(simple, dict(zip(world.names, v, strict=True)))
        if value != again or not lo <= value <= hi:
            tally.blame(
                world,
                f"{term.text} -> {ex.show(simple)} in [{lo}, {hi}] at {v}: {value} and {again}",
            )
        if hint is not None and world.is_hinted(v) and hint != value:
            tally.blame(world, f"{term.text} has the hint {hint}, not {value}")


def survey(world: World, tally: Tally) -> None:
    """No value that is still possible may be excluded for a symbol, a pair or what facts are on."""
    for term in (*world.pairs(), *world.subjects[-2:]):
        values = sorted({v for v in world.values(term.text) if v is not None})
        lo, hi = world.env.range_of(term.expr)
        if values and not lo <= values[0] <= values[-1] <= hi:
            tally.blame(world, f"{term.text} is in [{lo}, {hi}], can be {values[0]}, {values[-1]}")
        for value in values[:2] + values[2:-2:5] + values[-2:]:
            if (
                abs(value) < HUGE
                and world.env.prove(ex.eq0(term.expr.shift(-value))).answer is False
            ):
                tally.blame(world, f"{term.text} can be {value}, said to be impossible")


def run(
    seed: int,
    tally: Tally,
    *,
    width: int = 6,
    facts: bool = True,
    wild: bool = False,
    endless: bool = False,
) -> None:
    """One seed."""
    world = World(seed, width, wild, endless)
    rng = world.rng
    recent: list[Term] = []
    for _ in range(8):
        if facts and rng.random() < 0.35 and not state(world, tally):
            return
        if wild and rng.random() < 0.15:
            branch(world, tally)
        term = world.expression(3)
        inspect(world, term, tally)
        recent.append(term)
        for one in recent[-3:]:
            for _ in range(4):
                ask(world, world.relation(one), tally)
        ask(world, world.comparison(term, rng.choice(recent), "=="), tally)
        for _ in range(2):
            ask(world, world.relation(world.multiple()), tally)
        if wild:
            ask(world, world.condition(2), tally)
        if tally.unsound:
            return
    if wild:
        check_obligations(world, tally)


def state(world: World, tally: Tally) -> bool:
    """Tell a random fact; False when nothing more can be asked."""
    claim = world.fact()
    left = world.possible(claim)
    if not left:
        possible = any(world.values(claim.text))  # for some, though not with the hints
        return possible or not world.exact or refuse(world, claim, tally)
    try:
        world.tell(claim, left)
    except (ConstraintError, RuntimeAssertError) as error:
        tally.blame(world, f"refused a possible fact: {error}")
        return False
    survey(world, tally)
    return True


def refuse(world: World, claim: Claim, tally: Tally) -> bool:
    """Tell a fact that cannot hold; say whether that was seen and left everything as it was."""
    before = {s: world.env.range_of(s) for s in world.symbols}
    try:
        learn(world.env.knowledge, Fact(claim.condition, "check"))
    except ConstraintError:
        tally.refused += 1
        after = {s: world.env.range_of(s) for s in world.symbols}
        if before != after:
            tally.blame(world, f"the refused {claim.text} changed {before} to {after}")
        return True
    return False


def branch(world: World, tally: Tally) -> None:
    """Guard a random condition: it goes the way that the hints say, or cannot be decided."""
    claim = world.condition(2)
    values = world.values(claim.text)
    ways = {
        t for v, t in zip(world.live, values, strict=True) if t is not None and world.is_hinted(v)
    }
    if not ways:
        return  # undefined at the hints: the program would have stopped before it
    try:
        way = world.env.guard(claim.condition)
    except DataDependentError:
        return
    if ways != {way}:
        tally.blame(world, f"guard({claim.text}) went {way}, at the hints it is {ways}")
        return
    world.told.append(claim.text if way else f"({claim.text} == False)")
    world.subjects += claim.subjects
    world.keep([v for v, t in zip(world.live, values, strict=True) if t is way])


def check_obligations(world: World, tally: Tally) -> None:
    """The listed guards and asserts hold exactly where everything told holds."""
    listed = [o.condition for o in (*world.env.guards, *world.env.runtime_asserts)]
    hold = function(listed, world.names)
    points = world.live
    if world.exact:
        wider = (range(axis.near[0] - 2, axis.near[-1] + 3) for axis in world.axes)
        points = list(itertools.product(*wider))[:: max(1, len(world.live) // 1000)]
    told = [world.over(text, points) for text in world.told]
    for i, v in enumerate(points):
        truths = [values[i] for values in told]
        if None in truths or not world.is_meant(v):
            continue  # outside of what the facts or the symbols speak about
        try:
            met = all(hold(*v))
        except UNDEFINED:
            met = False
        if met != all(truths):
            texts = [ex.show(b) for b in listed]
            tally.blame(world, f"{texts} is {met} at {v}, where it should be {not met}")
            return


def main(argv: list[str]) -> int:
    """Run the seeds of the command line and print the tally."""
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.fuzz")
    parser.add_argument("count", nargs="?", type=int, default=2000, help="how many seeds")
    parser.add_argument("first", nargs="?", type=int, default=0, help="the first of them")
    parser.add_argument("width", nargs="?", type=int, default=6, help="numbers in a range")
    parser.add_argument("--wild", action="store_true", help="all kinds of expressions and facts")
    parser.add_argument("--endless", action="store_true", help="symbols without ends, sampled")
    parser.add_argument("--no-facts", action="store_true", help="ranges only")
    options = parser.parse_args(argv)
    tally = Tally()
    start = time.perf_counter()
    for seed in range(options.first, options.first + options.count):
        try:
            run(
                seed,
                tally,
                width=options.width,
                facts=not options.no_facts,
                wild=options.wild,
                endless=options.endless,
            )
        except UnsupportedError:  # a number beyond the engine's limits: the seed ends there
            tally.refused += 1
        except Exception:  # an unexpected error is a finding like any other
            tally.unsound.append(f"seed {seed} width {options.width}: {traceback.format_exc(-4)}")
        if tally.unsound:
            break
    print(
        f"seeds {options.first}..{options.first + options.count - 1}, width {options.width},"
        f" asked {tally.asked}, decidable {tally.decidable}, decided {100 * tally.share:.2f}%,"
        f" refused {tally.refused}, unsound {len(tally.unsound)},"
        f" {time.perf_counter() - start:.0f} s"
    )
    for line in tally.unsound[:3]:
        print(line)
    return 1 if tally.unsound else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
