"""`SymFloat`: a floating-point number that stands for all values that a program may meet.

Arithmetic follows Python's doubles exactly and asks nothing, but that a divisor is not 0. `floor`,
`ceil`, `round` and `trunc` give a `SymInt`; `float(x)` and `int(x)` ask for the value. It is a
subclass of torch's own class and answers `isinstance(x, float)`.

A `SymFloat` may stand for a scalar of NumPy: `scalar` is then its dtype, and arithmetic follows
NumPy's rules of promotion and precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import torch

from anyshape.env.site import is_asked_by_user
from anyshape.errors import NoHashError
from anyshape.expr import real
from anyshape.expr.constructor import rounding
from anyshape.expr.table.op_real import ROUND_TO
from anyshape.expr.text.show import show
from anyshape.refusal import refused
from anyshape.symbolic import math_functions, numpy_calls, numpy_scalar
from anyshape.symbolic.arithmetic import comparison, methods, operate
from anyshape.symbolic.definedness import applied, need_finite
from anyshape.symbolic.format import layout_of
from anyshape.symbolic.missing_methods import refuse_inherited
from anyshape.symbolic.operand import index_of, register
from anyshape.symbolic.sym_int import SymInt, specialize
from anyshape.symbolic.torch_calls import NumberNode, TorchFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env
    from anyshape.expr import Expr, Real


class SymFloat(torch.SymFloat):
    """A symbolic floating-point number: a real expression in an environment."""

    value: Real
    env: Env
    scalar: str = ""  # "float16", "float32" or "float64" for NumPy's, "" for Python's

    __torch_function__ = TorchFunction()

    def __init__(self, value: Real, env: Env, scalar: str = "") -> None:
        self.value = value
        self.env = env
        if scalar:
            self.scalar = scalar

    @property  # type: ignore[misc]  # to be taken for a float is the point
    def __class__(self) -> type:
        return float

    @property
    def node(self) -> NumberNode:
        """What torch's argument parser looks for."""
        return NumberNode(self)

    __add__, __radd__ = methods("+")
    __sub__, __rsub__ = methods("-")
    __mul__, __rmul__ = methods("*")
    __truediv__, __rtruediv__ = methods("/")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else operate("**", self, other)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else operate("**", other, self)

    __floordiv__, __rfloordiv__ = methods("//")
    __mod__, __rmod__ = methods("%")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> SymFloat:
        return SymFloat(real.apply("neg", self.value), self.env, self.scalar)

    def __pos__(self) -> SymFloat:
        return self

    def __abs__(self) -> SymFloat:
        return SymFloat(real.apply("abs", self.value), self.env, self.scalar)

    def __array_ufunc__(self, *call: Any, **named: Any) -> Any:
        return numpy_calls.array_ufunc(self, *call, **named)

    def __array_function__(self, *call: Any) -> Any:
        return numpy_calls.array_function(self, *call)

    def __sym_sqrt__(self) -> SymFloat:
        made: SymFloat = math_functions.sqrt(self)
        return made

    def __eq__(self, other: object) -> Any:
        return comparison("==", self, other)

    def __ne__(self, other: object) -> Any:
        return comparison("!=", self, other)

    def __lt__(self, other: Any) -> Any:
        return comparison("<", self, other)

    def __le__(self, other: Any) -> Any:
        return comparison("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return comparison(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return comparison(">=", self, other)

    def _rounded(self, build: Callable[[Real], Expr]) -> SymInt:
        """The integer that a rounding gives; NaN and infinity have none."""
        need_finite(self.env, self.value)
        return SymInt(build(self.value), self.env)

    def __floor__(self) -> SymInt:
        return self._rounded(rounding.floor)

    def __ceil__(self) -> SymInt:
        return self._rounded(rounding.ceil)

    def __trunc__(self) -> SymInt:
        return self._rounded(rounding.trunc)

    __sym_int__ = __trunc__

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return self._rounded(rounding.nearest)
        if self.scalar:
            return numpy_calls.rounded(self, digits)
        places = index_of(digits, self.env)
        return SymFloat(applied(self.env, ROUND_TO, self.value, places), self.env)

    def __bool__(self) -> bool:
        return self.env.guard((self != 0.0).condition)

    def __float__(self) -> float:
        return float(self.env.real_value(self.value))

    def __int__(self) -> int:
        return specialize(self.__trunc__())

    def __getattr__(self, name: str) -> Any:
        if not self.scalar:
            raise AttributeError(f"'float' object has no attribute {name!r}")
        return numpy_scalar.attribute_of(self, name)

    def conjugate(self) -> SymFloat:
        """The number itself."""
        return self

    def __sym_float__(self) -> SymFloat:
        return SymFloat(self.value, self.env) if self.scalar else self

    def item(self) -> SymFloat:
        """The number as Python's, which scalars of NumPy have."""
        if not self.scalar:
            raise AttributeError("'float' object has no attribute 'item'")
        return self.__sym_float__()

    real = property(conjugate)
    imag = property(lambda x: numpy_scalar.scalar_class(x.scalar)(0.0) if x.scalar else 0.0)

    def hex(self) -> str:
        """The value as hexadecimal text, which this asks for."""
        return float(self).hex()

    def as_integer_ratio(self) -> tuple[int, int]:
        """The value as an exact ratio, which this asks for."""
        return float(self).as_integer_ratio()

    def is_integer(self) -> Any:
        """Whether the value is a whole number."""
        return math_functions.is_whole(self)

    def __hash__(self) -> int:
        if self.env.asker.has_hashes:
            return hash(float(self))
        raise refused(
            NoHashError,
            f"a symbolic float has no hash: {self}",
            fix="use float(x) to specialize on its value",
        )

    def __repr__(self) -> str:
        if self.env.asker.is_concrete and is_asked_by_user(1):
            return repr(float(self))
        text = repr(self.value)
        if self.value.op != real.CONST:
            self.env.asker.shown.add(text)
        return text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if self.value.op == real.CONST:
            return format(self.value.args[0], spec)
        if self.env.asker.is_concrete and is_asked_by_user(1):
            return format(float(self), spec)
        text = show(self.value)
        self.env.asker.shown.add(text)
        return format(text, layout_of(spec))

    def __copy__(self) -> SymFloat:
        return self

    def __deepcopy__(self, memo: object) -> SymFloat:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a symbolic float cannot be pickled; it belongs to one environment")


refuse_inherited(SymFloat)


register(SymFloat, lambda x: x.value, real.Real, SymFloat)
