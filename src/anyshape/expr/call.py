"""What a name or a call means in the text of an expression: one table of functions.

Operands are checked for their kind. An integer is taken where a real is expected; `abs`, `pow` and
the roundings of integers are integers, as in Python.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.expr import boolean, extremum, opaque, product, real
from anyshape.expr.atom import intern_atom
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Expr
from anyshape.expr.op import GROUP, MAXIMUM
from anyshape.expr.real import FLOAT, Real
from anyshape.expr.terms import content, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.expr.node import Operand
    from anyshape.expr.pool import Pool


def integer(value: object) -> Expr:
    """The value, which must be an integer."""
    if not isinstance(value, Expr):
        raise ValueError("expected an integer")
    return value


def truth(value: object) -> Bool:
    """The value, which must be a condition."""
    if not isinstance(value, Bool):
        raise ValueError("expected a condition")
    return value


def number(value: object) -> Real:
    """The value as a real; it must be an integer or a real."""
    if isinstance(value, Expr):
        return real.apply(FLOAT, value)
    if not isinstance(value, Real):
        raise ValueError("expected a number")
    return value


def named(pool: Pool, name: str) -> Operand | None:
    """The constant or symbol of that name, None if there is none."""
    if name in ("True", "False"):
        return boolean.constant(pool, name == "True")
    if name in ("inf", "nan"):
        return real.real_const(pool, math.inf if name == "inf" else math.nan)
    return pool.by_name.get(name)


def call(name: str, args: list[Any]) -> Operand:
    """The function of that name, applied; ValueError for what it does not take."""
    row = FUNCTIONS.get(name)
    if row is None:
        raise ValueError(f"unknown function {name!r}; known: {', '.join(sorted(FUNCTIONS))}")
    if not row.least <= len(args) <= (row.most or len(args)):
        most = row.most or "any number of"
        raise ValueError(f"{name!r} takes {row.least} to {most} operands")
    return row.build(*args)


def _maximum(*args: object) -> Expr:
    return extremum.maximum(map(integer, args))


def _minimum(*args: object) -> Expr:
    return extremum.minimum(map(integer, args))


def _choose(condition: object, then: object, otherwise: object) -> Expr:
    return opaque.choose(truth(condition), integer(then), integer(otherwise))


def _absolute(x: object) -> Expr | Real:
    return extremum.absolute(x) if isinstance(x, Expr) else real.apply("abs", number(x))


def _power(x: object, y: object) -> Expr | Real:
    if isinstance(x, Expr) and isinstance(y, Expr):
        return product.power(x, y)
    return real.apply("pow", number(x), number(y))


def _of_reals(op: str) -> Callable[..., Real]:
    return lambda x: real.apply(op, number(x))


def _rounding(build: Callable[[Real], Expr]) -> Callable[..., Expr]:
    return lambda x: x if isinstance(x, Expr) else build(number(x))


def _of_integers(build: Callable[[Expr, Expr], Expr]) -> Callable[..., Expr]:
    return lambda x, y: build(integer(x), integer(y))


def _raw(op: object, *operands: object) -> Expr:
    """`raw("op", operands...)`: the atom itself; only for normal forms of a group or a maximum."""
    args = tuple(map(integer, operands))
    if op == "group" and len(args) == 1:
        scale, factors = product.as_factors(args[0])
        if scale == 1 and factors[0][0].op is GROUP:
            return factors[0][0].node
    if op == "maximum":
        keys = [0, *(e.linear_key for e in args)]
        common = math.gcd(*(math.gcd(content(terms(e).values()), e.c) for e in args))
        if common == 1 and all(a < b for a, b in pairwise(keys)):
            return intern_atom(args[0].pool, MAXIMUM, args).node
    raise ValueError("raw() of what is not a normal form")


class _Function(NamedTuple):
    """A function of `least` to `most` operands; `most` is 0 for no limit."""

    least: int
    most: int
    build: Callable[..., Operand]


FUNCTIONS: Final[dict[str, _Function]] = {
    "max": _Function(1, 0, _maximum),
    "min": _Function(1, 0, _minimum),
    "ite": _Function(3, 3, _choose),
    "abs": _Function(1, 1, _absolute),
    "pow": _Function(2, 2, _power),
    "float": _Function(1, 1, number),
    "sqrt": _Function(1, 1, _of_reals("sqrt")),
    "floor": _Function(1, 1, _rounding(opaque.floor)),
    "ceil": _Function(1, 1, _rounding(opaque.ceil)),
    "round": _Function(1, 1, _rounding(opaque.nearest)),
    "trunc": _Function(1, 1, _rounding(opaque.trunc)),
    "bit_and": _Function(2, 2, _of_integers(opaque.bit_and)),
    "bit_or": _Function(2, 2, _of_integers(opaque.bit_or)),
    "bit_xor": _Function(2, 2, _of_integers(opaque.bit_xor)),
    "raw": _Function(2, 0, _raw),
}
