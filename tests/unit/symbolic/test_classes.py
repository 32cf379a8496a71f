"""SymInt, SymBool and SymFloat as Python objects: what they pretend to be and what they refuse."""

from __future__ import annotations

import copy
import enum
import math
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape import (
    DataDependentError,
    ShapeEnv,
    SymBool,
    SymFloat,
    SymInt,
    UnsupportedError,
    check,
    hint,
    sym_and,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_or,
    sym_sum,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def env() -> ShapeEnv:
    return ShapeEnv()


@pytest.fixture
def numbers(env: ShapeEnv) -> tuple[SymInt, SymBool, SymFloat]:
    n = env.backed(8, source="n")
    return n, n > 5, env.backed_float(2.5, source="x")


def texts(env: ShapeEnv) -> list[str]:
    return [o.text for o in (*env.guards, *env.runtime_asserts)]


# ---------------------------------------------------------------------- identity


def test_types(numbers: tuple[Any, ...]) -> None:
    n, b, x = numbers
    assert isinstance(n, int)
    assert isinstance(n, torch.SymInt)
    assert not isinstance(n, bool)
    assert not isinstance(n, float)
    assert isinstance(x, float)
    assert isinstance(x, torch.SymFloat)
    assert isinstance(b, torch.SymBool)
    assert not isinstance(b, int)
    assert [type(v) for v in numbers] == [SymInt, SymBool, SymFloat]


def test_no_hash(numbers: tuple[Any, ...]) -> None:
    for value in numbers:
        with pytest.raises(TypeError, match="has no hash"):
            hash(value)
        with pytest.raises(TypeError, match="has no hash"):
            {value: 1}  # noqa: B018


def test_no_pickle(numbers: tuple[Any, ...]) -> None:
    for value in numbers:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(value)


def test_copies_are_the_same_object(numbers: tuple[Any, ...]) -> None:
    for value in numbers:
        assert copy.copy(value) is value
        assert copy.deepcopy(value) is value
        assert copy.deepcopy([value])[0] is value


def test_repr(numbers: tuple[Any, ...]) -> None:
    n, b, x = numbers
    assert (repr(n), str(n + 1)) == ("s0", "s0 + 1")
    assert (repr(b), str(b)) == ("6 <= s0", "6 <= s0")
    assert (repr(x), str(x + 1)) == ("f0", "f0 + 1.0")


FORMATS = [
    ("", "s0 + 1", "6 <= s0", "f0"),
    ("d", "s0 + 1", "6 <= s0", "f0"),
    ("05d", "s0 + 1", "6 <= s0", "f0   "),
    (">8", "  s0 + 1", " 6 <= s0", "      f0"),
    ("<8d", "s0 + 1  ", "6 <= s0 ", "f0      "),
    ("*^10,d", "**s0 + 1**", "*6 <= s0**", "****f0****"),
    ("+d", "s0 + 1", "6 <= s0", "f0"),
    (">+8d", "  s0 + 1", " 6 <= s0", "      f0"),
    ("=8d", "  s0 + 1", " 6 <= s0", "      f0"),
    ("#x", "s0 + 1", "6 <= s0", "f0"),
    ("#010x", "s0 + 1    ", "6 <= s0   ", "f0        "),
    (".2f", "s0 + 1", "6 <= s0", "f0"),
    ("8.3e", "s0 + 1  ", "6 <= s0 ", "f0      "),
    ("n", "s0 + 1", "6 <= s0", "f0"),
]


@pytest.mark.parametrize(("spec", "integer", "condition", "real"), FORMATS)
def test_format(
    numbers: tuple[Any, ...], spec: str, integer: str, condition: str, real: str
) -> None:
    n, b, x = numbers
    assert format(n + 1, spec) == integer
    assert format(b, spec) == condition
    assert format(x, spec) == real


def test_formats_of_constants(numbers: tuple[Any, ...]) -> None:
    n, _, x = numbers
    assert f"{n - n + 255:#06x}" == "0x00ff"
    zero = SymFloat((x - x).value, x.env)
    assert "f0" in f"{zero:.2f}"
    constant = math.floor(n - n + 2) / 4
    assert f"{constant:.3f}" == "0.500"
    assert float(constant) == 0.5


def test_truth(env: ShapeEnv) -> None:
    n, i = env.backed(8, source="n"), env.backed(0, source="i", size=False)
    assert bool(n) is True
    assert bool(i) is False
    assert texts(env) == ["2 <= n", "i == 0"]
    assert not i
    u = env.unbacked()
    with pytest.raises(DataDependentError):
        bool(u)
    assert [k for k in (n, i) if k] == [n]


# ---------------------------------------------------------------------- asking for the value

VALUES: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "complex": complex,
    "index": lambda n: list(range(20))[n],
    "range": lambda n: len(range(n)),
    "repeat": lambda n: len([0] * n),
    "hex": hex,
    "sqrt": math.sqrt,
    "chr": chr,
}


@pytest.mark.parametrize("name", VALUES)
def test_what_asks_for_the_value_specializes(env: ShapeEnv, name: str) -> None:
    n = env.backed(8, source="n")
    assert VALUES[name](n) == VALUES[name](8)
    assert texts(env) == ["n == 8"]
    u = env.unbacked(source="u")
    with pytest.raises(DataDependentError, match="cannot turn u into a Python int"):
        VALUES[name](u)
    check(u == 8)
    assert VALUES[name](u) == VALUES[name](8)


def test_what_does_not_ask_for_the_value(env: ShapeEnv) -> None:
    u, v = env.unbacked(), env.unbacked(min=1)
    x = env.unbacked_float()
    made = [
        u + 1, 1 - u, -u, +u, abs(u), ~u, u * v, u // v, u % v, divmod(u, v)[1], u**2, 2**v, u << 3,
        u >> 3, u & v, u | 1, u ^ v, u / v, u == v, u != 3, u < v, round(u), round(u, 2),
        math.floor(u),
        math.ceil(u), math.trunc(u), u.conjugate(), u.real, u.numerator, u.as_integer_ratio(),
        u.is_integer(), x + 1, x * u, -x, abs(x), +x, x < 1, x == u, math.floor(x), math.ceil(x),
        round(x), math.trunc(x), x.conjugate(), x.real, x.imag, sym_max(u, v), sym_min(u, 3),
        sym_sum(u, v, 4),
        sym_not(u > v), sym_and(u > v, v > 1), sym_or(u > v, v > 1), sym_ite(u > v, u, v), hint(u),
        (u > v) & (v > 2), (u > v) | True, ~(u > v), (u > v) == (v > 2),
        (u > v) != True,  # noqa: E712  builds a condition
        (u > v) ^ (v > u),
        (u > v) == 1, f"{u} {x} {u > v}", u == "text", u == 2.5, u < 2.5,
    ]  # fmt: skip
    assert len(made) > 50
    assert texts(env) == ["1 <= u1", "f0 == f0", "abs(f0) < inf"]  # what `floor` needs


def test_comparisons_with_floats_are_exact(env: ShapeEnv) -> None:
    """A double near 2**53 stands for two integers; Python compares without rounding."""
    u = env.unbacked()
    big = 2.0**53
    assert str(u == big) == f"u0 == {2**53}"
    assert str(u == 2.5) == "False"
    assert str(u != 2.5) == "True"
    assert str(u < 2.5) == "u0 <= 2"
    assert str(u <= 2.5) == "u0 <= 2"
    assert str(u > 2.5) == "3 <= u0"
    assert str(u >= 2.5) == "3 <= u0"
    assert str(u < 2.0) == "u0 <= 1"
    assert str(u >= 2.0) == "2 <= u0"
    assert str(2.0 <= u) == "2 <= u0"  # noqa: SIM300  the reflected comparison
    inf, nan = math.inf, math.nan
    assert [str(u < inf), str(u == -inf), str(u == nan)] == ["True", "False", "False"]
    assert [str(u != nan), str(u >= nan)] == ["True", "False"]
    assert str(u < 1e300) == "u0 < 1e+300"


def test_truth_values_combine_without_asking(env: ShapeEnv) -> None:
    u, v = env.unbacked(), env.unbacked()
    a, b = u > 1, v > 1
    for truth_a in (True, False):
        for truth_b in (True, False):
            values = {"u0": 2 * truth_a, "u1": 2 * truth_b}
            from anyshape.expr import evaluate

            for made, expected in (
                (a & b, truth_a and truth_b),
                (a | b, truth_a or truth_b),
                (a ^ b, truth_a != truth_b),
                (a == b, truth_a == truth_b),
                (a != b, truth_a != truth_b),
                (~a, not truth_a),
                (a & True, truth_a),
                (True & a, truth_a),
                (a | False, truth_a),
                (False | a, truth_a),
                (a ^ True, not truth_a),
                (True ^ a, not truth_a),
                (a == True, truth_a),  # noqa: E712
                (a == 0, not truth_a),
                (a == 1.0, truth_a),
                (a != 7, True),
                (a == 7, False),
                (sym_ite(a, b, ~b), truth_a == truth_b),
                (sym_ite(a, True, b), truth_a or truth_b),
            ):
                assert evaluate(made.condition, values) is expected
    assert texts(env) == []
    with pytest.raises(DataDependentError):
        a & 3
    s = env.backed(8, source="s")
    assert (s > 5) & 3 == 1
    assert (s > 5) | 2 == 3
    assert (s > 5) ^ 3 == 2
    assert int(s > 5) == 1
    assert float(s > 5) == 1.0
    assert -(s > 5) == -1
    assert abs(s > 5) == 1
    assert list("ab")[s > 5] == "b"


def test_choices(env: ShapeEnv) -> None:
    u, v = env.unbacked(), env.unbacked()
    e = sym_ite(u > 0, v, 3)
    assert type(e) is SymInt
    assert sym_ite(True, u, v) is u
    assert sym_ite(False, u, v) is v
    assert str(sym_ite(u > 0, v, v)) == "u1"
    check(u > 0)
    assert str(env.simplify(e)) == "u1"


# ---------------------------------------------------------------------- floats


def test_floats_ask_when_they_must(env: ShapeEnv) -> None:
    x = env.backed_float(2.5, source="x")
    assert x.hex() == (2.5).hex()
    assert x.as_integer_ratio() == (5, 2)
    assert math.sqrt(x) == math.sqrt(2.5)
    assert texts(env) == ["x == 2.5"]
    y = env.unbacked_float(source="y")
    for ask in (
        float,
        int,
        bool,
        lambda f: f.hex(),
        lambda f: bool(f.is_integer()),
    ):
        with pytest.raises(DataDependentError):
            ask(y)
    assert str(y.__sym_sqrt__()) == "sqrt(f1)"
    assert hint(x * 2) == 5.0
    assert hint(y, 7.0) == 7.0
    assert str(2**y) == "pow(2.0, f1)"
    assert str(y**2) == "pow(f1, 2.0)"
    assert str(env.unbacked() ** 0.5) == "pow(float(u0), 0.5)"
    for power in (lambda: pow(y, 2, 3), lambda: y ** "a", lambda: "a" ** y):
        with pytest.raises(TypeError):
            power()


def test_division_of_floats(env: ShapeEnv) -> None:
    x, y = env.backed_float(2.5, source="x"), env.unbacked_float(source="y")
    assert str(1 / x) == "1.0 / f0"
    assert str(x / y) == "f0 / f1"
    assert texts(env) == ["x != 0.0", "y != 0.0"]
    assert env.runtime_asserts[0].message == "float division by zero"
    zero = env.backed_float(0.0)
    for divide in (lambda: x / zero, lambda: x / 0, lambda: x / 0.0, lambda: x / False):
        with pytest.raises(ZeroDivisionError):
            divide()
    assert str(x / 2) == "f0 / 2.0"
    assert str(x / 4) == "f0 / 4.0"


# ---------------------------------------------------------------------- what Python refuses


def test_division_by_zero(env: ShapeEnv) -> None:
    n, zero = env.backed(8, source="n"), env.backed(0, source="z", size=False)
    for divide in (
        lambda: n // 0, lambda: n % 0, lambda: n / 0, lambda: divmod(n, 0), lambda: n // zero,
        lambda: 5 % zero, lambda: n / zero, lambda: n // (n - n), lambda: n // False,
        lambda: zero**-1,
    ):  # fmt: skip
        with pytest.raises(ZeroDivisionError):
            divide()
    assert texts(env) == ["2 <= n", "z == 0"]  # a program may catch the error
    u = env.unbacked(source="u")
    made = n // u
    assert str(made) == "s0 // u0"
    (only,) = env.runtime_asserts
    assert (only.text, only.message) == ("u != 0", "integer division or modulo by zero")
    n % u
    n / u
    assert texts(env) == ["2 <= n", "z == 0", "u != 0"]
    i = env.backed(3, source="i", size=False)
    n // i
    assert texts(env) == ["2 <= n", "z == 0", "i != 0", "u != 0"]


def test_negative_counts(env: ShapeEnv) -> None:
    n, i = env.backed(8, source="n"), env.backed(-2, source="i", size=False)
    for shift in (lambda: n << -1, lambda: n >> -1, lambda: n << i, lambda: 1 >> i):
        with pytest.raises(ValueError, match="negative"):
            shift()
    assert texts(env) == ["2 <= n", "i <= -1"]
    assert hint(n**i) == 8**-2
    assert texts(env) == ["2 <= n", "i <= -1"]
    assert hint(2**-n) == 2**-8
    u = env.unbacked(source="u")
    assert str(n << u) == "s0*2**u0"
    assert texts(env) == ["2 <= n", "i <= -1", "0 <= u"]
    assert env.runtime_asserts[0].message == "negative shift count"
    check(u <= n)
    n << (n - u)  # known not to be negative
    v = env.unbacked(source="v")
    2**v
    assert "0 <= v" in texts(env)
    assert pow(n, 2) == n * n
    for power in (lambda: pow(n, 2, 2.5), lambda: pow(5, n, 7), lambda: n ** "a", lambda: "a" ** n):
        with pytest.raises(TypeError):
            power()


# ---------------------------------------------------------------------- torch


def test_torch_functions(env: ShapeEnv) -> None:
    n, u, x = env.backed(8), env.unbacked(), env.unbacked_float()
    assert str(torch.sym_max(u, 5)) == "max(5, u0)"
    assert str(torch.sym_max(5, u)) == "max(5, u0)"
    assert str(torch.sym_min(u, n)) == "min(s0, u0)"
    assert str(torch.sym_not(u == 3)) == "u0 != 3"
    assert type(torch.sym_ite(u == 3, n, u)) is SymInt
    assert str(torch.sym_float(u)) == "float(u0)"
    assert torch.sym_float(x) is x
    assert torch.sym_int(u) is u
    assert str(torch.sym_int(x)) == "trunc(f0)"
    assert str(torch._sym_sqrt(u)) == "sqrt(float(u0))"
    assert str(torch._sym_sqrt(x)) == "sqrt(f0)"
    assert str(torch.sym_sum([u, n, 3])) == "s0 + u0 + 3"
    assert torch.sym_max(3, 4) == 4
    assert str(torch.sym_ite(u == 3, n, n + 1)) == str(sym_ite(u == 3, n, n + 1))
    needed = ["f0 == f0", "abs(f0) < inf", "0 <= u0", "not (f0 < 0.0)"]
    assert texts(env) == ["2 <= s0", *needed]  # what `int` and `sqrt` need


def test_torch_checks_mean_ours(env: ShapeEnv) -> None:
    from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true

    u, n = env.unbacked(source="u"), env.backed(8, source="n")
    torch._check(u >= 4)
    torch._check(u <= 9, lambda: "too many")
    assert env.prove(u >= 3).name == "YES"
    assert texts(env) == ["2 <= n", "4 <= u", "u <= 9"]
    assert guard_or_false(u == 5) is False
    assert guard_or_true(u == 5) is True
    assert guard_or_false(n > 5) is True
    assert texts(env) == ["6 <= n", "4 <= u", "u <= 9"]
    condition = u == 6
    assert condition.node.is_bool()
    assert not condition.node.is_int()
    assert not condition.node.is_float()
    with pytest.raises(DataDependentError):
        condition.node.guard_bool("file.py", 3)
    assert condition.node.guard_or_false("file.py", 3) is False
    assert condition.node.guard_or_true("file.py", 3) is True
    shape_env = condition.node.shape_env
    with pytest.raises(DataDependentError):
        shape_env.evaluate_sym_node(condition.node)
    assert shape_env.evaluate_sym_node(condition.node, False, fallback_value=True) is True


def test_ops_on_real_tensors_are_refused(env: ShapeEnv) -> None:
    n, x = env.backed(8), env.unbacked_float()
    for call in (
        lambda: torch.zeros(3) + n,
        lambda: torch.full((2,), x),
        lambda: torch.add(torch.zeros(3), 1, alpha=n),
    ):
        with pytest.raises((UnsupportedError, TypeError, RuntimeError)):
            call()


def test_what_is_inherited_and_not_ours_says_so(env: ShapeEnv) -> None:
    n, x, b = env.unbacked(), env.unbacked_float(), env.unbacked() > 1
    for call in (
        n.__sym_sin__,
        lambda: n.__int_floordiv__(3),
        n._sympy_,
        x.__sym_log2__,
        lambda: x << 2,
        b._sympy_,
    ):
        with pytest.raises(UnsupportedError, match="of anyshape has no"):
            call()


def test_the_node_gives_a_value_where_nothing_else_will_do(env: ShapeEnv) -> None:
    n, x = env.backed(5), env.backed_float(2.5)
    assert n.node.int_() == 5
    assert n.node.guard_int("file.py", 3) == 5
    assert x.node.guard_float("file.py", 3) == 2.5
    assert n.node.is_symbolic()
    assert str(n.node) == "s0"
    assert [g.text for g in env.guards][-1] == "f0 == 2.5"


@pytest.mark.parametrize("kind", [SymInt, SymFloat, SymBool])
def test_nothing_is_left_to_torchs_own_code(kind: type) -> None:
    kept = {"__dict__", "__weakref__", *vars(object)}
    assert vars(kind.__bases__[0]).keys() - kept <= vars(kind).keys()


class OwnFloat(float):
    """A float that is not exactly one."""


class Color(enum.IntEnum):
    """An integer that is not exactly one."""

    RED = 3


def test_subclasses_of_numbers(env: ShapeEnv) -> None:
    u, x, c = env.unbacked(), env.unbacked_float(), OwnFloat(2.0)
    assert [str(made) for made in (u + c, c + u, u == c, u < c, c >= u, u / c, u**c)] == [
        *("float(u0) + 2.0", "2.0 + float(u0)", "u0 == 2", "u0 <= 1", "u0 <= 2"),
        *("float(u0) / 2.0", "pow(float(u0), 2.0)"),
    ]
    assert [str(made) for made in (x + c, c * x, x == c, x < c, x / c)] == [
        *("f0 + 2.0", "2.0*f0", "f0 == 2.0", "f0 < 2.0", "f0 / 2.0"),
    ]
    assert str(u + Color.RED) == "u0 + 3"
    assert str(Color.RED * u) == "3*u0"
    assert str(u == Color.RED) == "u0 == 3"
    assert str(x + Color.RED) == "f0 + 3.0"


def test_numpy_integers(env: ShapeEnv) -> None:
    import numpy as np

    from anyshape.symbolic.numpy_scalar import NumpyInt

    u = env.unbacked()
    for made in (u + np.int64(3), np.int64(3) + u):
        assert type(made) is NumpyInt
        assert str(made) == "u0 + 3"
    assert str(u < np.int64(3)) == "u0 <= 2"
    assert str(np.int64(3) < u) == "4 <= u0"


# ---------------------------------------------------------------------- functions


def test_operands_one_by_one_or_as_a_list(env: ShapeEnv) -> None:
    u, v = env.unbacked(), env.unbacked()
    for call in (sym_max, sym_min, sym_sum):
        assert str(call(u, v, 3)) == str(call([u, v, 3])) == str(call((u, v, 3)))
    for call in (sym_and, sym_or):
        assert str(call(u > 1, v > 1)) == str(call([u > 1, v > 1]))
    assert (sym_max(3, 4), sym_min([3, 4]), sym_sum(), sym_sum(3, 4.5)) == (4, 3, 0, 7.5)
    assert (sym_and(), sym_or(), sym_and(True, False), sym_or([True, False])) == (
        True,
        False,
        False,
        True,
    )
    assert (sym_not(True), sym_not(False)) == (False, True)
    assert str(sym_sum(u, True)) == "u0 + 1"
    assert str(sym_max(u, True)) == "max(1, u0)"
    assert str(sym_and(u > 1, True)) == "2 <= u0"
    assert sys.getrefcount(u) > 0


def test_hints(env: ShapeEnv) -> None:
    n, u, w = env.backed(8), env.unbacked(), env.unbacked(hint=5)
    assert hint(n * 2 + 1) == 17
    assert hint(u) is None
    assert hint(u, 64) == 64
    assert hint(w * 2) == 10
    assert hint(w + n) == 13
    assert hint(w + u, 3) == 3
    assert hint(n > 5) is True
    assert hint(w > 3, "unknown") == "unknown"
    assert hint(n / 2) == 4.0
    assert texts(env) == ["2 <= s0"]


def test_a_planted_leak_of_a_value_is_caught(
    env: ShapeEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: an absolute value that looks at the number asks for it."""
    monkeypatch.setattr(SymInt, "__abs__", lambda n: n if n >= 0 else -n)
    with pytest.raises(DataDependentError):
        test_what_does_not_ask_for_the_value(env)
