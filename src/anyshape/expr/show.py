"""Expressions as text that `anyshape.expr.parse` reads back to the same object.

Sums print their terms in order of creation, positive ones first. Three readable spellings are found
again in the normal form: `x % d`, `max(a, b)` and `min(a, b)`. Whether a spelling leads back to the
object is checked by building it; an atom for which none does prints as `raw("op", ...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.errors import UnsupportedError
from anyshape.expr import boolean, extremum
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import FLOORDIV, MAXIMUM, POWER, PRODUCT, SYMBOL
from anyshape.expr.real import CONST, FLOAT, RATIO, Real
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.rebuild import rebuild
from anyshape.expr.terms import from_terms, terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from anyshape.expr.node import Operand

MAX_TEXT: Final = 1 << 22
BRIEF_TEXT: Final = 300

SUM, TERM, MULTIPLE, UNARY, POWERED, ATOMIC = range(6)


class Text(NamedTuple):
    """A piece of text and how tightly its outermost operator binds."""

    text: str
    level: int

    def at(self, level: int) -> str:
        """The text, in parentheses where it binds less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"


Piece = tuple[int, Text]


def show(operand: Operand, name: Callable[[str], str] | None = None) -> str:
    """The exact text of an expression; `name` may rename the symbols."""
    return _Printer(name, MAX_TEXT, elide=False).top(operand)


def brief(operand: Operand) -> str:
    """The text, with parts left out as `...` when it is long."""
    return _Printer(None, BRIEF_TEXT, elide=True).top(operand)


class _Printer:
    """One pass over everything below an operand, smallest parts first."""

    def __init__(self, name: Callable[[str], str] | None, limit: int, *, elide: bool) -> None:
        self.name = name
        self.limit = limit
        self.elide = elide
        self.texts: dict[object, Text] = {}

    def top(self, operand: Operand) -> str:
        for node in nodes_below((operand,)):
            self.texts[node] = self.bounded(self.node(node))
        return self.bounded(self.operand(operand)).text

    def bounded(self, text: Text) -> Text:
        if len(text.text) <= self.limit:
            return text
        if self.elide:
            return Text(text.text[: self.limit] + "...", ATOMIC)
        raise UnsupportedError(
            "an expression too long to print",
            why=f"its text has more than {self.limit} characters",
            fix="use repr(), which shortens it",
        )

    def operand(self, operand: Operand) -> Text:
        return self.sum(operand) if type(operand) is Expr else self.texts[operand]

    def node(self, node: Atom | Bool | Real) -> Text:
        if type(node) is Atom:
            return self.atom(node)
        return self.condition(node) if type(node) is Bool else self.real(node)  # type: ignore[arg-type]

    def call(self, function: str, args: tuple[Operand, ...]) -> Text:
        return Text(f"{function}({', '.join(self.operand(a).text for a in args)})", ATOMIC)

    # ------------------------------------------------------------------ integers

    def atom(self, atom: Atom) -> Text:
        op = atom.op
        if op is SYMBOL:
            return Text(self.name(atom.name) if self.name else atom.name, ATOMIC)
        if rebuild(atom, atom.args) is not atom.node:
            data = "".join(f", {k}" for k in atom.data)
            args = "".join(f", {self.operand(a).text}" for a in atom.args)
            return Text(f'raw("{op.name}"{args}{data})', ATOMIC)
        if op is PRODUCT:
            pieces = zip(atom.args, atom.data, strict=True)
            return Text("*".join(self.factor(a, k) for a, k in pieces), MULTIPLE)
        if op is FLOORDIV:
            x, y = atom.args
            return Text(f"{self.operand(x).at(TERM)} // {self.operand(y).at(UNARY)}", TERM)
        if op is POWER:
            x, y = atom.args
            return Text(f"{self.operand(x).at(ATOMIC)}**{self.operand(y).at(ATOMIC)}", POWERED)
        if op is MAXIMUM:
            return self.call("max", (atom.pool.zero, *atom.args))
        if op.name == "choice":
            return self.call("ite", (*atom.args, atom.pool.zero))
        return self.call(op.name, atom.args)

    def factor(self, base: Operand, exponent: int) -> str:
        text = self.operand(base)
        return text.at(UNARY) if exponent == 1 else f"{text.at(ATOMIC)}**{exponent}"

    def sum(self, e: Expr) -> Text:
        text = self.texts.get(e)
        if text is None:
            self.texts[e] = text = self.bounded(self.fresh_sum(e))
        return text

    def fresh_sum(self, e: Expr) -> Text:
        return joined(*self.pieces(e))

    def pieces(self, e: Expr) -> tuple[list[Piece], int]:
        """`e` as a sum of coefficient times text, positive ones first, and the constant left."""
        pieces: list[Piece] = []
        rest, c = dict(terms(e)), e.c
        for atom in sorted(rest, key=lambda a: -a.index):
            found = _readable(atom, rest, c) if atom in rest else None
            if found is not None:
                k, function, args, rest, c = found
                pieces.append((k, self.spelling(function, args)))
        for atom in sorted(rest, key=lambda a: a.index):
            pieces.append((rest[atom], self.texts[atom]))
        pieces.sort(key=lambda piece: piece[0] < 0)
        return pieces, c

    def spelling(self, function: str, args: tuple[Expr, ...]) -> Text:
        if function == "%":
            return Text(f"{self.sum(args[0]).at(TERM)} % {self.sum(args[1]).at(UNARY)}", TERM)
        return self.call(function, args)

    # ------------------------------------------------------------------ conditions

    def condition(self, b: Bool) -> Text:
        op = b.op
        if op in (boolean.TRUE, boolean.FALSE):
            return Text(op.capitalize(), ATOMIC)
        if op == boolean.REAL:
            sign, left, right = b.args
            return Text(f"{self.texts[left].text} {sign} {self.texts[right].text}", SUM)
        if op == boolean.NOT:
            return Text(f"not ({self.texts[b.args[0]].text})", SUM)
        if op in (boolean.AND, boolean.OR):
            return Text(f" {op} ".join(self.junct(part) for part in b.args), SUM)
        return Text(self.relation(b), SUM)

    def junct(self, b: Bool) -> str:
        text = self.texts[b].text
        return f"({text})" if b.op in (boolean.AND, boolean.OR) else text

    def relation(self, b: Bool) -> str:
        """The relation with what is negative on the left, and with constants where they are few."""
        pieces, c = self.pieces(b.expr)
        left = [(-k, text) for k, text in pieces if k < 0]
        right = [(k, text) for k, text in pieces if k > 0]
        if b.op != boolean.GE:
            sign = "==" if b.op == boolean.EQ else "!="
            if not left:
                left, right, c = right, left, -c
            low, high = (0, c) if not right or c > 0 else (-c, 0)
            return f"{joined(left, low).text} {sign} {joined(right, high).text}"
        if not left or (right and c < -1):
            return f"{joined(left, -c).text} <= {joined(right, 0).text}"
        if right and c == -1:
            return f"{joined(left, 0).text} < {joined(right, 0).text}"
        return f"{joined(left, 0).text} <= {joined(right, c).text}"

    # ------------------------------------------------------------------ reals

    def real(self, r: Real) -> Text:
        if r.op == CONST:
            text = repr(r.args[0])
            return Text(text, SUM if text[0] == "-" else ATOMIC)
        if r.op == REAL_SYMBOL:
            return Text(self.name(r.args[0]) if self.name else r.args[0], ATOMIC)
        if r.op == FLOAT:
            return self.call("float", r.args)
        sign = {"add": " + ", "sub": " - ", "mul": "*", "div": " / ", RATIO: " / "}.get(r.op)
        if sign is not None:
            left, right = (self.operand(a).at(ATOMIC) for a in r.args)
            return Text(f"{left}{sign}{right}", SUM)
        if r.op == "neg":
            return Text(f"-{self.operand(r.args[0]).at(ATOMIC)}", SUM)
        return self.call(r.op, r.args)


def joined(pieces: list[Piece], c: int) -> Text:
    """The text of a sum of pieces and a constant."""
    text, level = "", SUM
    for k, piece in pieces:
        if abs(k) != 1:
            term = f"{abs(k)}*{piece.at(MULTIPLE)}"
        else:
            term = piece.at(TERM if text or k > 0 else MULTIPLE)
        text += (" - " if k < 0 else " + ") + term if text else ("-" if k < 0 else "") + term
    if c or not text:
        text += (" - " if c < 0 else " + ") + str(abs(c)) if text else str(c)
    if len(pieces) == 1 and not c:
        k, piece = pieces[0]
        level = piece.level if k == 1 else MULTIPLE if k > 0 else SUM
    elif not pieces:
        level = ATOMIC if c >= 0 else SUM
    return Text(text, level)


def sides(e: Expr) -> tuple[Expr, Expr]:
    """Split `0 <= e` or `0 == e` into what is on each side: the negative and the positive part."""
    pool = e.pool
    negative = {a: -k for a, k in terms(e).items() if k < 0}
    positive = {a: k for a, k in terms(e).items() if k > 0}
    return (
        from_terms(pool, negative, -e.c if e.c < 0 else 0),
        from_terms(pool, positive, e.c if e.c > 0 else 0),
    )


_Found = tuple[int, str, tuple[Expr, ...], dict[Atom, int], int]


def _readable(atom: Atom, rest: dict[Atom, int], c: int) -> _Found | None:
    """A piece `k * spelling` that uses up `atom`, and what is left of the sum without it."""
    k = rest[atom]
    pool = atom.pool
    if atom.op is FLOORDIV:
        x, y = atom.args
        assert type(x) is Expr
        assert type(y) is Expr
        if not y.is_const or k % y.c:
            return None
        k = -k // y.c
        return _without(k, "%", (x, y), x - atom.node.scale(y.c), rest, c)
    if atom.op is MAXIMUM:
        first: Expr = atom.args[0]  # type: ignore[assignment]
        shift = sides(first if k > 0 else -first)[0]
        if k < 0:
            args = (shift, *(shift - e for e in atom.args))  # type: ignore[operator]
            return _without(-k, "min", args, extremum.minimum(args), rest, c)
        args = (shift, *(shift + e for e in atom.args))  # type: ignore[operator]
        return _without(k, "max", args, extremum.maximum(args), rest, c)
    return None


def _without(
    k: int, function: str, args: tuple[Expr, ...], e: Expr, rest: dict[Atom, int], c: int
) -> _Found | None:
    """The piece `k * e`, when every term of it is in the sum with just that coefficient."""
    of_e = terms(e)
    if any(rest.get(a) != k * v for a, v in of_e.items()):
        return None
    if e.c and abs(c - k * e.c) > abs(c):
        return None
    left = {a: v for a, v in rest.items() if a not in of_e}
    return k, function, args, left, c - k * e.c
