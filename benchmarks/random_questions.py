"""Random questions over three integers of small finite range, with their answers.

The mix of operators is that of `tests/soundness/fuzz.py`, less what only some engines have (bit
operations, conditional values), as text that every engine can be given. Truth is by enumeration;
only questions that the ranges decide are returned.
"""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

NAMES = ("x", "y", "z")
OPERATORS = "++--**kkddmmxxnnaDM"
DIVISORS = (2, 3, 4, 8, -2, -3)
RELATIONS = (">=", ">=", "<=", "==")


class Question(NamedTuple):
    """A decidable question: the ranges of its symbols, its text and the truth."""

    kinds: dict[str, str]
    text: str
    truth: bool


def questions(seed: int, count: int = 9) -> list[Question]:
    """Decidable ones among `count` random questions about one random expression."""
    rng = random.Random(seed)
    ranges = []
    for _ in NAMES:
        lo = rng.randint(-2, 3)
        ranges.append(range(lo, lo + rng.randint(0, 6) + 1))
    kinds = {n: f"{r[0]}..{r[-1]}" for n, r in zip(NAMES, ranges, strict=True)}
    text = _expression(rng, 3)
    mean = eval(f"lambda {', '.join(NAMES)}: {text}")
    values = set()
    for point in itertools.product(*ranges):
        try:
            values.add(mean(*point))
        except ZeroDivisionError:
            return []
    ordered = sorted(values)
    result = []
    for _ in range(count):
        c = rng.choice(ordered) + rng.choice([0, 0, 0, 1, -1, rng.randint(-6, 6)])
        relation = rng.choice(RELATIONS)
        holds = eval(f"lambda v: v {relation} {c}")
        truths = {holds(v) for v in ordered}
        if len(truths) == 1 and any(n in text.replace("max", "") for n in NAMES):
            result.append(Question(kinds, f"{text} {relation} {c}", truths.pop()))
    return result


def _expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(NAMES) if rng.random() < 0.7 else f"({rng.randint(-4, 8)})"
    x = _expression(rng, depth - 1)
    op = rng.choice(OPERATORS)
    if op == "k":
        return f"({x} * {rng.randint(-4, 5)})"
    if op in "dm":
        return f"({x} {'//' if op == 'd' else '%'} {rng.choice(DIVISORS)})"
    if op == "a":
        return f"abs({x})"
    y = _expression(rng, depth - 1)
    if op in "xn":
        return f"{'max' if op == 'x' else 'min'}({x}, {y})"
    return f"({x} {({'D': '//', 'M': '%'}).get(op, op)} {y})"
