"""What a program writes: attributes, items, globals, cells, arguments, counters, memo tables."""

import collections
import os
import queue
import threading

import torch

from tests.differential.hostile.program import Box, Case, matrix, program

COUNT = 0
LAST = None
LOG = []


@program
def attribute_of_an_object():
    o = Box(k=0)

    def fn(x):
        o.k = 5
        return x * 2

    def reset():
        o.k = 0

    return Case(fn, reset)


@program
def counter_of_an_object():
    o = Box(n=0)

    def fn(x):
        o.n += 1
        return x * 2

    return Case(fn)


@program
def counter_that_is_used():
    o = Box(n=0)

    def fn(x):
        o.n += 1
        return x * o.n

    return Case(fn)


@program
def counter_that_is_used_modulo():
    o = Box(n=0)

    def fn(x):
        o.n = (o.n + 1) % 2
        return x * 2 if o.n else x * 3

    return Case(fn)


@program
def size_kept():
    o = Box(n=0)

    def fn(x):
        o.n = x.shape[0]
        return x + o.n

    return Case(fn)


@program
def largest_size_kept():
    o = Box(n=0)

    def fn(x):
        o.n = max(o.n, x.shape[0])
        return x * o.n

    return Case(fn)


@program
def tensor_kept():
    o = Box(last=None)

    def fn(x):
        y = x * 2
        o.last = y
        return y + 1

    return Case(fn)


@program
def argument_kept():
    o = Box(last=None)

    def fn(x):
        o.last = x
        return x + 1

    return Case(fn)


@program
def new_attribute():
    o = Box()

    def fn(x):
        o.seen = True
        return x * 2

    return Case(fn, lambda: vars(o).clear())


@program
def attribute_deleted():
    o = Box(k=1)

    def fn(x):
        if hasattr(o, "k"):
            del o.k
            return x * 2
        return x

    def put():
        o.k = 1

    return Case(fn, put)


@program
def setattr_by_name():
    o = Box(k=0.0)

    def fn(x):
        setattr(o, "k", o.k + 1)
        return x * getattr(o, "k")

    return Case(fn)


@program
def vars_update():
    o = Box(k=0.0)

    def fn(x):
        vars(o).update(k=o.k + 1, j=2)
        return x * o.k

    return Case(fn)


@program
def slot_written():
    class Kind:
        __slots__ = ("k",)

    o = Kind()
    o.k = 0

    def fn(x):
        o.k += 1
        return x * o.k

    return Case(fn)


@program
def class_attribute_written():
    class Kind:
        n = 0

    def fn(x):
        Kind.n += 1
        return x * Kind.n

    return Case(fn)


@program
def property_setter():
    class Kind:
        log = ()

        @property
        def k(self):
            return self.log

        @k.setter
        def k(self, value):
            self.log = (*self.log, value)

    o = Kind()

    def fn(x):
        o.k = x.shape[0]
        return x * len(o.k)

    return Case(fn)


@program
def setattr_method():
    class Kind:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * 2)

    o = Kind()

    def fn(x):
        o.k = 2.0
        return x * o.k

    return Case(fn)


@program
def global_counter():
    def fn(x):
        global COUNT
        COUNT += 1
        return x * 2

    return Case(fn)


@program
def global_counter_that_is_used():
    def fn(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    return Case(fn)


@program
def global_tensor():
    def fn(x):
        global LAST
        LAST = x * 2
        return LAST + 1

    return Case(fn)


@program
def global_by_dict():
    def fn(x):
        globals()["COUNT"] = COUNT + 1
        return x * COUNT

    return Case(fn)


@program
def global_deleted():
    def fn(x):
        global SOON
        SOON = 2.0
        y = x * SOON
        del SOON
        return y

    return Case(fn)


@program
def cell_counter():
    n = 0

    def fn(x):
        nonlocal n
        n += 1
        return x * 2

    return Case(fn)


@program
def cell_counter_that_is_used():
    n = 0

    def fn(x):
        nonlocal n
        n += 1
        return x * n

    return Case(fn)


@program
def cell_tensor():
    last = None

    def fn(x):
        nonlocal last
        before = last
        last = x.sum()
        return x if before is None else x + before

    return Case(fn)


@program
def cell_of_a_helper():
    total = 0.0

    def add(v):
        nonlocal total
        total += v
        return total

    def fn(x):
        return x * add(1.0) + add(2.0)

    return Case(fn)


@program
def function_attribute():
    def fn(x):
        fn.calls = getattr(fn, "calls", 0) + 1
        return x * fn.calls

    return Case(fn)


@program
def default_list():
    def fn(x, seen=[]):
        seen.append(1)
        return x * len(seen)

    return Case(fn)


@program
def attribute_of_a_tensor_argument():
    def fn(x):
        x.foo = 5
        return x * 2

    return Case(fn)


@program
def attribute_of_a_result():
    def fn(x):
        y = x * 2
        y.tag = "out"
        return y

    return Case(fn)


@program
def attribute_of_a_parameter():
    m = torch.nn.Linear(4, 2)

    def fn(x):
        m.weight.uses = getattr(m.weight, "uses", 0) + 1
        return m(x) * m.weight.uses

    return Case(fn, args=matrix)


@program
def dict_argument_gets_a_key():
    def fn(x, d):
        d["y"] = x * 2
        return d["y"] + 1

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, {"k": 1}))


@program
def dict_argument_that_is_kept():
    kept = {"n": 0}

    def fn(x, d):
        d["n"] += 1
        return x * d["n"]

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, kept), looks_at=kept)


@program
def list_argument_appended():
    def fn(x, rows):
        rows.append(x.sum())
        return x + len(rows)

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, [1.0]))


@program
def list_argument_grows_over_calls():
    kept = []

    def fn(x, rows):
        rows.append(x * 2)
        return sum(r.sum() for r in rows)

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, kept), looks_at=kept)


@program
def list_argument_item():
    def fn(x, rows):
        rows[0] = x
        rows[1] += 1
        return x * rows[1]

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, [None, n]))


@program
def object_argument():
    def fn(x, o):
        o.k += 1
        o.last = x * o.k
        return o.last + 1

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, Box(k=n)))


@program
def cache_argument():
    class Cache:
        def __init__(self):
            self.rows = None

        def update(self, x):
            self.rows = x if self.rows is None else torch.cat([self.rows, x])
            return self.rows

    kept = Cache()

    def fn(x, cache):
        return cache.update(x).sum() + x

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, kept), looks_at=kept)


@program
def list_argument_comes_back():
    def fn(x, rows):
        rows.append(x + 1)
        return rows

    return Case(fn, args=lambda n: (torch.arange(n) + 1.0, [1.0]))


@program
def tensor_argument_in_place():
    def fn(x):
        x.add_(1)
        return x * 2

    return Case(fn)


@program
def tensor_argument_item():
    def fn(x):
        x[:1] = 7
        return x.sum()

    return Case(fn)


@program
def tensor_argument_comes_back():
    def fn(x):
        x.mul_(2)
        return x, x.view(-1)

    return Case(fn)


@program
def environment_written():
    def fn(x):
        os.environ["HOSTILE_WRITTEN"] = str(x.shape[0])
        return x * 2

    return Case(fn)


@program
def event_set():
    event = threading.Event()

    def fn(x):
        event.set()
        return x * 2

    return Case(fn, event.clear)


@program
def queue_put():
    q = queue.Queue()

    def fn(x):
        q.put(x.shape[0])
        return x * q.qsize()

    return Case(fn, looks_at=q.queue)


@program
def context_variable_set():
    import contextvars

    var = contextvars.ContextVar("hostile", default=0)

    def fn(x):
        var.set(var.get() + 1)
        return x * var.get()

    return Case(fn)


@program
def module_attribute_written():
    import types

    module = types.ModuleType("hostile_written")
    module.n = 0

    def fn(x):
        module.n += 1
        return x * module.n

    return Case(fn, looks_at=vars(module))


@program
def write_then_read():
    o = Box(a=1.0, b=0.0)

    def fn(x):
        o.b = o.a + 1
        o.a = o.b * 2
        return x * o.a + o.b

    return Case(fn)


@program
def write_in_a_branch_on_size():
    o = Box(n=0)

    def fn(x):
        if x.shape[0] > 2:
            o.n += 1
        return x * 2

    return Case(fn)


@program
def write_in_a_branch_on_data():
    o = Box(n=0)

    def fn(x):
        if x.sum() > 3:
            o.n += 1
        return x * 2

    return Case(fn)


@program
def write_before_an_error():
    o = Box(n=0)

    def fn(x):
        o.n += 1
        if x.shape[0] == 2:
            raise ValueError("two")
        return x * 2

    return Case(fn)


@program
def write_in_a_finally():
    o = Box(n=0)

    def fn(x):
        try:
            if x.shape[0] == 2:
                raise ValueError("two")
            return x * 2
        finally:
            o.n += 1

    return Case(fn)


@program
def write_of_the_same_value():
    o = Box(k=2.0)

    def fn(x):
        o.k = 2.0
        return x * o.k

    def change():
        o.k = 3.0

    return Case(fn, change)


@program
def swap_of_two():
    o = Box(a=2.0, b=3.0)

    def fn(x):
        o.a, o.b = o.b, o.a
        return x * o.a

    return Case(fn)


@program
def write_by_exec():
    o = Box(n=0)

    def fn(x):
        exec("o.n += 1", {"o": o})
        return x * 2

    return Case(fn)


@program
def write_by_object_setattr():
    o = Box(n=0)

    def fn(x):
        object.__setattr__(o, "n", o.n + 1)
        return x * o.n

    return Case(fn)


@program
def write_to_an_alias():
    o = Box(n=0)
    same = {"o": o}

    def fn(x):
        same["o"].n += 1
        return x * o.n

    return Case(fn)


@program
def class_attribute_between_reads():
    """An object that was changed still sees what its class has."""

    class Kind:
        scale = 2.0

        def __init__(self):
            self.n = 0

        def apply(self, x):
            self.n += 1
            return x * self.scale

    o = Kind()

    def fn(x):
        y = o.apply(x)
        Kind.scale = x.shape[0] % 4 + 1
        return o.apply(y)

    return Case(fn)
