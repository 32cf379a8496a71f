"""Expressions nested and summed far beyond the recursion limit of Python."""

from collections.abc import Callable
from importlib import import_module

import pytest

from anyshape.errors import ParseError, UnsupportedError
from anyshape.expr import (
    Bool,
    Expr,
    Pool,
    Real,
    choose,
    conj,
    disj,
    evaluate,
    floordiv,
    ge0,
    maximum,
    modulo,
    multiply,
    negate,
    parse,
    show,
    symbol,
)
from anyshape.expr.constructor.bitwise import bit_and
from anyshape.expr.constructor.rounding import floor
from anyshape.expr.real import apply, real_symbol
from anyshape.expr.terms import terms
from anyshape.expr.text.bounded_text import MAX_TEXT
from anyshape.expr.text.parse import MAX_NESTING
from anyshape.expr.text.python import function, source
from anyshape.expr.text.show import BRIEF_TEXT
from anyshape.expr.traverse import nodes_below

DEEP = 1_200  # beyond the recursion limit of 1000
DEEPEST = 10_000
VALUES = {"x": 5, "y": 3, "f": 1.5}
Step = Callable[[Pool, Expr, int, Expr], Expr]


def conditions(depth: int) -> tuple[Pool, Bool]:
    pool = Pool()
    x, y = symbol(pool, "x", hint=5), symbol(pool, "y", hint=3)
    b = ge0(x)
    for i in range(depth // 2):
        b = disj(pool, [conj(pool, [b, ge0(y.shift(i))]), ge0((x - y).shift(-i))])
    return pool, b


def reals(depth: int) -> tuple[Pool, Real]:
    pool = Pool()
    x = symbol(pool, "x", hint=5)
    r = real_symbol(pool, "f", 1.5)
    for i in range(depth):
        r = apply("neg", apply("sub", r, apply("float", x.shift(i))))
    return pool, r


STEPS: dict[str, Step] = {
    "max": lambda p, e, _, y: maximum([modulo(e, p.const(7)).shift(1), y]),
    "ite": lambda _, e, i, y: choose(ge0(e.shift(-i)), e.shift(1), y),
    "bit_and": lambda _, e, i, y: bit_and(e.shift(1), y.shift(i)),
    "floordiv": lambda _, e, __, y: floordiv(e.shift(1), y),
    "product": lambda p, e, __, y: floordiv(multiply(e, y).shift(1), p.const(3)),
    "floor": lambda _, e, __, y: floor(apply("ratio", e.shift(1), y)),
}


def integers(step: Step, depth: int) -> tuple[Pool, Expr]:
    pool = Pool()
    e, y = symbol(pool, "x", hint=5), symbol(pool, "y", hint=3)
    for i in range(depth):
        e = step(pool, e, i, y)
    return pool, e


def made(name: str, depth: int) -> tuple[Pool, Expr | Bool | Real]:
    if name == "conditions":
        return conditions(depth)
    return reals(depth) if name == "reals" else integers(STEPS[name], depth)


NAMES = [*STEPS, "conditions", "reals"]


@pytest.mark.parametrize(
    ("name", "depth"),
    [*((name, DEEP) for name in NAMES if name != "floordiv"), ("floordiv", DEEPEST)],
)
def test_nested_far_beyond_the_recursion_limit(
    monkeypatch: pytest.MonkeyPatch, name: str, depth: int
) -> None:
    for module in ("show", "python"):  # some texts grow with a power of two
        monkeypatch.setattr(import_module(f"anyshape.expr.text.{module}"), "MAX_TEXT", 1 << 20)
    pool, node = made(name, depth)
    assert len(repr(node)) == BRIEF_TEXT + 3
    value = evaluate(node, VALUES)
    assert node.hint == value
    assert len(nodes_below([node])) >= depth
    for write in (show, lambda n: source(n, {v: v for v in VALUES})):
        try:
            assert len(write(node)) < MAX_TEXT  # type: ignore[operator]
        except UnsupportedError as error:
            assert "too long" in str(error)  # noqa: PT017
    if name != "max":  # whose atoms have up to 64 operands each
        assert function([node], list(VALUES))(*VALUES.values()) == (value,)
    if isinstance(node, Bool):
        assert negate(negate(node)) is node
        assert evaluate(negate(node), VALUES) is not value
    assert pool.count >= depth


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("max", "ite")])
def test_texts_up_to_the_limit_of_nesting_lead_back(name: str) -> None:
    """About one parenthesis for each level, so the text nests as deep as the node."""
    pool, node = made(name, MAX_NESTING // 3)
    assert parse(pool, show(node)) is node
    pool, node = made(name, 3 * MAX_NESTING)
    with pytest.raises(ParseError, match="nested over"):
        parse(pool, show(node))


def test_a_sum_of_very_many_terms() -> None:
    pool = Pool()
    total = pool.const(7)
    count = 100_000
    for i in range(count):
        total = total + symbol(pool, f"s{i}", 0, hint=1).scale(i % 9 + 1)
    assert total.lo == 7
    assert total.hint == 7 + sum(i % 9 + 1 for i in range(count))
    assert len(terms(total)) == count
    assert len(repr(total)) == BRIEF_TEXT + 3
    values = {f"s{i}": i % 5 for i in range(count)}
    expected = 7 + sum((i % 5) * (i % 9 + 1) for i in range(count))
    assert evaluate(total, values) == expected
    assert len(source(total, {n: n for n in values})) < MAX_TEXT
