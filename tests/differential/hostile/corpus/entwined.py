"""Python that entwines several of its features: each program holds state in more than one way."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import heapq
import itertools
import operator
import string
import types
import typing
import weakref

import torch

from tests.differential.hostile.program import (
    Box,
    Case,
    attribute,
    body,
    item,
    leaf,
    matrix,
    program,
)


@program
def registry_by_decorator_and_enum():
    class Kind(enum.Enum):
        ADD = "add"
        MUL = "mul"

        @property
        def do(self):
            return REGISTRY[self]

    REGISTRY = {}

    def register(kind):
        def decorate(f):
            REGISTRY[kind] = f
            return f

        return decorate

    @register(Kind.ADD)
    def _(x):
        return x + x.shape[0]

    register(Kind.MUL)(lambda x: x * 2)
    return Case(
        lambda x: [k.do(x) for k in Kind],
        lambda: register(Kind.MUL)(lambda x: x * 5),
        lambda: register(Kind("add"))(torch.neg),
    )


@program
def dataclass_with_a_cache_and_post_init():
    @dataclasses.dataclass
    class Config:
        k: int = 2
        tags: list = dataclasses.field(default_factory=list)
        total: dataclasses.InitVar[int] = 3

        def __post_init__(self, total):
            self.sum = self.k + total

        @functools.cached_property
        def scale(self):
            return self.k * len(self.tags) + self.sum

    c = Config()

    def f(x):
        d = dataclasses.replace(c, total=x.shape[0])
        return x * c.scale, d.sum, d == c, d.tags is c.tags

    return Case(
        f,
        lambda: c.tags.append("a"),
        lambda: vars(c).pop("scale", None),
        *attribute(c, "k", 5),
        looks_at=c,
    )


@program
def context_variables_in_generators():
    var = contextvars.ContextVar("var", default=2)

    def parts(x):
        token = var.set(var.get() + 1)
        try:
            yield x * var.get()
            yield x + var.get()
        finally:
            var.reset(token)

    def f(x):
        found = list(parts(x))
        return found, var.get()

    return Case(f, lambda: var.set(5), looks_at=var)


@program
def weak_cache_of_results():
    cache = weakref.WeakValueDictionary()

    class Result:
        def __init__(self, n):
            self.n = n

    held = []

    def f(x):
        n = x.shape[0]
        found = cache.get(n)
        if found is None:
            found = Result(n)
            held.append(found)
            cache[n] = found
        return x * found.n, len(cache)

    return Case(f, held.clear, looks_at=held)


@program
def closures_that_share_a_cell():
    def make():
        n = 0

        def bump(by=1):
            nonlocal n
            n += by
            return n

        def read():
            return n

        return bump, read

    bump, read = make()

    def f(x):
        before = read()
        bump(x.shape[0])
        return x * read() + before

    return Case(f, bump, lambda: bump(by=10), looks_at=(bump, read))


@program
def exception_that_carries_a_tensor():
    class Found(Exception):
        def __init__(self, value, **about):
            super().__init__(value)
            self.about = about

    limit = Box(n=2)

    def search(x):
        for i, row in enumerate(x):
            if i >= limit.n:
                raise Found(row, place=i)
        raise LookupError("none")

    def f(x):
        try:
            search(x)
        except Found as e:
            return e.args[0] * 2, e.about["place"]
        except LookupError as e:
            return x.sum(), str(e), e.__context__ is None
        finally:
            limit.n += 0

    return Case(f, *attribute(limit, "n", 0, 4), args=matrix)


@program
def finally_that_overrides():
    state = Box(log=[])

    def f(x):
        for k in range(3):
            try:
                if k == x.shape[0] % 3:
                    continue
                if k == 2:
                    return x * k
            finally:
                state.log.append(k)
                if k == 1 and x.shape[0] == 5:
                    break  # noqa: B012
        return x - 1

    return Case(f, state.log.clear, looks_at=state)


@program
def stack_of_contexts_with_callbacks():
    log = []

    def f(x):
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, "last")
            for k in range(min(x.shape[0], 2)):
                stack.enter_context(contextlib.closing(Closer(log, k)))
            stack.push(lambda *e: log.append(e[0] is None))
            kept = stack.pop_all() if x.shape[0] == 5 else None
        if kept is not None:
            kept.close()
        return x * len(log)

    return Case(f, log.clear, looks_at=log)


class Closer:
    def __init__(self, log, k):
        self.log, self.k = log, k

    def close(self):
        self.log.append(self.k)


@program
def match_on_objects_and_guards():
    class Node(typing.NamedTuple):
        op: str
        args: tuple

    limit = Box(n=2)
    tree = [Node("add", (1, Node("mul", (2, 3))))]

    def value(node, x):
        match node:
            case Node("add", (a, b)):
                return value(a, x) + value(b, x)
            case Node(op="mul", args=(int(a), int(b) | float(b))) if a * b > limit.n:
                return x * (a * b)
            case Node(op=("mul" | "sub") as name):
                return x - len(name)
            case int(k):
                return x + k
            case _:
                return x

    def other():
        tree[0] = Node("sub", ())

    return Case(lambda x: value(tree[0], x), *attribute(limit, "n", 9, 2), other)


@program
def named_tuple_made_anew():
    class Pair(typing.NamedTuple):
        a: torch.Tensor
        k: int = 2

    held = Box(p=Pair(torch.ones(1)))

    def f(x):
        held.p = held.p._replace(a=held.p.a + x.sum(), k=held.p.k + 1)
        return x * held.p.k, held.p

    def reset():
        held.p = Pair(torch.zeros(1), k=7)

    return Case(f, reset, looks_at=held)


@program
def heap_of_sizes_and_names():
    heap = [(5, "five"), (9, "nine")]

    def f(x):
        heapq.heappush(heap, (x.shape[0], f"n{x.shape[0]}"))
        k, name = heapq.heappop(heap)
        return x * k, name, heapq.nsmallest(2, heap)

    return Case(f, lambda: heapq.heappush(heap, (0, "zero")), looks_at=heap)


@program
def counter_and_most_common():
    seen = collections.Counter()

    def f(x):
        seen[x.shape[0]] += 1
        seen.update({"all": 1})
        (top, times), *_ = seen.most_common()
        return x * times, top, seen.total()

    return Case(f, lambda: seen.subtract(all=2), seen.clear, looks_at=seen)


@program
def chain_of_maps_with_children():
    base, extra = {"k": 2, "j": 1}, {"k": 3}
    chain = collections.ChainMap(extra, base)

    def f(x):
        child = chain.new_child({"j": x.shape[0]})
        child["new"] = 1
        return x * child["k"] + child["j"], len(child), "new" in chain, list(child.parents)

    return Case(f, lambda: extra.pop("k", None), *item(base, "k", 9), looks_at=chain)


@program
def ordered_by_recency():
    cache = collections.OrderedDict()

    def f(x):
        n = x.shape[0]
        if n in cache:
            cache.move_to_end(n)
        else:
            cache[n] = x.sum()
        while len(cache) > 2:
            cache.popitem(last=False)
        return x + cache[n], list(cache)

    return Case(f, cache.clear, looks_at=cache)


@program
def window_of_the_last():
    window = collections.deque(maxlen=3)

    def f(x):
        window.append(x.mean() if x.numel() else x.sum())
        window.rotate(1)
        return torch.stack(list(window)).sum() * x, window[0], len(window), window.maxlen

    return Case(f, window.clear, lambda: window.appendleft(torch.ones(())), looks_at=window)


@program
def default_factory_with_state():
    made = itertools.count()
    table = collections.defaultdict(lambda: next(made))

    def f(x):
        return x * (table[x.shape[0]] + 1), dict(table), table.get("none")

    return Case(f, table.clear, lambda: next(made), looks_at=(table, made))


@program
def partial_of_a_method_of_a_partial():
    class A:
        k = 2

        def go(self, x, y, *, z=1):
            return x * self.k + y * z

    a = A()
    p = functools.partial(functools.partial(a.go, y=3), z=2)
    return Case(
        lambda x: p(x) + functools.partial(p, z=5)(x),
        lambda: setattr(a, "k", 4),
        lambda: p.keywords.update(z=7),
    )


@program
def reduce_over_closures():
    fs = [lambda v, i=i: v * (i + 1) for i in range(3)]

    def f(x):
        return functools.reduce(lambda v, g: g(v), fs, x), list(
            itertools.accumulate(range(x.shape[0]), operator.add, initial=1)
        )

    return Case(f, lambda: fs.append(torch.neg), lambda: fs.reverse(), lambda: fs.pop())


@program
def groups_and_pairs():
    names = ["a", "ab", "b", "ba", "c"]

    def f(x):
        groups = {k: len(list(g)) for k, g in itertools.groupby(names, key=lambda s: s[0])}
        pairs = [a + b for a, b in itertools.pairwise(names)]
        return (
            x * sum(groups.values()),
            groups,
            pairs,
            list(itertools.batched(pairs, 2)) if hasattr(itertools, "batched") else None,
        )

    return Case(f, lambda: names.append("d"), lambda: names.sort(reverse=True))


@program
def tee_of_an_outside_iterator():
    holder = Box(it=iter(range(100)))

    def f(x):
        a, holder.it = itertools.tee(holder.it)
        return x * next(a)

    return Case(f, lambda: next(holder.it))


@program
def iterator_kept_between_calls():
    class Stream:
        def __init__(self):
            self.it = self.numbers()

        def numbers(self):
            k = 1
            while True:
                sent = yield k
                k = k + 1 if sent is None else sent

        def __call__(self, x):
            return x * next(self.it)

    s = Stream()
    return Case(lambda x: s(x), lambda: s.it.send(10), lambda: setattr(s, "it", s.numbers()))


@program
def slots_and_descriptors_that_validate():
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, o, kind=None):
            return self if o is None else getattr(o, self.name, 1)

        def __set__(self, o, value):
            if value <= 0:
                raise ValueError(f"{self.name[1:]} must be positive")
            setattr(o, self.name, value)

    class A:
        __slots__ = ("_k", "log")
        k = Positive()

    a = A()
    a.log = []

    def f(x):
        try:
            a.k = x.shape[0] - 2
        except ValueError as e:
            a.log.append(str(e))
        return x * a.k, len(a.log)

    return Case(f, lambda: setattr(a, "k", 9), looks_at=a)


@program
def metaclass_that_counts_and_orders():
    class Meta(type):
        made = 0

        def __call__(cls, *args):
            Meta.made += 1
            return super().__call__(*args)

        def __lt__(cls, other):
            return cls.rank < other.rank

        def __len__(cls):
            return cls.rank

    class A(metaclass=Meta):
        rank = 2

    class B(metaclass=Meta):
        rank = 1

    def f(x):
        first = min(A, B)
        first()
        return x * len(first), Meta.made, first.__name__

    return Case(f, *attribute(A, "rank", 0, 3), looks_at=Meta)


@program
def abstract_classes_and_virtual_ones():
    import abc

    class Shape(abc.ABC):
        @classmethod
        def __subclasshook__(cls, other):
            return NotImplemented

        @abc.abstractmethod
        def area(self): ...

    class Square:
        def area(self):
            return 4

    s = Square()

    def f(x):
        return x * s.area() if isinstance(s, Shape) else x - 1

    return Case(f, lambda: Shape.register(Square))


@program
def text_with_parts_and_formats():
    t = string.Template("$a-${b}")
    names = {"a": 1}

    class Fmt(string.Formatter):
        def get_value(self, key, args, kwargs):
            return names.get(key, "?") if isinstance(key, str) else args[key]

    def f(x):
        n = x.shape[0]
        text = t.safe_substitute(names, b=n), Fmt().format("{a}:{0:03d}:{c}", n), f"{n!r:>5}|{n:+d}"
        return x * len(text[0]), text, "%(a)s %(n)05.1f" % {**names, "n": n / 2}

    return Case(f, lambda: names.update(a=22, c="x"))


@program
def namespace_object_with_dynamic_names():
    space = types.SimpleNamespace(w0=1.0, w1=2.0)

    def f(x):
        found = [getattr(space, f"w{i}") for i in range(x.shape[0]) if hasattr(space, f"w{i}")]
        space.__dict__.setdefault("calls", 0)
        space.calls += 1
        return x * sum(found), vars(space).keys() - {"calls"}

    return Case(
        f, lambda: setattr(space, "w2", 5.0), lambda: vars(space).pop("w0", None), looks_at=space
    )


@program
def walrus_and_comprehension_scopes():
    state = Box(last=None)

    def f(x):
        found = [y for k in range(4) if (y := x * k).shape[0] > k]
        if found and (last := found[-1]) is not None:
            state.last = last
        return found, [k for k in range(3) for _ in range(k)], state.last is None

    return Case(f, lambda: setattr(state, "last", None), looks_at=state)


@program
def star_arguments_everywhere():
    extra, named = [1], {"k": 2}

    def inner(x, *args, k=1, **rest):
        return x * k + sum(args), sorted(rest), len(args)

    def f(x, *more, **options):
        return inner(x, *extra, *more, **{**named, **options})

    calls = [
        lambda: (torch.ones(3),),
        lambda: (torch.ones(3), 2, 3),
        lambda: extra.append(4) or (torch.ones(5),),
        lambda: named.update(z=1) or (torch.ones(0), 7),
        lambda: named.pop("k") and (torch.ones(1),),
    ]
    return Case(f, calls=calls)


@program
def recursion_with_a_memo():
    memo = {}

    def fib(n, x):
        if n in memo:
            return memo[n]
        memo[n] = x.sum() * n if n < 2 else fib(n - 1, x) + fib(n - 2, x)
        return memo[n]

    return Case(
        lambda x: x + fib(x.shape[0], x), memo.clear, lambda: memo.pop(1, None), looks_at=memo
    )


@program
def objects_that_refer_to_each_other():
    class Node:
        def __init__(self, k, parent=None):
            self.k, self.children = k, []
            self.parent = weakref.ref(parent) if parent else None
            if parent:
                parent.children.append(self)

        def total(self):
            up = self.parent() if self.parent else None
            return self.k + (up.k if up else 0) + sum(c.total() for c in self.children)

    root = Node(1)
    Node(2, root)

    def f(x):
        return x * root.total()

    return Case(f, lambda: Node(3, root), lambda: setattr(root, "k", 10), root.children.clear)


@program
def sorted_by_a_key_that_counts():
    calls = []

    def key(v):
        calls.append(v)
        return -v

    held = [3, 1, 2]

    def f(x):
        held.sort(key=key)
        top = max(held, key=lambda v: (v % 2, key(v)))
        return x * held[0] + top, len(calls), sorted({*held, x.shape[0]}, key=key)

    return Case(f, lambda: held.append(9), calls.clear, looks_at=(held, calls))


@program
def views_of_a_dict_that_grows():
    table = {"a": 1}
    keys, values, items = table.keys(), table.values(), table.items()

    def f(x):
        table[f"n{x.shape[0]}"] = x.shape[0]
        return x * len(keys), sum(values), ("a", 1) in items, sorted(keys & {"a", "n3"})

    return Case(f, lambda: table.pop("a", None), table.clear, looks_at=table)


@program
def list_aliased_twice():
    inner = [1]
    outer = [inner, inner, *[[]]]

    def f(x):
        outer[0].append(x.shape[0])
        outer[2].extend(outer[1][:2])
        return x * len(outer[1]), outer[0] is outer[1], [len(v) for v in outer]

    return Case(f, inner.clear, lambda: outer.__setitem__(1, [7]), looks_at=outer)


@program
def argument_aliased_with_state():
    held = {"log": []}

    def f(x, log):
        log.append(x.shape[0])
        return x * len(held["log"]), log is held["log"]

    calls = [
        lambda: (torch.ones(3), held["log"]),
        lambda: (torch.ones(3), []),
        lambda: (torch.ones(5), held["log"]),
        lambda: held.update(log=[]) or (torch.ones(1), held["log"]),
    ]
    return Case(f, calls=calls, looks_at=held)


@program
def views_and_their_base_as_arguments():
    def f(x, y):
        y.add_(1)
        return x * 2, y.sum()

    def pair(n):
        x = torch.arange(float(n))
        return x, x[: n // 2]

    calls = [lambda n=n, p=p: (pair(n) if p else (pair(n)[0], torch.ones(n // 2)))
             for n in (4, 5, 0, 1, 2) for p in (True, False)]  # fmt: skip
    return Case(f, calls=calls)


@program
def cache_of_keys_and_values():
    class Cache:
        def __init__(self):
            self.k = self.v = None
            self.length = 0

        def update(self, k, v):
            self.k = k if self.k is None else torch.cat([self.k, k])
            self.v = v if self.v is None else torch.cat([self.v, v])
            self.length += k.shape[0]
            return self.k, self.v

        def crop(self, n):
            self.k, self.v, self.length = self.k[:n], self.v[:n], min(n, self.length)

    cache = Cache()

    def f(x):
        k, v = cache.update(x, x * 2)
        if cache.length > 8:
            cache.crop(4)
        return (x @ k.T).softmax(-1) @ v, cache.length

    return Case(f, lambda: cache.crop(2), lambda: setattr(cache, "k", cache.k * 2),
                args=matrix, looks_at=cache)  # fmt: skip


@program
def ring_buffer_written_in_place():
    ring = torch.zeros(4, 4)
    place = [0]

    def f(x):
        for row in x:
            ring[place[0] % 4] = row
            place[0] += 1
        return ring.clone(), place[0]

    return Case(f, ring.zero_, *item(place, 0, 2), args=matrix, looks_at=(ring, place))


@program
def log_of_losses_as_numbers():
    log = []

    def f(x):
        loss = (x * x).sum()
        log.append(loss.item())
        best = min(log)
        return loss, loss.item() <= best, len(log)

    return Case(f, log.clear, lambda: log.append(-1.0), looks_at=log)


@program
def early_stop_by_a_callback():
    class Stop:
        best, bad = float("inf"), 0

        def __call__(self, value):
            if value < self.best:
                self.best, self.bad = value, 0
            else:
                self.bad += 1
            return self.bad > 1

    stop = Stop()

    def f(x):
        done = stop(float(x.sum()))
        return (x, "stop") if done else (x * 2, stop.bad)

    return Case(f, lambda: setattr(stop, "bad", 5), lambda: vars(stop).clear(), looks_at=stop)


@program
def events_and_observers():
    observers, log = [], []

    def emit(name, **about):
        for o in list(observers):
            o(name, about)

    def once(name, about):
        log.append((name, about["n"]))
        observers.remove(once)

    def f(x):
        emit("start", n=x.shape[0])
        y = x * (len(observers) + 1)
        emit("end", n=len(log))
        return y

    return Case(
        f,
        lambda: observers.append(once),
        lambda: observers.append(lambda name, about: log.append(name)),
        looks_at=(observers, log),
    )


@program
def object_copied_and_changed():
    import copy

    class State:
        def __init__(self):
            self.w, self.tags = torch.ones(2), ["a"]

    s = State()

    def f(x):
        shallow, deep = copy.copy(s), copy.deepcopy(s)
        shallow.tags.append("s")
        deep.tags.append("d")
        deep.w += x.sum()
        return deep.w, len(s.tags), len(deep.tags), shallow.w is s.w

    return Case(f, lambda: s.w.add_(1), lambda: setattr(s, "tags", []), looks_at=s)


@body(args=leaf, sizes=(0, 1, 2))
def class_statement_with_everything(x):
    class Base:
        made: typing.ClassVar[list] = []

        def __init_subclass__(cls, **about):
            Base.made.append((cls.__name__, about))

    n = x.shape[0]

    try:

        class Child(Base, rank=n):
            rows = n
            total = sum(range(rows))

            @staticmethod
            def go(v):
                return v * Child.rows + Child.total

        return Child.go(x), Base.made
    except TypeError as e:
        return str(e)
