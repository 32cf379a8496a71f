"""Things that are reachable and never run: changes of them change nothing, and cost nothing.

The number of entries is part of the result: it must not grow where only such things change.
"""

import collections
import itertools
import types

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program

COUNT = itertools.count()
TICKS = 0
BIG = list(range(30_000))


def counted(fn, *changes, args=None):
    """A program whose calls of one size make one entry; eager execution has none to count."""

    def drive(call, x):
        out = call(x)
        few = len(getattr(call, "entries", ())) <= 1 or x.shape[0] != 3 or call is fn
        return out, few

    def at(change):
        def make():
            if change is not None:
                change()
            return (torch.arange(3) + 1.0,)

        return make

    return Case(
        fn, calls=[at(c) for c in (None, None, *changes, None, *changes, None)], drive=drive
    )


def uncalled(x):
    return x * next(COUNT)


@program
def counter_behind_an_untaken_branch():
    o = Box(on=False)

    def fn(x):
        if o.on:
            return x * next(COUNT)
        return x * 2

    return counted(fn, lambda: next(COUNT))


@program
def other_key():
    d = {"k": 2.0, "other": 0}

    def fn(x):
        return x * d["k"]

    return counted(fn, *item(d, "other", 1, 2))


@program
def other_attribute():
    o = Box(k=2.0, other=0)

    def fn(x):
        return x * o.k

    return counted(fn, *attribute(o, "other", 1, 2), *attribute(o, "new", 3))


@program
def other_global():
    def fn(x):
        return x * 2

    def change():
        global TICKS
        TICKS += 1

    return counted(fn, change)


@program
def function_that_is_not_called():
    def fn(x):
        return x * 2 if x.shape[0] else uncalled(x)

    return counted(fn, lambda: next(COUNT))


@program
def method_that_is_not_called():
    class Kind:
        k = 2.0
        log = []

        def used(self, x):
            return x * self.k

        def unused(self, x):
            self.log.append(1)
            return x

    o = Kind()

    def fn(x):
        return o.used(x)

    return counted(fn, lambda: Kind.log.append(1), *attribute(Kind, "unused", None))


@program
def items_beyond_those_read():
    rows = [2.0, 1.0]

    def fn(x):
        return x * rows[0]

    return counted(fn, lambda: rows.append(5.0), *item(rows, 1, 9.0))


@program
def items_before_the_last():
    rows = [1.0, 2.0]

    def fn(x):
        return x * rows[-1]

    return counted(fn, lambda: rows.insert(0, 5.0), *item(rows, 0, 9.0))


@program
def items_beyond_those_read_of_a_deque():
    rows = collections.deque([2.0, 1.0])

    def fn(x):
        return x * rows[0]

    return counted(fn, lambda: rows.append(5.0), *item(rows, 1, 9.0))


@program
def item_that_moves_to_the_end():
    rows = [1.0, 2.0]

    def fn(x):
        return x * rows[-1] + rows[1]

    return Case(fn, lambda: rows.append(5.0), lambda: rows.append(2.0), rows.pop, rows.pop)


@program
def item_that_is_there_later():
    rows = [1.0]

    def fn(x):
        try:
            return x * rows[1]
        except IndexError:
            return x

    return Case(fn, lambda: rows.append(5.0), rows.pop, *item(rows, 0, 3.0))


@program
def item_that_goes():
    rows = [1.0, 2.0]

    def fn(x):
        return x * rows[1]

    return Case(fn, rows.pop, lambda: rows.append(3.0))


@program
def item_of_a_very_long_list():
    def fn(x):
        return x * BIG[29_999]

    return Case(fn, *item(BIG, 29_999, 2, 3))


@program
def very_long_list_that_is_not_read():
    o = Box(k=2.0, rows=BIG)

    def fn(x):
        return x * o.k

    return counted(fn, *item(BIG, 0, 5))


@program
def objects_that_raise_when_looked_at():
    class Angry:
        def __getattr__(self, name):
            raise RuntimeError(name)

        def __eq__(self, other):
            raise RuntimeError("eq")

        __hash__ = None

    o = Box(k=2.0, angry=Angry())

    def fn(x):
        return x * o.k

    return counted(fn)


@program
def large_library_in_reach():
    public = {name: v for name, v in vars(torch.nn.functional).items() if not name.startswith("_")}
    lib = types.SimpleNamespace(torch=torch, modules=public, k=2.0)

    def fn(x):
        if lib.k > 5:
            return lib.modules["relu"](x)
        return x * lib.k

    return counted(fn)


@program
def symbolic_library_in_reach():
    import sympy

    def fn(x):
        if x.dim() > 5:
            return x * float(sympy.sqrt(2))
        return x * 2

    return counted(fn)


@program
def generator_that_nobody_advances():
    pending = (i for i in range(3))
    o = Box(k=2.0, pending=pending)

    def fn(x):
        return x * o.k if o.pending is not None else x

    return counted(fn)


@program
def exception_branch_that_is_not_taken():
    d = {"k": 2.0}
    o = Box(fallback=1.0)

    def fn(x):
        try:
            return x * d["k"]
        except KeyError:
            return x * o.fallback

    return counted(fn, *attribute(o, "fallback", 3.0))


@program
def same_value_written_again():
    o = Box(k=2.0)

    def fn(x):
        return x * o.k

    return counted(fn, *attribute(o, "k", 2.0))


@program
def same_function_defined_again():
    def build():
        def inner(x):
            return x * 2

        return inner

    o = Box(f=build())

    def fn(x):
        return o.f(x)

    def change():
        o.f = build()

    return Case(fn, change)
