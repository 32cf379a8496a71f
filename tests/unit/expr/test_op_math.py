"""The ops of the further functions of `math`: bounds, domains, text and source."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from anyshape.domain import INF, Interval
from anyshape.expr import evaluate, parse, symbol
from anyshape.expr.pool import Pool
from anyshape.expr.real import real_symbol
from anyshape.expr.table.op_math import DOMAINS, FUNCTIONS
from anyshape.expr.table.op_real import ANY, Span
from anyshape.expr.text.python import function
from anyshape.expr.text.show import show

REALS = (-300.0, -2.5, -1.0, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0, 2.5, 64.0, 1e300, math.inf)
INTEGERS = (-3, -1, 0, 1, 2, 5, 6)


def bounds_of(kind: str) -> list[Any]:
    if kind == "i":
        ends = [Interval(a, b) for a, b in itertools.combinations_with_replacement(INTEGERS, 2)]
        return [*ends, Interval(0, INF)]
    ends = itertools.combinations_with_replacement((-math.inf, *REALS), 2)
    return [Span(a, b, False) for a, b in ends]


def inside(bounds: Any) -> list[Any]:
    numbers = INTEGERS if isinstance(bounds, Interval) else REALS
    return [x for x in numbers if bounds.lo <= x <= bounds.hi]


def kinds(takes: str) -> str:
    return takes[0] * 2 if takes.endswith("*") else takes


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bounds_and_domains_hold_for_every_value(name: str) -> None:
    row, domain = FUNCTIONS[name], DOMAINS.get(name)
    every = {1: 1, 2: 5, 3: 401}[len(kinds(row.takes))]
    tried = 0
    for operands in [*itertools.product(*map(bounds_of, kinds(row.takes)))][::every]:
        bounds = row.bounds(*operands)
        proved = domain is not None and domain.truth is not None and domain.truth(*operands)
        for values in itertools.islice(itertools.product(*map(inside, operands)), 30):
            try:
                value = row.value(*values)
            except ValueError:
                assert row.partial is not None
                assert row.partial(*operands)
                assert domain is not None
                assert domain.value(*values) is False
                assert not proved
                continue
            except OverflowError:
                assert row.partial is not None
                assert domain is None or domain.value(*values)
                continue
            tried += 1
            assert domain is None or domain.value(*values)
            if isinstance(bounds, Interval) or bounds != ANY:
                assert bounds.lo <= value <= bounds.hi, (operands, values, value, bounds)
    assert tried > 5


@pytest.mark.parametrize("name", FUNCTIONS)
def test_text_and_source_compute_the_same(name: str) -> None:
    pool = Pool()
    real_symbol(pool, "f", None)
    symbol(pool, "n", 0, 9)
    operands = ", ".join({"i": "n", "r": "f"}[kind] for kind in kinds(FUNCTIONS[name].takes))
    for row in (FUNCTIONS[name], DOMAINS.get(name)):
        if row is not None:
            node = parse(pool, f"{row.name}({operands})")
            assert parse(pool, show(node)) is node
            values = {"f": 1.0 if name == "acosh" else 0.75, "n": 5}
            (found,) = function([node], [*values])(*values.values())
            assert found == evaluate(node, values)
