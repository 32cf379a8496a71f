"""`warnings.catch_warnings` in compiled programs: filters of each run, restored after it."""

from __future__ import annotations

import warnings

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.trace.graph import codegen


def compiled(f):
    return anyshape.compile(f, fullgraph=True)


def _run(f, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        before = (warnings.filters, warnings.showwarning)
        try:
            found = f(*args)
        except ZeroDivisionError:
            found = None
        assert before == (warnings.filters, warnings.showwarning)
        assert before[0] is warnings.filters
    return found, [(str(w.message), w.category) for w in seen]


def recorded(x):
    with warnings.catch_warnings(record=True):
        warnings.warn("one", stacklevel=1)
        return x.sin()


def ignored(x):
    warnings.warn("before", stacklevel=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("inside", stacklevel=1)
        y = x * 2
    warnings.warn("after", stacklevel=1)
    return y


def nested(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("no, but shown", stacklevel=1)
        warnings.warn("no", stacklevel=1)
        warnings.warn("yes", stacklevel=1)
    return x + 1


@pytest.mark.parametrize("f", [recorded, ignored, nested])
def test_warnings_are_those_of_eager(f):
    g = compiled(f)
    for n in (2, 0, 1, 3):
        x = torch.randn(n)
        (found, shown), (wanted, others) = _run(g, x), _run(f, x)
        assert torch.equal(found, wanted)
        assert shown == others


def failing(x, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x / (1 // x.numel())


def test_filters_are_restored_after_an_error():
    g = compiled(failing)
    for n in (1, 0, 1):
        _run(g, torch.ones(n), n)


def test_a_program_that_does_not_restore_is_found(monkeypatch):
    """A planted bug: blocks are not left after an error."""

    def late(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.linalg.cholesky(x)

    monkeypatch.setattr(codegen, "WARNING_BLOCKS", frozenset())
    g = compiled(late)
    g(torch.eye(2))
    with warnings.catch_warnings():
        before = warnings.filters
        with pytest.raises(torch.linalg.LinAlgError):
            g(-torch.eye(2))
        assert warnings.filters is not before


def test_a_block_that_is_returned():
    g = compiled(lambda x: (x.sin(), warnings.catch_warnings(record=True)))
    (_, a), (_, b) = g(torch.ones(2)), g(torch.ones(2))
    assert type(a) is type(b) is warnings.catch_warnings
    assert a is not b
    with a as seen:
        warnings.simplefilter("always")
        warnings.warn("seen", stacklevel=1)
    assert len(seen) == 1


def test_what_the_trace_cannot_know():
    def looks(x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.warn("one", stacklevel=1)
        return x + len(seen)

    def fails(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return x + 1

    for f in (looks, fails):
        with pytest.raises(AnyshapeError):
            compiled(f)(torch.ones(2))
        assert torch.equal(anyshape.compile(f)(torch.ones(2)), torch.full((2,), 2.0))
