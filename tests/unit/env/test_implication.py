"""Implication by form, against all small values."""

from __future__ import annotations

from itertools import product

import pytest

from anyshape.env import Env
from anyshape.env.ladder.implication import implies
from anyshape.expr import Bool, evaluate, parse

CONDITIONS = (
    "u0 == 1", "u0 == 2", "u0 >= 1", "u0 >= 2", "u0 <= 1", "u0 != 1", "u0 != 0", "2*u0 == 3",
    "2*u0 != 3", "2*u0 >= 3", "u0 - u1 >= 1", "u0 - u1 == 2", "u1 - u0 <= -1", "2*u1 - 2*u0 <= -2",
    "u0 == 1 or u1 == 2", "u0 >= 1 or u1 >= 2", "u0 == 1 and u1 == 2", "u0 >= 0 and u1 >= 0",
    "u0 == 1 or (u0 == 2 and u1 == 2)", "u0 == 1 or u1 == 2 or u2 == 3", "u0 != u1",
)  # fmt: skip
POINTS = [dict(zip(("u0", "u1", "u2"), p, strict=True)) for p in product(range(-3, 5), repeat=3)]
FOUND = {
    ("u0 == 1", "u0 >= 1"),
    ("u0 == 1", "u0 != 0"),
    ("u0 >= 2", "2*u0 >= 3"),
    ("u0 - u1 == 2", "u0 != u1"),
    ("u1 - u0 <= -1", "u0 != u1"),
    ("u0 == 1 or u1 == 2", "u0 >= 1 or u1 >= 2"),
    ("u0 == 1 or u1 == 2", "u0 == 1 or u1 == 2 or u2 == 3"),
    ("u0 == 1 and u1 == 2", "u0 >= 0 and u1 >= 0"),
    ("u0 == 1 or (u0 == 2 and u1 == 2)", "u0 == 1 or u1 == 2"),
    ("2*u0 == 3", "u0 == 2"),
    ("u0 != 1", "2*u0 != 3"),
}


def conditions() -> dict[str, Bool]:
    env = Env()
    for _ in range(3):
        env.unbacked()
    parsed = {text: parse(env.pool, text) for text in CONDITIONS}
    assert all(isinstance(b, Bool) for b in parsed.values())
    return parsed  # type: ignore[return-value]


def test_an_implication_holds_at_every_point() -> None:
    made = conditions()
    found = {(p, q) for p, q in product(made, repeat=2) if implies(made[p], made[q])}
    for p, q in found:
        for point in POINTS:
            assert not evaluate(made[p], point) or evaluate(made[q], point), (p, q)
    assert found >= FOUND
    assert found >= {(p, p) for p in made}


@pytest.mark.parametrize(("p", "q"), [("u0 >= 1", "u0 >= 2"), ("u0 != 1", "u0 >= 2")])
def test_what_does_not_follow_is_not_found(p: str, q: str) -> None:
    made = conditions()
    assert not implies(made[p], made[q])


def test_deep_conditions_are_left() -> None:
    env = Env()
    deep = parse(env.pool, "1 == 1")
    names = [env.unbacked() for _ in range(20)]
    assert isinstance(deep, Bool)
    from anyshape.expr import conj, disj, eq0

    for i, u in enumerate(names):
        deep = (conj if i % 2 else disj)(env.pool, [eq0(u), eq0(u.shift(-5)), deep])
        if i == 0:
            deep = eq0(u)
    assert not implies(deep, conj(env.pool, [deep, eq0(names[0])]))
