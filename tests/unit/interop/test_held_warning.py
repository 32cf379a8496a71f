"""Warnings of a compiler: shown if it succeeds, dropped if it fails; those of others at once."""

import threading
import warnings

import pytest
import torch

import anyshape
from anyshape.interop.held_warning import HeldWarnings


def texts(caught):
    return [str(w.message) for w in caught]


def fail_after(act):
    def fail():
        with HeldWarnings():
            act()
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        fail()


def test_warnings_wait_for_success():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with HeldWarnings():
            warnings.warn("one", stacklevel=1)
            assert texts(caught) == []
        assert texts(caught) == ["one"]


def test_warnings_of_a_failure_are_dropped_and_may_come_again():
    def warn():
        warnings.warn("again", stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        fail_after(warn)
        assert texts(caught) == []
        warn()
        assert texts(caught) == ["again"]


def test_warnings_of_other_threads_do_not_wait():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=lambda: warnings.warn("theirs", stacklevel=1))
        fail_after(lambda: (thread.start(), thread.join()))
        assert texts(caught) == ["theirs"]


def test_a_backward_that_cannot_run_warns_as_in_eager_execution():
    def fn(x):
        y = x.exp()
        y.add_(1)
        return y

    compiled = anyshape.compile(fn, backend="aot_eager")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(torch.ones(3, requires_grad=True))
    found = [t for t in texts(caught) if "Error detected" in t]
    assert found == []
    assert any("failed on the program" in t for t in texts(caught))
