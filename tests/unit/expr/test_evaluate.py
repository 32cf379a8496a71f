"""Values of every kind of node, and what has none."""

import math

import pytest

from anyshape.expr import Pool, evaluate, parse, symbol
from anyshape.expr.evaluate import Interpreter
from anyshape.expr.real import real_symbol
from anyshape.expr.table.op import Op
from anyshape.expr.traverse import atoms_below, nodes_below, symbols_of

VALUES = {"x": 7, "y": -2, "f": 2.5}


def made() -> Pool:
    pool = Pool()
    symbol(pool, "x")
    symbol(pool, "y")
    real_symbol(pool, "f", None)
    return pool


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3),
        ("2*x - y + 1", 17),
        ("x // y", -4),
        ("x % y", -1),
        ("x*y**2", 28),
        ("max(x, y, 8)", 8),
        ("ite(x <= y, x, 10)", 10),
        ("2**x", 128),
        ("floor(f)", 2),
        ("round(f)", 2),
        ("x / y", -3.5),
        ("sqrt(f + 6.5)", 3.0),
        ("-f", -2.5),
        ("pow(f, 2.0)", 6.25),
        ("abs(-f)*2.0 - float(x)", -2.0),
        ("x <= y", False),
        ("x == y", False),
        ("x != y", True),
        ("f < 3.0", True),
        ("not (f < 3.0)", False),
        ("x <= y or f < 3.0", True),
        ("x <= y and f < 3.0", False),
        ("True", True),
        ("False", False),
    ],
)
def test_values(text: str, expected: object) -> None:
    found = evaluate(parse(made(), text), VALUES)
    assert found == expected
    assert type(found) is type(expected)


def test_infinities_are_values() -> None:
    assert evaluate(parse(made(), "f - inf"), VALUES) == -math.inf
    assert math.isnan(evaluate(parse(made(), "nan"), VALUES))


@pytest.mark.parametrize(
    ("text", "values", "error"),
    [
        ("x // y", {"x": 1, "y": 0}, ZeroDivisionError),
        ("x**y", {"x": 1, "y": -1}, ValueError),
        ("x**y", {"x": 3, "y": 10**9}, OverflowError),
        ("floor(f)", {"f": math.nan}, ValueError),
        ("floor(f)", {"f": math.inf}, OverflowError),
        ("float(x)", {"x": 10**400}, OverflowError),
        ("sqrt(f)", {"f": -1.0}, ValueError),
        ("ite(y == 0, 0, x // y)", {"x": 1, "y": 0}, ZeroDivisionError),  # every part is computed
        ("x + y", {"x": 1}, KeyError),
        ("f < 1.0", {}, KeyError),
    ],
)
def test_where_there_is_no_value_it_raises_as_python_does(
    text: str, values: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        evaluate(parse(made(), text), values)  # type: ignore[arg-type]


def test_operands_come_before_what_is_made_of_them() -> None:
    pool = made()
    e = parse(pool, "max(x // 3, floor(f / float(y))) + ite(x <= y and f < 1.0, x % 4, y)")
    order = nodes_below([e])
    position = {node: i for i, node in enumerate(order)}
    for node in order:
        below = nodes_below([a for a in node.args if not isinstance(a, str | float)])
        assert all(position[b] < position[node] for b in below)
    assert [a.name for a in symbols_of(e)] == ["x", "y"]
    assert [a.index for a in atoms_below(e)] == sorted(a.index for a in atoms_below(e))
    assert set(symbols_of(e)) < set(atoms_below(e)) < set(order)


def test_an_interpreter_computes_each_part_once() -> None:
    """With functions that write what they are called with, as for the nodes of a graph."""
    pool = Pool()
    for name in "xyz":
        symbol(pool, name)
    steps: list[str] = []

    def apply(op: Op, *operands: object) -> str:
        steps.append(f"{op.name}{operands}")
        return f"#{len(steps)}"

    def total(addends: list[tuple[int, str]], c: int) -> str:
        return " + ".join([*(f"{k}{x}" for k, x in addends), str(c)])

    number = Interpreter(str.upper, apply, total)
    assert number(parse(pool, "3*(x // y) + z + 1")) == "1Z + 3#1 + 1"
    assert number(parse(pool, "x // y <= z**2")) == "#3"
    assert number(parse(pool, "1.5")) == "#4"
    assert steps == [
        "floordiv('1X + 0', '1Y + 0')",
        "product('1Z + 0', 2)",
        "ge('-1#1 + 1#2 + 0',)",
        "const(1.5,)",
    ]
