"""Special methods that are no plain functions: those of other objects, partials, static ones."""

from __future__ import annotations

import functools
import itertools
import operator
import types

import torch

from tests.differential.hostile.program import Box, Case, body, item, program


def of_class(**methods):
    """An object of a class with these attributes."""
    return type("Made", (), methods)()


@program
def contains_of_a_set():
    known = {1, 3}
    o = of_class(__contains__=known.__contains__)

    def fn(x):
        return x * (2 if 3 in o else 5), 4 in o

    return Case(fn, lambda: known.discard(3), lambda: known.add(4), looks_at=known)


@program
def getitem_of_a_dict():
    table = {"k": 2}
    o = of_class(__getitem__=table.__getitem__)
    return Case(lambda x: x * o["k"], *item(table, "k", 3, 4.0), looks_at=table)


@program
def setitem_of_a_dict():
    table = {"k": 2}
    o = of_class(__setitem__=table.__setitem__, __getitem__=table.__getitem__)

    def fn(x):
        o["n"] = x.shape[0]
        o["k"] = o["k"] + 1
        return x * o["k"]

    return Case(fn, *item(table, "k", 7), looks_at=table)


@program
def len_of_a_list():
    held = [1, 2]
    o = of_class(__len__=held.__len__)
    return Case(lambda x: x * len(o), lambda: held.append(3), held.clear, looks_at=held)


@program
def bool_by_len_of_a_list():
    held = [1, 2]
    o = of_class(__len__=held.__len__)
    return Case(lambda x: x * 2 if o else x - 1, held.clear, lambda: held.append(3))


@program
def iter_of_a_list():
    held = [1, 2]
    o = of_class(__iter__=held.__iter__)

    def fn(x):
        return sum([x * k for k in o], x)

    return Case(fn, lambda: held.append(3), lambda: held.__setitem__(0, 9), looks_at=held)


@program
def iter_of_an_iterator():
    o = of_class(__iter__=iter([1, 2, 3]).__iter__)
    return Case(lambda x: sum([x * k for k in o], x))


@program
def next_of_an_iterator():
    count = itertools.count(1)
    o = of_class(__iter__=lambda s: s, __next__=count.__next__)

    def fn(x):
        return x * next(o) + next(iter(o))

    return Case(fn, lambda: next(count), looks_at=count)


@program
def iter_gives_an_iterator_from_outside():
    holder = Box(it=iter(range(100)))

    class It:
        def __iter__(self):
            return holder.it

    o = It()

    def fn(x):
        for k in o:
            if k % 3 == 2:
                break
            x = x + k
        return x

    return Case(fn, lambda: next(holder.it))


@program
def iter_gives_a_generator_from_outside():
    def numbers():
        k = 0
        while True:
            k += 1
            yield k

    it = numbers()

    class It:
        def __iter__(self):
            return it

    o = It()

    def fn(x):
        a, b = itertools.islice(o, 2)
        return x * a + b

    return Case(fn, lambda: next(it, None))


@program
def unpacked_from_an_iterator():
    it = iter(range(1000))

    class It:
        def __iter__(self):
            return itertools.islice(it, 2)

    o = It()

    def fn(x):
        a, b = o
        return x * a + b

    return Case(fn, lambda: next(it, None))


@program
def starred_from_an_iterator():
    it = iter(range(1000))

    class It:
        def __iter__(self):
            return itertools.islice(it, 2)

    o = It()
    return Case(lambda x: torch.stack([x + k for k in [*o]]), lambda: next(it, None))


@program
def in_an_iterator():
    it = iter(range(1000))

    class It:
        def __iter__(self):
            return it

    o = It()

    def fn(x):
        return x + 1 if x.shape[0] + 10 in o else x

    return Case(fn, lambda: next(it, None))


@program
def partial_as_getitem():
    table = Box(k=2)
    o = of_class(__getitem__=functools.partial(getattr, table))
    return Case(lambda x: x * o["k"], lambda: setattr(table, "k", 3))


@program
def static_call():
    state = {"k": 2}
    o = of_class(__call__=staticmethod(lambda x: x * state["k"]))
    return Case(lambda x: o(x), *item(state, "k", 3, 4.0))


@program
def class_method_as_add():
    class A:
        k = 2

        @classmethod
        def __add__(cls, other):
            return other * cls.k

    a = A()
    return Case(lambda x: a + x, lambda: setattr(A, "k", 3))


@program
def callable_object_as_method():
    class Scale:
        def __init__(self, k):
            self.k = k

        def __call__(self, other):
            return other * self.k

    s = Scale(2)
    o = of_class(__mul__=s, __add__=s, __matmul__=s)
    return Case(lambda x: (o * x, o + x, o @ x), lambda: setattr(s, "k", 3))


@program
def partialmethod_as_operator():
    class A:
        k = 2

        def scaled(self, by, other):
            return other * by * self.k

        __mul__ = functools.partialmethod(scaled, 3)
        __sub__ = functools.partialmethod(scaled, by=4)

    a = A()

    def fn(x):
        return a * x

    return Case(fn, lambda: setattr(a, "k", 5), lambda: setattr(A, "scaled", lambda *_: 7))


@program
def bound_method_of_another_as_operator():
    class B:
        k = 2

        def times(self, other):
            self.k += 1
            return other * self.k

    b = B()
    o = of_class(__mul__=b.times, __eq__=b.times)

    def fn(x):
        return o * x, o == x.shape[0]

    return Case(fn, lambda: setattr(b, "k", 5), looks_at=b)


@program
def hash_and_eq_of_a_string():
    word = "alpha"
    o = of_class(__hash__=word.__hash__, __eq__=word.__eq__)
    table = {"alpha": 2}
    return Case(lambda x: x * table.get(o, 7), *item(table, "alpha", 3))


@program
def enter_and_exit_of_another():
    class M:
        depth = 0

        def __enter__(self):
            self.depth += 1
            return self.depth

        def __exit__(self, *error):
            self.depth += 10
            return True

    m = M()
    o = of_class(__enter__=m.__enter__, __exit__=m.__exit__)

    def fn(x):
        with o as k:
            x = x * k
            raise ValueError
        return x + m.depth

    return Case(fn, lambda: setattr(m, "depth", 3), looks_at=m)


@program
def index_of_a_number():
    o = of_class(__index__=(3).__index__, __float__=(2.5).__float__)
    return Case(lambda x: (x * float(o), x[: operator.index(o) - 2], [5, 6, 7, 8][o]))


@program
def getattr_of_a_dict():
    table = {"k": 2}
    o = of_class(__getattr__=table.__getitem__)
    return Case(lambda x: x * o.k, *item(table, "k", 3, 4.0))


@program
def setattr_of_a_dict():
    table = {}
    kind = type("Made", (), {"__setattr__": table.__setitem__})
    o = kind()

    def fn(x):
        o.rows = x.shape[0]
        return x * len(table)

    return Case(fn, table.clear, looks_at=table)


@program
def format_and_str_of_a_string():
    word = Box(w="abc")

    class A:
        __str__ = functools.partialmethod(lambda self: word.w)

    a = A()
    return Case(lambda x: x * len(f"{a}"), lambda: setattr(word, "w", "longer"))


@program
def property_that_is_a_special_method():
    state = {"f": lambda other: other * 2}

    class A:
        @property
        def __mul__(self):
            return state["f"]

    a = A()
    return Case(lambda x: a * x, *item(state, "f", lambda other: other * 3))


@program
def method_made_by_a_descriptor():
    state = {"k": 2}

    class Made:
        def __get__(self, o, kind):
            k = state["k"]
            return lambda other: other * k

    o = of_class(__mul__=Made(), __call__=Made())
    return Case(lambda x: o * x + o(x), *item(state, "k", 3, 4))


@program
def method_type_on_a_class():
    class A:
        k = 2

    class B:
        k = 3

    def times(self, other):
        return other * self.k

    A.__mul__ = types.MethodType(times, B)
    a = A()
    return Case(lambda x: a * x, lambda: setattr(B, "k", 5), lambda: setattr(A, "k", 7))


@program
def lru_cached_operator():
    state = {"k": 2}

    class A:
        @functools.lru_cache  # noqa: B019
        def __getitem__(self, key):
            return state["k"] * key

    a = A()
    return Case(
        lambda x: x * a[2],
        *item(state, "k", 3),
        lambda: A.__getitem__.cache_clear(),
        cleanup=lambda: A.__getitem__.cache_clear(),
    )


@program
def singledispatch_operator():
    class A:
        k = 2

        @functools.singledispatchmethod
        def __mul__(self, other):
            return other * self.k

        @__mul__.register
        def _(self, other: int):
            return other * 100

    a = A()
    return Case(lambda x: (a * x, a * x.shape[0]), lambda: setattr(a, "k", 5))


@body(sizes=(0, 1, 2))
def class_made_inside_with_other_methods(x):
    held = [1, 2, x.shape[0]]
    made = type("Made", (), {"__getitem__": held.__getitem__, "__len__": held.__len__})()
    return x * made[2] + len(made)
