"""Slices with Python's clamping, over symbolic bounds: exact at every size.

The sign of a bound that has a hint is guarded; all other cases are expressions, without guards.
"""

from __future__ import annotations

from typing import Any

from anyshape.errors import DimError, ShapeError
from anyshape.rules.shared.index_number import index_of
from anyshape.symbolic.functions import sym_ite
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current, is_tracing
from anyshape.tensor.size import ceil_div, expect, known, larger, plain, smaller, surely_equal, text


def clamp_index(i: Any, n: Any) -> Any:
    """A bound of a slice clamped to `0 .. n`; negative bounds count from the end."""
    return _clamped(i, n)[0]


def _clamped(i: Any, n: Any) -> tuple[Any, bool]:
    """`clamp_index`, and whether the sign of the bound is undecided."""
    i = plain(i)
    if type(i) is int:
        if i >= 0:
            return 0 if i == 0 else _minimum(i, n), False
        return n + i if type(n) is int and n + i > 0 else larger(n + i, 0), False
    negative = known(i < 0)
    if negative is None and i.expr.hint is not None:
        negative = bool(i < 0)
    if negative is False:
        return _minimum(i, n), False
    if negative:
        return plain(larger(i + n, 0)), False
    if surely_equal(i, n - 1):  # only an empty dimension makes it negative
        return larger(i, 0), False
    return plain(sym_ite(i < 0, larger(i + n, 0), _minimum(i, n))), True


def _minimum(i: Any, n: Any) -> Any:
    if i is n:
        return n
    if type(i) is int and type(n) is int:
        return min(i, n)
    if known(i <= n):
        return i
    return n if known(i >= n) else smaller(i, n)


def slice_of(s: slice, n: Any) -> tuple[Any, Any, Any]:
    """Start, length and step of a slice of a dimension of size `n`."""
    if not is_tracing() or (type(s.start) is not SymInt and type(s.stop) is not SymInt):
        return _slice_of(s, n)
    key = ("slice", *map(_key, (s.start, s.stop, s.step, n)))
    memo = current().memo
    found = memo.get(key)  # several tensors are often sliced by the same bounds
    if found is None:
        found = memo[key] = _slice_of(s, n)
    return found  # type: ignore[no-any-return]  # the memo holds values of all types


def _key(n: Any) -> Any:
    return n.expr if type(n) is SymInt else n


def _slice_of(s: slice, n: Any) -> tuple[Any, Any, Any]:
    step = 1 if s.step is None else plain(s.step)
    if type(step) is int and step <= 0:
        raise ShapeError("slice step must be positive")
    if type(step) is SymInt:
        expect(step > 0, lambda: f"slice step must be positive, and {text(step)} is not")
    start, front = (0, False) if s.start is None else _clamped(_number(s.start), n)
    stop, back = (n, False) if s.stop is None else _clamped(_number(s.stop), n)
    if type(start) is int and start == 0:
        count = stop
    else:
        count = plain(stop - start)
        if type(count) is int:
            count = max(count, 0)
        elif count.expr.lo < 0 and (front or back or not known(count >= 0)):
            count = larger(count, 0)  # the bounds may be in either order
    if not (type(step) is int and step == 1):
        count = ceil_div(count, step)
    return start, count, step


def _number(bound: Any) -> Any:
    """A bound as a number; it may be a tensor with one element."""
    return (
        bound
        if isinstance(bound, int)
        else index_of(bound)
        if not hasattr(bound, "item")
        else bound.item()
    )


def normalize_index(i: Any, n: Any, dim: int) -> Any:
    """An index counted from the front; out of range is an error, at run time at the latest."""
    i = plain(i)
    if type(i) is int and type(n) is int:
        if not -n <= i < n:
            raise DimError(f"index {i} is out of bounds for dimension {dim} with size {n}")
        return i + n if i < 0 else i

    def message() -> str:
        return f"index {text(i)} is out of bounds for dimension {dim} with size {text(n)}"

    if type(i) is int:
        expect(n > i if i >= 0 else n >= -i, message, DimError)
        return i if i >= 0 else plain(n + i)
    expect(i < n, message, DimError)
    expect(i >= -n, message, DimError)
    return counted_from_front(i, n)


def counted_from_front(i: Any, n: Any) -> Any:
    """`i + n if i < 0 else i`, as one expression where only the run knows the sign."""
    if type(i) is int:
        return i if i >= 0 else plain(n + i)
    negative = known(i < 0)
    if negative is None and i.expr.hint is not None:
        negative = bool(i < 0)
    if negative is None:
        return plain(sym_ite(i < 0, i + n, i))
    return plain(i + n) if negative else i
