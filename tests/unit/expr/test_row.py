"""A new op is one row: a planted one works wherever expressions are interpreted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.domain import INF, Interval
from anyshape.env import Env
from anyshape.errors import ParseError
from anyshape.expr import Bool, Expr, Pool, Real, evaluate, ge0, negate, parse, show, symbol
from anyshape.expr.atom import can_raise, operand_interval
from anyshape.expr.boolean import constant
from anyshape.expr.real import apply, real_const, real_symbol
from anyshape.expr.rebuild import construct, rebuild, rebuild_bool, rebuild_real
from anyshape.expr.table.op import OPS, Op
from anyshape.expr.table.op_real import Span
from anyshape.expr.terms import terms
from anyshape.expr.text.python import function, source
from anyshape.expr.z3_bridge import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.expr.node import Atom

LIMIT = 100_000

HALVES = Op(
    "halves",
    "i",
    "i",
    value=lambda x: x // 2 if x >= 0 else 1 // 0,
    bounds=lambda x: Interval(x.lo // 2 if x.lo > -INF else x.lo, x.hi // 2 if x.hi < INF else INF),
    partial=lambda x: x.lo < 0,
    python="({0} // 2)",
    z3=lambda _z, x: x / 2,
)
CUBE_ROOT = Op(
    "cube_root",
    "r",
    "r",
    value=math.cbrt,
    bounds=lambda x: Span(math.cbrt(x.lo), math.cbrt(x.hi), False),
    python="math.cbrt({0})",
)
DIVIDES = Op(
    "divides",
    "ii",
    "b",
    value=lambda d, x: x % d == 0,
    partial=lambda d, _x: d.lo <= 0 <= d.hi,
    truth=lambda d, _x: True if d.lo == d.hi == 1 else None,
    python="({1} % {0} == 0)",
    z3=lambda _z, d, x: x % d == 0,
)


@pytest.fixture(autouse=True)
def _planted() -> Iterator[None]:
    rows = (HALVES, CUBE_ROOT, DIVIDES)
    OPS.update({row.name: row for row in rows})
    yield
    for row in rows:
        del OPS[row.name]


def made() -> Pool:
    pool = Pool()
    symbol(pool, "x", 0, 9, hint=7)
    symbol(pool, "y", hint=-7)
    real_symbol(pool, "f", 8.0, Span(0.0, 27.0, False))
    return pool


def only_atom(e: Any) -> Atom:
    (atom,) = terms(e)
    return atom


def is_partial(node: Any) -> bool:
    """Whether the row says that Python may raise for operands within their bounds."""
    return bool(node.op.partial(*map(operand_interval, node.args), *node.data))


def compiled(operand: Any, **values: Any) -> Any:
    names = list(values)
    (found,) = function([operand], names)(*values.values())
    assert eval(source(operand, {n: n for n in names}), {"math": math}, values) == found
    return found


def test_an_integer_op() -> None:
    pool = made()
    e = parse(pool, "halves(x) + 3*halves(y)")
    half = parse(pool, "halves(x)")
    assert isinstance(e, Expr)
    assert isinstance(half, Expr)
    assert parse(pool, show(e)) is e
    assert show(half) == "halves(x)"
    assert (half.lo, half.hi, half.hint) == (0, 4, 3)
    assert parse(pool, "halves(y)").hint is None
    assert parse(pool, "halves(9)") is pool.const(4)
    assert evaluate(e, {"x": 9, "y": 4}) == 10
    assert compiled(e, x=9, y=4) == 10
    with pytest.raises(ZeroDivisionError):
        evaluate(e, {"x": 9, "y": -4})
    atom = only_atom(half)
    assert rebuild(atom, atom.args) is half
    assert rebuild(atom, [parse(pool, "y")]) is parse(pool, "halves(y)")
    assert rebuild(atom, [pool.const(-1)]) is half
    assert not is_partial(atom)
    assert can_raise(atom)
    assert is_partial(only_atom(parse(pool, "halves(y)")))


def test_a_real_op() -> None:
    pool = made()
    r = parse(pool, "cube_root(f)")
    assert isinstance(r, Real)
    assert r is apply("cube_root", pool.by_name["f"])
    assert show(r) == "cube_root(f)"
    assert r.span == Span(0.0, math.cbrt(27.0), False)
    assert r.hint == math.cbrt(8.0)
    assert parse(pool, "cube_root(8.0)") is real_const(pool, math.cbrt(8.0))
    assert parse(pool, "cube_root(x)") is apply("cube_root", apply("float", pool.by_name["x"]))
    assert evaluate(r, {"f": 2.0}) == compiled(r, f=2.0) == math.cbrt(2.0)
    assert rebuild_real(r, [real_const(pool, 1.0)]) is real_const(pool, math.cbrt(1.0))
    floored = parse(pool, "floor(cube_root(f))")
    assert isinstance(floored, Expr)
    assert (floored.lo, floored.hi) == (0, 3)
    assert not is_partial(only_atom(floored))


def test_a_condition() -> None:
    pool = made()
    b = parse(pool, "divides(x, y)")
    assert isinstance(b, Bool)
    assert show(b) == "divides(x, y)"
    assert b.hint is True
    assert show(negate(b)) == "not (divides(x, y))"
    assert parse(pool, show(negate(b))) is negate(b)
    assert negate(negate(b)) is b
    assert evaluate(b, {"x": 3, "y": 6}) is compiled(b, x=3, y=6) is True
    assert compiled(negate(b), x=3, y=6) is False
    x, y = b.args
    assert rebuild_bool(b, [y, x]) is parse(pool, "divides(y, x)")
    assert is_partial(b)
    assert parse(pool, "divides(x - x, y)").hint is None
    assert parse(pool, "ite(divides(x, y), 3, 4)").hint == 3


def test_an_environment_takes_a_condition() -> None:
    env = Env()
    env.unbacked()
    planted = parse(env.pool, "divides(3, u0)")
    assert isinstance(planted, Bool)
    assert env.decide(planted) is None
    env.assume(planted)
    assert env.decide(planted) is True
    assert env.decide(negate(planted)) is False
    assert env.decide(parse(env.pool, "divides(1, u0)")) is True  # type: ignore[arg-type]
    assert [a.text for a in env.runtime_asserts] == ["divides(3, u0)"]


def test_z3_reads_the_row() -> None:
    pool = made()
    problem = Problem()
    x, half = parse(pool, "x"), parse(pool, "halves(x)")
    assert isinstance(x, Expr)
    assert isinstance(half, Expr)
    problem.add(parse(pool, "divides(2, x)"))  # type: ignore[arg-type]
    assert problem.satisfiable(parse(pool, "2*halves(x) == x"), False, LIMIT) is False  # type: ignore[arg-type]
    assert problem.satisfiable(ge0(half - x), True, LIMIT) is True


def test_an_op_without_a_term_is_unknown_to_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HALVES, "z3", None)
    monkeypatch.setattr(DIVIDES, "z3", lambda _z, _d, _x: None)
    pool = made()
    for text in ("halves(x) == 100", "divides(x, x)"):
        b = parse(pool, text)
        assert isinstance(b, Bool)
        assert Problem().satisfiable(b, True, LIMIT) is True
        assert Problem().satisfiable(b, False, LIMIT) is True


@pytest.mark.parametrize("text", ["halves()", "halves(x, y)", "halves(f)", "divides(x)"])
def test_operands_are_checked_against_the_row(text: str) -> None:
    with pytest.raises(ParseError):
        parse(made(), text)


def test_a_removed_row_is_unknown() -> None:
    pool = made()
    half = OPS.pop("halves")
    with pytest.raises(ParseError, match="unknown function 'halves'"):
        parse(pool, "halves(x)")
    OPS["halves"] = half
    assert construct(half, pool.by_name["x"]) is parse(pool, "halves(x)")


def test_a_constant_condition_folds_too() -> None:
    pool = Pool()
    flag = Op("flag", "b", "i", value=int, bounds=lambda b: b, python="int({0})")
    assert construct(flag, constant(pool, True)) is pool.const(1)
    assert show(construct(flag, ge0(symbol(pool, "x")))) == "flag(0 <= x)"


def test_what_can_raise_whatever_the_bounds() -> None:
    pool = made()
    assert not can_raise(only_atom(parse(pool, "bit_and(x, y)")))
    assert can_raise(only_atom(parse(pool, "x // y")))
    assert not can_raise(only_atom(parse(pool, "x // 7")))
