"""What text means, and that hostile text is answered with one kind of error, quickly."""

import itertools
import random
import time

import pytest

from anyshape.errors import ParseError
from anyshape.expr import Bool, Expr, Pool, Real, evaluate, multiply, parse, show, symbol
from anyshape.expr.boolean import constant, eq0, ge0, ne0
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.real import apply, real_const, real_symbol
from anyshape.expr.text.bounded_text import MAX_TEXT
from anyshape.expr.text.call_meaning import FUNCTIONS
from anyshape.expr.text.parse import MAX_DIGITS, MAX_NESTING

SECONDS = 10.0


def made() -> Pool:
    pool = Pool()
    for name in "abcxyz":
        symbol(pool, name, hint=3)
    real_symbol(pool, "f", None)
    return pool


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2*3",
        "(1 + 2)*3",
        "2 - 3 - 4",
        "-2**2",
        "(-2)**2",
        "7 // 2*3",
        "7 % 4 // 2",
        "-7 // 2",
        "- -7",
        "2*-3",
        "2--3",
        "not 1 < 2",
        "not not 1 < 2",
        "1 < 2 and 2 < 1 or 3 == 3",
        "1 < 2 and (2 < 1 or 3 == 3)",
        "not 1 == 2 and not 2 == 1",
        "1 + 1 == 2",
        "1 - 2 <= -1",
        "7 / 2",
        "1.5*2 + 0.25",
        "1e3 - 1.",
        "2.5e-1 / 5",
        "max(1, 2, 3) - min(4, 5)",
        "abs(-3)",
        "abs(-3.5)",
        "pow(2, 10)",
        "pow(2.0, 0.5)",
        "round(2.5)",
        "round(7)",
        "float(3)",
        "True and not False",
    ],
)
def test_the_grammar_is_pythons(text: str) -> None:
    expected = eval(text)
    found = evaluate(parse(Pool(), text), {})
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("seed", range(12))
def test_random_texts_mean_what_python_says(seed: int) -> None:
    rng = random.Random(seed)
    pool = made()

    def number(depth: int) -> str:
        if depth == 0:
            return rng.choice(["x", "y", "2", "3", "7"])
        left, right = number(depth - 1), number(rng.randrange(depth))
        sign = rng.choice(["+", "-", "*", "//", "%", "**2+", "m", "(", "-"])
        if sign in ("//", "%"):
            return f"{left} {sign} {rng.choice(['2', '3', '-4'])}"
        if sign == "m":
            return f"max({left}, {right})"
        if sign == "(":
            return f"-({left} - {right})"
        if sign == "**2+":
            return f"({left})**2 + {right}"
        return f"{left} {sign} {right}"

    def truth(depth: int) -> str:
        if depth == 0:
            sign = rng.choice(["==", "!=", "<", "<=", ">", ">="])
            return f"{number(2)} {sign} {number(1)}"
        left, right = truth(depth - 1), truth(rng.randrange(depth))
        return rng.choice(
            [f"{left} and {right}", f"{left} or {right}", f"not {left}", f"({left}) or {right}"]
        )

    for text in [number(3) for _ in range(20)] + [truth(3) for _ in range(20)]:
        node = parse(pool, text)
        for x, y in itertools.product((-3, -1, 1, 2, 5), repeat=2):
            values = {"x": x, "y": y}
            assert evaluate(node, values) == eval(text, {}, values), text


def test_space_of_any_kind_is_between_tokens() -> None:
    pool = made()
    assert parse(pool, " \t\n a\n+\u00a02 ") is parse(pool, "a+2")


def test_kinds_of_results() -> None:
    pool = made()
    x, y = pool.by_name["x"], pool.by_name["y"]
    assert isinstance(x, Expr)
    assert isinstance(y, Expr)
    assert parse(pool, "x*y") is multiply(x, y)
    assert parse(pool, "x <= y") is ge0(y - x)
    assert parse(pool, "x == y") is eq0(x - y)
    assert parse(pool, "x != y") is ne0(x - y)
    assert parse(pool, "x / y") is apply("ratio", x, y)
    assert parse(pool, "inf") is real_const(pool, float("inf"))
    assert parse(pool, "True") is constant(pool, True)
    assert isinstance(parse(pool, "f"), Real)
    assert isinstance(parse(pool, "f < x"), Bool)
    assert parse(pool, "floor(x)") is x
    assert parse(pool, "pow(x, 2)") is multiply(x, x)
    assert parse(pool, "abs(x)") is parse(pool, "max(x, -x)")


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_compare_is_what_the_sign_says(sign: str) -> None:
    pool = made()
    x, y = pool.by_name["x"], pool.by_name["y"]
    assert isinstance(x, Expr)
    assert isinstance(y, Expr)
    assert compare(sign, x, y) is parse(pool, f"x {sign} y")


# ---------------------------------------------------------------------- errors

WRONG = {
    "empty": "",
    "blank": "   ",
    "a caret": "a^999999999",
    "a huge power": "a**999999999",
    "a huge power of a sum": "(a + b)**999999999",
    "a huge constant": "9**999999999",
    "a chain of powers": "a**a**a**a",
    "a negative power": "a**-1",
    "a negative power in parentheses": "a**(-1)",
    "a power of a real": "f**2",
    "a product that is too large": "*".join(["a"] * 70),
    "division by zero": "a // 0",
    "remainder by zero": "a % (3 - 3)",
    "nested too deep": "(" * 10**5 + "a" + ")" * 10**5,
    "opened too often": "(" * 10**5,
    "closed too often": ")" * 10**5,
    "calls nested too deep": "max(" * 10**5 + "a" + ")" * 10**5,
    "minus signs": "-" * 10**5 + "a",
    "nots": "not " * 10**5 + "a < b",
    "digits": "1" * 10**6,
    "digits of a float": "1." + "1" * 10**6,
    "digits of an exponent": "1e" + "1" * 10**6,
    "digits of an integer at the limit": "9" * MAX_DIGITS,
    "too long": " " * (MAX_TEXT + 1),
    "an unknown symbol": "q",
    "an unknown function": "q(a)",
    "code": "__import__('os').system('true')",
    "an attribute": "a.b",
    "an index": "a[0]",
    "a lambda": "lambda: a",
    "an unclosed quote": '"group',
    "an odd quote": "raw('group', a)",
    "a quoted name": '"group"',
    "a quoted name in a sum": '"group" + a',
    "a quoted name in max": 'max("group", a)',
    "a quoted name as a condition": 'ite("group", a, b)',
    "a null byte": "a\0",
    "a null byte inside": "a + \0b",
    "a surrogate": "\ud800",
    "an emoji": "a + 🙂",
    "foreign digits": "٣",
    "a superscript": "a²",
    "an unclosed parenthesis": "(a + b",
    "an unopened parenthesis": "a + b)",
    "an empty parenthesis": "()",
    "an empty call": "max()",
    "a trailing comma": "max(a, )",
    "a comma outside": "a, b",
    "a comma in a parenthesis": "(a, b)",
    "two operands": "a b",
    "two numbers": "1 2",
    "a call of a number": "2(a)",
    "a call of a parenthesis": "(a)(b)",
    "an operator at the end": "a +",
    "an operator at the start": "* a",
    "two operators": "a * / b",
    "an assignment": "a = b",
    "a not in a sum": "a + not b",
    "a not of a number": "not a",
    "an and of numbers": "a and b",
    "an or of numbers": "a or b < c",
    "a sum of conditions": "(a < b) + 1",
    "minus a condition": "-(a < b)",
    "a chained comparison": "a < b < c",
    "a comparison of conditions": "(a < b) == (b < c)",
    "a condition in max": "max(a, a < b)",
    "a number as a condition": "ite(a, a, b)",
    "a real in max": "max(a, f)",
    "a condition as a real": "sqrt(a < b)",
    "reserved names": "and",
    "a reserved name called": "inf(a)",
    "too few operands": "ite(a < b, a)",
    "too many operands": "sqrt(f, f)",
    "a rounded infinity": "floor(inf)",
    "a rounded nan": "round(nan)",
    "a rounded huge float": "floor(1e300)",
    "raw of nothing": "raw()",
    "raw of a name": 'raw("group")',
    "raw without a name": "raw(a, b)",
    "raw of an unknown op": 'raw("nonsense", a)',
    "raw of a symbol": 'raw("symbol", a)',
    "raw of a division": 'raw("floordiv", a, b)',
    "raw of a product": 'raw("product", a, b, 1, 1)',
    "raw of a group of one": 'raw("group", a)',
    "raw of a constant group": 'raw("group", 2)',
    "raw of a group with content": 'raw("group", 2*a + 2*b)',
    "raw of two groups": 'raw("group", a + b, b)',
    "raw of a condition": 'raw("group", a < b)',
    "raw of a constant maximum": 'raw("maximum", 3)',
    "raw of a maximum with content": 'raw("maximum", 2*a)',
    "raw of an unordered maximum": 'raw("maximum", a, a)',
    "raw of a real": 'raw("maximum", f)',
    "raw of a negative maximum": 'raw("maximum", -a)',
    "many remainders": "a" + "".join(f"%{i}" for i in range(2, 50_000)),
    "many factors": "*".join(f"(a+{i})" for i in range(50_000)),
    "nested conjunctions": "(" * 900 + "a<1" + "".join(f" and {i}<b)" for i in range(900)) + ")",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_text_is_a_parse_error_at_once(name: str) -> None:
    pool = made()
    start = time.process_time()
    with pytest.raises(ParseError) as caught:
        parse(pool, WRONG[name])
    assert time.process_time() - start < SECONDS
    assert len(str(caught.value)) < 500
    str(caught.value).encode()


@pytest.mark.parametrize("text", [None, 3, b"a", ["a"], object()])
def test_what_is_no_text_is_a_parse_error(text: object) -> None:
    with pytest.raises(ParseError, match="must be text"):
        parse(made(), text)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(10))
def test_random_tokens_are_an_expression_or_a_parse_error(seed: int) -> None:
    rng = random.Random(seed)
    tokens = ["a", "f", "1", "2.5", "(", ")", ",", "+", "-", "*", "/", "//", "%", "**", "<", "=="]
    tokens += ["and", "or", "not", "max(", "ite(", "raw(", '"group"', "inf", " ", "True", "floor("]
    pool = made()
    parsed = 0
    for _ in range(1500):
        text = " ".join(rng.choice(tokens) for _ in range(rng.randint(1, 9)))
        try:
            node = parse(pool, text)
        except ParseError:
            continue
        parsed += 1
        assert parse(pool, show(node)) is node
    assert parsed > 10


@pytest.mark.parametrize("seed", range(10))
def test_random_damage_is_an_expression_or_a_parse_error(seed: int) -> None:
    rng = random.Random(seed)
    pool = made()
    text = "max(a*b**2 // 3, ite(a <= b and not (f < 1.5), x % 4, -y)) + floor(f / 2.0)"
    for _ in range(300):
        at = rng.randrange(len(text))
        damaged = text[:at] + rng.choice(["", "(", ")", "*", '"', "\0", "9", "e"]) + text[at + 1 :]
        try:
            node = parse(pool, damaged)
        except ParseError:
            continue
        assert parse(pool, show(node)) is node


def test_messages_show_the_place() -> None:
    pool = made()
    with pytest.raises(ParseError, match="at character 8") as caught:
        parse(pool, "a + b * $")
    assert "'a + b * $'" in str(caught.value)
    with pytest.raises(ParseError, match="unknown symbol 'q'"):
        parse(pool, "a + q")
    with pytest.raises(ParseError, match="unknown function 'q'") as caught:
        parse(pool, "q(a)")
    assert all(name in str(caught.value) for name in FUNCTIONS)
    with pytest.raises(ParseError, match="takes 3 to 3 operands"):
        parse(pool, "ite(a)")


def test_nesting_up_to_the_limit() -> None:
    pool = made()
    a = pool.by_name["a"]
    assert parse(pool, "(" * MAX_NESTING + "a" + ")" * MAX_NESTING) is a
    assert parse(pool, "-" * MAX_NESTING + "a") is a
    assert parse(pool, "max(" * MAX_NESTING + "a" + ")" * MAX_NESTING) is a
    with pytest.raises(ParseError, match="nested"):
        parse(pool, "(" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1))


def test_long_runs_take_linear_time() -> None:
    pool = made()
    start = time.process_time()
    assert parse(pool, "a + " * 20_000 + "b") is parse(pool, "20000*a + b")
    assert parse(pool, " and ".join(["a < b"] * 5_000)) is parse(pool, "a < b")
    many = parse(pool, " or ".join(f"a == {i}" for i in range(3000)))
    assert isinstance(many, Bool)
    assert len(many.args) == 3000
    assert parse(pool, f"max({', '.join(f'a + {i}' for i in range(3000))})") is parse(
        pool, "a+2999"
    )
    assert time.process_time() - start < SECONDS


def test_raw_makes_the_atom_that_no_spelling_leads_to() -> None:
    """A maximum that would be flattened if it were built; accepted because it is a normal form."""
    pool = made()
    nested = parse(pool, 'raw("maximum", max(0, a) + b)')
    assert isinstance(nested, Expr)
    assert nested is not parse(pool, "max(0, max(0, a) + b)")
    assert parse(pool, show(nested)) is nested
    for a, b in itertools.product((-2, 0, 3), repeat=2):
        assert evaluate(nested, {"a": a, "b": b}) == max(0, max(0, a) + b)
