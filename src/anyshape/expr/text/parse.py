"""Text to expressions: the inverse of `anyshape.expr.text.show`, safe for text from anywhere.

The grammar is Python's for integers, floats, comparisons, `and`/`or`/`not`, and calls of the
functions in `call_meaning.py`. Operators wait on a stack until one that binds less tightly comes,
so nothing recurses. Limits bound the work: length, nesting, digits, exponents, and the number of
terms that operations go through. Anything else is a `ParseError` that shows the place;
nothing is ever evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from anyshape.errors import ParseError, UnsupportedError
from anyshape.expr import boolean
from anyshape.expr.boolean import Bool
from anyshape.expr.constructor import division, product
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.name import RESERVED
from anyshape.expr.node import Expr
from anyshape.expr.real import Real, make_real, real_const
from anyshape.expr.rebuild import construct
from anyshape.expr.table.op import COMPARE, OPS
from anyshape.expr.table.op_real import NEG
from anyshape.expr.terms import terms
from anyshape.expr.text.bounded_text import MAX_TEXT
from anyshape.expr.text.call_meaning import call, integer, integer_or_real, named, number, truth
from anyshape.expr.text.token import END, NAME, NUMBER, QUOTED, SIGN, Reader, Token

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.expr.node import Operand
    from anyshape.expr.pool import Pool
    from anyshape.expr.table.row import Op

MAX_NESTING: Final = 1000
MAX_DIGITS: Final = 100
MAX_WORK: Final = 1 << 18

OPEN, OR, AND, NOT, COMPARISON, SUM, TERM, NEGATIVE, POWER = range(9)
INFIX: Final = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(COMPARE, COMPARISON),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), TERM),
    "**": POWER,
}


def parse(pool: Pool, text: str) -> Operand:
    """The expression, condition or real that `text` denotes over the symbols of the pool."""
    if not isinstance(text, str):
        raise ParseError(f"an expression must be text, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise ParseError(f"an expression of {len(text)} characters", why=f"over {MAX_TEXT}")
    parser = _Parser(pool, text)
    try:
        result = parser.run()
    except ParseError:
        raise
    except (UnsupportedError, ArithmeticError, ValueError) as error:
        parser.fail(str(error).partition("\n")[0])
    if not isinstance(result, Expr | Bool | Real):
        parser.fail("a quoted name stands alone")
    return result


class _Waiting(NamedTuple):
    """An operator whose right side is not complete, or an opened parenthesis or call.

    `base` is the number of values before the operands of a parenthesis or call.
    """

    level: int
    token: Token
    base: int = 0


class _Parser:
    """Operator precedence with two stacks: values, and operators that wait for their right side.

    `work` is the number of terms that operations may still go through.
    """

    def __init__(self, pool: Pool, text: str) -> None:
        self.pool = pool
        self.reader = Reader(text)
        self.values: list[Any] = []
        self.waiting: list[_Waiting] = []
        self.nesting = 0
        self.work = MAX_WORK + len(text)

    def fail(self, why: str, token: Token | None = None) -> NoReturn:
        start = (token or self.reader.token).start
        near = self.reader.text[max(0, start - 20) : start + 20]
        raise ParseError(f"not an expression at character {start}: {near!r}", why=why)

    def run(self) -> Any:
        reader = self.reader
        while True:
            self.operand()
            while reader.token.text == ")" and reader.token.kind == SIGN:
                self.close(reader.advance())
            token = reader.advance()
            if token.kind == END:
                break
            if token.text == "," and token.kind == SIGN:
                self.comma(token)
            elif token.text in INFIX and token.kind in (SIGN, NAME):
                self.infix(token)
            else:
                self.fail("expected an operator or the end", token)
        self.apply_waiting(OR)
        if self.waiting:
            self.fail("a parenthesis is not closed", self.waiting[-1].token)
        return self.values.pop()

    # ------------------------------------------------------------------ before an operand

    def operand(self) -> None:
        """Read prefix operators and opened parentheses, up to and with one simple operand."""
        reader = self.reader
        while True:
            token = reader.advance()
            kind, text, _ = token
            if kind == NAME and reader.token.text == "(" and text not in RESERVED:
                reader.advance()
                self.prefix(token, OPEN)
            elif kind == NAME and text == "not":
                self.prefix(token, NOT)
            elif kind == SIGN and text in "(-":
                self.prefix(token, OPEN if text == "(" else NEGATIVE)
            else:
                break
        if kind == NUMBER:
            self.values.append(self.number(token))
        elif kind == QUOTED:
            self.values.append(text)
        else:
            value = named(self.pool, text) if kind == NAME else None
            if value is None and kind == NAME and text not in RESERVED:
                self.fail(f"unknown symbol {text!r}", token)
            if value is None:
                self.fail("expected a number, a name or a parenthesis", token)
            self.values.append(value)

    def prefix(self, token: Token, level: int) -> None:
        if level != OPEN and self.waiting and self.waiting[-1].level > level:
            self.fail(f"{token.text!r} needs parentheses here", token)
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(f"nested over {MAX_NESTING} levels", token)
        self.waiting.append(_Waiting(level, token, len(self.values)))

    def number(self, token: Token) -> Expr | Real:
        if len(token.text) > MAX_DIGITS:
            self.fail(f"a number of over {MAX_DIGITS} digits", token)
        if token.text.isdecimal():
            return self.pool.const(int(token.text))
        return real_const(self.pool, float(token.text))

    # ------------------------------------------------------------------ after an operand

    def infix(self, token: Token) -> None:
        level = INFIX[token.text]
        if level == POWER and self.waiting and self.waiting[-1].level == POWER:
            self.fail("a power of a power needs parentheses", token)
        # All operands of `a and b and ...` are joined at once, so equal ones wait.
        self.apply_waiting(level + 1 if level in (OR, AND) else level)
        self.waiting.append(_Waiting(level, token))

    def comma(self, token: Token) -> None:
        self.apply_waiting(OR)
        if not self.waiting or self.waiting[-1].token.kind != NAME:
            self.fail("a comma outside of a call", token)

    def close(self, token: Token) -> None:
        self.apply_waiting(OR)
        if not self.waiting:
            self.fail("a parenthesis that was not opened", token)
        opened = self.waiting.pop()
        self.nesting -= 1
        if opened.token.kind == NAME:
            args = self.values[opened.base :]
            del self.values[opened.base :]
            self.charge(*args)
            self.values.append(call(opened.token.text, args))

    # ------------------------------------------------------------------ operators

    def apply_waiting(self, level: int) -> None:
        """Apply the operators on top that bind at least as tightly as `level`."""
        while self.waiting and self.waiting[-1].level >= level:
            top = self.waiting[-1].level
            if top in (OR, AND):
                self.junction(top)
                continue
            token = self.waiting.pop().token
            right = self.values.pop()
            if top in (NOT, NEGATIVE):
                self.nesting -= 1
                self.values.append(boolean.negate(truth(right)) if top == NOT else _negative(right))
            else:
                left = self.values.pop()
                if top in (TERM, POWER):
                    self.charge(left, right)
                self.values.append(_BINARY[top](token.text, left, right))

    def junction(self, level: int) -> None:
        count = 1
        while self.waiting and self.waiting[-1].level == level:
            self.waiting.pop()
            count += 1
        parts = [truth(part) for part in self.values[-count:]]
        del self.values[-count:]
        self.charge(*parts)
        self.values.append((boolean.conj if level == AND else boolean.disj)(self.pool, parts))

    def charge(self, *operands: object) -> None:
        """Count the terms that an operation goes through."""
        for operand in operands:
            if isinstance(operand, Expr):
                self.work -= len(terms(operand))
            elif isinstance(operand, Bool):
                self.work -= len(operand.args)
        if self.work < 0:
            self.fail(f"operations on over {MAX_WORK} terms")


# ---------------------------------------------------------------------- meaning of the signs


def _negative(value: object) -> Expr | Real:
    return make_real(NEG, value) if isinstance(value, Real) else -integer(value)


def _comparison(sign: str, left: object, right: object) -> Bool:
    return compare(sign, integer_or_real(left), integer_or_real(right))


def _arithmetic(sign: str, left: object, right: object) -> Expr | Real:
    if isinstance(left, Real) or isinstance(right, Real):
        made: Real = construct(_infix(sign, "rr"), number(left), number(right))
        return made
    x, y = integer(left), integer(right)
    if sign in _LINEAR:
        return _LINEAR[sign](x, y)
    found: Expr | Real = construct(_infix(sign, "ii"), x, y)
    return found


def _infix(sign: str, takes: str) -> Op:
    """The op that a sign between operands of these kinds means."""
    for op in OPS.values():
        if op.infix == sign and op.takes == takes:
            return op
    raise ValueError(f"{sign} of a real")


_BINARY: Final[dict[int, Callable[[str, object, object], Operand]]] = {
    COMPARISON: _comparison,
    SUM: _arithmetic,
    TERM: _arithmetic,
    POWER: _arithmetic,
}
# The signs that are no op of their own.
_LINEAR: Final[dict[str, Callable[[Expr, Expr], Expr]]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": product.multiply,
    "%": division.modulo,
}
