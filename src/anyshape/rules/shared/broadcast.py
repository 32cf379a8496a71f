"""Broadcasting: sizes of 1 expand, others must be equal; undecided ones are asserted equal."""

from __future__ import annotations

from typing import Any

from anyshape.tensor.size import expect_equal, is_one, surely_equal, text


def broadcast(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The common shape; of none, as of numbers alone, that of one number."""
    if not shapes:
        return ()
    result = shapes[0]
    for shape in shapes[1:]:
        if shape is not result:
            result = _pair(result, shape)
    return result


def _pair(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(a) < len(b):
        a, b = b, a
    skip = len(a) - len(b)
    if not b:
        return a
    for i, n in enumerate(b):
        if n is not a[i + skip]:
            break
    else:
        return a
    return a[:skip] + tuple([_size(a[i + skip], n, a, b) for i, n in enumerate(b)])


def _size(n: Any, m: Any, a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
    if n is m:
        return n
    if type(n) is int and n == 1:
        return m
    if type(m) is int and m == 1:
        return n
    if not seen_equal(n, m) and not surely_equal(n, m):
        if is_one(n):
            return m
        if is_one(m):
            return n
    expect_equal(
        n, m, lambda: f"shapes {text(a)} and {text(b)} do not broadcast: {text(n)} is not {text(m)}"
    )
    return m if type(m) is int else n


def seen_equal(n: Any, m: Any) -> bool:
    """Whether the hints of two sizes are equal. If so, that is guarded, which covers size 1 too."""
    seen = n if type(n) is int else n.expr.hint
    return seen is not None and seen == (m if type(m) is int else m.expr.hint)


def fits(shape: tuple[Any, ...], into: tuple[Any, ...], op: str) -> None:
    """Require that a result of `shape` can be stored in a tensor of shape `into`."""
    if len(shape) != len(into):
        expect_equal(len(shape), len(into), lambda: _misfit(op, shape, into))
    for n, m in zip(shape, into, strict=True):
        if n is not m:
            expect_equal(n, m, lambda: _misfit(op, shape, into))


def _misfit(op: str, shape: Any, into: Any) -> str:
    return f"{op}: output with shape {text(into)} doesn't match the broadcast shape {text(shape)}"
