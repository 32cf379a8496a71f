"""Arguments that a program changes, returns or compares; objects that it makes and returns."""

import bisect
import collections
import copy
import dataclasses
import heapq
import typing

import numpy as np
import torch

from tests.differential.hostile.program import Box, Call, Case, program

GLOBAL = [1]
MEMO = {}


def v(n):
    return torch.arange(n) + 1.0


class Plain:
    """An object without anything special."""

    def __init__(self, n):
        self.h = v(n)
        self.k = 2
        self.log = []
        self.table = {"a": v(n)}

    def push(self, x):
        self.log.append(x)
        self.k += 1
        return self

    @property
    def total(self):
        return self.h.sum() * self.k


class Slotted:
    __slots__ = ("h", "k")

    def __init__(self, n):
        self.h, self.k = v(n), 1


@dataclasses.dataclass
class Record:
    h: torch.Tensor
    k: int = 1
    items: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    h: torch.Tensor
    items: list


class Pair(typing.NamedTuple):
    a: typing.Any
    b: typing.Any


class Cache:
    """Keys and values of layers, as transformers keep them."""

    def __init__(self, n=0):
        self.key_cache = [v(n), v(n)]
        self.value_cache = [v(n), v(n)]
        self.seen = 0

    def update(self, key, value, layer):
        if layer == 0:
            self.seen += key.shape[0]
        if len(self.key_cache) <= layer:
            self.key_cache.append(key)
            self.value_cache.append(value)
        else:
            self.key_cache[layer] = torch.cat([self.key_cache[layer], key])
            self.value_cache[layer] = torch.cat([self.value_cache[layer], value])
        return self.key_cache[layer], self.value_cache[layer]


class Output(dict):
    """A dict with attributes."""

    def __init__(self, **items):
        super().__init__(items)
        self.hits = 0

    def __setitem__(self, key, value):
        self.hits += 1
        super().__setitem__(key, value)


class Items(list):
    """A list with attributes."""


def changed(name, make, fn, exported=True):
    """A program that changes an argument, new on every call."""

    def factory():
        return Case(fn, args=lambda n: (v(n), make(n)), exported=exported)

    factory.__name__ = name
    program(factory)


def result(name, fn, exported=True):
    """A program without effects whose result has an identity."""

    def factory():
        return Case(fn, exported=exported)

    factory.__name__ = name
    program(factory)


# ---------------------------------------------------------------------- lists


def append(x, out):
    out.append(x * 2)
    out.append(x.shape[0])
    return x + 1


def many_methods(x, l):
    l.insert(0, x)
    l.extend([x + 1, "text"])
    l.pop(1)
    l.reverse()
    l.remove("text")
    l[1:2] = [x, x]
    del l[0]
    l *= 2
    l += (x,)
    return len(l), x * len(l)


def sort(x, l):
    l.sort(key=lambda k: -k)
    l.sort(reverse=True)
    return x * l[0]


def pop_of_an_empty_list(x, l):
    try:
        l.pop()
    except IndexError:
        l.append("empty")
    return x


def nested(x, l):
    l[0]["a"].append(x)
    l[0]["b"] = l[1]
    l[1][0].add(5)
    return l[0]["b"]


def by_library(x, l):
    heapq.heappush(l, 1)
    bisect.insort(l, 2)
    list.append(l, 9)
    return x * l[0]


def branch_after_a_write(x, out):
    out.append(x)
    if x.sum() > 2:
        out.append(x + 1)
    else:
        out.append("small")
    out.append(len(out))
    return x * 2


def loop_with_writes(x, out):
    while x.sum() > 1:
        x = x / 2
        out.append(x)
    return out


def write_before_an_error(x, out):
    out.append(x)
    return x[7]


def write_that_is_caught(x, out):
    try:
        out.append(x)
        out.append(x[3])
    except IndexError:
        out.append("none")
    return out


changed("append_to_a_list", lambda n: [], append)
changed("methods_of_a_list", lambda n: [1, 2.0, 3], many_methods)
changed("sort_a_list", lambda n: [3, 1, 2], sort)
changed("pop_of_an_empty_list", lambda n: [1] * (n % 2), pop_of_an_empty_list)
changed("nested_containers", lambda n: [{"a": [n]}, ({1},)], nested)
changed("changed_by_a_library", lambda n: [3, 4], by_library)
changed("branch_after_a_write", lambda n: [], branch_after_a_write)
changed("loop_with_writes", lambda n: [], loop_with_writes)
changed("write_before_an_error", lambda n: [], write_before_an_error)
changed("write_that_is_caught", lambda n: [], write_that_is_caught)


# ---------------------------------------------------------------------- dicts, sets, deques


def items(x, d):
    d["y"] = x
    d["n"] = x.shape[0]
    return d.pop("k") + x


def methods_of_a_dict(x, d):
    d.update({"a": x}, b=x + 1)
    d.setdefault("c", []).append(x)
    d.setdefault("k", 5)
    d |= {"e": 1}
    del d["k"]
    return d.get("zz", x), list(d)


def keys_of_a_dict(x, d):
    for key in list(d):
        d[key + "_"] = d.pop(key) * x
    return len(d)


def order_of_a_dict(x, d):
    d.move_to_end("a")
    d.popitem(last=False)
    return list(d), x


def missing_key(x, d):
    d["new"].append(x)
    d["other"]
    return x, sorted(d)


def methods_of_a_set(x, s):
    s.add(7)
    s.discard(2)
    s |= {9, 10}
    s -= {10}
    s &= {1, 7, 9}
    s ^= {1, 11}
    return x * len(s)


def methods_of_a_deque(x, q):
    q.append(x)
    q.appendleft(x + 1)
    q += [x + 2]
    q.rotate(1)
    return q.popleft(), len(q)


changed("items_of_a_dict", lambda n: {"k": v(n), "j": 1}, items)
changed("methods_of_a_dict", lambda n: {"k": 1}, methods_of_a_dict)
changed("keys_of_a_dict", lambda n: {"a": 1.0, "b": 2.0}, keys_of_a_dict)
changed("order_of_a_dict", lambda n: collections.OrderedDict(a=1, b=2), order_of_a_dict)
changed("missing_key_of_a_dict", lambda n: collections.defaultdict(list), missing_key)
changed("methods_of_a_set", lambda n: {1, 2, n}, methods_of_a_set)
changed("methods_of_a_deque", lambda n: collections.deque([1, 2], maxlen=3), methods_of_a_deque)
changed("bytes_that_change", lambda n: bytearray(b"ab"), lambda x, b: (b.extend(b"c"), x)[1])
changed("counter", lambda n: collections.Counter("ab"), lambda x, c: (c.update("b"), x * c["b"])[1])


def items_of_a_subclass(x, d):
    d["a"] = x
    d["k"] = d.pop("k") + 1
    d.last = x.shape[0]
    return len(d), d.hits, d


def list_of_a_subclass(x, l):
    l.append(x)
    l += [l.k]
    l.k = x
    return l


def subclasses(x):
    d, l = Output(a=x), Items([x])
    d["b"] = l
    l.owner = x.shape[0]
    return d, l


changed("subclass_of_dict", lambda n: Output(k=n), items_of_a_subclass)
changed("subclass_of_list", lambda n: items_with(n), list_of_a_subclass)
changed("counter_of_words", lambda n: collections.Counter("ab"), lambda x, c: (c.subtract("b"), c))
result("subclasses_made", lambda x: subclasses(x))
changed("subclass_stored", lambda n: {}, lambda x, d: (d.update(o=Output(a=x)), d["o"].hits))


def items_with(n):
    made = Items([n])
    made.k = 2
    return made


# ---------------------------------------------------------------------- objects


def attributes(x, s):
    s.h = x * s.k
    s.k += 1
    s.log.append(s.k)
    s.table["a"] = s.table["a"] + x
    s.new = x.shape[0]
    return s.h + 1


def method_of_an_object(x, s):
    return s.push(x).push(x + 1).total


def dict_of_an_object(x, s):
    vars(s)["q"] = x
    s.__dict__["k"] = 7
    del s.log
    return s.k * x


def by_name(x, s):
    setattr(s, "a" + "b", x)
    delattr(s, "k")
    return getattr(s, "k", x), hasattr(s, "ab")


def slots(x, s):
    s.h = s.h + x
    s.k += 1
    return s.h * s.k


def frozen(x, s):
    s.items.append(x)
    try:
        s.h = x
    except dataclasses.FrozenInstanceError:
        s.items.append("frozen")
    return s.h


def record(x, s):
    s.h = x + s.h.sum()
    s.k += 1
    s.items.append(s.k)
    return s


def cache(x, c):
    for layer in range(3):
        key, value = c.update(x, x * 2, layer)
        x = x + key.sum() + value.sum()
    return x, c


def branch_on_a_state(x, s):
    s.h = torch.cat([s.h, x])
    if s.h.sum() > 6:
        s.log.append("large")
        s.k = 100
    return s.h * s.k


def object_in_an_object(x, s):
    s.log.append(Plain(0))
    s.log[0].h = x
    s.log[0].back = s
    return s.log[0]


changed("attributes_of_an_object", Plain, attributes)
changed("method_of_an_object", Plain, method_of_an_object)
changed("dict_of_an_object", Plain, dict_of_an_object)
changed("attributes_by_name", Plain, by_name)
changed("slots", Slotted, slots)
changed("frozen_dataclass", lambda n: Frozen(v(n), []), frozen)
changed("dataclass", lambda n: Record(v(n)), record)
changed("cache_of_layers", Cache, cache)
changed("branch_on_a_state", Plain, branch_on_a_state)
changed("object_in_an_object", Plain, object_in_an_object)
changed("namespace", lambda n: Box(a=1, b=[v(n)]), lambda x, b: (b.b.append(b.a), x * b.a)[1])


@program
def state_over_calls():
    """One object for all calls."""
    s = Plain(2)
    return Case(attributes, args=lambda n: (v(2), s))


@program
def cache_over_calls():
    c = Cache()
    return Case(cache, args=lambda n: (v(2), c), looks_at=c)


@program
def new_object_on_every_call():
    """Objects of the same structure are one entry."""

    def drive(call, x, s):
        out = call(x, s)
        return out, len(getattr(call, "entries", ())) <= 1

    return Case(attributes, calls=[lambda: (v(3), Plain(3))] * 3, drive=drive)


@program
def attribute_that_appears():
    def fn(x, s):
        s.count = getattr(s, "count", 0) + 1
        return x * s.count

    s = Box()
    return Case(fn, args=lambda n: (v(n), s))


@program
def class_of_an_argument():
    class A:
        k = 2.0

        def f(self, x):
            return x * self.k

    class B(A):
        k = 3.0

    def fn(x, o):
        return o.f(x), isinstance(o, B), type(o).__name__

    kinds = [A, B]

    def change():
        A.k += 1

    return Case(fn, kinds.reverse, change, args=lambda n: (v(n), kinds[0]()))


@program
def configuration():
    """Numbers of an object that do not change are constants."""

    def fn(x, c):
        for _ in range(c.layers):
            x = x * c.scale
        return x.reshape(c.heads, -1)

    c = Box(layers=3, scale=2.0, heads=1)

    def more():
        c.layers += 1

    return Case(fn, more, args=lambda n: (v(n), c), sizes=(1, 2))


# ---------------------------------------------------------------------- all ways to be given


@program
def rest_and_options():
    def fn(x, *rest, **more):
        rest[0]["z"] = x
        more["log"].append(x)
        more["k"] = 1
        return Pair(x, rest[0]), len(more)

    return Case(fn, args=lambda n: Call((v(n), {}), {"log": [n], "other": 1}))


@program
def default_that_changes():
    def fn(x, acc=[]):  # noqa: B006  the point
        acc.append(x.shape[0])
        return x * len(acc)

    return Case(fn)


@program
def keyword_only_that_changes():
    def fn(x, *, acc):
        acc += [x]
        return acc

    return Case(fn, args=lambda n: Call((v(n),), {"acc": []}))


# ---------------------------------------------------------------------- identity


def twice(x, a, b):
    a.append(x)
    return len(b), a is b, x


@program
def one_list_twice():
    shared = []

    def args(n):
        return (v(n), [], []) if n == 5 else (v(n), shared, shared)

    return Case(twice, args=args)


@program
def two_lists_then_one():
    def two():
        return v(3), [], []

    def one():
        both = []
        return v(3), both, both

    return Case(twice, calls=[two, two, one, one, two])


@program
def argument_from_outside():
    def fn(x, a):
        a.append(x.shape[0])
        return a is GLOBAL, len(GLOBAL), x

    def other():
        return v(3), [1]

    def same():
        return v(3), GLOBAL

    return Case(fn, calls=[other, other, same, same, other])


@program
def argument_that_is_written_elsewhere():
    def fn(x, a):
        GLOBAL.append(2)
        a.append(3)
        return len(a), x

    def other():
        return v(3), [1]

    def same():
        return v(3), GLOBAL

    return Case(fn, calls=[other, same, other, same])


@program
def argument_as_a_key():
    def fn(x, o):
        if o not in MEMO:
            MEMO[o] = len(MEMO)
        return x * MEMO[o]

    boxes = [Box(), Box()]
    return Case(fn, boxes.reverse, args=lambda n: (v(n), boxes[0]))


@program
def argument_compared_by_identity():
    def fn(x, o):
        return x * 2 if o == SENTINEL else x * 3

    boxes = [SENTINEL, Box()]
    return Case(fn, boxes.reverse, args=lambda n: (v(n), boxes[0]))


SENTINEL = Box()

changed("returned_list", lambda n: [v(n), 1], lambda x, l: l, exported=False)
changed("returned_part", lambda n: {"a": [v(n)]}, lambda x, d: (d["a"], x), exported=False)
changed("returned_tuple", lambda n: (v(n), [1]), lambda x, t: (t, t[1], t[0]), exported=False)
changed("returned_object", Plain, lambda x, s: (s, s.log, s.table))
changed("argument_in_a_new_list", lambda n: [1], lambda x, l: [l, {"l": l}, x], exported=False)
changed("argument_stored_in_itself", lambda n: [1], lambda x, l: (l.append(l), x)[1])
changed(
    "cyclic_argument", lambda n: cyclic(), lambda x, l: (l[0][0] is l, len(l[0]), x), exported=False
)
changed(
    "copy_of_an_argument",
    lambda n: [1, [2]],
    lambda x, l: (copy.copy(l), copy.deepcopy(l)),
    exported=False,
)
changed("argument_kept", lambda n: [n], lambda x, l: (GLOBAL.append(l), x)[1])


def cyclic():
    made = []
    made.append([made, 1])
    return made


# ---------------------------------------------------------------------- results


def shared(x):
    inner = [x]
    return inner, {"inner": inner}, (inner,)


def cycle(x):
    a, b = Plain(0), Plain(0)
    a.h, a.other, b.other = x, b, a
    return a


def nothing():
    return 0


def new_cache(x):
    c = Cache()
    c.update(x, x * 2, 0)
    c.owner = c
    return c


def objects(x):
    s = Plain(0)
    s.h = x
    return s, Slotted(2), Record(x, 3), Pair(x, [x]), Frozen(x, [x])


result("set_and_frozen_set", lambda x: ({1, 2}, frozenset((x.shape[0], 7)), x))
result("bytes_made", lambda x: (bytearray(b"ab"), b"ab", x))
result("deque_made", lambda x: collections.deque([x, 1], maxlen=4))
result("default_dict_of_a_function", lambda x: collections.defaultdict(nothing, {"a": x}))
result("default_dict_made", lambda x: collections.defaultdict(list, {"a": x}))
result("ordered_dict_made", lambda x: collections.OrderedDict(b=x, a=x + 1))
result("array_made", lambda x: (np.arange(3) * 2, x))
result("array_of_a_constant", lambda x: {"a": np.ones((2, 2)), "x": x})
result("shared_parts", shared, exported=False)
result("cycle_of_objects", cycle)
result("objects_made", objects)
result("cache_made", new_cache)
result("dict_subclass_made", lambda x: Output(a=x, b=1))
result("object_from_outside", lambda x: (SENTINEL, x))
result("list_from_outside", lambda x: (GLOBAL, [GLOBAL], x), exported=False)
result("object_with_a_size", lambda x: Box(n=x.shape[0], s=x.shape, t=(x, None)))
result("set_of_numbers", lambda x: {1, 2.0, "a"} | {x.dim()})
result("branch_and_objects", lambda x: Box(x=x) if x.sum() > 4 else [Box(y=x)])
