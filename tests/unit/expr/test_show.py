"""Text of expressions: readable, exact, bounded."""

from importlib import import_module

import pytest

from anyshape.errors import UnsupportedError
from anyshape.expr import Expr, Pool, ge0, maximum, modulo, parse, show, symbol
from anyshape.expr.constructor.bitwise import bit_and
from anyshape.expr.real import real_symbol
from anyshape.expr.text.bounded_text import Layout, Part, write
from anyshape.expr.text.show import BRIEF_TEXT, brief, sides


def made() -> Pool:
    pool = Pool()
    for name in "xyz":
        symbol(pool, name)
    real_symbol(pool, "f", None)
    real_symbol(pool, "g", None)
    return pool


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-7",
        "x",
        "-x",
        "2*x",
        "-2*x",
        "x + y",
        "x - y",
        "x + 2*y - 3*z - 4",
        "-x + 5",
        "x*y",
        "-x*y",
        "2*x*y**2",
        "x // 3",
        "-(x // 3)",
        "2*(x // 3)",
        "x + y // 3",
        "x - y // 3",
        "(x + y) // 3",
        "x*y // 3",
        "x // y",
        "x // (2*y)",
        "x // (y + 1)",
        "x // y // z",
        "x % 3",
        "(x + 1) % 3",
        "-(x % 3)",
        "2*(x % 3) + y",
        "x % 3 // y",
        "x**y",
        "2**x",
        "(-2)**x",
        "(x + 1)**y",
        "x**(y + 1)",
        "-x**y",
        "3*x**y",
        "x*y**z",
        "min(x, y)",
        "2*min(x, y) + z",
        "max(0, x - z)",
        "ite(x <= y, z, 0)",
        "floor(f)",
        "ceil(x / y)",
        "round(f)",
        "trunc(f)",
        "True",
        "False",
        "3 <= x",
        "-3 <= x",
        "x <= -3",
        "x < y",
        "x <= y",
        "x <= y + 3",
        "x + 3 <= y",
        "-3 <= x + y",
        "x == 3",
        "x != -3",
        "2*x == 3",
        "x <= y and y <= z",
        "x <= y or y <= z",
        "(x <= y or y <= z) and x == 2",
        "f < g",
        "not (f < g)",
        "f == 1.0 and not (f < g)",
        "f",
        "1.5",
        "-1.5",
        "inf",
        "-inf",
        "nan",
        "-0.0",
        "1e+300",
        "5e-324",
        "-f",
        "-(-f)",
        "f + g",
        "(f + g) + 1.0",
        "f - (-1.0)",
        "f*g",
        "f / g",
        "x / y",
        "(x + 1) / (-3)",
        "1 / 0",
        "float(x)",
        "float(x)*f",
        "sqrt(f)",
        "abs(f)",
        "pow(f, 2.0)",
    ],
)
def test_a_text_in_normal_form_is_kept(text: str) -> None:
    assert show(parse(made(), text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("3 + x", "x + 3"),
        ("2*x // 3", "x - (x + 2) // 3"),
        ("(x // y)*z", "z*(x // y)"),
        ('raw("group", x + y)*z', 'z*raw("group", x + y)'),
        ("x - (y - z)", "x + z - y"),
        ("x*2 - x", "x"),
        ("-x <= 3", "-3 <= x"),
        ("x > y", "y < x"),
        ("x >= 3", "3 <= x"),
        ("x < 3", "x <= 2"),
        ("not x < y", "y <= x"),
        ("x - 3 == 0", "x == 3"),
        ("max(x, y) + min(x, y)", "x + y"),
        ("x + 7*(x // 7) - 7*(x // 7)", "x"),
        ("x - 7*(x // 7)", "x % 7"),
        ("y - 2*x + 14*(x // 7)", "y - 2*(x % 7)"),
        ("2*f", "2.0*f"),
        ("f > g", "g < f"),
        ("f + 1", "f + 1.0"),
    ],
)
def test_other_texts_have_one_normal_form(text: str, shown: str) -> None:
    pool = made()
    assert show(parse(pool, text)) == shown
    assert parse(pool, shown) is parse(pool, text)


def test_symbols_can_be_renamed() -> None:
    pool = made()
    names = {"x": "a.size(0)", "f": "scale"}
    e = parse(pool, "x + 2*y <= 5 and f < 1.0")
    text = "a.size(0) + 2*y <= 5 and scale < 1.0"
    assert show(e, lambda n: names.get(n, n)) == text
    assert brief(e, lambda n: names.get(n, n)) == text
    assert brief(e, limit=5) == "x + 2..."


def test_a_constant_is_not_made_up_for_a_spelling() -> None:
    """`max(x, 2)` is `x + max(0, 2 - x)`; without the x it is not spelled with a 2."""
    pool = made()
    for text in ("max(x, 2)", "max(x, 2) - x", "max(x, 2) - 2", "min(x, 2) + y"):
        e = parse(pool, text)
        assert parse(pool, show(e)) is e


def doubling(levels: int) -> Expr:
    """An expression whose text doubles with each level."""
    pool = Pool()
    e, y = symbol(pool, "x"), symbol(pool, "y")
    for i in range(levels):
        e = bit_and(e.shift(1), modulo(e, pool.const(5)) + y.shift(i))
    return e


def test_repr_is_bounded_in_length_and_work() -> None:
    e = doubling(1500)
    for operand in (e, ge0(e), e.shift(1)):
        text = repr(operand)
        assert len(text) == BRIEF_TEXT + 3
        assert text.endswith("...")
    short = doubling(1)
    assert repr(short) == show(short)


def test_a_text_that_would_be_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("anyshape.expr.text.show"), "MAX_TEXT", 1 << 18)
    with pytest.raises(UnsupportedError, match="too long to print"):
        show(doubling(40))


def test_sides_are_the_positive_and_the_negative_part() -> None:
    pool = made()
    for text in ("x - y + 3", "x + y - 3", "-x", "5", "-5", "0"):
        e = parse(pool, text)
        assert isinstance(e, Expr)
        negative, positive = sides(e)
        assert positive - negative is e


def test_a_layout_is_asked_for_once_per_node() -> None:
    asked: list[object] = []

    def layout(node: object) -> Layout:
        asked.append(node)
        if node == 0:
            return Layout(("0",), 1)
        below = Part(int(str(node)) - 1, 2)
        return Layout((below, "+", below), 1)

    text, is_complete = write(2, layout, 1000)
    assert (text, is_complete) == ("((0)+(0))+((0)+(0))", True)
    assert asked == [2, 1, 0]
    assert write(60, layout, 20)[1] is False
    assert len(write(60, layout, 20)[0]) == 20


def test_a_minimum_whose_sides_are_not_in_the_sum() -> None:
    pool = Pool()
    x, y = symbol(pool, "x"), symbol(pool, "y")
    e = x.scale(5) - maximum([pool.zero, y - x]).scale(3)
    assert parse(pool, show(e)) is e
    assert parse(pool, show(-maximum([pool.zero, x, y]))) is -maximum([pool.zero, x, y])
