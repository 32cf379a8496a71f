"""Functions of the user's behind functions of torch: decorators, and functions that call back."""

import torch
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

from tests.differential.hostile.program import Case, leaf, program

SCALE = 2.0
LOG = []


def set_scale(value):
    global SCALE
    SCALE = value


def named(name, make):
    """A program over a function that `make` makes of one that reads and writes."""

    def factory():
        def inner(x):
            LOG.append(SCALE)
            return x * SCALE

        decorated = make(inner)

        def fn(x):
            return decorated(x) + x

        changes = [lambda v=v: set_scale(v) for v in (3.0, -1.0)]
        return Case(fn, *changes, args=leaf, looks_at=LOG, exported=False)

    factory.__name__ = name
    program(factory)


def _generated(inner):
    @torch.no_grad()
    def steps(x):
        for _ in range(2):
            yield inner(x)

    return lambda x: sum(steps(x))


def _of_a_module(inner):
    class Model(torch.nn.Module):
        @torch.no_grad()
        def forward(self, x):
            return inner(x)

    return Model()


named("no_grad", lambda inner: torch.no_grad()(inner))
named("no_grad_of_a_generator", _generated)
named("no_grad_of_a_forward", _of_a_module)
named("enable_grad", lambda inner: torch.enable_grad()(inner))
named("inference_mode", lambda inner: torch.inference_mode()(inner))
named("autocast", lambda inner: torch.autocast("cpu", dtype=torch.bfloat16)(inner))
named("set_grad_enabled", lambda inner: torch.set_grad_enabled(False)(inner))
named("compiler_disable", lambda inner: torch.compiler.disable(inner))
named("tree_map", lambda inner: lambda x: pytree.tree_map(inner, [x])[0])
named("tree_map_only", lambda inner: lambda x: pytree.tree_map_only(torch.Tensor, inner, x))
named("checkpoint", lambda inner: lambda x: checkpoint(inner, x, use_reentrant=False))
named("vmap", lambda inner: torch.vmap(inner))
