"""What a name or a call means in the text of an expression.

An op that is written as a call is called by its name; `FUNCTIONS` has the other spellings. Operands
are checked for their kind. An integer is taken where a real is expected; `abs`, `pow` and the
roundings of integers are integers, as in Python.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.expr import boolean, real
from anyshape.expr.atom import intern_atom
from anyshape.expr.boolean import Bool
from anyshape.expr.constructor import extremum, product
from anyshape.expr.constructor.choice import choose
from anyshape.expr.node import Expr
from anyshape.expr.order import compare
from anyshape.expr.real import FLOAT, Real
from anyshape.expr.rebuild import construct
from anyshape.expr.table.op import GROUP, MAXIMUM, OPS
from anyshape.expr.table.op_math import ROWS as MATH
from anyshape.expr.table.op_numpy import ROWS as NUMPY
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
    """The function of that name, applied; ValueError for what it does not take.

    A function may have two meanings: one on integers, and the op of that name.
    """
    meanings = [f for f in (FUNCTIONS.get(name), _op(name)) if f is not None]
    if not meanings:
        others = NUMPY.keys() | MATH.keys()
        calls = [op.name for op in OPS.values() if op.is_call and op.name not in others]
        known = ", ".join(sorted({*FUNCTIONS, *calls}))
        tables = "those of math, and NumPy's as np_*_float64"
        raise ValueError(f"unknown function {name!r}; known: {known}, {tables}")
    for meaning in meanings[:-1]:
        if all(isinstance(a, Expr) for a in args):
            return _applied(name, meaning, args)
    return _applied(name, meanings[-1], args)


def _applied(name: str, function: Function, args: list[Any]) -> Operand:
    takes = function.takes
    repeats = takes.endswith("*")
    least = len(takes) - repeats
    if len(args) < least or (len(args) > least and not repeats):
        most = "any number of" if repeats else least
        raise ValueError(f"{name!r} takes {least} to {most} operands")
    kinds = takes[:least] + takes[least - 1 : least] * (len(args) - least)
    made: Operand = function.build(*[_KINDS[kind](a) for kind, a in zip(kinds, args, strict=True)])
    return made


def _op(name: str) -> Function | None:
    op = OPS.get(name)
    return Function(op.takes, partial(construct, op)) if op is not None and op.is_call else None


def integer_or_real(value: object) -> Expr | Real:
    """The value, which must be an integer or a real."""
    return value if isinstance(value, Expr) else number(value)


def _anything(value: object) -> object:
    return value


_KINDS: Final[dict[str, Callable[[object], object]]] = {
    "i": integer,
    "r": number,
    "n": integer_or_real,
    "b": truth,
    "a": _anything,
}


def _raw(op: object, *operands: object) -> Expr:
    """`raw("op", operands...)`: the atom itself; only for normal forms of a group or a maximum."""
    args = tuple(map(integer, operands))
    if op == "group" and len(args) == 1:
        scale, factors = product.as_factors(args[0])
        if scale == 1 and factors[0][0].op is GROUP:
            return factors[0][0].node
    if op == "maximum":
        ordered = [args[0].pool.zero, *args]
        common = math.gcd(*(math.gcd(content(terms(e).values()), e.c) for e in args))
        if common == 1 and all(compare(a, b) < 0 for a, b in pairwise(ordered)):
            return intern_atom(args[0].pool, MAXIMUM, args).node
    raise ValueError("raw() of what is not a normal form")


class Function(NamedTuple):
    """What a call means: the kinds of its operands, as in a row of ops, and what it builds."""

    takes: str
    build: Callable[..., Any]


# The spellings that are not the name of an op; every op that is written as a call is one, too.
FUNCTIONS: Final[dict[str, Function]] = {
    "max": Function("i*", lambda *args: extremum.maximum(args)),
    "min": Function("i*", lambda *args: extremum.minimum(args)),
    "ite": Function("bii", choose),
    "abs": Function("i", extremum.absolute),
    "pow": Function("ii", product.power),
    "raw": Function("aa*", _raw),
}
