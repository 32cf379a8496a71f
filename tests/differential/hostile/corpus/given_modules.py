"""Modules that are given to functions of torch and of Python, which call them."""

from __future__ import annotations

import functools

import torch
import torch.utils.checkpoint as ck
import torch.utils.hooks
from torch import nn

from tests.differential.hostile.program import Box, Case, attribute, leaf, matrix, program

# ids of hooks are part of what is compared
torch.utils.hooks.RemovableHandle.next_id = 100


class M(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = nn.Parameter(torch.ones(4))
        s.b = nn.Parameter(torch.ones(4))
        s.k = 2.0
        s.log = []
        s.lin = nn.Linear(4, 4)
        with torch.no_grad():
            s.lin.weight.fill_(0.5)
            s.lin.bias.fill_(0.25)
        s.d = nn.Dropout(0.0)

    def forward(s, x):
        s.n = getattr(s, "n", 0) + 1
        return s.d(s.lin(x)) * s.a * s.k + s.b


class P(M):
    """without effects"""

    def forward(s, x):
        return s.d(s.lin(x)) * s.a * s.k + s.b


def through(name, make, cls, args=matrix):
    def factory():
        m = cls()
        f = make(m)
        return Case(
            f,
            *attribute(m, "k", 3.0, 4.0),
            lambda: setattr(m, "b", nn.Parameter(torch.ones(4) * 5)),
            lambda: m.lin.bias.data.fill_(3.0),
            lambda: m.register_forward_hook(lambda a, i, o: o + 1),
            lambda: setattr(m.lin, "forward", lambda x: x),
            args=args,
            looks_at=m,
        )

    factory.__name__, factory.__module__ = f"{name}_{cls.__name__}", __name__
    program(factory)


def every(make):
    for c in (M, P):
        through(make.__name__, make, c)
    return make


def grads(n):
    return (torch.arange(4.0 * n).reshape(n, 4).requires_grad_(),)


@every
def fcall(m):
    def f(x):
        return torch.func.functional_call(m, {"a": torch.ones(4) * 2}, (x,)), m.a

    return f


@every
def fcall_all(m):
    def f(x):
        p = {k: v * 2 for k, v in m.named_parameters()}
        y = torch.func.functional_call(m, p, (x,))
        return y, m(x)

    return f


@every
def fcall_before(m):
    def f(x):
        y = m(x)
        z = torch.func.functional_call(m, {"a": y.sum(0), "lin.bias": torch.zeros(4)}, x)
        return y, z, m(x)

    return f


@every
def fcall_stateless(m):
    def f(x):
        return torch.nn.utils.stateless._functional_call(m, {"a": torch.ones(4) * 2}, (x,))

    return f


@every
def fcall_list(m):
    class W(nn.Module):
        def __init__(s):
            super().__init__()
            s.m = m

        def forward(s, x):
            return (
                s.m(x),
                [n for n, _ in s.named_parameters()],
                sum(p.sum() for p in s.parameters()),
            )

    w = W()

    def f(x):
        return torch.func.functional_call(w, {"m.a": torch.ones(4) * 2}, (x,))

    return f


@every
def checkpointed(m):
    def f(x):
        return ck.checkpoint(m, x, use_reentrant=False)

    return f


@every
def checkpoint_seq(m):
    s = nn.Sequential(m, nn.ReLU())

    def f(x):
        return ck.checkpoint_sequential(s, 2, x, use_reentrant=False)

    return f


@every
def vmapped(m):
    def f(x):
        return torch.vmap(m)(x)

    return f


@every
def jac(m):
    def f(x):
        return torch.func.jacrev(m)(x[:1]) if x.shape[0] else x

    return f


@every
def fgrad(m):
    def f(x):
        return torch.func.grad(lambda t: m(t).sum())(x)

    return f


@every
def fvjp(m):
    def f(x):
        y, v = torch.func.vjp(m, x)
        return y, v(torch.ones_like(y))

    return f


@every
def autograd_jac(m):
    def f(x):
        return torch.autograd.functional.vjp(m, x, torch.ones(x.shape))

    return f


@every
def mapped(m):
    def f(x):
        return list(map(m, [x, x * 2])), functools.reduce(lambda a, b: b(a), [m, m], x)

    return f


@every
def partialled(m):
    p = functools.partial(m)

    def f(x):
        return p(x)

    return f


@every
def treemap(m):
    def f(x):
        return torch.utils._pytree.tree_map(m, {"a": x, "b": [x + 1]})

    return f


@every
def vmap_fcall(m):
    def f(x):
        ps = {"a": torch.stack([torch.ones(4), torch.ones(4) * 2])}
        return torch.vmap(lambda p: torch.func.functional_call(m, p, (x,)))(ps)

    return f


@every
def apply_fn(m):
    def f(x):
        seen = []
        m.apply(lambda s: seen.append(type(s).__name__))
        return m(x), seen

    return f


@every
def bound_call(m):
    def f(x):
        return m.__call__(x), type(m).__call__(m, x), m.forward(x), nn.Module.__call__(m, x)

    return f


@every
def seq_of(m):
    s = nn.Sequential(m, m)

    def f(x):
        return s(x), s[0](x), s[:1](x)

    return f


@every
def deco(m):
    g = torch.no_grad()(m)

    def f(x):
        return g(x)

    return f


@every
def autocast_deco(m):
    g = torch.autocast("cpu", torch.bfloat16)(m.forward)

    def f(x):
        return g(x)

    return f


@program
def checkpoint_of_a_function_with_an_effect():
    b = Box(n=0)

    def g(x):
        b.n += 1
        return torch.sin(x)

    def f(x):
        return ck.checkpoint(g, x, use_reentrant=False)

    return Case(f, args=leaf, looks_at=b)


@program
def checkpoint_of_a_batch_norm():
    m = nn.BatchNorm1d(4)

    def f(x):
        return ck.checkpoint(m, x, use_reentrant=False)

    return Case(
        f,
        m.eval,
        m.train,
        args=lambda n: (torch.arange(4.0 * n).reshape(n, 4).requires_grad_(),),
        sizes=(2, 7),
        looks_at=m,
    )


@program
def functional_call_that_assigns():
    class A(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("b", torch.zeros(4))

        def forward(s, x):
            s.b = s.b + x.sum(0)
            return x + s.b

    m = A()

    def f(x):
        d = {"b": torch.ones(4)}
        return torch.func.functional_call(m, d, (x,)), d["b"], m.b

    return Case(f, args=matrix, looks_at=m)


@program
def functional_call_with_wrong_names():
    m = nn.Linear(4, 4)

    def f(x):
        try:
            return torch.func.functional_call(m, {"zz": torch.ones(4)}, (x,)), 0
        except (AttributeError, RuntimeError, KeyError) as e:
            return x, type(e).__name__

    return Case(f, args=matrix)
