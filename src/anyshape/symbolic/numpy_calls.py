"""NumPy's functions on symbolic numbers: `np.int64(3) * n`, `np.sqrt(n)`, `np.floor(n / 2)`.

NumPy calls `__array_ufunc__` for an operand that has one. The scalars of 64 bits count as numbers
of Python. What is not in the table (arrays, other precisions, functions that NumPy computes in its
own way) and what Python refuses where NumPy does not (a division by zero) is computed by NumPy, at
values that are specialized.
"""

from __future__ import annotations

import operator
from typing import Any, Final

from anyshape.symbolic import math_functions
from anyshape.symbolic.operand import is_symbolic

_EXACT: Final = ("float64", "int64")


def _power(x: Any, y: Any) -> Any:
    made = x**y
    if _is_int(x) and _is_int(y) and not _is_int(made):
        raise ValueError("NumPy has no negative powers of integers")
    return made


def _floor(x: Any) -> Any:
    return x if _is_int(x) else x // 1.0


def _ceil(x: Any) -> Any:
    return x if _is_int(x) else -(-x // 1.0)


def _is_int(x: Any) -> bool:
    return isinstance(x, int)


_FUNCTIONS: Final[dict[str, Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": _power,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": abs,
    "square": lambda x: x * x,
    "sqrt": math_functions.sqrt,
    "floor": _floor,
    "ceil": _ceil,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_ROUNDINGS: Final = ("floor", "ceil")


def array_ufunc(_number: Any, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
    """The `__array_ufunc__` of our numbers."""
    function = _FUNCTIONS.get(ufunc.__name__)
    operands = [_plain(x) for x in inputs]
    if function is None or method != "__call__" or named or None in operands:
        return _specialized(ufunc, method, inputs, named)
    if ufunc.__name__ in _ROUNDINGS and _is_int(operands[0]) and not hasattr(ufunc(1), "__index__"):
        return _specialized(ufunc, method, inputs, named)  # older NumPy gives floats
    try:
        return function(*operands)
    except (ArithmeticError, ValueError):
        return _specialized(ufunc, method, inputs, named)


def _plain(x: Any) -> Any:
    """The operand as a number of Python, None for what is not one."""
    if is_symbolic(x) or type(x) in (int, float, bool):
        return x
    return x.item() if str(getattr(x, "dtype", "")) in _EXACT and x.shape == () else None


def _specialized(ufunc: Any, method: str, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    values = [_value(x) if is_symbolic(x) else x for x in inputs]
    return getattr(ufunc, method)(*values, **named)


def _value(x: Any) -> Any:
    return int(x) if _is_int(x) else float(x) if isinstance(x, float) else bool(x)
