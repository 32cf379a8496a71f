"""Values that caches and weak references hold, and layouts without elements."""

from __future__ import annotations

import functools

import torch

from tests.differential.hostile.program import Box, Case, attribute, program


@program
def lru_impure_size():
    b = Box(k=2.0)

    @functools.lru_cache(maxsize=None)
    def g(n):
        return b.k * n

    def f(x):
        return x * g(x.shape[0])

    return Case(f, *attribute(b, "k", 3.0, 4.0), g.cache_clear, lambda: g(7))


@program
def lru_impure_const():
    b = Box(k=2.0)

    @functools.lru_cache(maxsize=1)
    def g(n):
        return b.k * n

    def f(x):
        return x * g(2)

    return Case(f, *attribute(b, "k", 3.0, 4.0), lambda: g(7), g.cache_clear)


@program
def lru_counts():
    log = []

    @functools.lru_cache(maxsize=None)
    def g(n):
        log.append(n)
        return 2.0 * n

    def f(x):
        return x * g(x.shape[0])

    return Case(f, g.cache_clear, looks_at=log)


@program
def lru_tensor_arg():
    log = []

    @functools.lru_cache(maxsize=None)
    def g(t):
        log.append(1)
        return t * 2

    w = torch.ones(3)

    def f(x):
        return x.sum() * g(w)

    return Case(f, lambda: w.fill_(2.0), g.cache_clear, looks_at=log)


@program
def lru_tensor_result():
    @functools.lru_cache(maxsize=None)
    def g(n):
        return torch.arange(n) * 1.0

    def f(x):
        t = g(x.shape[0])
        y = x + t
        t.add_(1)
        return y

    return Case(f, g.cache_clear)


@program
def lru_typed():
    @functools.lru_cache(maxsize=None, typed=True)
    def g(a):
        return float(a) + (0.5 if isinstance(a, float) else 0)

    b = Box(k=1)

    def f(x):
        return x * g(b.k)

    return Case(f, *attribute(b, "k", 1.0, True, 1))


@program
def lru_untyped():
    @functools.lru_cache(maxsize=None)
    def g(a):
        return 2.0 + (0.5 if isinstance(a, float) else 0)

    b = Box(k=1)

    def f(x):
        return x * g(b.k)

    return Case(f, *attribute(b, "k", 1.0, True, 1))


import weakref


@program
def weak_method():
    class O:
        k = 2.0

        def g(s, x):
            return x * s.k

    o = O()
    m = weakref.WeakMethod(o.g)

    def f(x):
        return m()(x)

    return Case(
        f,
        lambda: setattr(o, "k", 3.0),
        lambda: setattr(O, "g", lambda s, x: x - s.k) or setattr(o, "k", 4.0),
    )


@program
def weak_method_dead():
    class O:
        k = 2.0

        def g(s, x):
            return x * s.k

    h = [O()]
    m = weakref.WeakMethod(h[0].g)

    def f(x):
        g = m()
        return x - 1 if g is None else g(x)

    return Case(f, lambda: [setattr(o, "k", 3.0) for o in h], h.clear)


@program
def weak_dead():
    class O:
        k = 2.0

    h = [O()]
    r = weakref.ref(h[0])

    def f(x):
        o = r()
        return x * (o.k if o is not None else -1.0)

    return Case(f, lambda: [setattr(o, "k", 3.0) for o in h], h.clear)


@program
def weak_value_dict():
    class O:
        def __init__(s, k):
            s.k = k

    h = [O(1.0), O(2.0)]
    d = weakref.WeakValueDictionary({i: o for i, o in enumerate(h)})

    def f(x):
        return x * len(d) + sum(o.k for o in d.values())

    return Case(
        f,
        lambda: [setattr(o, "k", 9.0) for o in h],
        lambda: d.__setitem__(5, h[0]),
        lambda: h.__delitem__(slice(1, None)),
    )


@program
def partial_subclass_super():
    class P(functools.partial):
        def __call__(self, x):
            return super().__call__(x) + 1

    b = Box(k=2.0)
    p = P(lambda x: x * b.k)

    def f(x):
        return p(x)

    return Case(f, *attribute(b, "k", 3.0, 4.0))


@program
def layouts_without_elements():
    def f(x):
        q = torch.channels_last
        return (
            x.is_contiguous(memory_format=q),
            torch.relu(x).is_contiguous(memory_format=q),
            x.contiguous().is_contiguous(memory_format=q),
            x.is_contiguous(),
        )

    def mk(n):
        t = torch.zeros(n, 3, 2, 2)
        return (t.to(memory_format=torch.channels_last) if n in (3, 2) else t,)

    return Case(f, args=mk)


@program
def layouts_without_channels():
    def f(x):
        q = torch.channels_last
        return (
            x.is_contiguous(memory_format=q),
            x.is_contiguous(),
            x.contiguous(memory_format=q).stride(),
        )

    def mk(n):
        t = torch.zeros(2, n, 2, 2)
        return (t.to(memory_format=torch.channels_last) if n in (3, 2) else t,)

    return Case(f, args=mk)
