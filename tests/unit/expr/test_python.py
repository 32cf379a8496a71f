"""Generated Python computes what evaluation computes."""

import math

import pytest

from anyshape.errors import UnsupportedError
from anyshape.expr import Expr, Pool, evaluate, modulo, parse, symbol
from anyshape.expr.constructor.bitwise import bit_and
from anyshape.expr.real import real_symbol
from anyshape.expr.text.python import LONG_SUM, function, source

NAMES = {"x": "x", "y": "y", "f": "f"}


def made() -> Pool:
    pool = Pool()
    symbol(pool, "x")
    symbol(pool, "y")
    real_symbol(pool, "f", None)
    return pool


TEXTS = {
    "0": "0",
    "-7": "(-7)",
    "x": "x",
    "x + 1": "(x + 1)",
    "2*x - y - 3": "(2 * x + -1 * y + -3)",
    "x // y": "(x // y)",
    "x*y**2": "(x * y ** 2)",
    "max(0, x)": "max(0, x)",
    "x**y": "(x ** y)",
    "bit_and(3, x)": "(3 & x)",
    "bit_or(3, x)": "(3 | x)",
    "bit_xor(3, x)": "(3 ^ x)",
    "ite(x <= y, x, 0)": "(x if ((-1 * x + y) >= 0) else 0)",
    'raw("group", x + y)*y': "(y * (x + y))",
    "floor(f)": "math.floor(f)",
    "ceil(f)": "math.ceil(f)",
    "round(f)": "round(f)",
    "trunc(f)": "math.trunc(f)",
    "float(x)": "float(x)",
    "x / y": "(x / y)",
    "f + 1.5": "(f + float.fromhex('0x1.8000000000000p+0'))",
    "f - inf": "(f - float.fromhex('inf'))",
    "f*f": "(f * f)",
    "f / f": "(f / f)",
    "-f": "(-f)",
    "abs(f)": "abs(f)",
    "sqrt(f)": "math.sqrt(f)",
    "pow(f, f)": "math.pow(f, f)",
    "x == 3": None,
    "x != y": None,
    "f < 1.0": "(f < float.fromhex('0x1.0000000000000p+0'))",
    "not (f < 1.0)": "(not (f < float.fromhex('0x1.0000000000000p+0')))",
    "0 <= x and 0 <= y": "((x >= 0) and (y >= 0))",
    "0 <= x or 0 <= y": "((x >= 0) or (y >= 0))",
    "True": "True",
    "False": "False",
}


@pytest.mark.parametrize("text", TEXTS)
def test_source(text: str) -> None:
    node = parse(made(), text)
    written = source(node, NAMES)
    if TEXTS[text] is not None and "bit" not in text:
        assert written == TEXTS[text]
    for x, y, f in ((5, 2, 1.5), (1, 3, 0.25), (3, 1, 9.0)):
        values = {"x": x, "y": y, "f": f}
        expected = evaluate(node, values)
        assert eval(written, {"math": math}, values) == expected
        assert function([node], list(values))(x, y, f) == (expected,)


def test_names_are_the_callers() -> None:
    assert source(parse(made(), "2*x + y"), {"x": "a.size(0)", "y": "b[1]"}) == (
        "(2 * a.size(0) + b[1])"
    )
    with pytest.raises(KeyError):
        source(parse(made(), "x + y"), {"x": "x"})


def test_a_function_of_several_operands() -> None:
    pool = made()
    operands = [parse(pool, t) for t in ("x // y", "x % y", "x // y == 3", "f*2.0", "7")]
    compiled = function(operands, ["y", "f", "x"])
    assert compiled(2, 1.25, 7) == (3, 1, True, 2.5, 7)
    assert function([], [])() == ()


def test_what_is_undefined_raises_as_in_evaluation() -> None:
    pool = made()
    for text, values, error in (
        ("ite(y == 0, 0, x // y)", (1, 0), ZeroDivisionError),
        ("x**y", (2, -1), ValueError),
        ("x**y", (3, 10**9), OverflowError),
    ):
        node = parse(pool, text)
        with pytest.raises(error):
            function([node], ["x", "y"])(*values)
        with pytest.raises(error):
            evaluate(node, dict(zip(("x", "y"), values, strict=True)))


@pytest.mark.parametrize("count", [LONG_SUM, LONG_SUM + 1, 5000])
def test_long_sums_compile(count: int) -> None:
    pool = Pool()
    total = pool.const(-3)
    for i in range(count):
        total = total + symbol(pool, f"s{i}").scale(i + 1)
    names = {f"s{i}": f"v[{i}]" for i in range(count)}
    values = [(i * 7) % 11 - 5 for i in range(count)]
    expected = evaluate(total, {f"s{i}": v for i, v in enumerate(values)})
    assert eval(source(total, names), {"v": values}) == expected
    assert function([total], list(names))(*values) == (expected,)


def test_shared_parts_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyshape.expr.text.python.MAX_TEXT", 1 << 18)
    pool = made()
    e, y = pool.by_name["x"], pool.by_name["y"]
    assert isinstance(e, Expr)
    assert isinstance(y, Expr)
    for i in range(200):
        e = bit_and(e.shift(1), modulo(e, pool.const(5)) + y.shift(i))
    values = {"x": 123456789, "y": 987654321}
    assert function([e], ["x", "y"])(*values.values()) == (evaluate(e, values),)
    with pytest.raises(UnsupportedError, match="too long to write as Python"):
        source(e, NAMES)
