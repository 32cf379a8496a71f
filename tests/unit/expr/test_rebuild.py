"""Nodes made again from other operands."""

import math
import re

import pytest

from anyshape.expr import Expr, Pool, evaluate, floordiv, parse, power, symbol
from anyshape.expr.boolean import Bool
from anyshape.expr.constructor.rounding import floor
from anyshape.expr.node import Atom
from anyshape.expr.real import Real, real_const, real_symbol
from anyshape.expr.rebuild import rebuild, rebuild_bool, rebuild_real
from anyshape.expr.terms import terms

EXPRESSIONS = [
    "x // 3",
    "x // y",
    "x*y**2",
    "max(0, x, y)",
    "x**y",
    "bit_and(x, y)",
    "bit_or(x, y)",
    "bit_xor(x, y)",
    "ite(x <= y, x, 0)",
    "floor(f)",
    "ceil(f)",
    "round(f)",
    "trunc(x / y)",
]


def made() -> Pool:
    pool = Pool()
    for name in "xyz":
        symbol(pool, name)
    real_symbol(pool, "f", None)
    return pool


def swapped(operand: object, pool: Pool) -> object:
    """`operand` with x and y exchanged, by its text."""
    text = re.sub(r"\b[xy]\b", lambda found: "y" if found[0] == "x" else "x", repr(operand))
    return parse(pool, text)


def only_atom(e: object) -> Atom:
    assert isinstance(e, Expr)
    return max(terms(e), key=lambda a: a.index)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_same_operands_give_the_same_atom(text: str) -> None:
    atom = only_atom(parse(made(), text))
    assert rebuild(atom, atom.args) is atom.node


@pytest.mark.parametrize("text", [t for t in EXPRESSIONS if "x" in t])
def test_other_operands_give_what_the_constructors_give(text: str) -> None:
    pool = made()
    atom = only_atom(parse(pool, text))
    again = rebuild(atom, [swapped(a, pool) for a in atom.args])
    assert again is swapped(atom.node, pool)
    values = {"x": 5, "y": 2, "z": 0, "f": 1.5}
    exchanged = {**values, "x": 2, "y": 5}
    assert evaluate(again, exchanged) == evaluate(atom.node, values)


@pytest.mark.parametrize(
    "build",
    [
        lambda p, x, y: (floordiv(x, y), [x, p.zero]),
        lambda p, x, y: (power(x, y), [x, p.const(-1)]),
        lambda p, x, y: (power(x, y), [x, p.const(1000)]),
        lambda p, x, y: (floor(p.by_name["f"]), [real_const(p, math.inf)]),
        lambda p, x, y: (floor(p.by_name["f"]), [real_const(p, math.nan)]),
    ],
)
def test_where_there_is_no_value_the_atom_stays(build: object) -> None:
    pool = made()
    e, operands = build(pool, pool.by_name["x"], pool.by_name["y"])  # type: ignore[operator]
    assert rebuild(only_atom(e), operands) is e


def test_a_group_is_its_operand() -> None:
    pool = made()
    group = only_atom(parse(pool, 'raw("group", x + y)'))
    assert rebuild(group, [parse(pool, "x + z")]) is parse(pool, "x + z")


@pytest.mark.parametrize(
    "text",
    [
        "x <= y",
        "x == y",
        "x != y",
        "f < 1.5",
        "not (f < 1.5)",
        "x <= 2 and y <= 2",
        "x <= 2 or y != 2",
        "True",
        "False",
    ],
)
def test_conditions(text: str) -> None:
    pool = made()
    b = parse(pool, text)
    assert isinstance(b, Bool)
    assert rebuild_bool(b, b.args) is b
    if "x" in text:
        assert rebuild_bool(b, [swapped(a, pool) for a in b.args]) is swapped(b, pool)


@pytest.mark.parametrize("text", ["f", "1.5", "float(x)", "x / y", "f + f", "sqrt(f)", "pow(f, f)"])
def test_reals(text: str) -> None:
    pool = made()
    r = parse(pool, text)
    assert isinstance(r, Real)
    assert rebuild_real(r, r.args) is r
    if "x" in text:
        assert rebuild_real(r, [swapped(a, pool) for a in r.args]) is swapped(r, pool)
