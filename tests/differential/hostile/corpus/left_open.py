"""Generators that are left open, and branches that handle errors after the first trace."""

from __future__ import annotations

import contextlib
import types

import torch

from tests.differential.hostile.program import Case, program


def opened(name, make):
    """A program over a generator with code after its last yield, and what it logs."""

    def factory():
        log = []

        def g(x):
            try:
                for i in range(5):
                    yield x * (i + 1)
            finally:
                log.append(x.shape[0])

        return Case(make(g, log), looks_at=log)

    factory.__name__, factory.__module__ = name, __name__
    program(factory)


def of_enumerate(g, log):
    def f(x):
        for i, y in enumerate(g(x)):
            if i == 2:
                break
        return y, len(log)

    return f


def of_zip(g, log):
    def f(x):
        (a, _), *_rest = zip(g(x), range(2))
        return a, len(log)

    return f


def of_next(g, log):
    return lambda x: (next(iter(g(x))), len(log))


def of_map(g, log):
    def f(x):
        for y in map(lambda t: t + 1, g(x)):
            return y

    return f


def of_any(g, log):
    return lambda x: (x * 2, any(t.numel() > 2 for t in g(x)))


def of_data(g, log):
    return lambda x: (x * 2, any(bool(t.sum() > 0) for t in g(x)))


def of_variable(g, log):
    def f(x):
        it = g(x)
        y = next(it)
        it = None
        log.append("after")
        return y

    return f


def of_break(g, log):
    def f(x):
        it = g(x)
        y = next(it)
        with open("/dev/null") as q:
            q.read()
        return y

    return f


def of_manager(g, log):
    m = contextlib.contextmanager(g)

    def f(x):
        with contextlib.suppress(RuntimeError), m(x) as y:
            z = y * 2
        return z

    return f


for make in (
    of_enumerate,
    of_zip,
    of_next,
    of_map,
    of_any,
    of_data,
    of_variable,
    of_break,
    of_manager,
):
    opened(make.__name__, make)


@program
def finally_in_a_later_branch():
    s = {1, 2}

    def f(x):
        if x.sum() > 3:
            return x * 1
        try:
            x.add_(1)
        finally:
            s.discard(2)
        return x * 2

    def at(n):
        def make():
            s.add(2)
            return ((torch.arange(n) + 1.0).requires_grad_(),)

        return make

    return Case(f, calls=[at(n) for n in (3, 5, 2, 2, 1, 3)], looks_at=s)


@program
def except_in_a_later_branch():
    def f(x, i):
        if x.sum() > 3:
            return x * 1
        try:
            return x[i] * 2
        except IndexError:
            return x * 0 - 1

    def at(n, i):
        return lambda: (torch.arange(n) + 1.0, torch.tensor([i]))

    return Case(
        f, calls=[at(*c) for c in ((3, 0), (5, 0), (2, 0), (2, 0), (2, 9), (2, 1), (2, 9), (3, 0))]
    )


@program
def except_with_effects_in_a_later_branch():
    log = []

    def f(x, i):
        log.append(x.shape[0])
        if x.sum() > 3:
            return x * 1
        try:
            log.append("try")
            return x[i] * 2
        except IndexError:
            log.append("except")
            return x * 0 - 1

    def at(n, i):
        return lambda: (torch.arange(n) + 1.0, torch.tensor([i]))

    return Case(
        f,
        calls=[at(*c) for c in ((3, 0), (5, 0), (2, 9), (2, 0), (2, 9), (2, 1), (2, 9), (3, 0))],
        looks_at=log,
    )


@program
def namespaces_compared():
    s = types.SimpleNamespace(k=2.0)

    def f(x):
        return x * (2 if s == types.SimpleNamespace(k=2.0) else 3), s != types.SimpleNamespace(
            k=3.0
        )

    return Case(
        f,
        lambda: setattr(s, "k", 3.0),
        lambda: setattr(s, "j", 1),
        lambda: delattr(s, "j") if hasattr(s, "j") else None,
    )
