"""Expressions as text that `anyshape.expr.text.parse` reads back to the same object.

A sum prints what is added before what is subtracted, and its constant last. Three readable
spellings are found again in the normal form: `x % d`, `max(a, b)` and `min(a, b)`. Whether a
spelling leads back to the object is checked by building it; an atom for which none does (a `group`,
some nested maxima) prints as `raw("op", ...)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from anyshape.errors import UnsupportedError
from anyshape.expr import boolean
from anyshape.expr.boolean import Bool
from anyshape.expr.constructor import extremum
from anyshape.expr.node import Atom, Expr
from anyshape.expr.rebuild import rebuild
from anyshape.expr.table.op import FLOORDIV, MAXIMUM, SYMBOL
from anyshape.expr.table.template import joined
from anyshape.expr.terms import from_terms, terms
from anyshape.expr.text.bounded_text import (
    ANY,
    ATOMIC,
    MAX_TEXT,
    MULTIPLE,
    SUM,
    TERM,
    UNARY,
    Layout,
    Part,
    write,
)
from anyshape.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.expr.text.bounded_text import Piece

    Addend: TypeAlias = "tuple[int, Atom | Layout]"
    from anyshape.expr.node import Operand

BRIEF_TEXT: Final = 300


def show(operand: Operand, name: Callable[[str], str] | None = None) -> str:
    """The exact text of an expression; `name` may rename the symbols."""
    text, is_complete = write(operand, _Printer(name).layout, MAX_TEXT)
    if not is_complete:
        raise refused(
            UnsupportedError,
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

    def layout(self, node: Any) -> Layout:
        if isinstance(node, Expr):
            return self.sum(*_addends(node))
        if node.op is SYMBOL:
            return self.symbol(node.name)
        if isinstance(node, Bool) and node.op in boolean.RELATIONS:
            return self.relation(node)
        if isinstance(node, Atom) and rebuild(node, node.args) is not node.node:
            args = [Part(a, ANY) for a in node.args]
            return Layout((f'raw("{node.op.name}", ', *joined(", ", args), ")"), ATOMIC)
        found: Layout = node.op.layout(*node.args, *node.data)
        return found

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


def _call(function: str, args: Iterable[Operand]) -> Layout:
    return Layout((function, "(", *joined(", ", [Part(a, ANY) for a in args]), ")"), ATOMIC)


# ---------------------------------------------------------------------- integers


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
    found: Iterable[_Spelling] = ()
    if atom.op is FLOORDIV:
        found = _remainders(atom, k)
    elif atom.op is MAXIMUM:
        found = _maxima(atom, k) if k > 0 else _minima(atom, k)
    return next((spelling for spelling in found if _is_within(spelling, rest, c)), None)


def _remainders(atom: Atom, k: int) -> Iterable[_Spelling]:
    x, y = atom.exprs
    if y.is_const and not k % y.c:
        layout = Layout((Part(x, TERM), " % ", Part(y, UNARY)), TERM)
        yield _Spelling(-k // y.c, x - atom.node.scale(y.c), layout)


def _maxima(atom: Atom, k: int) -> Iterable[_Spelling]:
    """As `max(0, -e)` = -e + max(0, e), or with both sides of e apart."""
    first = atom.exprs[0]
    shift = sides(first)[0]
    others = [shift + e for e in atom.exprs]
    apart = [shift, *others] if shift.is_const else [*others, shift]
    for args in ([atom.pool.zero, -first], apart) if len(atom.args) == 1 else (apart,):
        yield _Spelling(k, extremum.maximum(args), _call("max", args))


def _minima(atom: Atom, k: int) -> Iterable[_Spelling]:
    """As `min(0, e)` = e - max(0, e), or with both sides of e apart."""
    first = atom.exprs[0]
    shift = sides(-first)[0]
    apart = [shift, *(shift - e for e in atom.exprs)]
    for args in ([atom.pool.zero, first], apart) if len(atom.args) == 1 else (apart,):
        yield _Spelling(-k, extremum.minimum(args), _call("min", args))


def _is_within(found: _Spelling, rest: dict[Atom, int], c: int) -> bool:
    """Whether every term is in the sum with just that coefficient, and no constant is made up."""
    k, value, _ = found
    if any(rest.get(a) != k * v for a, v in terms(value).items()):
        return False
    return not value.c or abs(c - k * value.c) <= abs(c)


def sides(e: Expr) -> tuple[Expr, Expr]:
    """Split `0 <= e` or `0 == e` into what is on each side: the negative and the positive part."""
    pool = e.pool
    negative = {a: -k for a, k in terms(e).items() if k < 0}
    positive = {a: k for a, k in terms(e).items() if k > 0}
    return (
        from_terms(pool, negative, -e.c if e.c < 0 else 0),
        from_terms(pool, positive, e.c if e.c > 0 else 0),
    )
