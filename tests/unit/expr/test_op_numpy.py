"""The ops of NumPy's precisions and functions, against NumPy."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from anyshape.expr import evaluate, parse
from anyshape.expr.pool import Pool
from anyshape.expr.real import real_symbol
from anyshape.expr.table.op_numpy import FUNCTIONS, ROWS, to_float16, to_float32
from anyshape.expr.table.op_real import ANY, Span
from anyshape.expr.text.python import function
from anyshape.expr.text.show import show

NUMBERS = (
    -300.0,
    -7.5,
    -2.0,
    -1.0,
    -0.5,
    -1e-9,
    0.0,
    1e-9,
    0.25,
    0.5,
    1.0,
    2.5,
    3.0,
    64.0,
    1e4,
    1e9,
)
ENDS = (-math.inf, *NUMBERS, math.inf)


@pytest.mark.parametrize(("rounded", "kind"), [(to_float32, np.float32), (to_float16, np.float16)])
def test_numbers_are_rounded_as_numpy_does(rounded: object, kind: type) -> None:
    pick = random.Random(0)
    numbers = [math.ldexp(pick.random(), pick.randint(-160, 140)) for _ in range(20_000)]
    numbers += [x * (1 + 2.0**-11) for x in NUMBERS]  # halfway between two of 16 bits
    numbers += [2.0**24 + k for k in range(9)] + [65519.0, 65520.0, 3.5e38, math.inf, -0.0]
    with np.errstate(all="ignore"):
        for x in (*numbers, *[-x for x in numbers]):
            found = rounded(x)  # type: ignore[operator]
            assert found == float(kind(x))
            assert math.copysign(1, found) == math.copysign(1, x)
        for n in (70_000, 2**62, -(2**62)):  # what a maximum of an integer and a float may be
            assert rounded(n) == float(kind(n))  # type: ignore[operator]
    assert math.isnan(rounded(math.nan))  # type: ignore[operator]


@pytest.mark.parametrize("name", [name for name in ROWS if "round" not in name])
def test_bounds_hold_every_value(name: str) -> None:
    op = ROWS[name]
    spans = [Span(a, b, False) for a, b in itertools.combinations_with_replacement(ENDS, 2)]
    narrow = 0
    with np.errstate(all="ignore"):
        every = 1 if op.takes == "r" else 7
        for operands in [*itertools.product(spans, repeat=len(op.takes))][::every]:
            bounds = op.bounds(*operands)
            if bounds == ANY:
                continue
            narrow += 1
            inside = [[x for x in NUMBERS if s.lo <= x <= s.hi] for s in operands]
            for values in itertools.islice(itertools.product(*inside), 40):
                value = op.value(*values)
                assert not math.isnan(value), (operands, values)
                assert bounds.lo <= value <= bounds.hi, (operands, values, value, bounds)
    bounded = ("float16", "float32", "sqrt", "log2", "exp", "sin", "rint", "maximum", "divide")
    assert narrow > 0 or name.removeprefix("np_").split("_")[0] not in bounded


@pytest.mark.parametrize("key", FUNCTIONS)
def test_text_and_source_compute_the_same(key: tuple[str, str]) -> None:
    op = FUNCTIONS[key]
    pool = Pool()
    real_symbol(pool, "f0", None)
    other = {"ri": ", 1", "rr": ", 2.5", "r": ""}[op.takes]
    node = parse(pool, f"{op.name}(f0{other})")
    assert parse(pool, show(node)) is node
    with np.errstate(all="ignore"):
        expected = evaluate(node, {"f0": 0.75})
        (found,) = function([node], ["f0"])(0.75)
    assert np.array_equal(found, expected, equal_nan=True)
