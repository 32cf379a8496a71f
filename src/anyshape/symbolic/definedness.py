"""Where Python refuses an op, and the one place that asks whether it does.

A partial op (`6 // n`, `1 << n`, `math.log(x)`) is a branch: Python has a value, or raises an error
that the program may catch. `ensure` takes the branch as an `if` does:

    proved      go on, or raise
    backed      the hint decides, and a guard records which side was taken
    unbacked    a fact from here on, and a runtime assert that raises Python's error

A `Refusal` names the error; the functions below state the conditions.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.env.fact import DIVISION, DOMAIN, OVERFLOW, RULE
from anyshape.expr import real
from anyshape.expr.boolean import disj, ge0, ne0, negate
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.node import Expr
from anyshape.expr.real import Real, real_const
from anyshape.expr.table import op_math, op_numpy
from anyshape.expr.table.op import OPS
from anyshape.expr.traverse import reals_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env
    from anyshape.expr import Bool
    from anyshape.expr.table.row import Op


class Refusal(NamedTuple):
    """A reason why Python refuses an op; `call(*operands)` is an example that it refuses."""

    origin: str
    call: Callable[..., Any]
    operands: tuple[Any, ...]

    def error(self) -> Exception:
        """What the running Python raises."""
        try:
            self.call(*self.operands)
        except (ArithmeticError, ValueError) as e:
            return e.with_traceback(None)
        raise AssertionError(f"{self.call} takes {self.operands}")


FLOOR_DIVISION: Final = Refusal(DIVISION, operator.floordiv, (1, 0))
MODULO: Final = Refusal(DIVISION, operator.mod, (1, 0))
TRUE_DIVISION: Final = Refusal(DIVISION, operator.truediv, (1, 0))
POWER_MODULO: Final = Refusal(DOMAIN, pow, (2, 3, 0))
FLOAT_FLOOR_DIVISION: Final = Refusal(DIVISION, operator.floordiv, (1.0, 0.0))
FLOAT_MODULO: Final = Refusal(DIVISION, operator.mod, (1.0, 0.0))
FLOAT_DIVISION: Final = Refusal(DIVISION, operator.truediv, (1.0, 0.0))
ZERO_TO_NEGATIVE: Final = Refusal(DIVISION, operator.pow, (0, -1))
SHIFT: Final = Refusal(DOMAIN, operator.lshift, (1, -1))
NAN_TO_INT: Final = Refusal(DOMAIN, int, (math.nan,))
INFINITY_TO_INT: Final = Refusal(OVERFLOW, int, (math.inf,))


def ensure(env: Env, condition: Bool, refusal: Refusal) -> None:
    """Go on where the condition holds; raise Python's error where it does not."""
    answer = env.decide(condition)
    if answer is None:
        if env.hint_for_guard(condition) is None:
            env.assume(condition, lambda: str(refusal.error()), refusal.origin)
            return
        answer = env.guard(condition)
    if not answer:
        raise refusal.error()


def usually(env: Env, condition: Bool, message: Callable[[], str]) -> bool:
    """Which of two kinds of results Python gives; where only the run knows, the one that
    `condition` stands for, with a runtime assert.
    """
    answer = env.decide(condition)
    if answer is not None:
        return answer
    if env.hint_for_guard(condition) is None:
        env.assume(condition, message, RULE)
        return True
    return env.guard(condition)


def applied(env: Env, op: Op | str, *operands: Any) -> Real:
    """The op of `anyshape.expr.real` over the operands, where it does not overflow at the hints.

    The condition for overflow has no simple form, so the operands are specialized before the error
    is raised. A run that overflows at other values raises where it computes the result.
    """
    node = real.apply(op, *operands)
    if node.hint is None:
        for x in operands:
            if x.hint is None:
                return node
        values = [env.value(x) if type(x) is Expr else env.real_value(x) for x in operands]
        (OPS[op] if isinstance(op, str) else op).value(*values)
    return node


# ---------------------------------------------------------------------- conditions


def need_nonzero(env: Env, divisor: Expr | Real, refusal: Refusal) -> None:
    """A divisor is not 0."""
    if type(divisor) is Expr:
        if divisor.lo <= 0 <= divisor.hi:
            ensure(env, ne0(divisor), refusal)
    else:
        ensure(env, _compare("!=", divisor, 0.0), refusal)  # type: ignore[arg-type]  # a real


def need_natural(env: Env, n: Expr, refusal: Refusal) -> None:
    """An integer is not negative."""
    if n.lo < 0:
        ensure(env, ge0(n), refusal)


def need_not(env: Env, sign: str, x: Real, bound: float, refusal: Refusal) -> None:
    """`x sign bound` does not hold; NaN passes."""
    ensure(env, negate(_compare(sign, x, bound)), refusal)


def need_finite(env: Env, x: Real) -> None:
    """A real that becomes an integer is neither NaN nor infinite.

    Both come from float inputs, constants and NumPy's functions; from integers only by overflow,
    see `applied`.
    """
    if not any(map(_may_be_special, reals_below(x))):
        return
    finite = _compare("<", real.apply("abs", x), math.inf)
    if not env.decide(finite) and not env.hint_for_guard(finite):
        ensure(env, compare("==", x, x), NAN_TO_INT)
    ensure(env, finite, INFINITY_TO_INT)


def need_power(env: Env, base: Real, exponent: Real, refusal: Refusal) -> None:
    """Zero is not raised to a negative power."""
    zero_base = _compare("!=", base, 0.0)
    ensure(env, disj(env.pool, (zero_base, negate(_compare("<", exponent, 0.0)))), refusal)


def _compare(sign: str, x: Real, bound: float) -> Bool:
    return compare(sign, x, real_const(x.pool, bound))


def _may_be_special(node: Real) -> bool:
    if node.op.name in op_numpy.ROWS or node.op.name in op_math.ROWS:
        return node.span.nan or not -math.inf < node.span.lo <= node.span.hi < math.inf
    return node.op is real.SYMBOL or (node.op is real.CONST and not math.isfinite(node.args[0]))
