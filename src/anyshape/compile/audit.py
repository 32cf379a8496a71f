"""The audit: a call that a program serves is traced again, and the two programs are compared.

It finds what a function read and no guard watches. Programs with graph breaks are not audited: a
trace of one runs its segments, with their effects.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from anyshape.compile.tree.trace_path import PathTracer
from anyshape.config import config
from anyshape.errors import AuditError
from anyshape.public_call import public
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.capture import capture_call
from anyshape.trace.path.segment import Segment
from anyshape.trace.record.read.read import meta_of
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.compile.cache.entry import Entry
    from anyshape.trace.options import TraceOptions
    from anyshape.trace.record.read.watch import Watch


@contextmanager
@public
def audit() -> Iterator[None]:
    """Audit every call of compiled functions in the body of a `with` block.

    A call whose program is not what the function does now raises `AuditError`.
    """
    with config.patch(audit=True):
        yield


def audit_call(fn: Any, entry: Entry, args: Any, kwargs: Any, options: TraceOptions) -> None:
    """Raise if a trace of this call gives another program than the entry that serves it."""
    if entry.root is not None:
        return
    call = Arguments.of(fn, args, kwargs, entry.attributes, owned=True, held=entry.held)
    is_whole = type(entry.captured.tracer) is Tracer
    tracer = Tracer(options=options) if is_whole else _Undecided(Segment(), call.flat, options)
    captured = capture_call(fn, call, entry.choose, tracer)
    watch = tracer.recorder.finish()
    served = entry.captured
    tensors = [[t for _, t in c.graph.constants] for c in (served, captured)]
    if captured.code == served.code and len(tensors[0]) == len(tensors[1]):
        is_old = tracer.recorder.is_outside
        pairs = zip(*tensors, strict=True)
        if all(
            a is b or _is_one_memory(a, b) or (not is_old(b) and _is_equal(a, b)) for a, b in pairs
        ):
            return
    raise AuditError(
        f"the program that serves this call of {getattr(fn, '__qualname__', fn)} is not the program"
        " that it has now",
        why=_difference(served.code, captured.code),
        fix="report it with what was read and not guarded: " + _unwatched(entry.watch, watch),
    )


class _Undecided(PathTracer):
    """A trace that runs nothing: a program without graph breaks has none when traced again."""

    def __init__(self, root: Segment, flat: list[Any], options: TraceOptions) -> None:
        super().__init__(root, flat, (), list(flat), options)

    def decide(self, question: Any) -> Any:
        """See `PathTracer`."""
        raise AuditError(
            "the program that serves this call has no graph breaks, and the function has one now",
            why=f"it asks {self.env.text(question)}",
        )


def _is_equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors that a program holds, and did not find outside, are alike."""
    return meta_of(a) == meta_of(b) and torch.equal(a, b)


def _is_one_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors are views of one memory, as of an array, and one has data."""
    return meta_of(a) == meta_of(b) and a.data_ptr() == b.data_ptr() != 0


def _difference(served: str, traced: str) -> str:
    """The first line that differs."""
    for a, b in zip(served.splitlines(), traced.splitlines(), strict=False):
        if a != b:
            return f"{a.strip()!r} is {b.strip()!r} now"
    return "a tensor from outside is another one, or the programs differ in length"


def _unwatched(served: Watch, now: Watch) -> str:
    """What the call read that the entry does not watch, or that had another value."""
    found = [
        now.label(read)
        for place, read in now.places.items()
        if place not in served.places or not served.places[place].holds()
    ]
    return ", ".join(dict.fromkeys(found[:5])) or "nothing that is known"
