"""Sizes, `int` or `SymInt`, and the questions that rules ask about them.

Rules never raise a data-dependent error: a question that cannot be decided while tracing gets the
answer of the general path (`ask`), or becomes a runtime assert (`expect`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from anyshape.env.fact import INDEX, RULE
from anyshape.errors import DimError, ShapeError
from anyshape.expr.boolean import eq0
from anyshape.expr.constructor import extremum
from anyshape.expr.table.op import PRODUCT, SYMBOL
from anyshape.expr.terms import terms
from anyshape.symbolic.operand import expr_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.env import Env
    from anyshape.expr import Expr

Size: TypeAlias = int | SymInt


def plain(n: Any) -> Any:
    """An `int` in place of a symbolic integer that is constant."""
    return n.expr.c if type(n) is SymInt and n.expr.is_const else n


def product(sizes: Iterable[Size]) -> Any:
    """The product of the sizes; 1 for none."""
    total: Any = 1
    for n in sizes:
        total = n if type(total) is int and total == 1 else total * n
    return total


def total(sizes: Iterable[Size]) -> Any:
    """The sum of the sizes."""
    constant: Any = 0
    symbolic: list[SymInt] = []
    for n in sizes:
        if type(n) is SymInt:
            symbolic.append(n)
        else:
            constant = constant + n
    if not symbolic:
        return constant
    expr = symbolic[0].expr
    for n in symbolic[1:]:
        expr = expr + n.expr
    return SymInt(expr.shift(constant), symbolic[0].env)


def smaller(a: Size, b: Size) -> Any:
    """The smaller of two sizes, without asking which one it is."""
    if type(a) is int and type(b) is int:
        return min(a, b)
    x, y, env = _exprs(a, b)
    return plain(SymInt(extremum.minimum([x, y]), env))


def larger(a: Size, b: Size) -> Any:
    """The larger of two sizes, without asking which one it is."""
    if type(a) is int and type(b) is int:
        return max(a, b)
    x, y, env = _exprs(a, b)
    return plain(SymInt(extremum.maximum([x, y]), env))


def _exprs(a: Any, b: Any) -> tuple[Expr, Expr, Env]:
    """The expressions of two sizes of which at least one is symbolic."""
    env = a.env if type(a) is SymInt else b.env
    x, y = expr_of(a, env), expr_of(b, env)
    assert x is not None
    assert y is not None
    return x, y, env


def ceil_div(a: Size, b: Size) -> Any:
    """`a / b` rounded up, for `b > 0`."""
    return plain(-((-a) // b))


# ---------------------------------------------------------------------- questions


def ask(condition: Any, fallback: bool) -> bool:
    """The truth: proved, or decided by the hint and guarded; `fallback` if undecided."""
    if type(condition) is SymBool:
        return condition.env.guard_or(condition.condition, fallback)
    return bool(condition)


def known(condition: Any) -> bool | None:
    """The truth if it is proved, else None; records nothing."""
    return condition.known() if type(condition) is SymBool else bool(condition)


def equal(a: Size, b: Size) -> bool:
    """Whether two sizes are equal; False if undecided."""
    if a is b:
        return True
    if type(a) is int and type(b) is int:
        return a == b
    return ask(a == b, False)


def same_expr(a: Any, b: Any) -> bool:
    """Whether two sizes are the same expression or number; asks nothing."""
    if type(a) is SymInt:
        return type(b) is SymInt and a.expr is b.expr
    return bool(type(a) is type(b) and a == b)


def surely_equal(a: Size, b: Size) -> bool:
    """Whether two sizes are proved equal; records nothing."""
    if a is b:
        return True
    if type(a) is int and type(b) is int:
        return a == b
    return known(a == b) is True


def is_one(n: Any) -> bool:
    """Whether a size is 1; False if undecided."""
    if type(n) is int:
        return n == 1
    e = n.expr
    if e.lo > 1 or e.hi < 1:
        return False
    return ask(n == 1, False)


def is_zero(n: Any) -> bool:
    """Whether a size is 0; False if undecided."""
    if type(n) is int:
        return n == 0
    e = n.expr
    if e.lo > 0 or e.hi < 0:
        return False
    return ask(n == 0, False)


def is_negative(n: Any) -> bool:
    """Whether a number is negative; False if undecided."""
    if type(n) is SymInt:
        return n.expr.lo < 0 and ask(n < 0, False)
    return bool(n < 0)


def at_least_at_two(n: Any, bound: int) -> bool:
    """Whether `n >= bound` follows from all sizes in `n` being at least 2; without search."""
    if type(n) is int:
        return n >= bound
    low: int | float = n.expr.c
    for atom, k in terms(n.expr).items():
        low += k * (_low_at_two(atom) if k > 0 else atom.hi)
    return low >= bound


def _low_at_two(atom: Any) -> Any:
    if atom.op is SYMBOL and atom.lo >= 0:
        return max(2, atom.lo)
    if atom.op is PRODUCT and all(a.op is SYMBOL and a.lo >= 0 for a in _bases(atom)):
        return math.prod(max(2, a.lo) ** k for a, k in zip(_bases(atom), atom.data, strict=True))
    return atom.lo


def _bases(atom: Any) -> list[Any]:
    """The factors of a product; a factor that is a sum is not a symbol."""
    return [next(iter(terms(e))) if e.width == 1 and not e.c else atom for e in atom.args]


# ---------------------------------------------------------------------- requirements


def expect(condition: Any, say: Callable[[], str], error: type[ShapeError] = ShapeError) -> None:
    """Require a condition that eager execution checks: proved, guarded or asserted."""
    if type(condition) is not SymBool:
        if not condition:
            raise error(say())
        return
    answer = condition.known()
    if answer:
        return
    env = condition.env
    if answer is False or env.hint_for_guard(condition.condition) is False:
        env.guard(condition.condition)  # a caller may catch the error and go on
        raise error(say())
    env.assume(condition.condition, say, INDEX if error is DimError else RULE)


def expect_equal(a: Size, b: Size, say: Callable[[], str]) -> None:
    """Require that two sizes are equal."""
    if a is b:
        return
    if type(a) is int and type(b) is int:
        if a != b:
            raise ShapeError(say())
        return
    x, y, env = _exprs(a, b)
    found = env.asker.found_equal
    if x is not y and (x, y) not in found:
        expect(SymBool(eq0(x - y), env), say)
        found.add((x, y))  # facts are never retracted


def expect_size(n: Any, what: str) -> None:
    """Require that a number is a size: not negative."""
    if type(n) is int:
        if n < 0:
            raise ShapeError(f"{what}: {n} is negative, and a size is not")
    elif n.expr.lo < 0:
        expect(n >= 0, lambda: f"{what}: {text(n)} is negative, and a size is not")


def text(n: Any) -> str:
    """A size or a shape for a message, with the user's names."""
    if isinstance(n, tuple | list):
        return "[" + ", ".join(map(text, n)) + "]"
    return n.env.text(n.expr) if type(n) is SymInt else str(n)
