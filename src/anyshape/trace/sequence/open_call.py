"""Where a trace meets a count that only the run knows: `range(n)`, `parts[:n]`, rows of a tensor.

Only a trace whose tracer `closes_loops` goes on without the number. A count with few possible
values is no such one: each of them is traced.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.size import known
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.sequence import list_call
from anyshape.trace.sequence.list_meta import FLOAT, INTEGER, TENSOR, ListMeta
from anyshape.trace.sequence.sym_list import (
    WHOLE,
    SymList,
    index_of,
    list_of,
    make_list,
    meta_of_items,
    part_of,
    refusal_of,
)
from anyshape.trace.sequence.sym_range import SymRange
from anyshape.trace.sequence.walker import WALKERS, Counting, Numbered, Zipped

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.sequence.walker import Walker

FEW: Final = 8  # values that are traced one by one


def is_open(tracer: Any, n: Any) -> bool:
    """Whether only the run knows a number, and it may have many values."""
    if type(n) is not SymInt or not tracer.closes_loops:
        return False
    e = tracer.env.simplify(n.expr)
    if e.is_const:
        return False
    if e.hint is not None or n.expr.hint is not None:
        found: bool = tracer.opens_size(e)
        return found
    lo, hi = tracer.env.range_of(e)
    return not (math.isfinite(lo) and math.isfinite(hi) and hi - lo < FEW)


def open_range(tracer: Any, given: list[Any]) -> SymRange | None:
    """`range` of numbers of which the trace does not know one."""
    if not tracer.closes_loops or not 1 <= len(given) <= 3:
        return None
    numbers = [x.item() if isinstance(x, torch.Tensor) else x for x in given]
    if not any(is_open(tracer, n) for n in numbers):
        return None
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = int(numbers[2]) if len(numbers) == 3 else 1
    return SymRange(tracer, start, stop, step) if step else None


def open_part(recorder: Recorder, items: list[Any], key: slice) -> Any:
    """A slice of a list up to a number that the trace does not know."""
    tracer = recorder.tracer
    if not tracer.closes_loops or not recorder.is_born(items):
        return None
    if not any(type(n) in (SymInt, SymTensor) for n in (key.start, key.stop, key.step)):
        return None
    if not items and key.step is None:
        return recorder.born([])
    ends = [None if n is None else index_of(n) for n in (key.start, key.stop, key.step)]
    meta = meta_of_items(tracer, items)
    if meta is None or not any(is_open(tracer, n) for n in ends):
        return None
    return part_of(tracer, items, meta, slice(*ends))


def open_rows(t: Any) -> SymList | None:
    """The rows of a tensor as a list, if only the run knows how many there are."""
    tracer, meta = t._tracer, t._meta
    if not is_open(tracer, meta.shape[0]):
        return None
    kind = ListMeta(
        meta.shape,
        TENSOR,
        dtype=meta.dtype,
        device=meta.device,
        requires_grad=bool(meta.requires_grad),
        dense=False,
    )
    made = make_list(tracer, list_call.rows_of, (t,), kind)
    made._value.root = t._value.root
    return made


def open_numbers(t: Any) -> SymList | None:
    """The elements of a tensor of one dimension as a list, if only the run knows how many."""
    if type(t) is not SymTensor:  # one from outside, whose size is a constant
        return None
    tracer, meta = t._tracer, t._meta
    dtype = meta.dtype
    if len(meta.shape) != 1 or dtype is torch.bool or dtype.is_complex:
        return None
    if not is_open(tracer, meta.shape[0]):
        return None
    items = FLOAT if dtype.is_floating_point else INTEGER
    kind = ListMeta((meta.shape[0],), items, dtype=torch.float64 if items == FLOAT else torch.int64)
    return make_list(tracer, list_call.numbers_of, (t,), kind)


def walker_of(tracer: Any, x: Any) -> Walker | None:
    """The walker through something whose length only the run knows; None for anything else."""
    if type(x) in (SymList, SymRange):
        found: Walker = iter(x)
        return found
    if type(x) in WALKERS:
        return x  # type: ignore[no-any-return]
    if type(x) is SymTensor and tracer.closes_loops and x._meta.shape:
        rows = open_rows(x)
        return None if rows is None else iter(rows)
    return None


def open_enumerate(tracer: Any, args: Any, named: dict[str, Any]) -> Walker | None:
    """`enumerate` of such a thing."""
    of = walker_of(tracer, args[0]) if args else None
    if of is None:
        return None
    start = args[1] if len(args) > 1 else named.get("start", 0)
    return Numbered(tracer, of, index_of(start))


def open_zip(recorder: Recorder, args: Any, named: dict[str, Any]) -> Walker | None:
    """`zip` of which one argument is such a thing; lists and ranges become some, too."""
    tracer = recorder.tracer
    found = [walker_of(tracer, x) for x in args]
    if not any(w is not None for w in found):
        return None
    walkers = [w or _as_walker(tracer, x) for w, x in zip(found, args, strict=True)]
    if named.get("strict") and not _are_as_many(args):
        raise refusal_of("zip(..., strict=True)")
    return Zipped(tracer, walkers)


def _as_walker(tracer: Any, x: Any) -> Walker:
    if type(x) is range:
        return Counting(tracer, x.start, x.stop, x.step)
    if type(x) is SymTensor and x._meta.shape:
        return iter(list_of(tracer, list(x)))
    if type(x) not in (list, tuple) or meta_of_items(tracer, x) is None:
        raise refusal_of(f"zip with a {type(x).__name__}")
    return iter(list_of(tracer, list(x)))


def _are_as_many(args: Any) -> bool:
    """Whether it is known that all have one length."""
    lengths = [_length(x) for x in args]
    return None not in lengths and all(known(lengths[0] == n) is True for n in lengths)


def _length(x: Any) -> Any:
    if type(x) in (SymList, SymRange):
        return x.length
    if type(x) is SymTensor:
        return x._meta.shape[0]
    return len(x) if type(x) in (list, tuple, range) else None


def need_loop(position: Any) -> None:
    """Raise unless a walker is asked by a `for` statement, whose rounds are the same calls.

    Other code that goes through it, in C or in a comprehension, collects what it gets out of sight.
    """
    held = position.stacks[0] if position.at is not None else ()
    if not held:
        raise refusal_of(WHOLE)
    if len(held) > 1 and type(held[-2]) in (list, set, dict):
        raise refusal_of("a comprehension")
