"""Tensors with a pending conjugation or negation, which their memory does not show."""

import torch
from torch.utils import swap_tensors

from tests.differential.hostile.program import Case, program


def conjugate(n):
    return torch.complex(torch.arange(n) + 1.0, torch.arange(n) - 2.0).conj()


def given(*makers):
    """Programs of tensors made by each of these, one call after the other."""

    def register(fn):
        def factory():
            calls = [lambda n=n, make=make: (make(n),) for n in (3, 4) for make in makers]
            return Case(fn, calls=[*calls, *calls])

        factory.__name__, factory.__module__ = fn.__name__, fn.__module__
        program(factory)
        return fn

    return register


@given(conjugate, lambda n: conjugate(n).resolve_conj())
def imaginary(x):
    return x.imag * 2, x.conj().imag, x.real


@given(lambda n: conjugate(n).imag, lambda n: conjugate(n).imag.clone())
def negative(x):
    return x * 3 + 1, x.is_neg(), x.abs()


@given(conjugate)
def returned(x):
    y = x * 2
    return y.conj(), y.conj().imag, x.resolve_conj(), x


@given(lambda n: conjugate(n).resolve_conj(), conjugate)
def changed_in_place(x):
    x.imag.add_(1)
    x.mul_(2)
    return x.is_conj()


@given(lambda n: torch.ones(n))
def closed_over(x):
    return CLOSED.imag[0] * x, CLOSED.is_conj()


CLOSED = conjugate(3)


@program
def swapped_weights():
    lin = torch.nn.Linear(3, 3)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(1)

    def fn(x):
        y = lin(x)
        swap_tensors(lin.bias, torch.nn.Parameter(lin.bias.detach() + 1))
        return lin(x), y

    return Case(fn, args=lambda n: (torch.ones(n, 3),), looks_at=lin)


@program
def swapped_outside():
    lin = torch.nn.Linear(3, 3)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(1)

    def swap():
        swap_tensors(lin.weight, torch.nn.Parameter(lin.weight.detach() * 2))

    return Case(lambda x: lin(x), swap, swap, args=lambda n: (torch.ones(n, 3),), looks_at=lin)
