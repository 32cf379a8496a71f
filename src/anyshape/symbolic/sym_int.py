"""`SymInt`: an integer that stands for all values that a program may meet.

Arithmetic builds expressions and asks nothing, but for what Python itself would refuse: a divisor
must not be 0, an exponent or a shift not negative; where that is not proved it is guarded (backed)
or asserted (unbacked). Comparisons give a `SymBool`. Only `bool`, `int`, `float`, `range`, indexing
and the like ask for a value.

It is a subclass of torch's own class, so that torch's argument parser takes it, and answers
`isinstance(n, int)`. Inside this project use `type(n) is SymInt`.
"""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from anyshape.env.site import is_asked_by_user
from anyshape.errors import NoHashError
from anyshape.expr import boolean
from anyshape.expr.atom import make_atom
from anyshape.expr.boolean import eq0, ge0, ne0
from anyshape.expr.constructor import extremum, product
from anyshape.expr.node import Expr
from anyshape.expr.real import FLOAT
from anyshape.expr.table.op_integer import BIT_COUNT, BIT_LENGTH, INT_ROUND
from anyshape.expr.text.show import show
from anyshape.refusal import refused
from anyshape.symbolic.arithmetic import comparison, methods, operate, power_modulo
from anyshape.symbolic.definedness import applied
from anyshape.symbolic.format import layout_of
from anyshape.symbolic.missing_methods import refuse_inherited
from anyshape.symbolic.operand import index_of, number, register, same_env
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.torch_calls import NumberNode, TorchFunction

if TYPE_CHECKING:
    from anyshape.env import Env
    from anyshape.expr import Bool
    from anyshape.symbolic.sym_float import SymFloat

_EXACT: Final = 2.0**53  # below it, a float is compared as the integer next to it


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
        return operate("+", self, other)

    def __radd__(self, other: Any) -> Any:
        if type(other) is int:
            return _int(self.expr.shift(other), self.env)
        return operate("+", other, self)

    def __sub__(self, other: Any) -> Any:
        kind = type(other)
        env = self.env
        if kind is int:
            return _int(self.expr.shift(-other), env)
        if kind is SymInt:
            if other.env is not env:
                same_env(env, other.env)
            return _int(self.expr - other.expr, env)
        return operate("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        if type(other) is int:
            return _int((-self.expr).shift(other), self.env)
        return operate("-", other, self)

    def __mul__(self, other: Any) -> Any:
        kind = type(other)
        env = self.env
        if kind is int:
            return _int(self.expr.scale(other), env)
        if kind is SymInt:
            if other.env is not env:
                same_env(env, other.env)
            return _int(product.multiply(self.expr, other.expr), env)
        return operate("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        if type(other) is int:
            return _int(self.expr.scale(other), self.env)
        return operate("*", other, self)

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

    __floordiv__, __rfloordiv__ = methods("//")
    __mod__, __rmod__ = methods("%")
    __truediv__, __rtruediv__ = methods("/")
    __lshift__, __rlshift__ = methods("<<")
    __rshift__, __rrshift__ = methods(">>")
    __and__, __rand__ = methods("&")
    __or__, __ror__ = methods("|")
    __xor__, __rxor__ = methods("^")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return power_modulo(self, other, modulus)
        return operate("**", self, other)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return NotImplemented if modulus is not None else operate("**", other, self)

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
        if kind is float and -_EXACT < other < _EXACT:  # type: ignore[operator]
            if other.is_integer():  # type: ignore[attr-defined]
                return _bool(eq0(self.expr.shift(-int(other))), env)  # type: ignore[call-overload]
            return _bool(boolean.false(env.pool), env)
        return comparison("==", self, other)

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    def __ge__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(self.expr, other, self.env)
        return _order(self, other, ">=")

    def __gt__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(self.expr, other + 1, self.env)
        return _order(self, other, ">")

    def __le__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(-self.expr, -other, self.env)
        return _order(self, other, "<=")

    def __lt__(self, other: Any) -> Any:
        if type(other) is int:
            return _at_least(-self.expr, 1 - other, self.env)
        return _order(self, other, "<")

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
        if digits is None or (type(digits) is int and digits >= 0):
            return self
        return _int(make_atom(INT_ROUND, self.expr, index_of(digits, self.env)), self.env)

    def __floor__(self) -> SymInt:
        return self

    __ceil__ = __trunc__ = conjugate = __sym_int__ = __floor__

    real = numerator = property(__floor__)
    imag = property(lambda _: 0)
    denominator = property(lambda _: 1)

    def __sym_float__(self) -> SymFloat:
        made: SymFloat = number(applied(self.env, FLOAT, self.expr), self.env)
        return made

    def __array_ufunc__(self, *call: Any, **named: Any) -> Any:
        from anyshape.symbolic.numpy_calls import array_ufunc  # noqa: PLC0415  made of our numbers

        return array_ufunc(self, *call, **named)

    def __array_function__(self, *call: Any) -> Any:
        from anyshape.symbolic.numpy_calls import array_function  # noqa: PLC0415  made of our numbers

        return array_function(self, *call)

    @property
    def __array_interface__(self) -> Any:
        from anyshape.symbolic.numpy_calls import note_array  # noqa: PLC0415  made of our numbers

        return note_array(self)

    def __sym_sqrt__(self) -> SymFloat:
        return self.__sym_float__().__sym_sqrt__()

    def is_integer(self) -> bool:
        """True, as for every integer."""
        return True

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        """The pair (self, 1)."""
        return self, 1

    def bit_length(self) -> SymInt:  # type: ignore[override]  # taken for an int
        """The number of bits of the absolute value."""
        return _int(make_atom(BIT_LENGTH, self.expr), self.env)

    def bit_count(self) -> SymInt:
        """The number of ones in the binary form of the absolute value."""
        return _int(make_atom(BIT_COUNT, self.expr), self.env)

    def to_bytes(self, *args: Any, **named: Any) -> bytes:
        """The bytes of the number, which specialize on its value."""
        return specialize(self).to_bytes(*args, **named)

    def __hash__(self) -> int:
        if self.env.asker.has_hashes:
            return hash(specialize(self))
        raise refused(
            NoHashError,
            f"a symbolic integer has no hash: {self}",
            fix="use int(n) to specialize on its value",
        )

    def __repr__(self) -> str:
        if self.env.asker.is_concrete and is_asked_by_user(1):
            return repr(specialize(self))
        text = repr(self.expr)
        if not self.expr.is_const:
            self.env.asker.shown.add(text)
        return text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if self.expr.is_const:
            return format(self.expr.c, spec)
        if self.env.asker.is_concrete and is_asked_by_user(1):
            return format(specialize(self), spec)
        text = show(self.expr)
        self.env.asker.shown.add(text)
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


def _order(n: SymInt, other: Any, sign: str) -> Any:
    """A comparison with another symbolic integer, or with what is neither it nor an `int`.

    n < c is n < ceil(c), and n >= c is n >= ceil(c), for a float c; the other two with floor(c).
    """
    if type(other) is not SymInt:
        if type(other) is not float or not -_EXACT < other < _EXACT:
            return comparison(sign, n, other)
        if sign in ("<", ">="):
            whole = ceil(other)
            return n < whole if sign == "<" else n >= whole
        whole = floor(other)
        return n > whole if sign == ">" else n <= whole
    if other.env is not n.env:
        same_env(n.env, other.env)
    left, right = (n.expr, other.expr) if sign[0] == "<" else (other.expr, n.expr)
    difference = right - left
    return _bool(ge0(difference if len(sign) == 2 else difference.shift(-1)), n.env)


def specialize(n: SymInt) -> int:
    """The value of `n`: proved, or its hint and then guarded, or an error."""
    return n.env.value(n.expr)


register(SymInt, lambda n: n.expr, Expr, _int)
