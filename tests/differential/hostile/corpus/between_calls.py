"""What is done to modules, functions and their surroundings between the calls of a program."""

import functools
import sys
import types

import torch
from torch import nn

from tests.differential.hostile.program import Box, Case, attribute, matrix, program


def filled(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.fill_(0.25 * (i + 1))
    return module


def net():
    return filled(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)))


@program
def hooks_come_and_go():
    m, log, handles = net(), [], []

    def add():
        handles.append(m[0].register_forward_hook(lambda mod, a, out: out * len(log)))
        handles.append(m.register_forward_pre_hook(lambda mod, a: log.append(a[0].shape[0])))

    def swap():
        handles.pop(0).remove()
        handles.append(m[2].register_forward_hook(lambda mod, a, out: None))

    def drop():
        while handles:
            handles.pop().remove()

    return Case(m, add, swap, drop, add, args=matrix, looks_at=log)


@program
def hooks_of_all_modules():
    m, held = net(), Box(h=None, k=2.0)

    def add():
        held.h = nn.modules.module.register_module_forward_hook(
            lambda mod, a, out: out * held.k if isinstance(mod, nn.Linear) else None
        )

    def drop():
        if held.h is not None:
            held.h.remove()

    changes = [add, *attribute(held, "k", -1.0), drop]
    return Case(m, *changes, args=matrix, cleanup=drop)


@program
def backward_hooks_between_calls():
    m, log, handles = net(), [], []

    def add():
        handles.append(m[0].weight.register_hook(lambda g: log.append(1) or g * 2))

    def drop():
        while handles:
            handles.pop().remove()

    return Case(lambda x: m(x), add, drop, add, args=matrix, backward=True, looks_at=(m, log))


@program
def parameters_replaced():
    m = net()

    def other():
        m[0].weight = nn.Parameter(torch.full((4, 4), -0.5))

    def buffer():
        del m[2].bias
        m[2].register_buffer("bias", torch.ones(2))

    def none():
        del m[2].bias
        m[2].register_parameter("bias", None)

    def data():
        m[0].weight.data = torch.full((4, 4), 2.0)

    def frozen():
        m[0].weight.requires_grad_(not m[0].weight.requires_grad)

    return Case(m, other, buffer, data, frozen, none, frozen, args=matrix, backward=True)


@program
def modes_of_modules():
    m = nn.Sequential(filled(nn.Linear(4, 4)), nn.BatchNorm1d(4), nn.Dropout(1.0))

    def momentum():
        m[1].momentum = None

    def untracked():
        m[1].track_running_stats = False
        m[1].running_mean = m[1].running_var = None

    changes = [m.eval, lambda: m[1].train(), m.train, momentum, m[2].eval, untracked]
    return Case(
        m, *changes, args=lambda n: (torch.arange(4.0 * n).reshape(n, 4),), sizes=(2,), looks_at=m
    )


@program
def submodules_replaced():
    m = net()

    def identity():
        m[1] = nn.Identity()

    def longer():
        m.append(nn.Tanh())

    def shorter():
        del m[3]

    def named():
        m.add_module("last", filled(nn.Linear(2, 3)))

    return Case(m, identity, longer, shorter, named, args=matrix)


@program
def forward_patched():
    m = net()
    plain = m[0].forward

    def wrapped(x, calls=[]):
        calls.append(x.shape[0])
        return plain(x) * len(calls)

    def patch():
        m[0].forward = wrapped

    def bound():
        m[0].forward = types.MethodType(lambda self, x: x @ self.weight, m[0])

    def back():
        m[0].__dict__.pop("forward", None)

    return Case(m, patch, bound, back, args=matrix, looks_at=wrapped.__defaults__)


@program
def code_and_defaults_of_a_function():
    def helper(x, k=2.0, *, m=1.0):
        return x * k + m

    def other(x, k=0.0, *, m=0.0):
        return x - k - m

    plain = helper.__code__

    def named():
        helper.__kwdefaults__ = {"m": 5.0}

    def code():
        helper.__code__ = other.__code__

    def back():
        helper.__code__, helper.__defaults__ = plain, (3.0,)

    def mutated():
        helper.__kwdefaults__["m"] = -1.0

    return Case(lambda x: helper(x), named, mutated, code, back)


@program
def names_of_a_module():
    m = types.ModuleType("settings_of_between_calls")
    m.K = 2.0
    m.__getattr__ = lambda name: {"LAZY": 7.0}[name]
    sys.modules[m.__name__] = m

    def fn(x):
        import settings_of_between_calls as s

        try:
            absent = s.ABSENT
        except KeyError:
            absent = None
        return x * s.K + s.LAZY, absent

    def lazy():
        m.__getattr__ = lambda name: 1.0

    def replaced():
        other = types.ModuleType(m.__name__)
        other.K, other.LAZY, other.ABSENT = -1.0, 0.0, "there"
        sys.modules[m.__name__] = other

    changes = [lambda: setattr(m, "LAZY", 3.0), lazy, lambda: delattr(m, "LAZY"), replaced]
    return Case(fn, *changes, cleanup=lambda: sys.modules.pop(m.__name__, None))


COUNT = 1.0


@program
def globals_deleted_inside():
    def fn(x):
        global COUNT
        y = x * COUNT
        del COUNT
        there = "COUNT" in globals()
        COUNT = x.shape[0] + 1.0
        return y, there

    return Case(fn, lambda: globals().update(COUNT=-2.0), looks_at=lambda: COUNT)


@program
def attributes_deleted():
    o = Box(a=1.0, b=[1, 2])

    def fn(x):
        y = x * getattr(o, "a", 10.0)
        if hasattr(o, "a"):
            del o.a
        else:
            o.a = float(x.shape[0])
        del o.b[0]
        return y, len(o.b), sorted(vars(o))

    return Case(fn, lambda: setattr(o, "b", [1, 2, 3]), looks_at=o, sizes=())


@program
def nested_cells():
    def make():
        n, k = 0, 2.0

        def outer(x):
            nonlocal n

            def inner(y):
                nonlocal n, k
                n += 1
                k = k + n
                return y * k

            return inner(x) + inner(x * n), n

        def put(v):
            nonlocal k
            k = v

        return outer, put

    outer, put = make()
    return Case(outer, lambda: put(0.0), lambda: put(-3.0), looks_at=outer)


@program
def loop_variables_in_closures():
    held = Box(fs=[])

    def fn(x):
        held.fs = [lambda y: y * k for k in range(3)]
        later = [lambda y, k=k: y * k for k in range(3)]
        for j in range(2):
            held.fs.append(lambda y: y + j)
        return [f(x) for f in held.fs[:3]], [f(x) for f in later], held.fs[3](x), held.fs[4](x)

    return Case(fn, looks_at=lambda: len(held.fs))


@program
def defaults_that_are_changed():
    def fn(x, seen=[], table={}, *, more=Box(n=0)):
        seen.append(x.shape[0])
        table[x.shape[0]] = table.get(x.shape[0], 0) + 1
        more.n += len(table)
        return x * len(seen) + more.n, dict(table)

    return Case(
        fn, lambda: fn.__defaults__[0].clear(), lambda: setattr(fn, "__defaults__", ([5], {}))
    )


@program
def partials_of_partials():
    f = functools.partial(lambda a, b, x, k=1.0: x * a + b * k, 2.0)
    g = functools.partial(f, 3.0, k=2.0)

    def named():
        g.keywords["k"] = 5.0

    def state():
        g.__setstate__((f, (1.0,), {"k": 0.0}, {}))

    return Case(lambda x: g(x), named, state)


@program
def buffers_assigned_inside():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.register_buffer("cache", None, persistent=False)
            self.steps = 0

        def forward(self, x):
            self.steps += 1
            if self.training:
                self.mean = self.mean * 0.5 + x.sum(0)
            if self.cache is None or self.cache.shape != x.shape:
                self.cache = torch.zeros_like(x)
            self.cache += x
            return x - self.mean + self.cache * self.steps

    m = M()
    changes = [m.eval, lambda: m.mean.fill_(3), lambda: setattr(m, "cache", None), m.train]
    return Case(m, *changes, args=matrix, looks_at=m)
