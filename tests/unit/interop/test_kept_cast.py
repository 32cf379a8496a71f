"""A leaf that changes within the caller's block of autocast: refused, where compilers cast anew."""

import contextlib

import pytest
import torch
from torch.nn.functional import linear

import anyshape
from anyshape.errors import BackendError

LOW = torch.bfloat16


def parts(**options):
    w = torch.nn.Parameter(torch.eye(4) + 0.5)
    compiled = anyshape.compile(lambda x: linear(x, w), backend="aot_eager", **options)
    return w, compiled


def add(w):
    with torch.no_grad():
        w.add_(1)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_change_in_the_block_is_an_error(rows):
    w, compiled = parts()
    x = torch.ones(rows, 4)
    with torch.autocast("cpu", LOW):
        compiled(x)
        compiled(x)
        add(w)
        with pytest.raises(BackendError, match="block of autocast"):
            compiled(x)
    with torch.autocast("cpu", LOW):
        assert torch.equal(compiled(x), linear(x, w))


def test_blocks_are_told_apart():
    w, compiled = parts()
    x = torch.ones(2, 4)
    for _ in range(4):
        add(w)
        with torch.autocast("cpu", LOW):
            assert torch.equal(compiled(x), linear(x, w))
            with torch.autocast("cpu", enabled=False):
                pass
            assert torch.equal(compiled(x), linear(x, w))


def test_another_tensor_in_its_place_is_no_change():
    def fn(x, w):
        return linear(x, w)

    compiled = anyshape.compile(fn, backend="aot_eager")
    x = torch.ones(2, 4)
    with torch.autocast("cpu", LOW):
        for n in range(5):
            w = (torch.ones(3, 4) * n).requires_grad_()
            assert torch.equal(compiled(x, w), fn(x, w))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, contextlib.nullcontext])
def test_the_modes_of_the_caller_do_not_hide_a_change(mode):
    w, compiled = parts()
    x = torch.ones(2, 4)
    with torch.autocast("cpu", LOW), mode():
        compiled(x)
        w.data.add_(1)
        w.data = w.data + 1
        with pytest.raises(BackendError, match="block of autocast"):
            compiled(x)


def test_hooks_of_the_user_see_nothing_of_the_check():
    _, compiled = parts()
    x, seen = torch.ones(2, 4), []

    def pack(t):
        seen.append(tuple(t.shape))
        return t

    with torch.autocast("cpu", LOW):
        compiled(x)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            compiled(x)
    assert (0, 0) not in seen


def test_no_casts_are_kept():
    w, compiled = parts()
    x = torch.ones(2, 4)
    with torch.autocast("cpu", LOW, cache_enabled=False):
        compiled(x)
        add(w)
        assert torch.equal(compiled(x), linear(x, w))


def test_a_program_that_changes_the_leaf_itself_runs_with_the_eager_backend():
    w = torch.nn.Parameter(torch.eye(4))

    def fn(x):
        a = linear(x, w)
        add(w)
        return a, linear(x, w)

    compiled = anyshape.compile(fn, backend="aot_eager")
    x = torch.ones(2, 4)
    with torch.autocast("cpu", LOW), pytest.warns(anyshape.AnyshapeWarning, match="keeps a cast"):
        a, b = compiled(x)
    assert torch.equal(a, b)
