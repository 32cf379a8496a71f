"""The functions of Python's `math` on symbolic numbers; on other operands they are Python's own.

Each is one row: the op that it builds, and where Python refuses it. `math.floor`, `ceil` and
`trunc` are not here: Python calls the methods of our numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from anyshape.env.fact import DOMAIN, OVERFLOW
from anyshape.expr.atom import make_atom
from anyshape.expr.boolean import disj, negate
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.real import real_const
from anyshape.expr.table.op_function import LARGEST_EXPONENT
from anyshape.expr.table.op_integer import ISQRT
from anyshape.symbolic import arithmetic
from anyshape.symbolic.definedness import Refusal, applied, ensure, need_natural, need_not
from anyshape.symbolic.operand import env_of, expr_of, is_symbolic, number, real_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env
    from anyshape.expr import Real

    Need = Callable[[Env, Real], None]


def _refuses(sign: str, bound: float, refusal: Refusal) -> Need:
    """An operand that must not be `sign bound`."""
    return lambda env, x: need_not(env, sign, x, bound, refusal)


def _needs_finite(refusal: Refusal) -> Need:
    def need(env: Env, x: Real) -> None:
        need_not(env, "==", x, math.inf, refusal)
        need_not(env, "==", x, -math.inf, refusal)

    return need


def _needs_small(env: Env, x: Real) -> None:
    """The exponential of a finite number is a double; that of infinity is infinity."""
    infinite = compare("==", x, real_const(env.pool, math.inf))
    small = negate(compare(">", x, real_const(env.pool, LARGEST_EXPONENT)))
    condition = small if env.decide(infinite) is False else disj(env.pool, (small, infinite))
    ensure(env, condition, Refusal(OVERFLOW, math.exp, (1e4,)))


def _function(plain: Callable[[Any], float], need: Need) -> Callable[[Any], Any]:
    """A function of one float; the op has its name."""

    def function(x: Any) -> Any:
        if not is_symbolic(x):
            return plain(x)
        env = x.env
        r = real_of(x, env)
        assert r is not None
        need(env, r)
        return number(applied(env, plain.__name__, r), env)

    function.__name__ = plain.__name__
    return function


def _domain(plain: Callable[..., Any], *operands: float) -> Refusal:
    return Refusal(DOMAIN, plain, operands)


sqrt: Final = _function(math.sqrt, _refuses("<", 0.0, _domain(math.sqrt, -1.0)))
log2: Final = _function(math.log2, _refuses("<=", 0.0, _domain(math.log2, 0.0)))
log10: Final = _function(math.log10, _refuses("<=", 0.0, _domain(math.log10, 0.0)))
_natural_log: Final = _function(math.log, _refuses("<=", 0.0, _domain(math.log, 0.0)))
exp: Final = _function(math.exp, _needs_small)
sin: Final = _function(math.sin, _needs_finite(_domain(math.sin, math.inf)))
cos: Final = _function(math.cos, _needs_finite(_domain(math.cos, math.inf)))
tan: Final = _function(math.tan, _needs_finite(_domain(math.tan, math.inf)))


def log(x: Any, *base: Any) -> Any:
    """`math.log`, with or without a base."""
    if len(base) != 1 or not (is_symbolic(x) or is_symbolic(base[0])):
        return _natural_log(x) if not base else math.log(x, *base)
    return _natural_log(x) / _natural_log(base[0])


def power(x: Any, y: Any) -> Any:
    """`math.pow`."""
    if not (is_symbolic(x) or is_symbolic(y)):
        return math.pow(x, y)
    env = env_of(x, y)
    base, exponent = real_of(x, env), real_of(y, env)
    if base is None or exponent is None:
        raise TypeError("must be real number")
    refusal = _domain(math.pow, 0.0, -1.0)
    made = arithmetic.power_of_reals(env, base, exponent, math.pow, refusal)
    return made if type(made) is float else number(made, env)


def isqrt(n: Any) -> Any:
    """`math.isqrt`."""
    e = expr_of(n, n.env) if is_symbolic(n) else None
    if e is None:
        return math.isqrt(n)
    need_natural(n.env, e, _domain(math.isqrt, -1))
    return number(make_atom(ISQRT, e), n.env)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "sqrt": sqrt,
    "log": log,
    "log2": log2,
    "log10": log10,
    "exp": exp,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "pow": power,
    "isqrt": isqrt,
}
