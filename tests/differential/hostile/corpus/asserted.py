"""Checks that fail between two effects: what comes before one has happened, what follows has not."""

import torch

from tests.differential.hostile.program import Box, Case, program


def between(name, act, first=lambda box, x: None, values=(2, 7, 1, 7, 0, 2)):
    """A program that asks the data for a number, and changes a box between its uses."""

    def factory():
        box = Box(log=[], count=0)

        def fn(x):
            first(box, x)
            k = int(x[0].item())
            return act(box, x, k)

        calls = [lambda v=v: (torch.tensor([v, 2, 3]),) for v in values]
        return Case(fn, calls=calls, looks_at=box)

    factory.__name__ = name
    program(factory)


def _narrowed(box, x, k):
    box.log.append(1)
    return x.narrow(0, 0, k)


def _checked(box, x, k):
    box.count += 1
    torch._check(k < 5, lambda: "k is small")
    box.count += 10
    torch._check(k > 0)
    box.count += 100
    return x + k


def _tighter(box, x, k):
    box.log.append(1)
    torch._check(k < 9)
    box.log.append(2)
    torch._check(k < 5)
    box.log.append(3)
    torch._check(k < 2)
    return x + k


def _indexed(box, x, k):
    table = torch.zeros(4)
    box.log.append(1)
    y = table[k]
    box.log.append(2)
    return x + y


def _mutated(box, x, k):
    x.mul_(2)
    y = torch.zeros(4)[k]
    x.add_(1)
    return x + y


def _of_two_numbers(box, x, k):
    box.log.append(k)
    torch._check(k < 5)
    j = int(x[1].item())
    box.log.append(j)
    torch._check(k + j < 4)
    box.log.append(3)
    torch._check(j < 3)
    return x + j


def _branching(box, x, k):
    if k > 3:
        box.log.append("large")
    box.log.append("then")
    return torch.zeros(4)[k] + x


between("narrow_after_an_append", _narrowed)
between("checks_between_counts", _checked)
between("tighter_and_tighter", _tighter)
between("index_between_appends", _indexed)
between("index_between_mutations", _mutated)
between("mutation_before_the_number", _indexed, lambda box, x: x.add_(1))
between("two_numbers", _of_two_numbers)
between("after_a_branch", _branching)


@program
def index_by_a_size_on_a_new_branch():
    box = Box(log=[])

    def fn(x):
        n = x.shape[0]
        if n % 2:
            return x
        box.log.extend([1.0, n])
        return x + x[2]

    calls = [lambda n=n: (torch.arange(n) * 1.0,) for n in (3, 2, 4, 2, 5)]
    return Case(fn, calls=calls, looks_at=box)


@program
def attribute_before_a_check():
    box = Box(value=0)

    def fn(x):
        box.value = x.sum()
        m = x.nonzero().shape[0]
        torch._check(m > 1)
        box.value = m
        return x * m

    calls = [lambda v=v: (torch.tensor([v, 0.0, v]),) for v in (1.0, 0.0, 2.0, 0.0)]
    return Case(fn, calls=calls, looks_at=box)
