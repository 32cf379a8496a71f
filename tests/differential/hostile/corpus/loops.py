"""Loops over sizes and data, with state that changes inside: counters, lists, objects, iterators."""

import functools
import itertools

import torch

from tests.differential.hostile.program import Box, Case, attribute, matrix, program


class Rows(list):
    pass


class Table(dict):
    pass


class Both:
    __slots__ = ("__dict__", "k")


def loops(name, make, step, read):
    """A program with a loop over rows that changes a local object, used at the end."""

    def factory():
        def fn(x):
            o = make()
            y = x.sum(0)
            for i in range(x.shape[0]):
                y = y * 0.5 + x[i]
                step(o, i)
            return y, read(o)

        return Case(fn, args=matrix)

    factory.__name__ = name
    program(factory)


def bump(o, i):
    o.n = getattr(o, "n", 0) + 1


loops("counter_in_an_object", Box, bump, lambda o: getattr(o, "n", 0))
loops("counter_in_a_list", lambda: [0], lambda o, i: o.__setitem__(0, o[0] + 1), lambda o: o[0])
loops(
    "counter_in_a_list_subclass",
    lambda: Rows([0]),
    lambda o, i: o.__setitem__(0, o[0] + 1),
    lambda o: o[0],
)
loops("list_subclass_appended", Rows, lambda o, i: o.append(i), lambda o: list(o))
loops("slots_and_dict", Both, bump, lambda o: getattr(o, "n", 0))
loops("slot_of_both", Both, lambda o, i: setattr(o, "k", i), lambda o: getattr(o, "k", -1))
loops("attribute_of_a_dict_subclass", Table, bump, lambda o: getattr(o, "n", 0))
loops("item_of_a_dict", dict, lambda o, i: o.__setitem__("n", i), lambda o: dict(o))
loops("attribute_of_a_local_module", torch.nn.Module, bump, lambda o: getattr(o, "n", 0))
loops("attribute_of_a_tensor", lambda: torch.ones(1), bump, lambda o: getattr(o, "n", 0))
loops("attribute_of_a_partial", lambda: functools.partial(int), bump, lambda o: getattr(o, "n", 0))
loops("attribute_of_a_function", lambda: lambda: 0, bump, lambda o: getattr(o, "n", 0))
loops("set_of_indices", set, lambda o, i: o.add(i), lambda o: sorted(o))
loops("iterator_advanced", lambda: itertools.count(), lambda o, i: next(o), lambda o: next(o))
loops("bytearray_appended", bytearray, lambda o, i: o.append(i), lambda o: len(o))
loops("tensor_in_place", lambda: torch.zeros(1), lambda o, i: o.add_(i), lambda o: o)


@program
def counter_of_the_outside():
    o = Box(n=0)

    def fn(x):
        for i in range(x.shape[0]):
            o.n += 1
            x = x + i
        return x

    return Case(fn)


@program
def bound_of_the_outside():
    o = Box(n=2)

    def fn(x):
        for _ in range(o.n):
            x = x * 2
        return x

    return Case(fn, *attribute(o, "n", 4, 0))


@program
def list_collected():
    def fn(x):
        out = []
        for row in x:
            out.append(row * 2)
        return torch.stack(out) if out else x

    return Case(fn, args=matrix)


@program
def while_over_data():
    def fn(x):
        n = 0
        while x.sum() < 50 and n < 10:
            x = x * 2 + 1
            n += 1
        return x, n

    return Case(fn)


@program
def while_over_a_size():
    def fn(x):
        n = x.shape[0]
        while n > 1:
            x = x * 2
            n //= 2
        return x, n

    return Case(fn)


@program
def break_on_data():
    def fn(x):
        total = torch.zeros(())
        for i in range(x.shape[0]):
            total = total + x[i]
            if total > 4:
                break
        else:
            return total * 100
        return total, i

    return Case(fn)


@program
def continue_on_an_index():
    def fn(x):
        y = x.sum()
        for i in range(x.shape[0]):
            if i % 2:
                continue
            y = y + i
        return y

    return Case(fn)


@program
def loop_over_the_outside():
    rows = [1.0, 2.0]

    def fn(x):
        for i, k in enumerate(rows):
            x = x * k + i
        return x

    return Case(fn, lambda: rows.append(3.0), rows.pop)


@program
def loop_with_a_print():
    def fn(x):
        for i in range(x.shape[0]):
            x = x + 1
            print(i)
        return x

    return Case(fn)


@program
def loop_variable_used_later():
    def fn(x):
        i = -1
        for i in range(x.shape[0]):
            x = x + 1
        return x * i

    return Case(fn)


@program
def recursion_over_a_size():
    def down(x, n):
        return x if n == 0 else down(x * 2, n - 1)

    def fn(x):
        return down(x, x.shape[0])

    return Case(fn)


@program
def nested_loops():
    def fn(x):
        y = torch.zeros(())
        for i in range(x.shape[0]):
            for j in range(i):
                y = y + x[i] * x[j]
        return y

    return Case(fn)


@program
def loop_in_reverse():
    def fn(x):
        y = torch.zeros(())
        for i in reversed(range(x.shape[0])):
            y = y * 0.5 + x[i]
        return y

    return Case(fn)


@program
def loop_with_an_error():
    def fn(x):
        y = x.sum()
        for i in range(5):
            try:
                y = y + x[i]
            except IndexError:
                y = y * 2
        return y

    return Case(fn)


@program
def loop_that_deletes():
    pending = [3, 2, 1]

    def fn(x):
        while pending:
            x = x * pending.pop()
        return x

    return Case(fn, lambda: pending.extend([2, 3]))


@program
def enumerate_from_the_outside():
    o = Box(start=0)

    def fn(x):
        for i, row in enumerate(x.unbind(0), o.start):
            x = x + row * i
        return x

    return Case(fn, *attribute(o, "start", 5, 0))
