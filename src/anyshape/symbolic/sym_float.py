"""`SymFloat`: a floating-point number that stands for all values that a program may meet.

Arithmetic follows Python's doubles exactly and asks nothing, but that a divisor is not 0. `floor`,
`ceil`, `round` and `trunc` give a `SymInt`; `float(x)` and `int(x)` ask for the value. It is a
subclass of torch's own class and answers `isinstance(x, float)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import torch

from anyshape.env.site import is_asked_by_user
from anyshape.errors import NoHashError, UnsupportedError
from anyshape.expr import boolean, real, rounding
from anyshape.expr.show import show
from anyshape.symbolic.format import layout_of
from anyshape.symbolic.missing_methods import refuse_inherited
from anyshape.symbolic.sym_bool import SymBool, same_env
from anyshape.symbolic.sym_int import SymInt, ensure, expr_of, specialize
from anyshape.symbolic.torch_calls import NumberNode, TorchFunction

if TYPE_CHECKING:
    from anyshape.env import Env
    from anyshape.expr import Real


class SymFloat(torch.SymFloat):
    """A symbolic floating-point number: a real expression in an environment."""

    value: Real
    env: Env

    __torch_function__ = TorchFunction()

    def __init__(self, value: Real, env: Env) -> None:
        self.value = value
        self.env = env

    @property  # type: ignore[misc]  # to be taken for a float is the point
    def __class__(self) -> type:
        return float

    @property
    def node(self) -> NumberNode:
        """What torch's argument parser looks for."""
        return NumberNode(self)

    def _apply(self, op: str, *others: Any) -> Any:
        """The op over the operands, of which one is this number."""
        operands = [real_of(o, self.env) for o in others]
        if None in operands:
            return NotImplemented
        return SymFloat(real.apply(op, *operands), self.env)

    def __add__(self, other: Any) -> Any:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._apply("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        divisor = real_of(other, self.env)
        if divisor is None:
            return NotImplemented
        _need_nonzero(divisor, self.env)
        return SymFloat(real.apply("div", self.value, divisor), self.env)

    def __rtruediv__(self, other: Any) -> Any:
        dividend = real_of(other, self.env)
        if dividend is None:
            return NotImplemented
        _need_nonzero(self.value, self.env)
        return SymFloat(real.apply("div", dividend, self.value), self.env)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else self._apply("pow", self, other)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else self._apply("pow", other, self)

    def __floordiv__(self, other: Any) -> NoReturn:
        raise UnsupportedError(
            f"the floor division or remainder of a symbolic float: {self}",
            fix="write math.floor(a / b) and say how it should round",
        )

    __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __floordiv__

    def __neg__(self) -> SymFloat:
        return SymFloat(real.apply("neg", self.value), self.env)

    def __pos__(self) -> SymFloat:
        return self

    def __abs__(self) -> SymFloat:
        return SymFloat(real.apply("abs", self.value), self.env)

    def __sym_sqrt__(self) -> SymFloat:
        return SymFloat(real.apply("sqrt", self.value), self.env)

    def _compare(self, sign: str, other: Any) -> Any:
        right = real_of(other, self.env)
        if right is None:
            return NotImplemented
        return SymBool(boolean.compare_reals(sign, self.value, right), self.env)

    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(">=", other)

    def __floor__(self) -> SymInt:
        return SymInt(rounding.floor(self.value), self.env)

    def __ceil__(self) -> SymInt:
        return SymInt(rounding.ceil(self.value), self.env)

    def __trunc__(self) -> SymInt:
        return SymInt(rounding.trunc(self.value), self.env)

    __sym_int__ = __trunc__

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return SymInt(rounding.nearest(self.value), self.env)
        return round(float(self), digits)

    def __bool__(self) -> bool:
        zero = real.real_const(self.env.pool, 0.0)
        return self.env.guard(boolean.compare_reals("!=", self.value, zero))

    def __float__(self) -> float:
        return self.env.real_value(self.value)

    def __int__(self) -> int:
        return specialize(self.__trunc__())

    def conjugate(self) -> SymFloat:
        """The number itself."""
        return self

    __sym_float__ = conjugate
    real = property(conjugate)
    imag = property(lambda _: 0.0)

    def hex(self) -> str:
        """The value as hexadecimal text, which this asks for."""
        return float(self).hex()

    def as_integer_ratio(self) -> tuple[int, int]:
        """The value as an exact ratio, which this asks for."""
        return float(self).as_integer_ratio()

    def is_integer(self) -> bool:
        """Whether the value is a whole number, which this asks for."""
        return float(self).is_integer()

    def __hash__(self) -> int:
        if self.env.concrete:
            return hash(float(self))
        raise NoHashError(
            f"a symbolic float has no hash: {self}", fix="use float(x) to specialize on its value"
        )

    def __repr__(self) -> str:
        if self.env.concrete and is_asked_by_user(1):
            return repr(float(self))
        text = repr(self.value)
        if self.value.op != real.CONST:
            self.env.shown.add(text)
        return text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if self.value.op == real.CONST:
            return format(self.value.args[0], spec)
        if self.env.concrete and is_asked_by_user(1):
            return format(float(self), spec)
        text = show(self.value)
        self.env.shown.add(text)
        return format(text, layout_of(spec))

    def __copy__(self) -> SymFloat:
        return self

    def __deepcopy__(self, memo: object) -> SymFloat:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a symbolic float cannot be pickled; it belongs to one environment")


refuse_inherited(SymFloat)


def real_of(value: object, env: Env) -> Real | None:
    """The real behind a symbolic or Python number; None for anything else."""
    kind = type(value)
    if kind is SymFloat:
        same_env(env, value.env)  # type: ignore[attr-defined]
        return value.value  # type: ignore[attr-defined, no-any-return]
    if isinstance(value, float):
        return real.real_const(env.pool, float(value))
    expr = expr_of(value, env)
    return None if expr is None else real.apply(real.FLOAT, expr)


def power(base: object, exponent: object, env: Env) -> SymFloat:
    """`base ** exponent` on doubles, for two numbers."""
    return SymFloat(real.apply("pow", real_of(base, env), real_of(exponent, env)), env)


def _need_nonzero(divisor: Real, env: Env) -> None:
    """Make sure that a float divisor is not 0: by proof, guard or assert."""
    zero = real.real_const(env.pool, 0.0)
    ensure(
        env,
        boolean.compare_reals("!=", divisor, zero),
        f"division by zero: {env.text(divisor)} is 0",
        ZeroDivisionError("float division by zero"),
    )
