"""Containers of every class and size: items read, then changed."""

import array
import collections
import queue
import types

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program


class Rows(list):
    pass


class Table(dict):
    pass


class Bag(set):
    pass


def with_item(name, make, key=0, values=(3.0, 2.0), use=None):
    """A program that reads an item of a container, which changes."""

    def factory():
        container = make()
        read = use or (lambda c: c[key])

        def fn(x):
            return x * read(container)

        return Case(fn, *item(container, key, *values))

    factory.__name__ = name
    program(factory)


ORDERED = lambda: collections.OrderedDict(k=2.0, j=1.0)

with_item("list_item", lambda: [2.0])
with_item("list_last_item", lambda: [1.0, 2.0], -1)
with_item("list_slice", lambda: [2.0, 1.0], use=lambda c: c[0:1][0])
with_item("list_sum", lambda: [2.0, 1.0], use=sum)
with_item("list_max", lambda: [2.0, 1.0], use=max)
with_item("list_unpacked", lambda: [2.0, 1.0], use=lambda c: (lambda a, b: a)(*c))
with_item("list_length", lambda: [2.0], use=len)
with_item("list_count", lambda: [2.0, 2.0], use=lambda c: c.count(2.0))
with_item("list_index", lambda: [2.0, 3.0], use=lambda c: c.index(3.0) + 1)
with_item("list_compared", lambda: [2.0], use=lambda c: 5.0 if c == [2.0] else 6.0)
with_item("list_copied", lambda: [2.0], use=lambda c: c.copy()[0])
with_item("list_of_100", lambda: [1.0] * 100, 99)
with_item("list_of_100_summed", lambda: [1.0] * 100, 99, use=sum)
with_item("list_of_1000", lambda: [1.0] * 1000, 700)
with_item("nested_list", lambda: Nested(), use=lambda c: c.rows[0][0])
with_item("list_subclass", lambda: Rows([2.0]))
with_item("list_subclass_iterated", lambda: Rows([2.0, 1.0]), use=lambda c: sum(v for v in c))
with_item("user_list", lambda: collections.UserList([2.0]))
with_item("deque", lambda: collections.deque([2.0, 1.0]))
with_item("deque_iterated", lambda: collections.deque([2.0, 1.0]), use=sum)
with_item("array_module", lambda: array.array("d", [2.0, 1.0]))
with_item("bytearray_item", lambda: bytearray([2, 1]), values=(3, 2))
with_item("dict_item", lambda: {"k": 2.0}, "k")
with_item("dict_get", lambda: {"k": 2.0}, "k", use=lambda c: c.get("k"))
with_item("dict_values", lambda: {"k": 2.0, "j": 1.0}, "k", use=lambda c: sum(c.values()))
with_item("dict_items", lambda: {"k": 2.0}, "k", use=lambda c: next(v for _, v in c.items()))
with_item("dict_unpacked", lambda: {"k": 2.0}, "k", use=lambda c: (lambda k: k)(**c))
with_item("dict_merged", lambda: {"k": 2.0}, "k", use=lambda c: ({"k": 1.0} | c)["k"])
with_item("dict_copied", lambda: {"k": 2.0}, "k", use=lambda c: dict(c)["k"])
with_item("dict_length", lambda: {}, "k", use=lambda c: len(c) + 1)
with_item("dict_compared", lambda: {"k": 2.0}, "k", use=lambda c: 5.0 if c == {"k": 2.0} else 6.0)
with_item("dict_of_100", lambda: dict.fromkeys(range(100), 2.0), 99)
with_item("dict_key_of_a_tuple", lambda: {(1, 2): 2.0}, (1, 2))
with_item("dict_subclass", lambda: Table(k=2.0), "k")
with_item("dict_subclass_iterated", lambda: Table(k=2.0), "k", use=lambda c: sum(c.values()))
with_item("default_dict", lambda: collections.defaultdict(float, k=2.0), "k")
with_item("ordered_dict", ORDERED, "k")
with_item("ordered_dict_iterated", ORDERED, "k", use=lambda c: sum(c.values()))
with_item("user_dict", lambda: collections.UserDict(k=2.0), "k")
with_item("user_dict_get", lambda: collections.UserDict(k=2.0), "k", use=lambda c: c.get("k", 1.0))
with_item("chain_map", lambda: collections.ChainMap({"k": 2.0}, {"j": 1.0}), "k")
with_item("counter", lambda: collections.Counter(k=2), "k", (3, 2))
with_item(
    "counter_most_common",
    lambda: collections.Counter(k=2),
    "k",
    (3, 2),
    lambda c: c.most_common(1)[0][1],
)
with_item("counter_total", lambda: collections.Counter(k=2), "k", (3, 2), lambda c: c.total())


class Nested:
    def __init__(self):
        self.rows = [[2.0]]

    def __setitem__(self, key, value):
        self.rows[0][key] = value


@program
def chain_map_that_is_hidden():
    chain = collections.ChainMap({}, {"k": 2.0})

    def fn(x):
        return x * chain["k"]

    return Case(fn, *item(chain.maps[0], "k", 3.0), chain.maps[0].clear)


@program
def mapping_proxy():
    d = {"k": 2.0}
    proxy = types.MappingProxyType(d)

    def fn(x):
        return x * proxy["k"]

    return Case(fn, *item(d, "k", 3.0, 2.0))


@program
def keys_view_kept():
    d = {"k": 2.0}
    values = d.values()

    def fn(x):
        return x * sum(values)

    return Case(fn, *item(d, "k", 3.0, 2.0))


@program
def iterator_kept():
    numbers = iter([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0])

    def fn(x):
        return x * next(numbers)

    return Case(fn)


@program
def generator_kept():
    def count():
        k = 1.0
        while True:
            yield k
            k += 1.0

    numbers = count()

    def fn(x):
        return x * next(numbers)

    return Case(fn)


@program
def order_of_a_dict():
    d = {"a": 2.0, "b": 3.0}

    def fn(x):
        return x * next(iter(d.values()))

    def change():
        d["a"] = d.pop("a")

    return Case(fn, change, lambda: d.update(b=d.pop("b")))


@program
def order_of_an_ordered_dict():
    d = collections.OrderedDict(a=2.0, b=3.0)

    def fn(x):
        return x * next(iter(d.values()))

    return Case(fn, lambda: d.move_to_end("a"), lambda: d.move_to_end("b"))


@program
def set_members():
    s = {1.0, 2.0}

    def fn(x):
        return x * sum(s)

    return Case(fn, lambda: s.add(3.0), lambda: s.discard(3.0))


@program
def set_algebra():
    s = {"a"}

    def fn(x):
        return x * len(s & {"a", "b"})

    return Case(fn, lambda: s.add("b"), lambda: s.discard("b"))


@program
def set_subclass():
    s = Bag({1.0})

    def fn(x):
        return x * 2 if 3.0 in s else x

    return Case(fn, lambda: s.add(3.0), lambda: s.discard(3.0))


@program
def set_of_100():
    s = set(range(100))

    def fn(x):
        return x * 2 if 100 in s else x

    return Case(fn, lambda: s.add(100), lambda: s.discard(100))


@program
def attribute_of_a_list_subclass():
    rows = Rows([1.0])
    rows.k = 2.0

    def fn(x):
        return x * rows.k

    return Case(fn, *attribute(rows, "k", 3.0, 2.0))


@program
def attribute_of_a_dict_subclass():
    d = Table()
    d.k = 2.0

    def fn(x):
        return x * d.k

    return Case(fn, *attribute(d, "k", 3.0, 2.0))


@program
def dict_with_attribute_access():
    class Config(dict):
        __getattr__ = dict.__getitem__
        __setattr__ = dict.__setitem__

    c = Config(k=2.0)

    def fn(x):
        return x * c.k

    return Case(fn, *attribute(c, "k", 3.0, 2.0))


@program
def list_in_a_tuple_in_a_dict():
    d = {"k": ([2.0], 1.0)}

    def fn(x):
        return x * d["k"][0][0]

    return Case(fn, *item(d["k"][0], 0, 3.0, 2.0))


@program
def list_that_contains_itself():
    rows = [2.0]
    rows.append(rows)

    def fn(x):
        return x * rows[1][1][0]

    return Case(fn, *item(rows, 0, 3.0, 2.0))


@program
def queue_size():
    q = queue.Queue()

    def fn(x):
        return x * (q.qsize() + 1)

    return Case(fn, lambda: q.put(1), lambda: q.get())


@program
def one_of_many_items():
    """Items that are not read may change."""
    d = {"k": 2.0, "other": 0}

    def fn(x):
        return x * d["k"]

    return Case(fn, *item(d, "other", 1, 2), *item(d, "k", 3.0))


@program
def objects_in_a_list():
    rows = [Box(k=1.0), Box(k=2.0)]

    def fn(x):
        for row in rows:
            x = x * row.k
        return x

    return Case(fn, *attribute(rows[1], "k", 3.0, 2.0), rows.reverse)


@program
def tensors_in_a_dict():
    d = {"a": torch.ones(1), "b": torch.full((1,), 2.0)}

    def fn(x):
        return x * torch.stack(list(d.values())).sum()

    return Case(fn, *item(d, "a", torch.full((1,), 5.0)), lambda: d["a"].add_(1))


@program
def module_list_and_dict():
    layers = torch.nn.ModuleList([torch.nn.ReLU()])
    named = torch.nn.ModuleDict({"act": torch.nn.ReLU()})

    def fn(x):
        for layer in layers:
            x = layer(x - 2)
        return named["act"](x)

    return Case(fn, lambda: layers.append(torch.nn.Tanh()), *item(named, "act", torch.nn.Tanh()))


@program
def arguments_that_are_containers():
    def fn(x, rows, d):
        return x * rows[0] + d["k"] * len(rows)

    def args(n):
        return torch.arange(n) + 1.0, [2.0, 1.0][: n % 2 + 1], {"k": float(n)}

    return Case(fn, args=args)
