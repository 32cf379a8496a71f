"""Decimal numbers, from outside and made inside, under contexts that change."""

from __future__ import annotations

import decimal
import statistics
from decimal import Decimal

import torch

from tests.differential.hostile.program import Case, program


D = Decimal(1) / 3
D3 = Decimal(3)


def prec(n):
    def f():
        decimal.getcontext().prec = n

    return f


def clear():
    decimal.getcontext().clear_flags()


def reset():
    decimal.getcontext().prec = 28
    decimal.getcontext().clear_flags()


def decimal_program(name, f):
    def factory():
        return Case(f, prec(5), prec(28), clear, prec(9), cleanup=reset)

    factory.__name__, factory.__module__ = name, __name__
    program(factory)


decimal_program("div", lambda x: (x * 2, str(D / D3)))
decimal_program("neg", lambda x: (x * 2, str(-D)))
decimal_program("pos", lambda x: x * float(+D))
decimal_program("fmt", lambda x: (x * 2, f"{D:.3}"))
decimal_program("fmt2", lambda x: (x * 2, "{:.3f}".format(D)))
decimal_program("rnd", lambda x: (x * 2, str(round(D, 3))))
decimal_program("absd", lambda x: x * float(abs(D)))
decimal_program("sumd", lambda x: x * float(sum([D, D3])))
decimal_program("mean", lambda x: x * float(statistics.mean([D, D3])))
decimal_program("powd", lambda x: x * float(D**2))
decimal_program("sized", lambda x: x * float(D * x.shape[0]))
decimal_program("sized2", lambda x: x * float(x.shape[0] * D))
decimal_program("cmpd", lambda x: x * 2 if D < D3 else x)
decimal_program("divmodd", lambda x: x * float(divmod(D3, D)[1]))
decimal_program("born", lambda x: x * float(Decimal(1) / Decimal(3)))
decimal_program("fromfl", lambda x: x * float(+Decimal.from_float(0.1)))
decimal_program("meanf", lambda x: x * float(statistics.fmean([D, D3])))
decimal_program("sqrtd", lambda x: x * float(D.sqrt()))


@program
def arg():
    def f(x, d):
        return x * float(d / 3)

    def mk(n):
        return (torch.arange(n) + 1.0, D)

    return Case(f, prec(5), prec(28), prec(9), args=mk, cleanup=reset)


@program
def flags():
    def f(x):
        return x * float(D / 7)

    return Case(
        f, clear, clear, cleanup=reset, drive=lambda g, x: (g(x), str(decimal.getcontext()))
    )
