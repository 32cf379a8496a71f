"""What classes do by themselves: descriptors, metaclasses, generated methods, protocols of containers."""

import collections.abc
import dataclasses
import enum
import functools
import typing
import weakref

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program

LOG = []


@dataclasses.dataclass(slots=True)
class Slotted:
    scale: float = 2.0
    seen: list = dataclasses.field(default_factory=list)
    last: object = None

    def __post_init__(self):
        self.seen.append("made")

    @property
    def doubled(self):
        self.seen.append(self.scale)
        return self.scale * 2

    @doubled.setter
    def doubled(self, v):
        self.scale = v / 2


@program
def slotted_dataclass_with_a_property():
    o = Slotted()

    def fn(x):
        y = x * o.doubled
        o.doubled = y.shape[0]
        o.last = y
        return y, o.scale

    return Case(fn, lambda: setattr(o, "scale", 7.0), lambda: setattr(o, "seen", []), looks_at=o)


@program
def slotted_dataclass_made_and_replaced():
    held = Box(o=Slotted(3.0))

    def fn(x):
        o = dataclasses.replace(held.o, scale=held.o.scale + x.shape[0], last=x)
        before, held.o = held.o, o
        return o.last * o.scale, before == o, len(o.seen), o is held.o

    return Case(fn, lambda: setattr(held, "o", Slotted(-1.0)), looks_at=held)


class Frozen(typing.NamedTuple):
    a: float
    b: list

    @property
    def total(self):
        return self.a + len(self.b)

    def more(self, x):
        self.b.append(x.shape[0])
        return self._replace(a=self.a + 1)

    def __add__(self, other):
        LOG.append("add")
        return self.a + other


@program
def named_tuple_with_operators():
    held = Box(t=Frozen(1.0, []))

    def fn(x):
        held.t = held.t.more(x)
        return x * held.t.total, held.t + x, held.t[1] is held.t.b, held.t == (held.t.a, held.t.b)

    return Case(fn, lambda: held.t.b.clear(), looks_at=(held, LOG))


class Counted(type):
    reads = 0

    @property
    def factor(cls):
        Counted.reads += 1
        return cls.base + Counted.reads

    def __contains__(cls, x):
        return x in cls.known

    def __len__(cls):
        return len(cls.known)

    def __getattr__(cls, name):
        if name.startswith("dyn_"):
            cls.known.append(name)
            return len(name)
        raise AttributeError(name)


@program
def metaclass_with_descriptors():
    class C(metaclass=Counted):
        base = 1
        known = ["x"]

    def fn(x):
        return x * C.factor, "x" in C, len(C), C.dyn_abc, getattr(C, "nothing", None)

    changes = [lambda: setattr(C, "base", 5), lambda: C.known.clear()]
    return Case(fn, *changes, looks_at=(C, Counted), cleanup=lambda: setattr(Counted, "reads", 0))


class Validated:
    def __init__(self, low):
        self.low, self.calls = low, 0

    def __set_name__(self, owner, name):
        self.name = f"_{name}_of_{owner.__name__}"

    def __get__(self, o, kind=None):
        if o is None:
            return self
        self.calls += 1
        return o.__dict__.get(self.name, self.low)

    def __set__(self, o, v):
        if isinstance(v, (int, float)) and v < self.low:
            raise ValueError(f"{v} < {self.low}")
        o.__dict__[self.name] = v

    def __delete__(self, o):
        del o.__dict__[self.name]


@program
def descriptor_that_validates():
    class O:
        k = Validated(1.0)

    o = O()

    def fn(x):
        try:
            o.k = x.shape[0] - 2
        except ValueError as e:
            o.k = len(str(e))
        y = x * o.k
        if x.shape[0] > 4:
            del o.k
        return y, o.k, O.k.calls

    return Case(fn, lambda: setattr(O.k, "low", 0.0), looks_at=(O, o))


@program
def cached_property_invalidated():
    class O:
        def __init__(self):
            self.k, self.made = 2.0, 0

        @functools.cached_property
        def table(self):
            self.made += 1
            return torch.arange(4) * self.k

    o = O()

    def drop():
        vars(o).pop("table", None)

    def again():
        o.k += 1
        drop()

    def fn(x):
        y = x.sum() * o.table
        if x.shape[0] == 5:
            del o.table
        return y, o.made, "table" in vars(o)

    return Case(fn, lambda: setattr(o, "k", 9.0), drop, again, looks_at=o)


class Kind(enum.Enum):
    LOW = 1
    HIGH = 2

    def __init__(self, n):
        self.uses = 0

    def apply(self, x):
        self.uses += 1
        return x * self.value + self.uses

    @classmethod
    def of(cls, n):
        return cls(2) if n > 3 else cls.LOW

    @classmethod
    def _missing_(cls, v):
        LOG.append(v)
        return cls.HIGH


@program
def enum_with_state():
    return Case(
        lambda x: (Kind.of(x.shape[0]).apply(x), Kind(x.shape[0] + 7), Kind["LOW"].uses, LOG[:]),
        lambda: setattr(Kind.LOW, "uses", 10),
        looks_at=(LOG, Kind.LOW.__dict__, Kind.HIGH.__dict__),
    )


class Flags(enum.IntFlag):
    A = 1
    B = 2


@program
def flags_as_numbers():
    held = Box(f=Flags.A)

    def fn(x):
        f = held.f | (Flags.B if x.shape[0] > 3 else Flags(0))
        held.f ^= Flags.B
        return x * f, Flags.B in f, f.name, int(f) + x.shape[0], f == 3

    return Case(fn, lambda: setattr(held, "f", Flags(0)), looks_at=held)


class Rows(collections.abc.MutableSequence):
    def __init__(self, rows):
        self.rows, self.asked = rows, 0

    def __getitem__(self, i):
        self.asked += 1
        return self.rows[i]

    def __setitem__(self, i, v):
        self.rows[i] = v

    def __delitem__(self, i):
        del self.rows[i]

    def __len__(self):
        return len(self.rows)

    def insert(self, i, v):
        self.rows.insert(i, v)


@program
def sequence_of_the_users():
    rows = Rows([1.0, 2.0])

    def fn(x):
        rows.append(x.shape[0])
        rows[0] += 1
        first, *rest = rows
        rows.reverse()
        return (
            x * first,
            rest,
            2.0 in rows,
            rows.index(2.0),
            rows.count(3),
            rows.pop(),
            [*reversed(rows)],
        )

    return Case(fn, lambda: rows.extend([2.0, 3.0]), lambda: rows.insert(0, 2.0), looks_at=rows)


class Lower(collections.abc.MutableMapping):
    def __init__(self):
        self.held = {}

    def __getitem__(self, k):
        return self.held[k.lower()]

    def __setitem__(self, k, v):
        self.held[k.lower()] = v

    def __delitem__(self, k):
        del self.held[k.lower()]

    def __iter__(self):
        LOG.append("iter")
        return iter(self.held)

    def __len__(self):
        return len(self.held)


@program
def mapping_of_the_users():
    m = Lower()

    def fn(x, **named):
        m["N"] = x.shape[0]
        m.setdefault("X", []).append(x)
        m.update(K=len(m))
        got = dict(**m)
        return (
            x * m["k"],
            got.keys(),
            m.get("missing", -1),
            "n" in m,
            {**m}["n"],
            m == got,
            m.pop("n"),
        )

    return Case(fn, m.clear, lambda: m.update(A=1, N=2), looks_at=(m, LOG))


class Group(collections.abc.Set):
    def __init__(self, items):
        self.items = list(items)

    def __contains__(self, x):
        LOG.append(("in", x))
        return x in self.items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)


@program
def set_of_the_users():
    g = Group([1, 2, 3])

    def fn(x):
        n = x.shape[0]
        both, more = g & {n, 2}, g | {n}
        return x * len(more), sorted(both), g <= more, n in g, g == {1, 2, 3}, g.isdisjoint([n])

    return Case(fn, lambda: g.items.append(5), lambda: g.items.pop(0), looks_at=(g, LOG))


@program
def generic_function_by_class():
    @functools.singledispatch
    def f(o, x):
        LOG.append("object")
        return x

    @f.register
    def _(o: int, x):
        return x * o

    @f.register(list)
    def _(o, x):
        o.append(x.shape[0])
        return x * len(o)

    held = Box(o=2)

    def register():
        @f.register
        def _(o: float, x):
            return x - o

    changes = [*attribute(held, "o", [1], 0.5), register, *attribute(held, "o", True, "text")]
    return Case(lambda x: f(held.o, x), *changes, looks_at=(held, LOG))


@program
def generic_method_by_class():
    class O:
        total = 0

        @functools.singledispatchmethod
        def add(self, v):
            self.total += v
            return self.total

        @add.register
        def _(self, v: torch.Tensor):
            self.total = self.total + v.sum()
            return v * 2

    o = O()

    def fn(x):
        return o.add(x.shape[0]), o.add(x), o.add(1)

    return Case(fn, lambda: setattr(o, "total", -1), looks_at=o)


@program
def class_attribute_hidden_and_bared():
    class A:
        k = 2.0

    class B(A):
        pass

    o = B()

    def fn(x):
        o.k = o.k + 1
        y = x * o.k
        del o.k
        B.k = A.k + x.shape[0]
        z = y + o.k
        del B.k
        return z, o.k, hasattr(B, "k"), "k" in vars(B)

    return Case(fn, lambda: setattr(A, "k", 5.0), looks_at=(A, B, o))


@program
def bases_and_order_changed():
    class A:
        def f(self, x):
            return x + 1

    class B:
        def f(self, x):
            return x * 10

    class C(A):
        pass

    o = C()
    return Case(
        lambda x: (o.f(x), isinstance(o, B), C.__mro__[1].__name__),
        lambda: setattr(C, "__bases__", (B,)),
        lambda: setattr(C, "__bases__", (A, B)),
    )


@program
def class_of_an_object_assigned():
    class A:
        def __call__(self, x):
            self.__class__ = B
            return x + 1

    class B(A):
        def __call__(self, x):
            self.__class__ = A
            return x * 3

    o = A()
    return Case(lambda x: (o(x), type(o).__name__), lambda: setattr(o, "__class__", A), looks_at=o)


@program
def weak_values_that_die():
    known = weakref.WeakValueDictionary()
    kept = {}

    class Thing:
        def __init__(self, k):
            self.k = k

    def fill(k):
        def change():
            kept["a"] = Thing(k)
            known["a"] = kept["a"]

        return change

    def fn(x):
        thing = known.get("a")
        return x * (0 if thing is None else thing.k), len(known), "a" in known

    return Case(fn, fill(2), fill(5), kept.clear, fill(1), looks_at=kept)


@program
def callbacks_of_weak_references():
    class Thing:
        pass

    kept = {"t": Thing()}
    ref = weakref.ref(kept["t"], lambda r: LOG.append("gone"))

    def fn(x):
        alive = ref() is not None
        if alive and x.shape[0] == 5:
            kept.pop("t")
        return x * (2 if alive else 3), ref() is None, len(LOG)

    return Case(fn, looks_at=(kept, LOG))


@program
def total_order_of_objects():
    @functools.total_ordering
    class V:
        def __init__(self, n):
            self.n, self.asked = n, 0

        def __lt__(self, other):
            self.asked += 1
            return self.n < other.n

        def __eq__(self, other):
            return self.n == other.n

        __hash__ = None

    vs = [V(3), V(1), V(2)]

    def fn(x):
        vs[0].n = x.shape[0]
        found = sorted(vs)
        return (
            x * found[0].n,
            max(vs).n,
            vs[0] >= vs[1],
            vs[0] != vs[2],
            min(vs, key=lambda v: -v.n).n,
        )

    return Case(fn, lambda: setattr(vs[1], "n", 9), lambda: vs.reverse(), looks_at=vs)


@program
def attributes_by_format():
    o = Box(a=Box(b=[1, {"k": 2.0}]))

    def fn(x):
        text = "{o.a.b[0]}|{o.a.b[1][k]}|{0}|{n!r:>4}".format(tuple(x.shape), o=o, n=x.shape[0])
        o.a.b[0] += 1
        return x * len(text), text

    return Case(fn, *item(o.a.b, 0, 100), lambda: o.a.b[1].update(k="long text"), looks_at=o)


@program
def iterator_class_with_a_length():
    class Steps:
        def __init__(self, n):
            self.n, self.hints = n, 0

        def __iter__(self):
            self.left = self.n
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

        def __length_hint__(self):
            self.hints += 1
            return self.n

    s = Steps(3)

    def fn(x):
        a, *b = s
        return x * a, b, list(s), [k for k in s if k % 2], sum(s), tuple(zip(s, "ab")), s.hints >= 0

    return Case(fn, lambda: setattr(s, "n", 5), lambda: setattr(s, "n", 2), looks_at=Box(n=s.n))
