"""Writes by methods of containers of every class."""

import array
import collections
import functools
import heapq
import io
import random

import torch

from tests.differential.hostile.program import Box, Case, program


class Rows(list):
    pass


class Table(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)


def does(name, make, act):
    """A program that changes a container, and uses its length."""

    def factory():
        c = make()

        def fn(x):
            act(c, x)
            return x * len(c)

        return Case(fn)

    factory.__name__ = name
    program(factory)


does("append", list, lambda c, x: c.append(1))
does("append_size", list, lambda c, x: c.append(x.shape[0]))
does("append_tensor", list, lambda c, x: c.append(x * 2))
does("append_argument", list, lambda c, x: c.append(x))
does("extend", list, lambda c, x: c.extend([1, 2]))
does("insert", list, lambda c, x: c.insert(0, x.shape[0]))
does("pop", lambda: [1] * 20, lambda c, x: c.pop())
does("pop_first", lambda: list(range(20)), lambda c, x: c.pop(0))
does("remove", lambda: [1] * 20, lambda c, x: c.remove(1))
does("reverse", lambda: [1, 2, 3], lambda c, x: c.reverse())
does("sort", lambda: [3, 1, 2], lambda c, x: c.sort())
does("clear", lambda: [3], lambda c, x: c.clear())
does("list_item", lambda: [0], lambda c, x: c.__setitem__(0, c[0] + 1))
does("list_slice", lambda: [0], lambda c, x: c.__setitem__(slice(0, 0), [1, 2]))
does("list_delete", lambda: [0] * 20, lambda c, x: c.__delitem__(0))
does("list_in_place_add", list, lambda c, x: c.__iadd__([x.shape[0]]))
does("list_subclass_append", Rows, lambda c, x: c.append(1))
does("list_by_class", list, lambda c, x: list.append(c, 1))
does("dict_item", dict, lambda c, x: c.__setitem__("k", x.shape[0]))
does("dict_item_per_size", dict, lambda c, x: c.__setitem__(x.shape[0], 1))
does("dict_counter", lambda: {"n": 0}, lambda c, x: c.__setitem__("n", c["n"] + 1))
does("dict_update", dict, lambda c, x: c.update(a=1, b=x.shape[0]))
does("dict_set_default", dict, lambda c, x: c.setdefault("k", []).append(1))
does("dict_pop", lambda: {"k": 1}, lambda c, x: c.pop("k", None))
does("dict_pop_item", lambda: {i: 1 for i in range(20)}, lambda c, x: c.popitem())
does("dict_merge", dict, lambda c, x: c.__ior__({"k": 1}))
does("dict_tensor", dict, lambda c, x: c.__setitem__("k", x * 2))
does("dict_subclass_item", Table, lambda c, x: c.__setitem__("k", x.shape[0]))
does("set_add", set, lambda c, x: c.add(x.shape[0]))
does("set_discard", lambda: {1, 2}, lambda c, x: c.discard(1))
does("set_update", set, lambda c, x: c.update([1, 2]))
does("counter_update", collections.Counter, lambda c, x: c.update("aab"))
does("counter_item", collections.Counter, lambda c, x: c.__setitem__("a", c["a"] + 1))
does(
    "default_dict_int",
    lambda: collections.defaultdict(int),
    lambda c, x: c.__setitem__("a", c["a"] + 1),
)
does("default_dict_list", lambda: collections.defaultdict(list), lambda c, x: c["a"].append(1))
does("default_dict_read", lambda: collections.defaultdict(list), lambda c, x: c["a"])
does(
    "ordered_dict_move", lambda: collections.OrderedDict(a=1, b=2), lambda c, x: c.move_to_end("a")
)
does("ordered_dict_item", collections.OrderedDict, lambda c, x: c.__setitem__("k", x.shape[0]))
does("user_dict_item", collections.UserDict, lambda c, x: c.__setitem__("k", x.shape[0]))
does("user_list_append", collections.UserList, lambda c, x: c.append(1))
does("chain_map_item", collections.ChainMap, lambda c, x: c.__setitem__("k", 1))
does("deque_append", lambda: collections.deque(maxlen=3), lambda c, x: c.append(x.shape[0]))
does("deque_rotate", lambda: collections.deque([1, 2, 3]), lambda c, x: c.rotate(1))
does("heap_push", list, lambda c, x: heapq.heappush(c, -x.shape[0]))
does("shuffle", lambda: [1, 2, 3, 4], lambda c, x: random.shuffle(c))
does("bytearray_append", bytearray, lambda c, x: c.append(1))
does("array_append", lambda: array.array("i"), lambda c, x: c.append(1))
does("module_list_append", torch.nn.ModuleList, lambda c, x: c.append(torch.nn.Identity()))
does("method_kept", list, lambda c, x: MAP(c.append, [1, 2]))
does("append_by_comprehension", list, lambda c, x: [c.append(i) for i in range(2)])
does("append_by_partial", list, lambda c, x: functools.partial(c.append, 1)())


def MAP(f, values):
    return list(map(f, values))


@program
def string_io():
    out = io.StringIO()

    def fn(x):
        out.write(f"{x.shape[0]},")
        return x * 2

    return Case(fn)


@program
def bound_append():
    rows = []
    add = rows.append

    def fn(x):
        add(x.shape[0])
        return x * 2

    return Case(fn, rows.clear, looks_at=rows)


@program
def nested_containers():
    tree = {"a": [{"n": 0}]}

    def fn(x):
        tree["a"][0]["n"] += 1
        tree["a"].append({"n": x.shape[0]})
        return x * tree["a"][0]["n"]

    return Case(fn)


@program
def list_of_a_result_that_is_kept():
    kept = []

    def fn(x):
        rows = [x.shape[0]]
        kept.append(rows)
        rows.append(2)
        return x * 2, rows

    return Case(fn)


@program
def container_made_inside():
    def fn(x):
        d = {}
        d["n"] = x.shape[0]
        rows = [d]
        rows.append({1, 2})
        return x * 2, rows, bytearray(b"a"), {1}

    return Case(fn)


@program
def object_made_inside():
    def fn(x):
        o = Box(n=x.shape[0])
        o.n += 1
        o.y = x * o.n
        return o

    return Case(fn)


@program
def fresh_results_that_the_caller_changes():
    def fn(x):
        return x * 2, {"k": [1]}, {1}, Box(k=1)

    def drive(call, x):
        y, d, s, o = call(x)
        before = (dict(d), sorted(s), o.k)
        d["k"].append(2)
        s.add(7)
        o.k = 9
        y.zero_()
        return before

    return Case(fn, drive=drive)
