"""Symbolic integers and truth values of NumPy: `np.int64(n)`, `np.int64(n) > 2`.

A `NumpyInt` computes as a scalar of NumPy of its dtype does. Arithmetic that stays within the dtype
is symbolic, and that it does is a guard. Everything else is computed by NumPy at the value, which
specializes; where NumPy warns, the program is refused.

torch takes such scalars for numbers of Python: `number_of` gives these. Floats of NumPy are
`SymFloat`s with a `scalar`.
"""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any, Final

from anyshape.domain import INF
from anyshape.errors import UnsupportedError
from anyshape.expr import ge0
from anyshape.expr.traverse import symbols_of
from anyshape.refusal import refused
from anyshape.symbolic.definedness import usually
from anyshape.symbolic.operand import is_symbolic, register
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.env import Env
    from anyshape.expr import Bool, Expr

RANGES: Final[dict[str, tuple[int, int]]] = {
    **{f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (0, 2**n - 1) for n in (8, 16, 32, 64)},
}
"""The least and the greatest number of each dtype of integers."""
BOOL: Final = "bool_"
_FLOATS: Final = ("float16", "float32", "float64")
_STATIC: Final = frozenset(("dtype", "shape", "ndim", "size", "itemsize", "nbytes", "strides"))
_PLAIN: Final = (int, float, complex, bool, str, bytes, list, tuple)


def scalar_name(x: Any) -> str:
    """The dtype of a scalar of NumPy that may be symbolic; empty for anything else."""
    kind = type(x)
    if kind.__module__ != "numpy" or getattr(x, "shape", None) != ():
        return ""
    name: str = kind.__name__
    return name if name in RANGES or name in _FLOATS else ""


def scalar_class(name: str) -> type:
    """The class of NumPy of that name."""
    import numpy as np  # noqa: PLC0415  a number of its own is here

    found: type = getattr(np, name)
    return found


def scalar_classes() -> list[type]:
    """The classes of NumPy whose scalars may be symbolic; none if NumPy is not imported."""
    numpy = sys.modules.get("numpy")
    return [getattr(numpy, name) for name in (*RANGES, *_FLOATS)] if numpy else []


def scalar_of(x: Any) -> str:
    """The dtype of a symbolic scalar of NumPy; empty for any other value."""
    return x.scalar if is_symbolic(x) and hasattr(type(x), "scalar") else ""


def value_of(x: Any) -> Any:
    """The value of a symbolic number, of the class that it has in eager execution."""
    scalar = scalar_of(x)
    if type(x) in (SymBool, NumpyBool):
        value: Any = bool(x)
    elif type(x) in (SymInt, NumpyInt):
        value = int(x)
    else:
        value = float(x)
    return scalar_class(scalar)(value) if scalar else value


def attribute_of(x: Any, name: str) -> Any:
    """An attribute that scalars of NumPy have: what depends on the value asks for it when used."""
    kind = scalar_class(scalar_of(x))
    if name[:1] == "_" or not hasattr(kind, name):
        raise AttributeError(f"'numpy.{kind.__name__}' object has no attribute {name!r}")
    if name in _STATIC:
        return getattr(kind(1), name)
    if not callable(getattr(kind, name)):
        return getattr(value_of(x), name)
    return lambda *args, **named: at_values(getattr(kind, name), x, *args, **named)


def at_values(function: Any, *inputs: Any, **named: Any) -> Any:
    """What NumPy computes at the values of the numbers, without a warning."""
    import numpy as np  # noqa: PLC0415  a number of its own is here

    values = [value_of(x) if is_symbolic(x) else x for x in inputs]
    seen: Any = {k: how if how == "ignore" else "raise" for k, how in np.geterr().items()}
    try:
        with np.errstate(**seen):
            return function(
                *values, **{k: value_of(x) if is_symbolic(x) else x for k, x in named.items()}
            )
    except FloatingPointError as e:
        raise refused(
            UnsupportedError,
            f"NumPy warns: {e}",
            why="a program does not repeat the warnings of NumPy",
            fix="compute with numbers of Python, or outside the function",
        ) from None


def is_within(x: Any, scalar: str) -> bool:
    """Whether a number is within the range of a dtype: by a guard, or asserted at run time."""
    low, high = RANGES[scalar]
    if not is_symbolic(x):
        return bool(low <= x <= high)
    e: Expr = x.expr
    env = x.env

    def usually_holds(condition: Bool) -> bool:
        return usually(env, condition, lambda: f"{env.text(e)} overflows NumPy's {scalar}")

    is_above = e.lo >= low or usually_holds(ge0(e.shift(-low)))
    return bool(is_above and (e.hi <= high or usually_holds(ge0((-e).shift(high)))))


def _operator(sign: str, function: Callable[[Any, Any], Any], *, is_reflected: bool) -> Any:
    def method(self: Any, other: Any) -> Any:
        left, right = (other, self) if is_reflected else (self, other)
        kind = type(other)
        if not (is_symbolic(other) or kind in _PLAIN or kind.__module__ == "numpy"):
            return NotImplemented
        from anyshape.symbolic.numpy_calls import operator_call  # noqa: PLC0415  it makes these

        try:
            made = operator_call(sign, left, right)
        except (ArithmeticError, ValueError):
            made = NotImplemented
        return at_values(function, left, right) if made is NotImplemented else made

    return method


def _methods(sign: str, function: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """The method of an operator and its reflection."""
    method, reflection = [_operator(sign, function, is_reflected=r) for r in (False, True)]
    return method, reflection


class _Scalar:  # noqa: PLW1641  its subclasses have a hash
    """What integers and truth values of NumPy have in common."""

    scalar: str = ""

    @property  # type: ignore[misc]  # to be taken for a scalar of NumPy is the point
    def __class__(self) -> type:
        return scalar_class(self.scalar)

    __add__, __radd__ = _methods("+", operator.add)
    __sub__, __rsub__ = _methods("-", operator.sub)
    __mul__, __rmul__ = _methods("*", operator.mul)
    __truediv__, __rtruediv__ = _methods("/", operator.truediv)
    __floordiv__, __rfloordiv__ = _methods("//", operator.floordiv)
    __mod__, __rmod__ = _methods("%", operator.mod)
    __lshift__, __rlshift__ = _methods("<<", operator.lshift)
    __rshift__, __rrshift__ = _methods(">>", operator.rshift)
    __and__, __rand__ = _methods("&", operator.and_)
    __or__, __ror__ = _methods("|", operator.or_)
    __xor__, __rxor__ = _methods("^", operator.xor)
    __eq__ = _operator("==", operator.eq, is_reflected=False)
    __ne__ = _operator("!=", operator.ne, is_reflected=False)
    __lt__ = _operator("<", operator.lt, is_reflected=False)
    __le__ = _operator("<=", operator.le, is_reflected=False)
    __gt__ = _operator(">", operator.gt, is_reflected=False)
    __ge__ = _operator(">=", operator.ge, is_reflected=False)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return _POWER[0](self, other) if modulus is None else NotImplemented

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return _POWER[1](self, other) if modulus is None else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    if TYPE_CHECKING:
        env: Env

        def item(self) -> Any: ...

    def __getattr__(self, name: str) -> Any:
        return attribute_of(self, name)

    def __repr__(self) -> str:
        concrete = self.env.asker.is_concrete
        return repr(value_of(self)) if concrete else f"{self.scalar}({self.item()})"

    def __str__(self) -> str:
        concrete = self.env.asker.is_concrete
        return str(value_of(self)) if concrete else str(self.item())

    def __format__(self, spec: str) -> str:
        return format(value_of(self), spec)


_POWER: Final = _methods("**", operator.pow)


class NumpyInt(_Scalar, SymInt):
    """A symbolic integer of NumPy, of the dtype `scalar` and within its range."""

    def __init__(self, expr: Expr, env: Env, scalar: str = "int64") -> None:
        super().__init__(expr, env)
        self.scalar = scalar
        env.asker.met_scalars = True

    def item(self) -> SymInt:
        """The number as Python's."""
        return SymInt(self.expr, self.env)

    def tolist(self) -> SymInt:
        """The number as Python's."""
        return self.item()

    def __neg__(self) -> Any:
        return self._made(operator.neg)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._made(abs)

    def __invert__(self) -> Any:
        return at_values(operator.invert, self)

    def __round__(self, digits: int | None = None) -> Any:
        return self.item() if digits is None else at_values(round, self, digits)

    def __floor__(self) -> Any:
        return self.item()

    __ceil__ = __trunc__ = __floor__

    @property
    def real(self) -> Any:
        """The number itself."""
        return self

    @property
    def imag(self) -> Any:
        """Zero."""
        return scalar_class(self.scalar)(0)

    def conjugate(self) -> Any:
        """The number itself."""
        return self

    conj = conjugate

    def _made(self, function: Callable[[Any], Any]) -> Any:
        made = made_by_numpy(function(self.item()), self.scalar)
        return at_values(function, self) if made is None else made

    @property
    def bit_length(self) -> Any:
        """NumPy's integers have none."""
        raise AttributeError(f"'numpy.{self.scalar}' object has no attribute 'bit_length'")

    as_integer_ratio = bit_length
    __hash__ = SymInt.__hash__


class NumpyBool(_Scalar, SymBool):
    """A symbolic truth value of NumPy."""

    scalar = BOOL

    def __init__(self, condition: Bool, env: Env) -> None:
        super().__init__(condition, env)
        env.asker.met_scalars = True

    def item(self) -> SymBool:
        """The truth value as Python's."""
        return SymBool(self.condition, self.env)

    def tolist(self) -> SymBool:
        """The truth value as Python's."""
        return self.item()

    def __invert__(self) -> Any:
        made = ~self.item()
        return NumpyBool(made.condition, made.env)

    __hash__ = SymBool.__hash__


INTEGERS: Final = (SymInt, NumpyInt)


def is_of_sizes(x: Any) -> bool:
    """Whether all symbols of a number are sizes as far as their bounds tell: not negative, and
    without a limit."""
    return all(s.lo >= 0 and s.hi == INF for s in symbols_of(x.expr))


def made_by_numpy(n: Any, scalar: str = "int64") -> Any:
    """An integer of NumPy, symbolic if `n` is; None if it is not within the range of its dtype."""
    if not is_within(n, scalar):
        return None
    return NumpyInt(n.expr, n.env, scalar) if is_symbolic(n) else scalar_class(scalar)(n)


def number_of(x: Any) -> Any:
    """What torch takes a symbolic scalar of NumPy for, also in containers and slices.

    A truth value of NumPy is a number that torch promotes as a float.
    """
    kind = type(x)
    if kind is NumpyInt:
        return x.item()
    if kind is NumpyBool:
        return value_of(x)
    if kind is tuple or kind is list:
        return kind([number_of(part) for part in x])
    if kind is dict:
        return {k: number_of(part) for k, part in x.items()}
    if kind is slice:
        return slice(number_of(x.start), number_of(x.stop), number_of(x.step))
    return x


register(NumpyInt, lambda n: n.expr)
register(NumpyBool, lambda b: b.env.pool.const(int(b)))
