"""Values that a program reads from outside: globals, cells, defaults, attributes, items."""

import contextvars
import dataclasses
import enum
import functools
import sys
import threading
import types
import typing
import weakref

import torch

import anyshape
from tests.differential.hostile.program import Box, Case, attribute, item, program

SCALE = 2.0
NAMES = {"scale": 2.0}
HELPERS = []
MODE = "double"
VAR = contextvars.ContextVar("VAR", default=2.0)


def scaled(x):
    return x * SCALE


def set_scale(value):
    global SCALE
    SCALE = value


RESCALE = (lambda: set_scale(3.0), lambda: set_scale(2.0))


@program
def global_number():
    def fn(x):
        return x * SCALE

    return Case(fn, *RESCALE)


@program
def global_in_a_helper():
    def fn(x):
        return scaled(x) + 1

    return Case(fn, *RESCALE)


@program
def global_in_a_helper_of_a_helper():
    def twice(x):
        return scaled(scaled(x))

    def fn(x):
        return twice(x)

    return Case(fn, *RESCALE)


@program
def global_string_that_decides():
    def fn(x):
        return x * 2 if MODE == "double" else x * 3

    def change():
        global MODE
        MODE = "triple" if MODE == "double" else "double"

    return Case(fn, change)


@program
def global_dict_item():
    def fn(x):
        return x * NAMES["scale"]

    return Case(fn, *item(NAMES, "scale", 3.0, 2.0))


@program
def globals_by_name():
    def fn(x):
        return x * globals()["SCALE"]

    return Case(fn, *RESCALE)


@program
def module_attribute_by_name():
    def fn(x):
        return x * sys.modules[__name__].SCALE

    return Case(fn, *RESCALE)


@program
def cell_number():
    k = 2.0

    def fn(x):
        return x * k

    def change():
        nonlocal k
        k = 5.0 - k

    return Case(fn, change)


@program
def cell_that_is_empty_at_first():
    def fn(x):
        try:
            return x * late
        except NameError:
            return x

    def change():
        nonlocal late
        late = 3.0

    def back():
        nonlocal late
        late = 4.0

    case = Case(fn, change, back)
    if case is None:
        late = 1.0
    return case


@program
def name_that_is_not_there_at_first():
    def fn(x):
        try:
            return x * APPEARS
        except NameError:
            return x

    def change():
        globals()["APPEARS"] = 3.0

    def back():
        del globals()["APPEARS"]

    return Case(fn, change, back)


@program
def global_that_hides_a_builtin():
    def fn(x):
        return x * abs(-2.0)

    def change():
        globals()["abs"] = lambda v: v

    def back():
        del globals()["abs"]

    return Case(fn, change, back)


@program
def default_value():
    def fn(x, k=2.0):
        return x * k

    return Case(fn, *attribute(fn, "__defaults__", (3.0,), (2.0,)))


@program
def default_of_a_helper():
    def helper(x, k=2.0):
        return x * k

    def fn(x):
        return helper(x)

    return Case(fn, *attribute(helper, "__defaults__", (3.0,), (2.0,)))


@program
def keyword_default():
    def fn(x, *, k=2.0):
        return x * k

    return Case(fn, *attribute(fn, "__kwdefaults__", {"k": 3.0}, {"k": 2.0}))


@program
def keyword_default_of_a_helper():
    def helper(x, *, k=2.0):
        return x * k

    def fn(x):
        return helper(x)

    return Case(fn, *item(helper.__kwdefaults__, "k", 3.0, 2.0))


@program
def default_that_is_a_list():
    def fn(x, k=[2.0]):  # noqa: B006
        return x * k[0]

    return Case(fn, *item(fn.__defaults__[0], 0, 3.0, 2.0))


@program
def attribute_of_an_object():
    o = Box(k=2.0)

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def attribute_of_an_attribute():
    o = Box(inner=Box(k=2.0))

    def fn(x):
        inner = o.inner
        return x * inner.k

    return Case(fn, *attribute(o.inner, "k", 3.0, 2.0), *attribute(o, "inner", Box(k=4.0)))


@program
def attribute_by_getattr():
    o = Box(key="k", k=2.0, j=3.0)

    def fn(x):
        return x * getattr(o, o.key)

    return Case(fn, *attribute(o, "key", "j", "k"), *attribute(o, "k", 5.0))


@program
def attribute_by_vars():
    o = Box(k=2.0)

    def fn(x):
        return x * vars(o)["k"]

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def attribute_by_dict():
    o = Box(k=2.0)

    def fn(x):
        return x * o.__dict__["k"] + len(o.__dict__)

    return Case(fn, *attribute(o, "k", 3.0, 2.0), *attribute(o, "j", 1.0))


@program
def slot():
    class Slotted:
        __slots__ = ("k",)

    o = Slotted()
    o.k = 2.0

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def class_attribute():
    class Kind:
        k = 2.0

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(Kind, "k", 3.0, 2.0))


@program
def class_attribute_that_hides_its_base():
    class Base:
        k = 2.0

    class Kind(Base):
        pass

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(Kind, "k", 3.0), lambda: delattr(Kind, "k"))


@program
def instance_attribute_that_hides_its_class():
    class Kind:
        k = 2.0

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(o, "k", 3.0), lambda: delattr(o, "k"))


@program
def metaclass_attribute():
    class Meta(type):
        k = 2.0

    class Kind(metaclass=Meta):
        pass

    def fn(x):
        return x * Kind.k

    return Case(fn, *attribute(Meta, "k", 3.0, 2.0))


@program
def metaclass_property():
    class Meta(type):
        @property
        def k(cls):
            return cls.value

    class Kind(metaclass=Meta):
        value = 2.0

    def fn(x):
        return x * Kind.k

    return Case(fn, *attribute(Kind, "value", 3.0, 2.0))


@program
def classmethod_state():
    class Kind:
        k = 2.0

        @classmethod
        def scale(cls, x):
            return x * cls.k

    def fn(x):
        return Kind.scale(x)

    return Case(fn, *attribute(Kind, "k", 3.0, 2.0))


@program
def enum_member_of_an_object():
    class Kind(enum.Enum):
        DOUBLE = 2
        TRIPLE = 3

    o = Box(kind=Kind.DOUBLE)

    def fn(x):
        return x * 2 if o.kind is Kind.DOUBLE else x * o.kind.value

    return Case(fn, *attribute(o, "kind", Kind.TRIPLE, Kind.DOUBLE))


@program
def dataclass_field():
    @dataclasses.dataclass
    class Settings:
        k: float = 2.0

    o = Settings()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def named_tuple_with_a_list_in_it():
    class Pair(typing.NamedTuple):
        k: list
        name: str

    pair = Pair([2.0], "a")

    def fn(x):
        return x * pair.k[0]

    return Case(fn, *item(pair.k, 0, 3.0, 2.0))


@program
def partial_arguments():
    k = [2.0]

    def helper(k, x):
        return x * k[0]

    p = functools.partial(helper, k)

    def fn(x):
        return p(x)

    return Case(fn, *item(k, 0, 3.0, 2.0))


@program
def partial_keywords():
    def helper(x, k):
        return x * k

    p = functools.partial(helper, k=2.0)

    def fn(x):
        return p(x)

    return Case(fn, *item(p.keywords, "k", 3.0, 2.0))


@program
def partial_as_the_function():
    k = [2.0]

    def helper(k, x):
        return x * k[0]

    return Case(functools.partial(helper, k), *item(k, 0, 3.0, 2.0))


@program
def function_attribute():
    def fn(x):
        return x * fn.k

    fn.k = 2.0
    return Case(fn, *attribute(fn, "k", 3.0, 2.0))


@program
def weak_reference():
    o = Box(k=2.0)
    ref = weakref.ref(o)

    def fn(x):
        return x * ref().k

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def weak_reference_that_dies():
    kept = [Box(k=2.0)]
    ref = weakref.ref(kept[0])

    def fn(x):
        return x if ref() is None else x * 2

    return Case(fn, kept.clear)


@program
def weak_dictionary():
    o = Box()
    table = weakref.WeakKeyDictionary({o: 2.0})

    def fn(x):
        return x * table.get(o, 1.0)

    return Case(fn, *item(table, o, 3.0, 2.0))


@program
def context_variable():
    def fn(x):
        return x * VAR.get()

    return Case(fn, lambda: VAR.set(3.0), lambda: VAR.set(2.0))


@program
def event_flag():
    event = threading.Event()

    def fn(x):
        return x * 2 if event.is_set() else x

    return Case(fn, event.set, event.clear)


@program
def thread_local():
    local = threading.local()
    local.k = 2.0

    def fn(x):
        return x * local.k

    return Case(fn, *attribute(local, "k", 3.0, 2.0))


@program
def module_attribute():
    module = types.ModuleType("hostile_constants")
    module.k = 2.0

    def fn(x):
        return x * module.k

    return Case(fn, *attribute(module, "k", 3.0, 2.0))


@program
def tensor_in_a_global_list():
    HELPERS.append(torch.ones(1))

    def fn(x):
        return x * HELPERS[0]

    return Case(fn, *item(HELPERS, 0, torch.tensor([3.0]), torch.tensor([4.0])))


@program
def nested_compile():
    @anyshape.compile
    def inner(x):
        return x * SCALE

    def fn(x):
        return inner(x) + 1

    return Case(fn, *RESCALE)


def in_a_tuple(name, use):
    """A program that reads a tensor of a tuple, which is replaced by another one."""

    def factory():
        held = Box()
        held.pair = (torch.ones(1), (torch.full((1,), 2.0),))

        def fn(x):
            return use(x, held.pair)

        return Case(fn, lambda: setattr(held, "pair", (torch.zeros(1), (torch.ones(1),))))

    factory.__name__ = name
    program(factory)


in_a_tuple("tuple_item", lambda x, pair: x + pair[0])
in_a_tuple("tuple_nested", lambda x, pair: x * pair[1][0])
in_a_tuple("tuple_unpacked", lambda x, pair: (lambda a, b: x + a)(*pair))
in_a_tuple("tuple_gone_through", lambda x, pair: sum([t * x for t in pair[1]]))


@program
def weak_reference_that_dies():
    held = [Box()]
    ref = weakref.ref(held[0])

    def fn(x):
        return x * 2 if ref() is not None else x * 3

    return Case(fn, held.clear, looks_at=[])
