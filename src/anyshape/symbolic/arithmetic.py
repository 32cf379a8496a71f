"""Python's binary operators on numbers of which one is symbolic: one row per operator.

A row has a builder for two integers and one for two floats, each with the conditions under which
Python has a value. Mixed operands are converted as Python converts them. What Python refuses for
its types (`n << 1.5`) is `NotImplemented`, so that Python raises its own error.

`+`, `-` and `*` of integers, the hot path, are methods of `SymInt`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.expr import real
from anyshape.expr.atom import make_atom
from anyshape.expr.boolean import ge0, negate
from anyshape.expr.constructor import bitwise, division, product
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.node import Expr
from anyshape.expr.real import Real, real_const
from anyshape.expr.table.op_integer import POWER_MOD
from anyshape.symbolic import definedness
from anyshape.symbolic.definedness import (
    applied,
    need_natural,
    need_nonzero,
    need_power,
    usually,
)
from anyshape.symbolic.operand import env_of, is_numpy, node_of, number, to_real
from anyshape.symbolic.sym_bool import SymBool

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env

    Integers = Callable[[Env, Expr, Expr], "Expr | Real"]
    Reals = Callable[[Env, Real, Real], Any]


class Operator(NamedTuple):
    """How an operator is built: from two integers, from two floats; None where there is no way."""

    integers: Integers | None
    reals: Reals | None


def operate(sign: str, left: Any, right: Any) -> Any:
    """`left sign right`, without asking for more than Python does."""
    return _apply(sign, env_of(left, right), left, right)


def _apply(sign: str, env: Env, left: Any, right: Any) -> Any:
    x, y = node_of(left, env), node_of(right, env)
    if x is None or y is None:
        return NotImplemented
    integers, reals = OPERATORS[sign]
    if integers is not None and type(x) is Expr and type(y) is Expr:
        return number(integers(env, x, y), env)
    if is_numpy(left) or is_numpy(right):
        return by_numpy(sign, left, right)
    if reals is None:
        return NotImplemented
    made = reals(env, to_real(x, env), to_real(y, env))
    return number(made, env) if type(made) is Real else made


def comparison(sign: str, left: Any, right: Any) -> Any:
    """`left sign right` of numbers as a `SymBool`; it asks nothing."""
    env = env_of(left, right)
    if type(right) is complex and sign in ("==", "!="):
        right = right.real if right.imag == 0 else float("nan")  # which nothing equals
    x, y = node_of(left, env), node_of(right, env)
    if x is None or y is None:
        return NotImplemented
    if is_numpy(left) or is_numpy(right):
        return by_numpy(sign, left, right)
    return SymBool(compare(sign, x, y), env)


def by_numpy(sign: str, left: Any, right: Any) -> Any:
    """`left sign right` where one of them is a number of NumPy's."""
    from anyshape.symbolic.numpy_calls import operator_call  # noqa: PLC0415  made of our numbers

    return operator_call(sign, left, right)


def methods(sign: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """The method of an operator and its reflection."""
    return (
        lambda number, other: _apply(sign, number.env, number, other),
        lambda number, other: _apply(sign, number.env, other, number),
    )


# ---------------------------------------------------------------------- integers


def _divided(build: Callable[[Expr, Expr], Expr], refusal: definedness.Refusal) -> Integers:
    def integers(env: Env, x: Expr, y: Expr) -> Expr:
        need_nonzero(env, y, refusal)
        return build(x, y)

    return integers


def _shifted(build: Callable[[Expr, Expr], Expr]) -> Integers:
    def integers(env: Env, x: Expr, count: Expr) -> Expr:
        need_natural(env, count, definedness.SHIFT)
        return build(x, count)

    return integers


def _ratio(env: Env, x: Expr, y: Expr) -> Real:
    need_nonzero(env, y, definedness.TRUE_DIVISION)
    return applied(env, real.RATIO, x, y)


def _power(env: Env, x: Expr, y: Expr) -> Expr | Real:
    """`x ** y`: an integer for a natural exponent, else a float."""
    if usually(env, ge0(y), lambda: f"a negative exponent: {env.text(y)}"):
        return product.power(x, y)
    need_nonzero(env, x, definedness.ZERO_TO_NEGATIVE)
    return applied(env, "pow", to_real(x, env), to_real(y, env))


def _total(build: Callable[[Expr, Expr], Expr]) -> Integers:
    return lambda _env, x, y: build(x, y)


# ---------------------------------------------------------------------- floats


def _of_reals(op: str) -> Reals:
    return lambda env, x, y: applied(env, op, x, y)


def _real_divided(op: str, refusal: definedness.Refusal) -> Reals:
    def reals(env: Env, x: Real, y: Real) -> Real:
        need_nonzero(env, y, refusal)
        return applied(env, op, x, y)

    return reals


def _real_power(env: Env, x: Real, y: Real) -> Any:
    return power_of_reals(env, x, y, operator.pow, definedness.ZERO_TO_NEGATIVE)


def power_of_reals(
    env: Env, x: Real, y: Real, call: Callable[..., Any], refusal: definedness.Refusal
) -> Any:
    """`x ** y` or `math.pow(x, y)`, which differ for a negative base and a fractional exponent.

    That case is computed by `call` at the values seen.
    """
    if not _is_whole(y):
        natural = negate(compare("<", x, real_const(x.pool, 0.0)))
        if not usually(env, natural, lambda: f"a power of a negative base: {env.text(x)}"):
            return call(env.real_value(x), env.real_value(y))
    need_power(env, x, y, refusal)
    return applied(env, "pow", x, y)


def _is_whole(x: Real) -> bool:
    """Whether a real is a whole number by structure."""
    return x.op is real.FLOAT or (x.op is real.CONST and x.args[0].is_integer())


def power_modulo(base: Any, exponent: Any, modulus: Any) -> Any:
    """`pow(base, exponent, modulus)`; the inverse for a negative exponent is computed at the values
    seen.
    """
    env = env_of(base, exponent, modulus)
    x, y, m = (node_of(v, env) for v in (base, exponent, modulus))
    if type(x) is not Expr or type(y) is not Expr or type(m) is not Expr:
        return NotImplemented
    need_nonzero(env, m, definedness.POWER_MODULO)
    if not usually(env, ge0(y), lambda: f"a negative exponent: {env.text(y)}"):
        return pow(env.value(x), env.value(y), env.value(m))
    return number(make_atom(POWER_MOD, x, y, m), env)


OPERATORS: Final[dict[str, Operator]] = {
    "+": Operator(_total(operator.add), _of_reals("add")),
    "-": Operator(_total(operator.sub), _of_reals("sub")),
    "*": Operator(_total(product.multiply), _of_reals("mul")),
    "/": Operator(_ratio, _real_divided("div", definedness.FLOAT_DIVISION)),
    "//": Operator(
        _divided(division.floordiv, definedness.FLOOR_DIVISION),
        _real_divided("real_floordiv", definedness.FLOAT_FLOOR_DIVISION),
    ),
    "%": Operator(
        _divided(division.modulo, definedness.MODULO),
        _real_divided("real_mod", definedness.FLOAT_MODULO),
    ),
    "**": Operator(_power, _real_power),
    "<<": Operator(_shifted(bitwise.left_shift), None),
    ">>": Operator(_shifted(bitwise.right_shift), None),
    "&": Operator(_total(bitwise.bit_and), None),
    "|": Operator(_total(bitwise.bit_or), None),
    "^": Operator(_total(bitwise.bit_xor), None),
}
