"""Every identity that the engine rewrites with, proved by z3 for all integers.

A row is one statement of a docstring: its first words there, the condition, both sides as Python
text. z3 proves `when -> lhs == rhs` and finds an example of `when`; the same text is evaluated on
Python's integers, which checks the oracle too. A docstring line without a row is an error.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
import z3

from anyshape.env.ladder import elimination, reduce
from anyshape.expr.constructor import division, extremum
from tests.soundness.oracle import Oracle


class Rule(NamedTuple):
    """One identity; `line` is how it starts in the docstring of its module, empty if elsewhere."""

    line: str
    when: str
    lhs: str
    rhs: str


DIVISION = [
    Rule("(x + k*d) // d", "d != 0", "(x + k*d) // d", "k + x // d"),
    Rule("(g*x) // (g*y)", "(g != 0) & (y != 0)", "(g*x) // (g*y)", "x // y"),
    Rule("(x // a + c) // b", "(a > 0) & (b > 0)", "(x // a + c) // b", "(x + a*c) // (a*b)"),
    Rule("x // d", "d > 0", "x // d", "-((d - 1 - x) // d)"),
    Rule("", "y != 0", "x % y", "x - y * (x // y)"),
    Rule("", "d > 0", "x // -d", "-x // d"),
    Rule("", "x != 0", "x // x", "1"),
    Rule("", "y != 0", "0 // y", "0"),
    Rule("", "(g > 0) & (d > 0)", "(g*x + r) // (g*d)", "(x + r // g) // d"),
    Rule("", "d > 0", "(k*x + c) // d", "x - ((d - k)*x + d - 1 - c) // d"),
]
EXTREMUM = [
    Rule("max(p, a, b)", "True", "max(p, a, b)", "p + max(0, a - p, b - p)"),
    Rule("max(p, a, b)", "True", "min(a, b)", "-max(-a, -b)"),
    Rule("max(p, a, b)", "True", "abs(a)", "max(a, -a)"),
    Rule("", "g > 0", "max(0, g*a, g*b)", "g * max(0, a, b)"),
    Rule("", "True", "max(p + max(0, a, b), c)", "max(p, p + a, p + b, c)"),
]
CHOICE = [
    Rule("", "True", "ite(c >= 0, x, y)", "y + ite(c >= 0, x - y, 0)"),
    Rule("", "True", "ite(c < 0, x, 0)", "x - ite(c >= 0, x, 0)"),
    Rule("", "True", "ite(c >= 0, g*x, 0)", "g * ite(c >= 0, x, 0)"),
]
PRODUCT = [
    Rule("", "True", "(a + b) * (c + d)", "a*c + a*d + b*c + b*d"),
    Rule("", "True", "(g*a) * (h*b)", "g*h * (a*b)"),
    Rule("", "True", "x ** 5", "(x ** 2) ** 2 * x"),
]
BOOLEAN = [
    Rule("", "x < 0", "-x - 1 >= 0", "True"),
    Rule("", "-x - 1 >= 0", "x < 0", "True"),
]
REDUCE = [
    Rule("an atom with a one-point range", "(a <= x) & (x <= b) & (a == b)", "x", "a"),
    Rule("max(0, a, b)", "a <= b", "max(0, a, b)", "max(0, b)"),
    Rule("max(0, a, b)", "a <= 0", "max(0, a, b)", "max(0, b)"),
    Rule(
        "m*(x // d) with d | m, x % d == r known",
        "(d > 0) & (x % d == r)",
        "n*d * (x // d)",
        "n * (x - r)",
    ),
    Rule("(k*y + x) // y with y != 0 known", "y != 0", "(k*y + x) // y", "k + x // y"),
    Rule("(x // a) // y with y >= 1 known", "(a != 0) & (y >= 1)", "(x // a) // y", "x // (a*y)"),
    Rule("x // y with 0 <= x < y known", "(0 <= x) & (x < y)", "x // y", "0"),
    Rule("ite(c, a, 0) with c decided", "c >= 0", "ite(c >= 0, a, 0)", "a"),
    Rule("ite(c, a, 0) with c decided", "c < 0", "ite(c >= 0, a, 0)", "0"),
]
ELIMINATION = [
    Rule("d*(x // d) lies in", "d > 0", "d*(x // d) <= x", "True"),
    Rule("d*(x // d) lies in", "d > 0", "d*(x // d) >= x - d + 1", "True"),
    Rule("d*(x // d) lies in", "(d > 0) & (x % d == r)", "d*(x // d)", "x - r"),
    Rule("max(0, e...)", "True", "(max(0, a, b) >= 0) & (max(0, a, b) >= a)", "True"),
    Rule("max(0, e...)", "(a >= 0) & (a >= b)", "max(0, a, b)", "a"),
    Rule("max(0, e...)", "(0 >= a) & (0 >= b)", "max(0, a, b)", "0"),
    Rule("a product lies", "(x >= a) & (y >= b)", "x*y >= a*y + b*x - a*b", "True"),
    Rule("a product lies", "(x <= a) & (y <= b)", "x*y >= a*y + b*x - a*b", "True"),
    Rule("a product lies", "(x >= a) & (y <= b)", "x*y <= a*y + b*x - a*b", "True"),
    Rule("a product lies", "(x <= a) & (y >= b)", "x*y <= a*y + b*x - a*b", "True"),
    Rule("x // y lies in", "(x >= 0) & (1 <= d) & (d <= y)", "d*(x // y) <= x", "True"),
    Rule("x // y lies in", "(x >= 0) & (1 <= y) & (y <= d)", "d*(x // y) >= x - d + 1", "True"),
    Rule("ite(c, a, 0) is a", "c >= 0", "ite(c >= 0, a, 0)", "a"),
    Rule("ite(c, a, 0) is a", "c < 0", "ite(c >= 0, a, 0)", "0"),
    Rule("y*(x // y) lies in", "y > 0", "(x - y + 1 <= y*(x // y)) & (y*(x // y) <= x)", "True"),
    Rule("y*(x // y) lies in", "y < 0", "(x <= y*(x // y)) & (y*(x // y) <= x - y - 1)", "True"),
    Rule("x / y, rounded to an integer,", "(x >= 0) & (y >= 2)", "-(-x // y) <= x", "True"),
]
RESIDUE = [
    Rule("", "(d > 0) & (m != 0) & (m*x - m*d*(x // d) - m*r == 0)", "x % d", "r"),
    Rule("", "(d > 0) & (x == r + d*n*t)", "x // d", "r // d + n*t"),
]
SIGNS = [  # of a relation with a common factor, and by completing a square
    Rule("", "(f >= 1) & (f*g >= 0)", "g >= 0", "True"),
    Rule("", "(f >= 1) & (g >= 0)", "f*g >= 0", "True"),
    Rule("", "(f >= 1) & (f*g - 1 >= 0)", "g - 1 >= 0", "True"),
    Rule("", "(f >= 1) & (g - 1 >= 0)", "f*g - 1 >= 0", "True"),
    Rule("", "(f != 0) & (f*g == 0)", "g", "0"),
    Rule("", "a > 0", "4*a*(a*x*x + b*x + g) >= 4*a*g - b*b", "True"),
]
RULES = [*DIVISION, *EXTREMUM, *CHOICE, *PRODUCT, *BOOLEAN, *REDUCE, *ELIMINATION, *SIGNS, *RESIDUE]
WRONG = [
    Rule("a factor that may be 0", "g*x == g*y", "x", "y"),
    Rule("a factor that may be negative", "(d != 0) & (g*x >= g*y)", "x // d >= y // d", "True"),
    Rule("a negative outer divisor", "True", "(x // 4) // (-3)", "x // (-12)"),
    Rule("truncation", "True", "x // 3", "-(-x // 3)"),
    Rule("a remainder of either sign", "y != 0", "0 <= x % y", "True"),
]


def variables(rule: Rule) -> list[str]:
    text = f"{rule.when} {rule.lhs} {rule.rhs}"
    for word in ("max", "min", "abs", "ite", "True"):
        text = text.replace(word, "")
    return sorted({letter for letter in text if letter.isalpha()})


def claim(rule: Rule) -> str:
    return f"({rule.lhs}) == ({rule.rhs})" if rule.rhs != "True" else rule.lhs


def name(rule: Rule) -> str:
    return f"{rule.lhs} = {rule.rhs}, {rule.when}"


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_a_rule_holds_for_all_integers(rule: Rule) -> None:
    oracle = Oracle(variables(rule))
    assert oracle.counterexample([rule.when], claim(rule)) is None
    assert Oracle(variables(rule)).example([rule.when]) is not None


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_a_rule_holds_for_python(rule: Rule) -> None:
    names = variables(rule)
    oracle = Oracle(names)
    rng = random.Random(0)
    seen = 0
    for _ in range(3000):
        values = {n: rng.randint(-5, 5) for n in names}
        try:
            if oracle.holds(rule.when, values):
                assert oracle.holds(claim(rule), values), values
                seen += 1
        except ZeroDivisionError:
            continue
    assert seen > 10


@pytest.mark.parametrize("rule", WRONG, ids=lambda rule: rule.line)
def test_a_wrong_rule_is_refuted(rule: Rule) -> None:
    assert Oracle(variables(rule)).counterexample([rule.when], claim(rule)) is not None


@pytest.mark.parametrize(
    ("module", "rules"),
    [(division, DIVISION), (extremum, EXTREMUM), (reduce, REDUCE), (elimination, ELIMINATION)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_each_rule_of_a_docstring_has_a_row(module: Any, rules: list[Rule]) -> None:
    lines = module.__doc__.splitlines()
    stated = [line.strip() for line in lines if "  " in line]
    rows = [rule.line for rule in rules if rule.line] + ["floor(x / y) with |x| < 2**53"]
    assert stated
    assert not [line for line in stated if not any(line.startswith(row) for row in rows)]
    assert not [row for row in rows[:-1] if not any(line.startswith(row) for line in stated)]


BITS = [
    ("x & 0 = 0", lambda x, n: (x & 0, 0)),
    ("x & -1 = x", lambda x, n: (x & -1, x)),
    ("x & x = x", lambda x, n: (x & x, x)),
    ("x | 0 = x", lambda x, n: (x | 0, x)),
    ("x | -1 = -1", lambda x, n: (x | -1, -1)),
    ("x | x = x", lambda x, n: (x | x, x)),
    ("x ^ 0 = x", lambda x, n: (x ^ 0, x)),
    ("x ^ -1 = -x - 1", lambda x, n: (x ^ -1, -x - 1)),
    ("x ^ x = 0", lambda x, n: (x ^ x, 0)),
    ("x << n = x * 2**n", lambda x, n: (x << n, x * (1 << n))),
    ("x >> n = x // 2**n", lambda x, n: ((x >> n) * (1 << n) + (x & ((1 << n) - 1)), x)),
]


@pytest.mark.parametrize(("text", "sides"), BITS, ids=[text for text, _ in BITS])
def test_a_bitwise_rule_holds_for_all_words(text: str, sides: Any) -> None:
    """For 24 bits: the operations treat all bits alike, so the number of bits is of no matter."""
    context = z3.Context()
    x = z3.BitVec("x", 24, context)
    n = z3.BitVec("n", 24, context)
    left, right = sides(x, z3.If(z3.ULT(n, 24), n, 0))
    solver = z3.Solver(ctx=context)
    solver.add(left != right)
    assert solver.check() == z3.unsat
    for value, count in itertools.product(range(-40, 40), range(5)):
        python_left, python_right = sides(value, count)
        assert python_left == python_right


def rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest binary number with so many significant bits, ties to even."""
    if value == 0:
        return value
    exponent = 0
    while abs(value) * Fraction(2) ** exponent < 1 << (bits - 1):
        exponent += 1
    while abs(value) * Fraction(2) ** exponent >= 1 << bits:
        exponent -= 1
    return Fraction(round(value * Fraction(2) ** exponent)) / Fraction(2) ** exponent


@pytest.mark.parametrize("bits", [3, 4, 5])
def test_rounding_a_ratio_is_division_while_integers_are_exact(bits: int) -> None:
    """floor(x / y) = x // y for |x|, y < 2**bits, for all floats with so few bits."""
    for x in range(-(1 << bits) + 1, 1 << bits):
        for y in range(1, 1 << bits):
            ratio = rounded(Fraction(x, y), bits)
            assert ratio.__floor__() == x // y
            assert ratio.__ceil__() == -(-x // y)
            assert ratio.__trunc__() == (x // y if x >= 0 else -(-x // y))


@pytest.mark.parametrize("bits", [4, 5, 6])
def test_the_nearest_integer_to_a_ratio_while_ties_are_exact(bits: int) -> None:
    """round(x / y) as integer division for |x| < 2**(bits - 1), y < 2**bits."""
    for x in range(-(1 << (bits - 1)) + 1, 1 << (bits - 1)):
        for y in range(1, 1 << bits):
            h = y // 2
            expected = (2 * x + y) // (2 * y)
            if y % 2 == 0:
                expected -= (x - h) // (2 * y) - (x - h - 1) // (2 * y)
            assert round(rounded(Fraction(x, y), bits)) == expected


def test_rounding_a_ratio_needs_exact_integers() -> None:
    x, y = (1 << 53) + 1, 1
    assert rounded(Fraction(x, y), 53).__floor__() != x // y
    rng = random.Random(0)
    for _ in range(2000):  # doubles, next to where the quotient changes
        y = rng.randint(1, 1 << rng.randint(1, 52))
        x = min((1 << 53) - 1, y * rng.randint(1, (1 << 53) // y)) - rng.randint(0, 1)
        assert (x / y).__floor__() == x // y
