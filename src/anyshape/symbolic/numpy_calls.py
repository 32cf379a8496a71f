"""NumPy's scalars and functions on symbolic numbers: `n * np.float32(0.5)`, `np.log2(n)`.

NumPy calls `__array_ufunc__` for an operand that has one. An operand is weak (a number of Python,
whose precision adapts) or strong (a scalar of NumPy). The precision of a result follows from these
as in NumPy 2:

    strong numbers, weak numbers    that of the strong ones, promoted
    no strong number                float64, or int64 if all are integers

Operands are converted to that precision first. Integers of NumPy are `NumpyInt`s. Those that come
out of an array do not show that they are strong: the asker knows whether NumPy made an array of
integers, and where one that may be NumPy's meets a narrower float, the program is refused.

What is not here (arrays, other types, `out=`) is computed by NumPy at values that are specialized.
"""

from __future__ import annotations

import dis
import operator
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.domain import INF, NINF
from anyshape.errors import UnsupportedError
from anyshape.expr import real
from anyshape.expr.constructor import extremum
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.node import Expr
from anyshape.expr.real import Real, real_const
from anyshape.expr.table.op_numpy import (
    FLOAT64_NAME,
    FUNCTIONS,
    OPERATOR_POWER,
    ROUNDINGS,
    WIDTHS,
)
from anyshape.refusal import refused
from anyshape.symbolic.numpy_scalar import (
    RANGES,
    NumpyBool,
    NumpyInt,
    at_values,
    is_of_sizes,
    is_within,
    made_by_numpy,
    scalar_name,
)
from anyshape.symbolic.operand import env_of, index_of, is_symbolic, node_of, number, to_real
from anyshape.symbolic.sym_bool import SymBool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.env import Env

_INT64: Final = "int64"
_STRONG: Final = frozenset((*RANGES, *WIDTHS))
_SIGNS: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "power",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_OPERATORS: Final = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
}
_BY_SIGN: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **{sign: _OPERATORS[name] for sign, name in _SIGNS.items() if name in _OPERATORS},
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISONS: Final = {name: sign for sign, name in _SIGNS.items() if sign[0] in "=!<>"}


class _Operand(NamedTuple):
    """An operand: its number, symbolic or not, and its dtype if it is strong."""

    number: Any
    strong: str


def _operand(x: Any) -> _Operand | None:
    """What an operand is; None for what only NumPy handles."""
    if is_symbolic(x):
        if type(x) is SymBool or type(x) is NumpyBool:
            return None
        return _Operand(x.item() if type(x) is NumpyInt else x, getattr(x, "scalar", ""))
    if type(x) in (int, float):
        return _Operand(x, "")
    dtype = str(getattr(x, "dtype", ""))
    return _Operand(x.item(), dtype) if dtype in _STRONG and x.shape == () else None


# ---------------------------------------------------------------------- integers


def _extremes(pick: Callable[[list[Expr]], Expr]) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        env = env_of(x, y)
        nodes = [node for node in (node_of(x, env), node_of(y, env)) if type(node) is Expr]
        return number(pick(nodes), env)

    return function


def _power(x: Any, y: Any) -> Any:
    made = x**y
    if not isinstance(made, int):
        raise ValueError("NumPy has no negative powers of integers")
    return made


def _same(x: Any) -> Any:
    return x


_INTEGERS: Final[dict[str, Callable[..., Any]]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": _power,
    OPERATOR_POWER: _power,
    "negative": operator.neg,
    "positive": _same,
    "absolute": abs,
    "square": lambda x: x * x,
    "maximum": _extremes(extremum.maximum),
    "minimum": _extremes(extremum.minimum),
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
_KEPT: Final = ("floor", "ceil", "trunc")  # of an integer; a float in older releases of NumPy

# ---------------------------------------------------------------------- floats


def _exactly(op: str) -> Callable[..., Real]:
    """An op of doubles whose result is rounded to the precision."""
    return lambda precision, *reals: _rounded_to(precision, real.apply(op, *reals))


def _square(precision: str, x: Real) -> Real:
    return _rounded_to(precision, real.apply("mul", x, x))


def _by_parts(name: str, op: str, holds: Callable[[real.Span], bool]) -> Callable[..., Real]:
    """An op of doubles where the span of its last operand allows it, else NumPy's function."""

    def function(precision: str, *reals: Real) -> Real:
        span = reals[-1].span
        if span.nan or not holds(span):
            return real.apply(FUNCTIONS[name, precision], *reals)
        return _rounded_to(precision, real.apply(op, *reals))

    return function


def _floor(precision: str, x: Real) -> Real:
    """The floor as a quotient, which the engine knows; of an infinity, NumPy's."""
    if not _is_finite(x):
        return real.apply(FUNCTIONS["floor", precision], x)
    return real.apply("real_floordiv", x, real_const(x.pool, 1.0))


def _ceil(precision: str, x: Real) -> Real:
    if not _is_finite(x):
        return real.apply(FUNCTIONS["ceil", precision], x)
    return real.apply("neg", _floor(precision, real.apply("neg", x)))


def _is_finite(x: Real) -> bool:
    return not x.span.nan and NINF < x.span.lo <= x.span.hi < INF


_FLOATS: Final[dict[str, Callable[..., Real]]] = {
    "add": _exactly("add"),
    "subtract": _exactly("sub"),
    "multiply": _exactly("mul"),
    "square": _square,
    "negative": _exactly("neg"),
    "absolute": _exactly("abs"),
    "fabs": _exactly("abs"),
    "positive": lambda _precision, x: x,
    "divide": _by_parts("divide", "div", lambda y: not y.lo <= 0 <= y.hi),
    "sqrt": _by_parts("sqrt", "sqrt", lambda x: x.lo >= 0),
    "floor": _floor,
    "ceil": _ceil,
}


def _float_function(name: str) -> Callable[..., Real] | None:
    found = _FLOATS.get(name)
    if found is None and (name, FLOAT64_NAME) in FUNCTIONS:
        return lambda precision, *reals: real.apply(FUNCTIONS[name, precision], *reals)
    return found


def _rounded_to(precision: str, x: Real) -> Real:
    row = ROUNDINGS.get(precision)
    return x if row is None else real.apply(row, x)


def _precision(env: Env, operands: list[_Operand]) -> str:
    """The precision of a float result; empty where NumPy decides by the function."""
    strong = {o.strong for o in operands if o.strong}
    if strong.isdisjoint(WIDTHS):
        return FLOAT64_NAME if strong <= {_INT64} else ""
    precision = _promoted(strong)
    weak = [o.number for o in operands if not o.strong]
    if precision != FLOAT64_NAME and any(map(_may_be_strong, weak)):
        raise refused(
            UnsupportedError,
            f"arithmetic of {precision} and an integer that may be NumPy's or Python's",
            why="NumPy computes in float64 with its own integers, and in the narrower precision"
            " with those of Python",
            fix="use np.float64 for the other operand",
        )
    return precision


def _may_be_strong(x: Any) -> bool:
    """Whether a number may be an integer of NumPy's. A size itself is Python's."""
    e = node_of(x, x.env) if is_symbolic(x) else None
    if type(e) is not Expr:
        return False
    return bool(x.env.asker.met_arrays)


def _promoted(strong: set[str]) -> str:
    """The dtype of a result of operands of these dtypes."""
    if len(strong) == 1:
        return next(iter(strong))
    import numpy as np  # noqa: PLC0415  it is here, for these are its own

    return str(np.result_type(*strong))


def _strong(n: Any, operands: Sequence[_Operand]) -> Any:
    """An integer that NumPy made of operands; None where only NumPy can.

    Arithmetic of sizes is taken not to overflow 64 bits. For integers that may have any value this
    is a guard, or a runtime assert.
    """
    dtype = _promoted({o.strong for o in operands if o.strong} or {_INT64})
    if dtype not in RANGES:
        return None
    if dtype == _INT64 and is_symbolic(n) and is_of_sizes(n):
        return NumpyInt(n.expr, n.env)
    weak = [o.number for o in operands if not o.strong]
    return made_by_numpy(n, dtype) if all(is_within(x, dtype) for x in weak) else None


def _converted(env: Env, operand: _Operand, precision: str) -> Real:
    node = node_of(operand.number, env)
    assert node is not None
    return _rounded_to(precision, to_real(node, env))


# ---------------------------------------------------------------------- calls


def _call(name: str, operands: list[_Operand]) -> Any:
    """The result of a ufunc; None where it has no symbolic form."""
    from anyshape.symbolic.sym_float import SymFloat  # noqa: PLC0415  it calls this module

    env = env_of(*[o.number for o in operands])
    sign = _COMPARISONS.get(name)
    integers = not any(isinstance(o.number, float) for o in operands)
    if integers and sign is not None:
        x, y = [node_of(o.number, env) for o in operands]
        return NumpyBool(compare(sign, x, y), env)  # type: ignore[arg-type]  # both are numbers
    if integers and name in _INTEGERS:
        return _strong(_INTEGERS[name](*[o.number for o in operands]), operands)
    function = _float_function(name)
    if function is None and sign is None:
        return None
    precision = _precision(env, operands)
    if precision not in WIDTHS or not _sees_errors_alike(env):
        return None
    reals = [_converted(env, o, precision) for o in operands]
    if sign is not None:
        return NumpyBool(compare(sign, *reals), env)
    assert function is not None
    env.asker.met_scalars = True
    return SymFloat(function(precision, *reals), env, precision)


def _sees_errors_alike(env: Env) -> bool:
    """Whether NumPy does the same about errors here and where a program runs, which is not inside
    of the blocks that it enters.
    """
    at_start = env.asker.array_errors
    if at_start is None:
        return True
    import numpy as np  # noqa: PLC0415  it is here, for it called

    return np.geterr() == at_start


def operator_call(sign: str, left: Any, right: Any) -> Any:
    """`left sign right`, where one of them is symbolic and one is a number of NumPy's."""
    operands = [_operand(left), _operand(right)]
    if None in operands or sign not in _SIGNS:
        return NotImplemented
    name = OPERATOR_POWER if sign == "**" else _SIGNS[sign]
    made = _call(name, operands)  # type: ignore[arg-type]  # none is None
    if made is None and is_symbolic(left) and is_symbolic(right):
        return at_values(_BY_SIGN[sign], left, right)  # NumPy, which would take over, has neither
    return NotImplemented if made is None else made


def array_ufunc(_number: Any, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
    """The `__array_ufunc__` of our numbers."""
    operands = [_operand(x) for x in inputs]
    name = {"true_divide": "divide"}.get(ufunc.__name__, ufunc.__name__)
    if method != "__call__" or named or None in operands:
        return at_values(getattr(ufunc, method), *inputs, **named)
    known = [o for o in operands if o is not None]
    by_hand: Any = ufunc
    if name in _OPERATORS and _is_by_operator():
        by_hand = _OPERATORS[name]  # which warns where the function does not
        name = OPERATOR_POWER if name == "power" else name
    if name in _KEPT and isinstance(known[0].number, int):
        if hasattr(ufunc(1), "__index__"):
            return _strong(known[0].number, known)
        return at_values(ufunc, *inputs, **named)
    try:
        made = _call(name, known)
    except (ArithmeticError, ValueError):
        made = None
    return at_values(by_hand, *inputs) if made is None else made


def _is_by_operator() -> bool:
    """Whether user code calls the ufunc by an operator: frames are ours up to the number's."""
    frame = sys._getframe(3)
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "BINARY_OP"


def array_function(_number: Any, function: Any, _types: Any, args: Any, named: Any) -> Any:
    """The `__array_function__` of our numbers: `np.round` and `np.clip`; others at values."""
    name = function.__name__
    if name in ("round", "around") and not named.keys() - {"decimals"}:
        return rounded(*args, *named.values())
    if name == "clip" and len(args) == 3 and not named:
        x, low, high = args
        import numpy as np  # noqa: PLC0415  it is here, for it called

        return np.minimum(np.maximum(x, low), high)
    return at_values(function, *args, **named)


def lifted(x: Any, other: Any) -> Any:
    """A scalar of NumPy as a constant symbolic one, where the other operand is symbolic; else `x`.

    NumPy hands an operator of such operands over as a function, which differs in the last bits and
    in warnings.
    """
    scalar = scalar_name(x)
    if not scalar or not is_symbolic(other):
        return x
    env = env_of(other)
    if scalar in RANGES:
        return NumpyInt(env.pool.const(int(x)), env, scalar)
    from anyshape.symbolic.sym_float import SymFloat  # noqa: PLC0415  it calls this module

    return SymFloat(real_const(env.pool, float(x)), env, scalar)


def converted(cls: type, x: Any) -> Any:
    """A symbolic number as a scalar of NumPy of a class: `np.int64(n)`, `np.float32(n / 2)`.

    A float becomes an integer by truncation. An integer that is not within the range of the class
    is converted by NumPy, which raises or wraps around. A float beyond it is infinite, as in
    arithmetic, without NumPy's warning.
    """
    from anyshape.symbolic.sym_float import SymFloat  # noqa: PLC0415  it calls this module

    name = cls.__name__
    operand = _operand(x)
    if operand is not None and name in WIDTHS:
        return SymFloat(_converted(x.env, operand, name), x.env, name)
    if operand is None or name not in RANGES:
        return at_values(cls, x)
    n = operand.number
    if type(n) is SymFloat:
        if not _is_finite(n.value):
            return at_values(cls, x)
        n = n.__trunc__()
    if name == _INT64 and is_symbolic(n) and is_of_sizes(n):
        return NumpyInt(n.expr, n.env)
    made = made_by_numpy(n, name)
    return at_values(cls, x) if made is None else made


def rounded(x: Any, digits: Any = 0) -> Any:
    """`np.round` of a symbolic number."""
    from anyshape.symbolic.sym_float import SymFloat  # noqa: PLC0415  it calls this module

    if type(x) is NumpyInt:
        return at_values(round, x, digits)
    if isinstance(x, int):
        return _strong(round(x, digits), [_Operand(x, "")])
    precision = x.scalar or FLOAT64_NAME
    places = index_of(digits, x.env)
    return SymFloat(real.apply(FUNCTIONS["round", precision], x.value, places), x.env, precision)


def with_shapes(function: Any, args: Any, named: Any) -> Any:
    """A function of NumPy on shapes with symbolic sizes, which are arrays of objects to it."""
    plain = [tuple(x) if isinstance(x, tuple) else x for x in args]
    asker = env_of(*[n for x in plain if isinstance(x, tuple) for n in x]).asker
    before = asker.met_arrays
    made = function(*plain, **named)
    if is_symbolic(made):
        asker.met_arrays = before
        return _strong(made, [_Operand(made, "")])
    return made


def note_array(n: Any) -> Any:
    """NumPy looks for this attribute where it makes an array of the number."""
    n.env.asker.met_arrays = True
    raise AttributeError("__array_interface__")
