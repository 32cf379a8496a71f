"""`SymInt`: an integer that stands for all values that a program may meet.

Arithmetic builds expressions and asks nothing, but for what Python itself would refuse: a divisor
must not be 0, an exponent or a shift not negative; where that is not proved it is guarded (backed)
or asserted (unbacked). Comparisons give a `SymBool`. Only `bool`, `int`, `float`, `range`, indexing
and the like ask for a value.

It is a subclass of torch's own class, so that torch's argument parser takes it, and answers
`isinstance(n, int)`. Inside this project use `type(n) is SymInt`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from anyshape.env.site import is_asked_by_user
from anyshape.errors import NoHashError, UnsupportedError
from anyshape.expr import bitwise, boolean, division, extremum, product, real
from anyshape.expr.boolean import constant, eq0, ge0, ne0
from anyshape.expr.show import show
from anyshape.symbolic.format import layout_of
from anyshape.symbolic.missing_methods import refuse_inherited
from anyshape.symbolic.sym_bool import SymBool, same_env
from anyshape.symbolic.torch_calls import NumberNode, TorchFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env
    from anyshape.expr import Bool, Expr
    from anyshape.symbolic.sym_float import SymFloat


class SymInt(torch.SymInt):
    """A symbolic integer: an expression in an environment."""

    expr: Expr
    env: Env

    __torch_function__ = TorchFunction()

    def __init__(self, expr: Expr, env: Env) -> None:
        self.expr = expr
        self.env = env

    @property  # type: ignore[misc]  # to be taken for an int is the point
    def __class__(self) -> type:
        return int

    @property
    def node(self) -> NumberNode:
        """What torch's argument parser looks for."""
        return NumberNode(self)

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        kind = type(other)
        env = self.env
        if kind is int:
            return _int(self.expr.shift(other), env)
        if kind is SymInt:
            if other.env is not env:
                same_env(env, other.env)
            return _int(self.expr + other.expr, env)
        return _other(self, other, "__add__")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        kind = type(other)
        env = self.env
        if kind is int:
            return _int(self.expr.shift(-other), env)
        if kind is SymInt:
            if other.env is not env:
                same_env(env, other.env)
            return _int(self.expr - other.expr, env)
        return _other(self, other, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        if type(other) is int:
            return _int((-self.expr).shift(other), self.env)
        return _other(self, other, "__rsub__")

    def __mul__(self, other: Any) -> Any:
        kind = type(other)
        env = self.env
        if kind is int:
            return _int(self.expr.scale(other), env)
        if kind is SymInt:
            if other.env is not env:
                same_env(env, other.env)
            return _int(product.multiply(self.expr, other.expr), env)
        return _other(self, other, "__mul__")

    __rmul__ = __mul__

    def __neg__(self) -> SymInt:
        return _int(-self.expr, self.env)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> SymInt:
        return _int(extremum.absolute(self.expr), self.env)

    def __invert__(self) -> SymInt:
        return _int(-self.expr.shift(1), self.env)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __floordiv__(self, other: Any) -> Any:
        return _operate(division.floordiv, self, other, need_nonzero)

    def __rfloordiv__(self, other: Any) -> Any:
        return _operate(division.floordiv, other, self, need_nonzero)

    def __mod__(self, other: Any) -> Any:
        return _operate(division.modulo, self, other, need_nonzero)

    def __rmod__(self, other: Any) -> Any:
        return _operate(division.modulo, other, self, need_nonzero)

    def __lshift__(self, other: Any) -> Any:
        return _operate(bitwise.left_shift, self, other, _need_natural)

    def __rlshift__(self, other: Any) -> Any:
        return _operate(bitwise.left_shift, other, self, _need_natural)

    def __rshift__(self, other: Any) -> Any:
        return _operate(bitwise.right_shift, self, other, _need_natural)

    def __rrshift__(self, other: Any) -> Any:
        return _operate(bitwise.right_shift, other, self, _need_natural)

    def __and__(self, other: Any) -> Any:
        return _operate(bitwise.bit_and, self, other)

    def __or__(self, other: Any) -> Any:
        return _operate(bitwise.bit_or, self, other)

    def __xor__(self, other: Any) -> Any:
        return _operate(bitwise.bit_xor, self, other)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, float):
            return self.__sym_float__() / other
        return _ratio(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if isinstance(other, float):
            return other / self.__sym_float__()
        return _ratio(other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else _power(self, other)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else _power(other, self)

    # ------------------------------------------------------------------ comparisons

    def __eq__(self, other: object) -> Any:
        kind = type(other)
        env = self.env
        if kind is int:
            return _bool(eq0(self.expr.shift(-other)), env)  # type: ignore[operator]
        if kind is SymInt:
            right = other.expr  # type: ignore[attr-defined]
            if other.env is not env:  # type: ignore[attr-defined]
                same_env(env, other.env)  # type: ignore[attr-defined]
            if self.expr is right:
                return _bool(boolean.true(env.pool), env)
            return _bool(eq0(self.expr - right), env)
        return _other(self, other, "__eq__")

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    def __ge__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(self.expr, other, self.env)
        return _order(self, other, "__ge__", 0)

    def __gt__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(self.expr, other + 1, self.env)
        return _order(self, other, "__gt__", 1)

    def __le__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(-self.expr, -other, self.env)
        return _order(self, other, "__le__", 0)

    def __lt__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(-self.expr, 1 - other, self.env)
        return _order(self, other, "__lt__", 1)

    # ------------------------------------------------------------------ values

    def __bool__(self) -> bool:
        return self.env.guard(ne0(self.expr))

    def __int__(self) -> int:
        return specialize(self)

    __index__ = __int__

    def __float__(self) -> float:
        return float(specialize(self))

    def __complex__(self) -> complex:
        return complex(specialize(self))

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else round(specialize(self), digits)

    def __floor__(self) -> SymInt:
        return self

    __ceil__ = __trunc__ = conjugate = __sym_int__ = __floor__

    real = numerator = property(__floor__)
    imag = property(lambda _: 0)
    denominator = property(lambda _: 1)

    def __sym_float__(self) -> SymFloat:
        made: SymFloat = _floats().SymFloat(real.apply(real.FLOAT, self.expr), self.env)
        return made

    def __sym_sqrt__(self) -> SymFloat:
        return self.__sym_float__().__sym_sqrt__()

    def is_integer(self) -> bool:
        """True, as for every integer."""
        return True

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        """The pair (self, 1)."""
        return self, 1

    def bit_length(self) -> int:
        """The number of bits of the value, which this asks for."""
        return specialize(self).bit_length()

    def __hash__(self) -> int:
        if self.env.concrete:
            return hash(specialize(self))
        raise NoHashError(
            f"a symbolic integer has no hash: {self}", fix="use int(n) to specialize on its value"
        )

    def __repr__(self) -> str:
        if self.env.concrete and is_asked_by_user(1):
            return repr(specialize(self))
        text = repr(self.expr)
        if not self.expr.is_const:
            self.env.shown.add(text)
        return text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if self.expr.is_const:
            return format(self.expr.c, spec)
        if self.env.concrete and is_asked_by_user(1):
            return format(specialize(self), spec)
        text = show(self.expr)
        self.env.shown.add(text)
        return format(text, layout_of(spec))

    def __copy__(self) -> SymInt:
        return self

    def __deepcopy__(self, memo: object) -> SymInt:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a symbolic integer cannot be pickled; it belongs to one environment")


# ---------------------------------------------------------------------- construction

refuse_inherited(SymInt)
_new_int: Final = SymInt.__new__
_new_bool: Final = SymBool.__new__


def _int(expr: Expr, env: Env) -> SymInt:
    n = _new_int(SymInt)
    n.expr = expr
    n.env = env
    return n


def _bool(condition: Bool, env: Env) -> SymBool:
    b = _new_bool(SymBool)
    b.made = condition
    b.env = env
    return b


def _at_least(e: Expr, bound: int, env: Env) -> SymBool:
    b = _new_bool(SymBool)
    b.made = None
    b.pending = (e, bound)
    b.env = env
    return b


# ---------------------------------------------------------------------- comparisons


def _order(n: SymInt, other: Any, method: str, strict: int) -> Any:
    """A comparison with another symbolic integer, or with what is neither it nor an `int`."""
    if type(other) is not SymInt:
        return _other(n, other, method)
    if other.env is not n.env:
        same_env(n.env, other.env)
    left, right = (n.expr, other.expr) if method[2] == "l" else (other.expr, n.expr)
    difference = right - left
    return _bool(ge0(difference.shift(-1) if strict else difference), n.env)


# ---------------------------------------------------------------------- operands


def _floats() -> Any:
    from anyshape.symbolic import sym_float  # noqa: PLC0415  the two classes make each other

    return sym_float


def expr_of(value: object, env: Env) -> Expr | None:
    """The expression behind a symbolic or Python integer; None for anything else."""
    kind = type(value)
    if kind is SymInt:
        same_env(env, value.env)  # type: ignore[attr-defined]
        return value.expr  # type: ignore[attr-defined, no-any-return]
    if kind is SymBool:
        return env.pool.const(int(value))  # type: ignore[call-overload]
    return env.pool.const(int(value)) if isinstance(value, int) else None


def _other(n: SymInt, other: Any, method: str) -> Any:
    """An operand that is neither `int` nor `SymInt`: a truth value, a float, or not ours."""
    kind = type(other)
    if kind is SymBool or (isinstance(other, int) and kind is not SymInt):
        return getattr(n, method)(int(other))
    if not isinstance(other, float):
        return NotImplemented
    if kind is not _floats().SymFloat and method in _EXACT and abs(other) < 1 << 64:
        return _exactly(n, float(other), method)
    return getattr(n.__sym_float__(), method)(other)


_EXACT: Final = {
    "__eq__": math.floor,
    "__lt__": math.ceil,
    "__ge__": math.ceil,
    "__le__": math.floor,
    "__gt__": math.floor,
}


def _exactly(n: SymInt, other: float, method: str) -> Any:
    """A comparison with a float, which Python makes without rounding the integer."""
    if method == "__eq__" and not other.is_integer():
        return _bool(constant(n.env.pool, False), n.env)
    return getattr(n, method)(_EXACT[method](other))


def _operate(
    build: Callable[[Expr, Expr], Expr],
    left: Any,
    right: Any,
    need: Callable[[Env, Expr], None] | None = None,
) -> Any:
    """An op on integers only; `need` makes sure of what Python asks of the right operand."""
    env = left.env if type(left) is SymInt else right.env
    x, y = expr_of(left, env), expr_of(right, env)
    if x is None or y is None:
        if isinstance(left, float) or isinstance(right, float):
            raise UnsupportedError(
                f"{build.__name__} of a symbolic integer and a float",
                fix="round the float to an integer first, or write math.floor(a / b)",
            )
        return NotImplemented
    if need is not None:
        need(env, y)
    return _int(build(x, y), env)


def ensure(env: Env, condition: Bool, message: str, error: Exception) -> None:
    """Make sure of what Python would raise `error` for: by proof, guard or assert."""
    answer = env.decide(condition)
    if answer is None and env.hint_for_guard(condition) is not False:
        env.assume(condition, message)
    elif not answer:
        raise error


def need_nonzero(env: Env, divisor: Expr) -> None:
    """Make sure that a divisor is not 0."""
    if divisor.lo <= 0 <= divisor.hi:
        message = f"division by zero: {env.text(divisor)} is 0"
        error = ZeroDivisionError("integer division or modulo by zero")
        ensure(env, ne0(divisor), message, error)


def _need_natural(env: Env, count: Expr) -> None:
    """Make sure that an exponent or shift is not negative."""
    if count.lo < 0:
        message = f"negative count: {env.text(count)}"
        ensure(env, ge0(count), message, ValueError("negative shift count or exponent"))


def _ratio(left: Any, right: Any) -> Any:
    env = left.env if type(left) is SymInt else right.env
    x, y = expr_of(left, env), expr_of(right, env)
    if x is None or y is None:
        return NotImplemented
    need_nonzero(env, y)
    return _floats().SymFloat(real.apply(real.RATIO, x, y), env)


def _power(base: Any, exponent: Any) -> Any:
    env = base.env if type(base) is SymInt else exponent.env
    if isinstance(base, float) or isinstance(exponent, float):
        return _floats().power(base, exponent, env)
    x, y = expr_of(base, env), expr_of(exponent, env)
    if x is None or y is None:
        return NotImplemented
    if _is_negative(env, y):
        need_nonzero(env, x)
        return _floats().power(base, exponent, env)
    _need_natural(env, y)
    return _int(product.power(x, y), env)


def _is_negative(env: Env, exponent: Expr) -> bool:
    """Whether an exponent makes the power a float: by proof, or by its hint and then guarded."""
    condition = ge0(exponent)
    answer = env.decide(condition)
    if answer is None and env.hint_for_guard(condition) is False:
        answer = env.guard(condition)
    return answer is False


def specialize(n: SymInt) -> int:
    """The value of `n`: proved, or its hint and then guarded, or an error."""
    return n.env.value(n.expr)
