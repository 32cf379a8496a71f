"""State behind classes of Python itself: bound arguments, chains, caches, wrappers of torch.func."""

import bisect
import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import heapq
import inspect
import itertools
import operator
import re
import string
import types
import typing
import weakref

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, attribute, item, leaf, matrix, program


def target(a, b, *rest, c=10, d=11, **others):
    pass


@program
def bound_arguments_changed():
    def fn(x):
        bound = inspect.signature(target).bind(1, 2, 3, d=12, e=15)
        bound.arguments["d"] = 13
        return bound.arguments, bound.args, x + bound.arguments["d"]

    return Case(fn, exported=False)


@program
def bound_arguments_with_defaults():
    def fn(x):
        bound = inspect.signature(target).bind(1, 2, d=x)
        bound.apply_defaults()
        bound.arguments["c"] = 7
        return bound, bound.arguments, bound.kwargs

    return Case(fn, exported=False)


@program
def bound_arguments_that_leave():
    def fn(x):
        bound = inspect.signature(target).bind(x, 2)
        bound.apply_defaults()
        bound.arguments["d"] = x + 1
        return bound

    return Case(fn, exported=False)


@program
def transform_that_leaves():
    def fn(x):
        return torch.vmap(torch.sum), x + 1

    return Case(fn, args=matrix, exported=False, drive=lambda f, x: f(x)[0](x))


@program
def gradient_that_leaves():
    def fn(x):
        double = lambda y: (y * 2).sum()  # noqa: E731  as users write it
        return torch.func.grad(double), x + 1

    return Case(fn, exported=False, drive=lambda f, x: f(x)[0](x))


@program
def transform_kept_in_an_object():
    box = Box(f=None)

    def fn(x):
        box.f = torch.func.grad(torch.sum)
        return x + 1

    return Case(fn, drive=lambda f, x: (f(x), box.f(x)))


@program
def callback_of_a_weak_reference():
    seen = []

    def fn(x):
        y = x + 1
        ref = weakref.ref(y, lambda r: seen.append(1))
        return y * 2, ref is None

    return Case(fn, looks_at=seen)


@program
def callback_of_a_reference_to_an_argument():
    seen = []

    def fn(x):
        ref = weakref.ref(x, lambda r: seen.append(1))
        return x * 2, ref() is x

    return Case(fn, looks_at=seen)


@program
def finalizer_of_a_result():
    seen = []

    def fn(x):
        y = x + 1
        weakref.finalize(y, seen.append, 1)
        return y * 2

    return Case(fn, looks_at=seen)


@program
def chain_map_written():
    first, second = {"a": 1.0}, {"b": 2.0}
    chain = collections.ChainMap(first, second)

    def fn(x):
        chain["a"] = chain["a"] + 1
        return x * chain["a"] + chain["b"]

    return Case(fn, *item(second, "b", 3.0, 2.0))


@program
def chain_map_child():
    base = {"a": 1.0}

    def fn(x):
        child = collections.ChainMap(base).new_child({"b": 3.0})
        child["a"] = 5.0
        return x * child["a"] + base["a"], dict(child)

    return Case(fn, *item(base, "a", 2.0, 1.0))


@program
def counter_arithmetic():
    counts = collections.Counter("ab")

    def fn(x):
        counts.update("b")
        more = counts + collections.Counter(b=1)
        return x * more["b"], (counts - collections.Counter(a=9)).most_common(1)

    return Case(fn, lambda: counts.clear())


@program
def deque_with_a_limit():
    recent = collections.deque(maxlen=2)

    def fn(x):
        recent.append(x.sum())
        return x * len(recent) + sum(recent)

    return Case(fn, recent.clear)


@program
def deque_rotated():
    ring = collections.deque([1.0, 2.0, 3.0])

    def fn(x):
        ring.rotate(1)
        return x * ring[0]

    return Case(fn)


@program
def default_dict_with_a_counter():
    ids = collections.defaultdict(itertools.count().__next__)

    def fn(x):
        return x * (ids["a"] + ids["b"] + 1)

    return Case(fn)


@program
def default_dict_of_lists():
    groups = collections.defaultdict(list)

    def fn(x):
        groups[x.shape[0]].append(x.sum())
        return x + len(groups[x.shape[0]])

    return Case(fn)


@program
def ordered_dict_moved():
    order = collections.OrderedDict(a=1.0, b=2.0)

    def fn(x):
        order.move_to_end("a")
        return x * next(iter(order.values()))

    return Case(fn)


@program
def heap_pushed():
    heap = [3.0, 5.0]

    def fn(x):
        heapq.heappush(heap, 1.0 + len(heap))
        return x * heapq.heappop(heap)

    return Case(fn)


@program
def sorted_insertion():
    values = [1.0, 3.0]

    def fn(x):
        bisect.insort(values, 2.0)
        return x * values[1], len(values)

    return Case(fn)


@program
def descriptor_that_counts():
    class Counted:
        def __init__(self):
            self.reads = 0

        def __get__(self, o, kind=None):
            self.reads += 1
            return self.reads

        def __set__(self, o, value):
            self.reads = value

    class Thing:
        n = Counted()

    thing = Thing()

    def fn(x):
        return x * thing.n + thing.n

    return Case(fn, lambda: setattr(thing, "n", 10))


@program
def descriptor_with_a_name():
    class Named:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, o, kind=None):
            return getattr(o, self.name, 1.0)

        def __set__(self, o, value):
            setattr(o, self.name, value)

    class Thing:
        a = Named()

    thing = Thing()

    def fn(x):
        thing.a = thing.a + 1
        return x * thing.a

    return Case(fn, *attribute(thing, "a", 5.0))


@program
def slots_written():
    class Slim:
        __slots__ = ("n", "t")

    slim = Slim()
    slim.n = 0

    def fn(x):
        slim.n += 1
        slim.t = x.sum()
        return x + slim.n, hasattr(slim, "t")

    return Case(fn, *attribute(slim, "n", 7))


@program
def metaclass_call():
    made = []

    class Meta(type):
        def __call__(cls, *args):
            o = super().__call__(*args)
            made.append(cls.__name__)
            return o

    class Thing(metaclass=Meta):
        def __init__(self, n):
            self.n = n

    def fn(x):
        return x * Thing(3).n

    return Case(fn, looks_at=made)


@program
def metaclass_attribute():
    class Meta(type):
        scale = 2.0

        @property
        def twice(cls):
            return cls.scale * 2

    class Thing(metaclass=Meta):
        pass

    def fn(x):
        return x * Thing.twice

    return Case(fn, *attribute(Thing, "scale", 3.0), *attribute(Meta, "scale", 5.0))


@program
def instance_check_that_counts():
    seen = []

    class Meta(type):
        def __instancecheck__(cls, o):
            seen.append(1)
            return len(seen) % 2 == 1

    class Odd(metaclass=Meta):
        pass

    def fn(x):
        return x * 2 if isinstance(3, Odd) else x * 3

    return Case(fn)


@program
def subclass_registry():
    registry = []

    class Base:
        def __init_subclass__(cls):
            registry.append(cls.__name__)

    def fn(x):
        class Child(Base):
            n = 2

        return x * Child.n

    return Case(fn, looks_at=registry)


@program
def generator_with_a_finally():
    log = []

    def parts(x):
        try:
            yield x
            yield x * 2
        finally:
            log.append("closed")

    def fn(x):
        for part in parts(x):
            if part.shape[0] > 2:
                return part + len(log)
        return x

    return Case(fn, looks_at=log)


@program
def generator_sent_to():
    def mean():
        total, n = 0.0, 0
        while True:
            value = yield total / max(n, 1)
            total, n = total + value, n + 1

    def fn(x):
        g = mean()
        next(g)
        g.send(2.0)
        return x * g.send(4.0)

    return Case(fn)


@program
def generator_thrown_into():
    def guarded(x):
        while True:
            try:
                yield x
            except KeyError:
                yield x * 10

    def fn(x):
        g = guarded(x)
        return next(g) + g.throw(KeyError())

    return Case(fn)


@program
def generator_that_returns():
    def inner(x):
        yield x
        return 3.0

    def outer(x):
        n = yield from inner(x)
        yield x * n

    def fn(x):
        return list(outer(x))

    return Case(fn)


@program
def error_with_effects_on_the_way():
    log = []

    class Bad(Exception):
        def __init__(self, n):
            super().__init__(n)
            log.append(n)

    def part(x):
        try:
            raise Bad(x.shape[0])
        finally:
            log.append("left")

    def fn(x):
        try:
            part(x)
        except Bad as e:
            log.append(e.args)
        return x + len(log)

    return Case(fn, log.clear, looks_at=log)


@program
def error_chained():
    def fn(x):
        try:
            try:
                raise ValueError("a")
            except ValueError as e:
                raise KeyError(x.shape[0]) from e
        except KeyError as e:
            return x * 2, type(e.__cause__).__name__, e.args

    return Case(fn)


@program
def error_with_notes():
    def fn(x):
        try:
            e = ValueError("a")
            e.add_note("b")
            raise e
        except ValueError as found:
            return x * len(found.__notes__)

    return Case(fn)


@program
def exit_that_swallows():
    log = []

    class Swallow:
        def __enter__(self):
            log.append("in")
            return self

        def __exit__(self, kind, error, trace):
            log.append(kind and kind.__name__)
            return kind is ValueError

    def fn(x):
        with Swallow():
            if x.shape[0] > 2:
                raise ValueError
            log.append("not")
        return x + len(log)

    return Case(fn, log.clear, looks_at=log)


@program
def exit_stack_in_reverse():
    log = []

    def fn(x):
        with contextlib.ExitStack() as stack:
            for i in range(3):
                stack.callback(log.append, i)
            moved = stack.pop_all()
        moved.close()
        return x + log[-1]

    return Case(fn, log.clear, looks_at=log)


@program
def manager_used_again():
    class Depth:
        n = 0

        def __enter__(self):
            Depth.n += 1
            return Depth.n

        def __exit__(self, *_):
            Depth.n -= 1

    depth = Depth()

    def fn(x):
        with depth as a, depth as b:
            y = x * a + b
        return y + Depth.n

    return Case(fn, *attribute(Depth, "n", 5, 0))


@program
def array_in_an_object():
    box = Box(a=np.array([1.0, 2.0]))

    def fn(x):
        return x * float(box.a[1]), box.a.shape

    return Case(fn, *item(box.a, 1, 5.0, 2.0))


@program
def array_written():
    counts = np.zeros(3)

    def fn(x):
        counts[1] += 1
        return x * float(counts[1])

    return Case(fn, lambda: counts.fill(0))


@program
def array_as_a_view():
    base = np.arange(4.0)
    view = base[1:]

    def fn(x):
        return x * float(view.sum())

    return Case(fn, *item(base, 2, 7.0, 2.0))


@program
def array_shared_with_a_tensor():
    base = np.arange(3.0, dtype=np.float32)
    t = torch.from_numpy(base)

    def fn(x):
        return x.sum() + t

    return Case(fn, *item(base, 0, 7.0, 0.0))


@program
def frozen_dataclass_replaced():
    @dataclasses.dataclass(frozen=True)
    class Point:
        a: float
        b: float = 2.0

    box = Box(p=Point(1.0))

    def fn(x):
        box.p = dataclasses.replace(box.p, a=box.p.a + 1)
        return x * box.p.a, dataclasses.astuple(box.p)

    return Case(fn, *attribute(box, "p", Point(5.0, 6.0)))


@program
def dataclass_with_a_factory():
    count = itertools.count()

    @dataclasses.dataclass
    class Item:
        n: int = dataclasses.field(default_factory=lambda: next(count))
        tags: list = dataclasses.field(default_factory=list)

    def fn(x):
        a = Item()
        a.tags.append(x.sum())
        return x * a.n, a.tags

    return Case(fn)


@program
def dataclass_fields_read():
    @dataclasses.dataclass
    class Options:
        a: float = 1.0
        b: float = 2.0

    options = Options()

    def fn(x):
        return x * sum(getattr(options, f.name) for f in dataclasses.fields(options))

    return Case(fn, *attribute(options, "b", 5.0, 2.0))


@program
def dataclass_ordered():
    @dataclasses.dataclass(order=True)
    class Rank:
        n: int

    low, high = Rank(1), Rank(2)

    def fn(x):
        return x * 2 if low < high else x * 3

    return Case(fn, *attribute(low, "n", 9, 1))


@program
def enumeration_by_value():
    class Kind(enum.Enum):
        ONE = 1
        TWO = 2

        @property
        def scale(self):
            return self.value * 10

    box = Box(n=1)

    def fn(x):
        return x * Kind(box.n).scale, Kind["TWO"].name

    return Case(fn, *attribute(box, "n", 2, 1))


@program
def flags_of_an_enumeration():
    class Part(enum.Flag):
        A = enum.auto()
        B = enum.auto()

    box = Box(p=Part.A)

    def fn(x):
        box.p |= Part.B
        return x * 2 if Part.B in box.p and Part.A in box.p else x * 3

    return Case(fn, *attribute(box, "p", Part(0), Part.A))


@program
def partial_method():
    class Scaler:
        k = 2.0

        def scale(self, n, x):
            return x * n * self.k

        thrice = functools.partialmethod(scale, 3)

    s = Scaler()

    def fn(x):
        return s.thrice(x)

    return Case(fn, *attribute(Scaler, "k", 5.0, 2.0))


@program
def single_dispatch():
    @functools.singledispatch
    def scale(o):
        return 1.0

    @scale.register
    def _(o: int):
        return 2.0

    box = Box(o=1)

    def fn(x):
        return x * scale(box.o)

    return Case(fn, *attribute(box, "o", "a", 1), lambda: scale.register(str, lambda o: 9.0))


@program
def cached_property_invalidated():
    class Table:
        n = 2.0

        @functools.cached_property
        def scale(self):
            return self.n * 2

    t = Table()

    def fn(x):
        return x * t.scale

    return Case(fn, lambda: setattr(t, "n", 5.0), lambda: vars(t).pop("scale", None))


@program
def total_ordering():
    @functools.total_ordering
    class Size:
        def __init__(self, n):
            self.n = n

        def __eq__(self, o):
            return self.n == o.n

        def __lt__(self, o):
            return self.n < o.n

        __hash__ = None

    a, b = Size(1), Size(2)

    def fn(x):
        return x * 2 if a >= b else x * 3

    return Case(fn, *attribute(a, "n", 5, 1))


@program
def weak_value_table():
    class Thing:
        def __init__(self, n):
            self.n = n

    keep = [Thing(2.0)]
    table = weakref.WeakValueDictionary(a=keep[0])

    def fn(x):
        found = table.get("a")
        return x * (found.n if found is not None else 9.0)

    return Case(fn, keep.clear)


@program
def weak_set_of_objects():
    class Thing:
        pass

    keep = [Thing(), Thing()]
    seen = weakref.WeakSet(keep)

    def fn(x):
        return x * len(seen)

    return Case(fn, keep.pop)


@program
def context_variable_in_a_copy():
    var = contextvars.ContextVar("var", default=1.0)

    def fn(x):
        inner = contextvars.copy_context()
        inner.run(var.set, 5.0)
        return x * var.get() + inner[var]

    return Case(fn, lambda: var.set(3.0))


@program
def context_variable_reset():
    var = contextvars.ContextVar("var", default=1.0)

    def fn(x):
        token = var.set(4.0)
        y = x * var.get()
        var.reset(token)
        return y + var.get()

    return Case(fn, lambda: var.set(3.0))


@program
def accumulated_gradient_read():
    w = torch.nn.Parameter(torch.ones(()))

    def fn(x):
        y = x * w
        return y if w.grad is None else y + w.grad

    return Case(fn, backward=True)


@program
def hook_on_a_result():
    seen = []

    def fn(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g.sum())))
        return y * 3

    return Case(fn, args=leaf, looks_at=seen)


@program
def hook_that_changes_a_gradient():
    def fn(x):
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda g: g * 5)
        return y * 3

    return Case(fn, args=leaf)


@program
def retained_gradient():
    box = Box(y=None)

    def fn(x):
        box.y = x * 2
        box.y.retain_grad()
        return box.y * 3

    return Case(fn, args=leaf, backward=True)


@program
def generator_forked():
    def fn(x):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            a = torch.rand(2)
        return x.sum() + a, torch.rand(2)

    return Case(fn)


@program
def generator_state_kept():
    box = Box(s=None)

    def fn(x):
        if box.s is not None:
            torch.set_rng_state(box.s)
        box.s = torch.get_rng_state()
        return x.sum() + torch.rand(2)

    return Case(fn)


@program
def default_dtype_in_a_manager():
    @contextlib.contextmanager
    def double():
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)

    def fn(x):
        with double():
            a = torch.ones(2)
        return a, torch.ones(2), x + 1

    return Case(fn, lambda: torch.set_default_dtype(torch.float64))


@program
def device_in_a_manager():
    def fn(x):
        with torch.device("meta"):
            a = torch.ones(2)
        return a.device.type, torch.ones(2) + x.sum()

    return Case(fn)


@program
def subclass_with_a_count():
    class Counting(torch.Tensor):
        calls = 0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            Counting.calls += 1
            return super().__torch_function__(func, types, args, kwargs or {})

    def fn(x):
        y = x.as_subclass(Counting)
        return (y + 1).as_subclass(torch.Tensor), Counting.calls

    return Case(fn)


@program
def operator_objects():
    get = operator.attrgetter("a.b")
    box = Box(a=Box(b=2.0))

    def fn(x):
        return x * get(box) * operator.itemgetter(1)([1.0, 3.0])

    return Case(fn, *attribute(box.a, "b", 5.0, 2.0))


@program
def pattern_with_a_function():
    seen = []

    def put(match):
        seen.append(match[0])
        return "x"

    def fn(x):
        return x * len(re.sub("[ab]", put, "abc")), len(seen)

    return Case(fn, seen.clear, looks_at=seen)


@program
def template_substituted():
    names = {"a": "1"}

    def fn(x):
        return x * len(string.Template("$a$a").substitute(names))

    return Case(fn, *item(names, "a", "11", "1"))


@program
def simple_namespace():
    space = types.SimpleNamespace(n=1.0)

    def fn(x):
        space.n += 1
        space.t = x.sum()
        return x * space.n, types.SimpleNamespace(a=space.n)

    return Case(fn, *attribute(space, "n", 5.0))


@program
def dynamic_class():
    def fn(x):
        made = types.new_class("Made", (), {}, lambda space: space.update(n=3.0))
        return x * made().n

    return Case(fn)


@program
def typed_dict_and_named_tuple():
    class Pair(typing.NamedTuple):
        a: float
        b: list

    pair = Pair(1.0, [])

    def fn(x):
        pair.b.append(pair.a)
        return x * len(pair.b), pair._replace(a=5.0)

    return Case(fn, pair.b.clear)


@program
def deep_copy_with_a_method():
    copied = []

    class Thing:
        n = 2.0

        def __deepcopy__(self, memo):
            copied.append(1)
            return Thing()

    thing = Thing()

    def fn(x):
        return x * copy.deepcopy([thing])[0].n + len(copied)

    return Case(fn, *attribute(Thing, "n", 3.0), looks_at=copied)


@program
def iterator_shared():
    numbers = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])

    def fn(x):
        return x * next(numbers, 0.0)

    return Case(fn)


@program
def tee_and_chain():
    def fn(x):
        a, b = itertools.tee(range(3))
        return x * sum(itertools.chain(a, b, itertools.repeat(2, 2)))

    return Case(fn)


@program
def product_of_groups():
    rows = [("a", 1.0), ("a", 2.0), ("b", 3.0)]

    def fn(x):
        groups = {k: [v for _, v in g] for k, g in itertools.groupby(rows, lambda r: r[0])}
        return x * len(groups["a"]), groups

    return Case(fn, lambda: rows.append(("a", 4.0)), rows.pop)


@program
def attributes_intercepted():
    log = []

    class Proxy:
        def __init__(self, o):
            object.__setattr__(self, "_o", o)

        def __getattr__(self, name):
            log.append(name)
            return getattr(self._o, name)

        def __setattr__(self, name, value):
            log.append(name)
            setattr(self._o, name, value)

    box = Box(n=1.0)
    proxy = Proxy(box)

    def fn(x):
        proxy.n += 1
        return x * proxy.n

    return Case(fn, *attribute(box, "n", 5.0), looks_at=log)


@program
def hash_of_the_users():
    class Key:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return 1

        def __eq__(self, o):
            return self.n == o.n

    a = Key(1)
    table = {a: 2.0, Key(3): 5.0}
    box = Box(k=Key(1))

    def fn(x):
        return x * table.get(box.k, 9.0)

    return Case(fn, *attribute(box.k, "n", 3, 7, 1))
