"""Special methods that Python looks up by itself, on classes, metaclasses, modules and instances."""

import collections.abc
import functools
import math
import operator
import sys
import types

import torch

from tests.differential.hostile.program import body

STATE = {"n": 2}
LOG = []
TWO, THREE = (lambda: STATE.update(n=3)), (lambda: STATE.update(n=5))


class Named:
    """A descriptor that knows its name, and counts what is asked."""

    def __set_name__(self, owner, name):
        self.name, self.slot = name, "_" + name
        owner.fields = [*getattr(owner, "fields", []), name]

    def __get__(self, o, kind=None):
        if o is None:
            return self
        o.asked = getattr(o, "asked", 0) + 1
        return vars(o).get(self.slot, STATE["n"])

    def __set__(self, o, value):
        vars(o)[self.slot] = value * 2

    def __delete__(self, o):
        vars(o).pop(self.slot, None)
        LOG.append(self.name)


class Holder:
    first, second = Named(), Named()


HOLDER = Holder()


@body(TWO, THREE, looks_at=LOG)
def descriptor_set_and_deleted(x):
    HOLDER.first = STATE["n"]
    y = x * HOLDER.first + HOLDER.second
    del HOLDER.first
    return y + HOLDER.first, HOLDER.asked, Holder.fields, Holder.first.name


@body(TWO, looks_at=LOG)
def descriptor_on_a_class_made_inside(x):
    class Local:
        a = Named()
        b = Named()

    o = Local()
    o.a = 3
    return x * o.a + o.b, Local.fields, o.asked


class Meta(type):
    def __prepare__(name, bases, **named):
        return {"made_with": STATE["n"], **named}

    def __new__(cls, name, bases, space, **named):
        made = super().__new__(cls, name, bases, dict(space))
        made.order = [k for k in space if not k.startswith("__")]
        return made

    def __init__(cls, name, bases, space, **named):
        super().__init__(name, bases, space)

    def __call__(cls, *args, **named):
        LOG.append(cls.__name__)
        made = super().__call__(*args, **named)
        made.stamp = STATE["n"]
        return made

    def __instancecheck__(cls, o):
        LOG.append("asked")
        return hasattr(o, "dim") and STATE["n"] < 5

    def __subclasscheck__(cls, other):
        return STATE["n"] > 2

    def __contains__(cls, item):
        return item == STATE["n"]

    def __iter__(cls):
        return iter(cls.order)

    def __bool__(cls):
        return STATE["n"] != 3

    def __getattr__(cls, name):
        if name.startswith("n_"):
            return STATE["n"] + len(name)
        raise AttributeError(name)

    def __or__(cls, other):
        return (cls.__name__, other)


class Made(metaclass=Meta, extra=1):
    def __init__(self, k):
        self.k = k

    def go(self, x):
        return x * self.k


@body(TWO, THREE, looks_at=LOG)
def metaclass_makes_objects(x):
    o = Made(2)
    return o.go(x) + o.stamp, Made.order, Made.extra, Made.made_with


@body(TWO, THREE, looks_at=LOG)
def metaclass_answers(x):
    return (
        x + 1 if isinstance(x, Made) else x - 1,
        issubclass(int, Made),
        STATE["n"] in Made,
        list(Made),
        bool(Made),
        Made.n_abc,
        Made | 3,
        isinstance(3, (str, Made)),
    )


@body(TWO, THREE)
def class_with_a_metaclass_made_inside(x):
    class Inner(metaclass=Meta):
        a = STATE["n"]
        b = a + 1

    return x * Inner.a + Inner.b, Inner.order, Inner.made_with


class Base:
    children = []

    def __init_subclass__(cls, /, factor=1, **named):
        super().__init_subclass__(**named)
        cls.factor = factor * STATE["n"]
        Base.children.append(cls.__name__)


@body(TWO, looks_at=Base)
def subclass_is_noticed(x):
    class Child(Base, factor=3):
        pass

    return x * Child.factor, list(Base.children)


class Entry:
    def __mro_entries__(self, bases):
        return (Base,) if STATE["n"] < 5 else ()


@body(TWO, THREE, looks_at=Base)
def bases_that_are_objects(x):
    class Child(Entry()):
        pass

    return x + len(Child.__mro__), Child.__mro__[1].__name__


class Lies:
    @property
    def __class__(self):
        return int if STATE["n"] > 2 else str


@body(TWO, THREE)
def class_that_is_a_property(x):
    o = Lies()
    return x + isinstance(o, int), isinstance(o, str), type(o) is Lies, o.__class__ is int


class Intercepts:
    def __init__(self):
        object.__setattr__(self, "seen", [])

    def __getattribute__(self, name):
        if name.startswith("x"):
            object.__getattribute__(self, "seen").append(name)
            return STATE["n"] * len(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        if name == "locked":
            raise AttributeError("locked")
        object.__setattr__(self, name, value + STATE["n"])

    def __delattr__(self, name):
        self.seen.append("del " + name)

    def __dir__(self):
        return ["b", "a", "c" * STATE["n"]]


ONE = Intercepts()


@body(TWO, THREE, looks_at=ONE)
def every_attribute_intercepted(x):
    ONE.value = 3
    try:
        ONE.locked = 1
    except AttributeError as e:
        told = str(e)
    del ONE.nothing
    return x * ONE.xy + ONE.value, told, dir(ONE), len(ONE.seen), getattr(ONE, "nope", 7)


FAKE = types.ModuleType("fake_module_of_the_corpus")
FAKE.__getattr__ = lambda name: STATE["n"] if name == "lazy" else _raise(AttributeError(name))


def _raise(e):
    raise e


@body(TWO, THREE, lambda: setattr(FAKE, "lazy", 11), looks_at=FAKE)
def attribute_of_a_module_made_when_asked(x):
    return x * FAKE.lazy, hasattr(FAKE, "other"), getattr(FAKE, "other", 4)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1


class MoreSlots(Slots):
    __slots__ = ("c", "__dict__")


SLOTTED = MoreSlots()


@body(lambda: setattr(SLOTTED, "b", 3), lambda: delattr(SLOTTED, "b"), looks_at=SLOTTED)
def slots_of_two_classes(x):
    SLOTTED.a += 1
    SLOTTED.c = getattr(SLOTTED, "b", 10)
    SLOTTED.free = SLOTTED.c * 2
    try:
        gone = SLOTTED.b
    except AttributeError:
        gone = None
    return x * SLOTTED.a + SLOTTED.c, gone, vars(SLOTTED), hasattr(SLOTTED, "b")


class Number:
    """All operators, each with its own mark."""

    def __init__(self, v):
        self.v = v

    def __matmul__(self, o):
        return ("matmul", self.v, STATE["n"])

    def __rmatmul__(self, o):
        return ("rmatmul", self.v)

    def __divmod__(self, o):
        return divmod(self.v, STATE["n"])

    def __round__(self, n=None):
        return (self.v, n, STATE["n"])

    def __trunc__(self):
        return STATE["n"]

    def __floor__(self):
        return STATE["n"] - 1

    def __ceil__(self):
        return STATE["n"] + 1

    def __complex__(self):
        return complex(self.v, STATE["n"])

    def __index__(self):
        return STATE["n"]

    def __invert__(self):
        return -STATE["n"]

    def __lshift__(self, o):
        return NotImplemented if STATE["n"] > 2 else ("lshift", o)

    def __ipow__(self, o):
        self.v **= 2
        return self

    def __format__(self, spec):
        return f"<{spec}{STATE['n']}>"

    def __bytes__(self):
        return b"z" * STATE["n"]


class Reflects:
    def __rlshift__(self, o):
        return ("rlshift", STATE["n"])

    def __eq__(self, o):
        return NotImplemented if STATE["n"] > 2 else True

    __hash__ = None


@body(TWO, THREE)
def rare_operators(x):
    o = Number(7)
    o **= 3
    return (
        x * o.v,
        o @ 1,
        1 @ o,
        divmod(o, 2),
        round(o),
        round(o, 1),
        math.trunc(o),
        math.floor(o),
        math.ceil(o),
        complex(o),
        ~o,
        o << Reflects(),
        f"{o:ab}",
        bytes(o),
        [10, 20, 30, 40, 50, 60][o],
        list(range(10))[: Number(1)],
        hex(o),
        Reflects() == Reflects(),
    )


@body(TWO, THREE)
def index_of_the_users_in_tensors(x):
    o = Number(7)
    return x.new_zeros(o), torch.ones(o, 2).sum(), x.repeat(o), x.unsqueeze(operator.index(o) - 2)


class Old:
    """A sequence by `__getitem__` alone."""

    def __getitem__(self, i):
        if i >= STATE["n"]:
            raise IndexError(i)
        return i * 10


class Lengthy:
    def __len__(self):
        LOG.append("len")
        return STATE["n"] - 2

    def __length_hint__(self):
        return 3

    def __reversed__(self):
        return iter([STATE["n"], 0])

    def __getitem__(self, i):
        raise IndexError


@body(TWO, THREE, looks_at=LOG)
def sequences_by_old_protocols(x):
    o, e = Old(), Lengthy()
    return (
        x + sum(o),
        list(o),
        20 in o,
        40 in o,
        [*o],
        tuple(reversed(e)),
        bool(e),
        x if e else -x,
        list(e),
        operator.length_hint(e),
        max(o),
    )


class Missing(dict):
    def __missing__(self, key):
        LOG.append(key)
        if STATE["n"] > 3:
            raise KeyError(key)
        return STATE["n"]


@body(TWO, THREE, looks_at=LOG)
def missing_of_a_subclass(x):
    d = Missing(a=1)
    try:
        found = d["b"]
    except KeyError as e:
        found = e.args
    return x + d["a"], found, d.get("b"), "b" in d, f"{d!r}"


class Callable:
    def __init__(self):
        self.__call__ = lambda x: x - 100  # Python does not look here

    def __call__(self, x, *, k=STATE):
        return x * k["n"]


CALLED = Callable()


@body(TWO, THREE)
def call_that_an_instance_has(x):
    return CALLED(x), CALLED.__call__(x), callable(CALLED)


class Registered(collections.abc.Sequence):
    def __init__(self, *v):
        self.v = v

    def __len__(self):
        return len(self.v) + STATE["n"] - 2

    def __getitem__(self, i):
        return self.v[i]


@body(TWO, THREE)
def sequence_by_an_abstract_class(x):
    s = Registered(1, 2, 3, 4, 5, 6, 7, 8)
    return x + s[0], len(s), s.index(3), s.count(2), 4 in s, isinstance(s, collections.abc.Sized)


class Ordered:
    def __init__(self, v):
        self.v = v

    def __lt__(self, o):
        LOG.append((self.v, o.v))
        return self.v * STATE["n"] < o.v


@body(TWO, THREE, looks_at=LOG)
def reflected_comparison(x):
    a, b = Ordered(1), Ordered(4)
    return x + (a < b), a > b, max(a, b).v, min([b, a], key=lambda o: -o.v).v, len(LOG)


@body(TWO, THREE)
def properties_made_by_a_function(x):
    def make(name):
        return property(
            lambda self: self.d.get(name, STATE["n"]),
            lambda self, v: self.d.__setitem__(name, v + 1),
            lambda self: self.d.pop(name),
        )

    kind = type(
        "Kind", (), {"a": make("a"), "b": make("b"), "__init__": lambda s: setattr(s, "d", {})}
    )
    o = kind()
    o.a = 4
    first = o.a, o.b
    del o.a
    return x * o.a, first, o.d


@body(TWO, THREE)
def inherited_by_super_chain(x):
    class A:
        def go(self, x):
            return x + STATE["n"]

    class B(A):
        def go(self, x):
            return super().go(x) * 2

    class C(A):
        def go(self, x):
            return super().go(x) - 1

    class D(B, C):
        def go(self, x):
            return super(D, self).go(x)

    return D().go(x), [k.__name__ for k in D.__mro__], super(B, D()).go(x)


@body(TWO, THREE)
def class_body_with_code(x):
    class Table:
        rows = [i * STATE["n"] for i in range(3)]
        total = 0
        for row in rows:
            total += row
        del row
        if total > 6:
            big = True

    return x + Table.total, hasattr(Table, "big"), hasattr(Table, "row")


class Generic:
    def __class_getitem__(cls, item):
        return type(f"{cls.__name__}_{item}", (cls,), {"item": STATE["n"] * item})


@body(TWO, THREE, looks_at=(LOG, Base))
def classes_made_by_calls(x):
    one = type("One", (), {"a": Named(), "k": STATE["n"]})
    two = type("Two", (Base,), {})
    three = Meta("Three", (), {"b": STATE["n"]})
    four = type("Four", (Made,), {})
    o = one()
    o.a = 2
    return x * o.a + one.k, two.factor, three.b, three.order, four(3).stamp, list(Base.children)


class Proxy(types.ModuleType):
    @property
    def twice(self):
        return STATE["n"] * 2

    def __getattr__(self, name):
        return STATE["n"] * len(name)


PROXY = Proxy("proxy_of_the_corpus")
PROXY.own = 1


@body(TWO, lambda: setattr(PROXY, "own", 3), lambda: setattr(PROXY, "late", 9), looks_at=PROXY)
def module_of_a_class_of_the_users(x):
    return x * PROXY.own + PROXY.twice, PROXY.late, hasattr(PROXY, "more")


@body(TWO, THREE)
def class_by_an_item(x):
    return x * Generic[3].item, Generic[2].__name__, list[int] == list[int]
