"""Marks: what a user declares about the sizes of a tensor before passing it to a program.

A mark stays with the tensor. The strongest mark of a dimension counts: unbacked, then dynamic, then
static; a second mark of equal strength replaces the first. torch's own marks on the tensor count
too; two marks of one kind, ours and torch's, both apply. A call marks all dimensions that it names,
or raises and marks none. A hint is for optimization and decides nothing. A saved tensor keeps its
marks, as plain values that every reader of the file can load.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import torch

from anyshape.errors import ArgumentError, DimError, UnsupportedError
from anyshape.public_call import public
from anyshape.refusal import refused
from anyshape.tensor.current import is_tracing
from anyshape.torch_compat import dynamo_mark
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED

_OURS: Final = "_anyshape_marks"
_STRENGTH: Final = {STATIC: 0, BACKED: 1, UNBACKED: 2}


class Mark(NamedTuple):
    """The mark of one dimension; `kind` is "static", "backed" or "unbacked".

    A program may neither specialize a `strict` size nor restrict its range. Unbacked sizes with the
    same `shape_id` are equal.
    """

    kind: str
    strict: bool = False
    min: int | None = None
    max: int | None = None
    hint: int | None = None
    shape_id: str | None = None


@public
def mark_dynamic(
    t: torch.Tensor, dim: Any, *, min: int | None = None, max: int | None = None
) -> None:
    """Make the size of `dim`, or of each of several dimensions, dynamic from the first call on.

    It is an error if the program specializes the size, or accepts less than the range from `min` to
    `max`. A size of 0 or 1 is specialized nevertheless, unless `min` is given,
    `config.specialize_zero_one` is off, or `config.backed_size_oblivious` is on.
    """
    _need_outside("mark_dynamic")
    dims = _dims("mark_dynamic", t, dim)
    _need_range("mark_dynamic", t, dims, min, max)
    _put(t, dims, Mark(BACKED, strict=True, min=min, max=max))


@public
def maybe_mark_dynamic(t: torch.Tensor, dim: Any) -> None:
    """Like `mark_dynamic`, but the program may specialize the size."""
    _need_outside("maybe_mark_dynamic")
    _put(t, _dims("maybe_mark_dynamic", t, dim), Mark(BACKED))


@public
def mark_unbacked(
    t: torch.Tensor,
    dim: Any,
    *,
    min: int | None = None,
    max: int | None = None,
    hint: int | None = None,
    shape_id: str | None = None,
) -> None:
    """Make the size of `dim`, or of each of several dimensions, unbacked: unknown while tracing, so
    that no branch may depend on it.

    The range, and that sizes with one `shape_id` are equal, is asserted when the program runs.
    """
    name = "mark_unbacked"
    _need_outside(name)
    dims = _dims(name, t, dim)
    _need_range(name, t, dims, min, max)
    if hint is not None:
        _need_size(name, "hint", hint)
        _need_within(f"hint={hint} of {name}", hint, min, max)
    if shape_id is not None and not isinstance(shape_id, str):
        raise ArgumentError(
            f"shape_id of {name} must be a str, not {type(shape_id).__name__}",
            fix='write shape_id="rows" for all dimensions that have this size',
        )
    _put(t, dims, Mark(UNBACKED, min=min, max=max, hint=hint, shape_id=shape_id))


@public
def mark_static(t: torch.Tensor, dim: Any = None) -> None:
    """Make the size of `dim`, of each of several dimensions, or of all, a constant.

    Inside a traced function it specializes the size.
    """
    if dim is None and isinstance(t, torch.Tensor):
        dim = tuple(range(t.dim()))
    dims = _dims("mark_static", t, dim)
    if is_tracing():
        for d in dims:
            int(t.size(d))
    else:
        _put(t, dims, Mark(STATIC))


def marks_of(t: torch.Tensor) -> dict[int, Mark]:
    """The marks of a tensor by dimension, torch's own included."""
    own = t.__dict__
    if not own:
        return {}
    rank = t.dim()
    found: dict[int, Mark] = {}
    for d, mark in [*_ours(own).items(), *_of_torch(own)]:
        if -rank <= d < rank:
            known = found.get(d % rank)
            found[d % rank] = mark if known is None else _combined(known, mark)
    return found


def _ours(own: dict[str, Any]) -> dict[int, Mark]:
    return {d: Mark(*values) for d, values in own.get(_OURS, {}).items()}


# ---------------------------------------------------------------------- torch's own


def _of_torch(own: dict[str, Any]) -> list[tuple[int, Mark]]:
    """The marks that torch keeps among the attributes of a tensor; torch checks no dimensions."""
    hints = own.get(dynamo_mark.HINTS) or {}
    bounds = own.get(dynamo_mark.UNBACKED_BOUNDS) or {}
    ids = own.get(dynamo_mark.SHAPE_IDS) or {}
    found = [(d, Mark(STATIC)) for d in own.get(dynamo_mark.STATIC, ())]
    found += [(d, Mark(BACKED)) for d in own.get(dynamo_mark.MAYBE_DYNAMIC, ())]
    found += [(d, Mark(BACKED, strict=True)) for d in own.get(dynamo_mark.DYNAMIC, ())]
    for r in own.get(dynamo_mark.DYNAMIC_RANGES, ()):
        found.append((r.dim, Mark(BACKED, strict=True, min=r.min, max=r.max)))
    for attribute, strict in (
        (dynamo_mark.UNBACKED, False),
        (dynamo_mark.STRICT_UNBACKED, True),
    ):
        for d in own.get(attribute, ()):
            lo, hi = bounds.get(d, (None, None))
            found.append((d, Mark(UNBACKED, strict, lo, hi, hints.get(d), ids.get(d))))
    return found


# ---------------------------------------------------------------------- combination


def _combined(a: Mark, b: Mark) -> Mark:
    """Two marks of one dimension as one: the stronger kind; of one kind, both apply."""
    if a.kind != b.kind:
        return a if _STRENGTH[a.kind] > _STRENGTH[b.kind] else b
    lows = [m for m in (a.min, b.min) if m is not None]
    highs = [m for m in (a.max, b.max) if m is not None]
    return Mark(
        a.kind,
        a.strict or b.strict,
        max(lows, default=None),
        min(highs, default=None),
        b.hint if a.hint is None else a.hint,
        b.shape_id if a.shape_id is None else a.shape_id,
    )


def _put(t: torch.Tensor, dims: tuple[int, ...], mark: Mark) -> None:
    """Mark the dimensions that have no stronger mark."""
    marks = _ours(t.__dict__)
    for d in dims:
        known = marks.get(d)
        if known is None or _order(known) <= _order(mark):
            marks[d] = mark
    setattr(t, _OURS, {d: tuple(known) for d, known in marks.items()})


def _order(mark: Mark) -> tuple[int, bool]:
    return _STRENGTH[mark.kind], mark.strict


# ---------------------------------------------------------------------- errors


def _need_outside(name: str) -> None:
    if is_tracing():
        raise refused(
            UnsupportedError,
            f"{name} inside a traced function",
            why="which sizes are dynamic is decided before the program is traced",
            fix="mark the tensor before the call",
        )


def _dims(name: str, t: object, dim: Any) -> tuple[int, ...]:
    """The dimensions that a call names, counted from the front."""
    if not isinstance(t, torch.Tensor):
        numbers = "torch.from_numpy(x)" if type(t).__name__ == "ndarray" else "torch.tensor(x)"
        is_numbers = isinstance(t, int | float) or type(t).__name__ == "ndarray"
        raise ArgumentError(
            f"{name} takes a tensor, not {type(t).__name__}",
            fix=f"give it {numbers}" if is_numbers else "mark each tensor that the function gets",
        )
    given = tuple(dim) if isinstance(dim, list | tuple) else (dim,)
    odd = [d for d in given if type(d) is not int]
    if odd:
        raise ArgumentError(
            f"a dimension of {name} must be an int, not {odd[0]!r:.80}",
            fix="give an int, or a list or tuple of them",
        )
    rank = t.dim()
    found: list[int] = []
    for d in given:
        if not -rank <= d < rank:
            raise DimError(
                f"{name} got dimension {d} of a tensor with {rank}",
                fix=f"use {-rank} to {rank - 1}" if rank else "it has no dimension to mark",
            )
        if d % rank in found:
            raise DimError(f"{name} got dimension {d % rank} twice: {dim}")
        found.append(d % rank)
    return tuple(found)


def _need_size(name: str, argument: str, value: object) -> None:
    if type(value) is not int:
        raise ArgumentError(
            f"{argument} of {name} must be an int, not {value!r}", fix=f"write {argument}=2, say"
        )
    if value < 0:
        raise ArgumentError(
            f"{argument} of {name} is {value}", why="a size is not negative", fix="give 0 or more"
        )


def _need_range(
    name: str, t: torch.Tensor, dims: tuple[int, ...], lo: int | None, hi: int | None
) -> None:
    for argument, value in (("min", lo), ("max", hi)):
        if value is not None:
            _need_size(name, argument, value)
    if lo is not None and hi is not None and lo > hi:
        raise ArgumentError(
            f"{name}: min={lo} is more than max={hi}", fix=f"write min={hi}, max={lo}"
        )
    for d in dims:
        _need_within(f"{name}: the size {t.size(d)} of dimension {d}", t.size(d), lo, hi)


def _need_within(what: str, value: int, lo: int | None, hi: int | None) -> None:
    if (lo is not None and value < lo) or (hi is not None and value > hi):
        bounds = [f"{k}={v}" for k, v in (("min", lo), ("max", hi)) if v is not None]
        raise ArgumentError(
            f"{what} is outside of {', '.join(bounds)}", fix="give bounds that include it"
        )
