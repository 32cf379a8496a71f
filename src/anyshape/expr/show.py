"""Expressions as text that `anyshape.expr.parse` reads back to the same object.

A sum prints what is added before what is subtracted, and its constant last. Three readable
spellings are found again in the normal form: `x % d`, `max(a, b)` and `min(a, b)`. Whether a
spelling leads back to the object is checked by building it; an atom for which none does (a `group`,
some nested maxima) prints as `raw("op", ...)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from anyshape.errors import UnsupportedError
from anyshape.expr import boolean, extremum
from anyshape.expr.boolean import Bool
from anyshape.expr.layout import MAX_TEXT, Layout, Part, write
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import CHOICE, FLOORDIV, MAXIMUM, POWER, PRODUCT, SYMBOL
from anyshape.expr.real import CONST, RATIO, Real
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.rebuild import rebuild
from anyshape.expr.terms import from_terms, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.expr.layout import Piece

    Addend: TypeAlias = "tuple[int, Atom | Layout]"
    from anyshape.expr.node import Operand

BRIEF_TEXT: Final = 300

SUM, TERM, MULTIPLE, UNARY, POWERED, ATOMIC = range(6)

_RELATIONS: Final = (boolean.GE, boolean.EQ, boolean.NE)
_REAL_SIGNS: Final = {"add": " + ", "sub": " - ", "mul": "*", "div": " / ", RATIO: " / "}


def show(operand: Operand, name: Callable[[str], str] | None = None) -> str:
    """The exact text of an expression; `name` may rename the symbols."""
    text, is_complete = write(operand, _Printer(name).layout, MAX_TEXT)
    if not is_complete:
        raise UnsupportedError(
            "an expression too long to print",
            why=f"its text has more than {MAX_TEXT} characters",
            fix="use repr(), which shortens it",
        )
    return text


def brief(
    operand: Operand, name: Callable[[str], str] | None = None, limit: int = BRIEF_TEXT
) -> str:
    """The text, with what is beyond `limit` characters left out as `...`."""
    text, is_complete = write(operand, _Printer(name).layout, limit)
    return text if is_complete else text + "..."


class _Printer:
    """How each kind of node is written, given what the symbols are called."""

    def __init__(self, name: Callable[[str], str] | None) -> None:
        self.name = name

    def layout(self, node: object) -> Layout:
        if isinstance(node, Expr):
            return self.sum(*_addends(node))
        if isinstance(node, Atom):
            return self.symbol(node.name) if node.op is SYMBOL else _atom(node)
        if isinstance(node, Bool):
            return self.relation(node) if node.op in _RELATIONS else _condition(node)
        assert isinstance(node, Real)
        return self.symbol(node.args[0]) if node.op == REAL_SYMBOL else _real(node)

    def symbol(self, name: str) -> Layout:
        return Layout((self.name(name) if self.name else name,), ATOMIC)

    def sum(self, added: list[Addend], c: int) -> Layout:
        """A sum of coefficients times contents, and a constant."""
        if not added:
            return Layout((str(c),), ATOMIC if c >= 0 else SUM)
        if len(added) == 1 and not c:
            return self.multiple(*added[0])
        pieces: list[Piece] = []
        for k, content in added:
            if pieces or k < 0:
                pieces.append(" - " if k < 0 and pieces else "-" if k < 0 else " + ")
            if abs(k) != 1:
                pieces += (f"{abs(k)}*", Part(content, MULTIPLE))
            else:
                pieces.append(Part(content, MULTIPLE if pieces == ["-"] else TERM))
        if c:
            pieces.append(f" - {-c}" if c < 0 else f" + {c}")
        return Layout(tuple(pieces), SUM)

    def relation(self, b: Bool) -> Layout:
        """A relation with what is negative on the left, and the constant where it reads best."""
        added, c = _addends(b.expr)
        left = [(-k, content) for k, content in added if k < 0]
        right = [(k, content) for k, content in added if k > 0]
        sign, low, high = " <= ", 0, c
        if b.op != boolean.GE:
            sign = " == " if b.op == boolean.EQ else " != "
            if not left:
                left, right, c = right, left, -c
            low, high = (0, c) if not right or c > 0 else (-c, 0)
        elif not left or (right and c < -1):
            low, high = -c, 0
        elif right and c == -1:
            sign, high = " < ", 0
        return Layout((Part(self.sum(left, low), SUM), sign, Part(self.sum(right, high), SUM)), SUM)

    def multiple(self, k: int, content: Atom | Layout) -> Layout:
        if k == 1:
            return content if isinstance(content, Layout) else self.layout(content)
        factor = "-" if k == -1 else f"{k}*"
        return Layout((factor, Part(content, MULTIPLE)), MULTIPLE if k > 0 else SUM)


def _joined(sign: str, parts: Iterable[Piece]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for part in parts:
        pieces += (sign, part)
    return tuple(pieces[1:])


def _call(function: str, args: Iterable[Operand]) -> Layout:
    return Layout((function, "(", *_joined(", ", (Part(a, SUM) for a in args)), ")"), ATOMIC)


# ---------------------------------------------------------------------- integers


def _atom(atom: Atom) -> Layout:
    op = atom.op
    if rebuild(atom, atom.args) is not atom.node:
        args = (Part(a, SUM) for a in atom.args)
        return Layout((f'raw("{op.name}", ', *_joined(", ", args), ")"), ATOMIC)
    if op is PRODUCT:
        factors = map(_factor, atom.args, atom.data)
        return Layout(_joined("*", (Part(f, UNARY) for f in factors)), MULTIPLE)
    if op is FLOORDIV:
        x, y = atom.args
        return Layout((Part(x, TERM), " // ", Part(y, UNARY)), TERM)
    if op is POWER:
        x, y = atom.args
        return Layout((Part(x, ATOMIC), "**", Part(y, ATOMIC)), POWERED)
    if op is MAXIMUM:
        return _call("max", (atom.pool.zero, *atom.args))
    if op is CHOICE:
        return _call("ite", (*atom.args, atom.pool.zero))
    return _call(op.name, atom.args)


def _factor(base: Operand, exponent: int) -> object:
    return base if exponent == 1 else Layout((Part(base, ATOMIC), f"**{exponent}"), POWERED)


def _addends(e: Expr) -> tuple[list[Addend], int]:
    """The coefficients and contents that `e` is the sum of, and the constant besides them."""
    added: list[Addend] = []
    rest, c = dict(terms(e)), e.c
    for atom in sorted(rest, key=lambda a: -a.index):
        found = _readable(atom, rest, c) if atom in rest else None
        if found is not None:
            for used in terms(found.value):
                del rest[used]
            c -= found.k * found.value.c
            added.append((found.k, found.layout))
    added += ((rest[atom], atom) for atom in sorted(rest, key=lambda a: a.index))
    added.sort(key=lambda addend: addend[0] < 0)
    return added, c


class _Spelling(NamedTuple):
    """`k * value`, and how the value is written."""

    k: int
    value: Expr
    layout: Layout


def _readable(atom: Atom, rest: dict[Atom, int], c: int) -> _Spelling | None:
    """A multiple of a remainder, a maximum or a minimum that uses up `atom` and is in the sum."""
    k = rest[atom]
    if atom.op is FLOORDIV:
        x, y = atom.exprs
        if not y.is_const or k % y.c:
            return None
        layout = Layout((Part(x, TERM), " % ", Part(y, UNARY)), TERM)
        found = _Spelling(-k // y.c, x - atom.node.scale(y.c), layout)
    elif atom.op is MAXIMUM:
        first = atom.exprs[0]
        if k > 0:
            shift = sides(first)[0]
            args = [shift, *(shift + e for e in atom.exprs)]
            found = _Spelling(k, extremum.maximum(args), _call("max", args))
        else:
            shift = sides(-first)[0]
            args = [shift, *(shift - e for e in atom.exprs)]
            found = _Spelling(-k, extremum.minimum(args), _call("min", args))
    else:
        return None
    return found if _is_within(found, rest, c) else None


def _is_within(found: _Spelling, rest: dict[Atom, int], c: int) -> bool:
    """Whether every term is in the sum with just that coefficient, and no constant is made up."""
    k, value, _ = found
    if any(rest.get(a) != k * v for a, v in terms(value).items()):
        return False
    return not value.c or abs(c - k * value.c) <= abs(c)


# ---------------------------------------------------------------------- conditions


def _condition(b: Bool) -> Layout:
    op = b.op
    if op in (boolean.TRUE, boolean.FALSE):
        return Layout((op.capitalize(),), ATOMIC)
    if op == boolean.REAL:
        sign, left, right = b.args
        return Layout((Part(left, SUM), f" {sign} ", Part(right, SUM)), SUM)
    if op == boolean.NOT:
        return Layout(("not (", Part(b.args[0], SUM), ")"), SUM)
    return Layout(_joined(f" {op} ", map(_junct, b.args)), SUM)


def _junct(b: Bool) -> Part:
    return Part(b, ATOMIC if b.op in (boolean.AND, boolean.OR) else SUM)


def sides(e: Expr) -> tuple[Expr, Expr]:
    """Split `0 <= e` or `0 == e` into what is on each side: the negative and the positive part."""
    pool = e.pool
    negative = {a: -k for a, k in terms(e).items() if k < 0}
    positive = {a: k for a, k in terms(e).items() if k > 0}
    return (
        from_terms(pool, negative, -e.c if e.c < 0 else 0),
        from_terms(pool, positive, e.c if e.c > 0 else 0),
    )


# ---------------------------------------------------------------------- reals


def _real(r: Real) -> Layout:
    if r.op == CONST:
        text = repr(r.args[0])
        return Layout((text,), SUM if text[0] == "-" else ATOMIC)
    sign = _REAL_SIGNS.get(r.op)
    if sign is not None:
        left, right = r.args
        return Layout((Part(left, ATOMIC), sign, Part(right, ATOMIC)), SUM)
    if r.op == "neg":
        return Layout(("-", Part(r.args[0], ATOMIC)), SUM)
    return _call(r.op, r.args)
