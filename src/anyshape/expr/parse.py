"""Text to expressions: the inverse of `anyshape.expr.show`, safe for text from anywhere.

The grammar is Python's for integers, comparisons, `and`/`or`/`not`, and calls of the functions in
`FUNCTIONS`. Limits bound the work: length, nesting, digits, exponents. Anything else is a
`ParseError` that shows the place; nothing is ever evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from anyshape.errors import ParseError, UnsupportedError
from anyshape.expr import boolean, extremum, opaque, product, real
from anyshape.expr.atom import intern_atom
from anyshape.expr.boolean import Bool
from anyshape.expr.division import floordiv, modulo
from anyshape.expr.node import Expr, Pool
from anyshape.expr.op import OPS
from anyshape.expr.real import Real
from anyshape.expr.rebuild import CONSTRUCTORS

if TYPE_CHECKING:
    from anyshape.expr.node import Operand

MAX_LENGTH: Final = 1 << 22
MAX_NESTING: Final = 100
MAX_DIGITS: Final = 100

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<float>\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|(?P<int>\d+)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<text>\"\w*\")|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%()<>,]))"
)


class Token(NamedTuple):
    """A piece of the text: its kind, its characters, where it starts."""

    kind: str
    text: str
    start: int


def parse(pool: Pool, text: str) -> Operand:
    """The expression, condition or real that `text` denotes over the symbols of the pool."""
    if not isinstance(text, str):
        raise ParseError(f"an expression must be text, not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ParseError(f"an expression of {len(text)} characters", why=f"over {MAX_LENGTH}")
    parser = _Parser(pool, text)
    try:
        result = parser.disjunction()
        if parser.token.kind != "end":
            parser.fail("expected the end")
    except (UnsupportedError, ZeroDivisionError, OverflowError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        parser.fail(str(error).partition("\n")[0])
    if isinstance(result, str):
        parser.fail("a quoted name stands alone")
    return result


class _Parser:
    """Recursive descent over at most MAX_NESTING levels."""

    def __init__(self, pool: Pool, text: str) -> None:
        self.pool = pool
        self.text = text
        self.depth = 0
        self.position = 0
        self.token = Token("end", "", 0)
        self.advance()

    def fail(self, why: str) -> NoReturn:
        start = self.token.start
        near = self.text[max(0, start - 20) : start + 20]
        raise ParseError(f"not an expression at character {start}: ...{near}...", why=why)

    def advance(self) -> Token:
        """Step to the next token and return the one left behind."""
        last = self.token
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            start = len(self.text) - len(self.text[self.position :].lstrip())
            self.token = Token("end", "", start)
            if start < len(self.text):
                self.fail(f"unexpected {self.text[start]!r}")
        else:
            kind = str(match.lastgroup)
            self.token = Token(kind, match[kind], match.start(kind))
            self.position = match.end()
        return last

    def accept(self, *signs: str) -> str:
        """Step over one of the signs and return it, or return the empty text."""
        if self.token.text in signs and self.token.kind in ("sign", "name"):
            return self.advance().text
        return ""

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            self.fail(f"expected {sign!r}")

    # ------------------------------------------------------------------ conditions

    def disjunction(self) -> Any:
        parts = [self.conjunction()]
        while self.accept("or"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else boolean.disj(self.pool, map(self.truth, parts))

    def conjunction(self) -> Any:
        parts = [self.negation()]
        while self.accept("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else boolean.conj(self.pool, map(self.truth, parts))

    def negation(self) -> Any:
        if not self.accept("not"):
            return self.comparison()
        self.deeper()
        result = boolean.negate(self.truth(self.negation()))
        self.depth -= 1
        return result

    def comparison(self) -> Any:
        left = self.sum()
        sign = self.accept("==", "!=", "<", "<=", ">", ">=")
        if not sign:
            return left
        right = self.sum()
        if isinstance(left, Real) or isinstance(right, Real):
            return boolean.compare_reals(sign, self.number(left), self.number(right))
        return compare(sign, self.integer(left), self.integer(right))

    # ------------------------------------------------------------------ numbers

    def sum(self) -> Any:
        left = self.term()
        while sign := self.accept("+", "-"):
            right = self.term()
            if isinstance(left, Real) or isinstance(right, Real):
                op = "add" if sign == "+" else "sub"
                left = real.apply(op, self.number(left), self.number(right))
            elif sign == "+":
                left = self.integer(left) + self.integer(right)
            else:
                left = self.integer(left) - self.integer(right)
        return left

    def term(self) -> Any:
        left = self.unary()
        while sign := self.accept("*", "/", "//", "%"):
            right = self.unary()
            if isinstance(left, Real) or isinstance(right, Real):
                if sign not in "*/":
                    self.fail(f"{sign} of a real")
                op = "mul" if sign == "*" else "div"
                left = real.apply(op, self.number(left), self.number(right))
            else:
                left = _TERM[sign](self.integer(left), self.integer(right))
        return left

    def unary(self) -> Any:
        negative = False
        while self.accept("-"):
            negative = not negative
        value = self.powered()
        if not negative:
            return value
        return real.apply("neg", value) if isinstance(value, Real) else -self.integer(value)

    def powered(self) -> Any:
        base = self.primary()
        if not self.accept("**"):
            return base
        return product.power(self.integer(base), self.integer(self.primary()))

    def primary(self) -> Any:
        token = self.advance()
        if token.kind == "int":
            if len(token.text) > MAX_DIGITS:
                self.fail(f"an integer of over {MAX_DIGITS} digits")
            return self.pool.const(int(token.text))
        if token.kind == "float":
            return real.real_const(self.pool, float(token.text))
        if token.kind == "text":
            return token.text[1:-1]
        if token.kind == "name":
            return self.named(token)
        if token.text != "(":
            self.token = token
            self.fail("expected a number, a name or a parenthesis")
        self.deeper()
        inner = self.disjunction()
        self.depth -= 1
        self.expect(")")
        return inner

    def named(self, token: Token) -> Any:
        name = token.text
        if self.accept("("):
            self.deeper()
            args = [self.disjunction()]
            while self.accept(","):
                args.append(self.disjunction())
            self.depth -= 1
            self.expect(")")
            return self.called(token, args)
        if name in ("True", "False"):
            return boolean.constant(self.pool, name == "True")
        if name in ("inf", "nan"):
            return real.real_const(self.pool, math.inf if name == "inf" else math.nan)
        known = self.pool.by_name.get(name)
        if known is None:
            self.token = token
            self.fail(f"unknown symbol {name!r}")
        return known

    def called(self, token: Token, args: list[Any]) -> Any:
        name = token.text
        if name == "raw":
            return self.raw(args)
        row = FUNCTIONS.get(name)
        if row is None or not row.least <= len(args) <= row.most:
            self.token = token
            self.fail(
                f"{name!r} takes {row.least} to {row.most} operands"
                if row
                else f"unknown function {name!r}; known: {', '.join(sorted(FUNCTIONS))}"
            )
        kinds = {"i": self.integer, "r": self.number, "b": self.truth}
        letters = row.kinds + row.kinds[-1] * (len(args) - len(row.kinds))
        return row.build(*(kinds[k](a) for k, a in zip(letters, args, strict=False)))

    def raw(self, args: list[Any]) -> Expr:
        """`raw("op", operands..., exponents...)`: the atom itself, for what no spelling leads to."""
        op = OPS.get(args[0]) if isinstance(args[0], str) else None
        operands = args[1:]
        if op is None or op.name not in _RAW:
            self.fail("raw() of an op that has no raw form")
        if op.name == "maximum" and operands:
            return intern_atom(self.pool, op, tuple(map(self.integer, operands)), ()).node
        if op.name == "product" and operands and len(operands) % 2 == 0:
            half = len(operands) // 2
            atoms = tuple(map(self.integer, operands[:half]))
            data = tuple(self.integer(k).c for k in operands[half:])
            if all(a.width == 1 and not a.c for a in atoms) and all(k > 0 for k in data):
                return intern_atom(self.pool, op, atoms, data).node
        if op.name == "group" and len(operands) == 1:
            return intern_atom(self.pool, op, (self.integer(operands[0]),), ()).node
        self.fail(f"raw() of {op.name} with these operands")

    # ------------------------------------------------------------------ kinds

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(f"nested over {MAX_NESTING} levels")

    def integer(self, value: object) -> Expr:
        if not isinstance(value, Expr):
            self.fail("expected an integer")
        return value

    def truth(self, value: object) -> Bool:
        if not isinstance(value, Bool):
            self.fail("expected a condition")
        return value

    def number(self, value: object) -> Real:
        if isinstance(value, Expr):
            return real.apply("float", value)
        if not isinstance(value, Real):
            self.fail("expected a number")
        return value


def compare(sign: str, left: Expr, right: Expr) -> Bool:
    """The condition `left sign right`, `sign` one of == != < <= > >=."""
    if sign == "==":
        return boolean.eq0(left - right)
    if sign == "!=":
        return boolean.ne0(left - right)
    if sign in ("<", ">"):
        left, right = (left, right) if sign == "<" else (right, left)
        return boolean.ge0((right - left).shift(-1))
    return boolean.ge0(right - left if sign == "<=" else left - right)


_TERM: Final[dict[str, Callable[[Expr, Expr], Expr | Real]]] = {
    "*": product.multiply,
    "/": lambda x, y: real.apply("ratio", x, y),
    "//": floordiv,
    "%": modulo,
}

_RAW: Final = frozenset(("maximum", "product", "group"))


class _Function(NamedTuple):
    kinds: str
    least: int
    most: int
    build: Callable[..., Any]


_MANY: Final = 1 << 20

FUNCTIONS: Final[dict[str, _Function]] = {
    "max": _Function("i", 1, _MANY, lambda *a: extremum.maximum(a)),
    "min": _Function("i", 1, _MANY, lambda *a: extremum.minimum(a)),
    "ite": _Function("bii", 3, 3, opaque.choose),
    "float": _Function("r", 1, 1, lambda a: a),
    "sqrt": _Function("r", 1, 1, lambda a: real.apply("sqrt", a)),
    "abs": _Function("r", 1, 1, lambda a: real.apply("abs", a)),
    "pow": _Function("rr", 2, 2, lambda a, b: real.apply("pow", a, b)),
    **{
        name: _Function("r", 1, 1, CONSTRUCTORS[name])
        for name in ("floor", "ceil", "round", "trunc")
    },
    **{
        name: _Function("ii", 2, 2, CONSTRUCTORS[name])
        for name in ("floordiv", "power", "bit_and", "bit_or", "bit_xor")
    },
}
