"""Tensors whose size or memory changes in place, and what is told of it afterwards."""

import torch

from tests.differential.hostile.program import body


@body(sizes=(2,))
def resized(x):
    x.resize_(2)
    return x + 1, x.shape


@body(sizes=(2,))
def resized_like(x):
    x.resize_as_(torch.ones(2))
    return x + 1


@body(sizes=(2,))
def strided(x):
    x.as_strided_((1,), (1,), 0)
    return x + 1


@body(sizes=(2,))
def made_shared(x):
    y = x * 2
    y.share_memory_()
    return y.is_shared(), y[:1].is_shared(), (y + 1).is_shared()


@body(sizes=(2,))
def argument_made_shared(x):
    before = x.is_shared()
    x.share_memory_()
    return before, x.is_shared(), x.view(-1).is_shared()


@body(args=lambda n: ((torch.arange(n) + 1.0).share_memory_(),))
def shared_by_the_caller(x):
    return x.is_shared(), x[:1].is_shared(), (x * 2).is_shared(), x.is_pinned()
