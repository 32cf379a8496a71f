"""Code that Python calls by itself, and that reads from outside: operators, properties, caches."""

import contextlib
import functools
import operator
import sys
import types

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program


LEVEL = 2.0


def set_level(value):
    global LEVEL
    LEVEL = value


class Number:
    """Every operator reads `k`, which is a global unless it is given."""

    def __init__(self, own=None):
        self.own = own

    @property
    def k(self):
        return LEVEL if self.own is None else self.own

    def __add__(self, other):
        return self.k + other

    def __radd__(self, other):
        return other + self.k

    def __mul__(self, other):
        return self.k * other

    def __rmul__(self, other):
        return other * self.k

    def __neg__(self):
        return -self.k

    def __matmul__(self, other):
        return other * self.k

    def __eq__(self, other):
        return self.k == other

    def __hash__(self):
        return 1

    def __lt__(self, other):
        return self.k < other

    def __bool__(self):
        return self.k > 2

    def __float__(self):
        return self.k

    def __int__(self):
        return int(self.k)

    def __index__(self):
        return int(self.k)

    def __contains__(self, key):
        return key == self.k

    def __getitem__(self, key):
        return self.k + key

    def __iter__(self):
        yield from (self.k, 1.0)

    def __len__(self):
        return int(self.k)

    def __call__(self, x):
        return x * self.k

    def __enter__(self):
        return self.k

    def __exit__(self, *exc):
        return False

    def __format__(self, spec):
        return "low" if self.k < 3 else "high"

    def __repr__(self):
        return f"Number({self.k})"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.k * 2

    def __abs__(self):
        return self.k

    def __round__(self, digits=None):
        return round(self.k, digits)

    def __reversed__(self):
        return iter([1.0, self.k])


CHANGES = (lambda: set_level(3.0), lambda: set_level(2.0))


def over(use):
    """A program that uses a number whose `k` changes."""

    def factory():
        number = Number()

        def fn(x):
            return use(number, x)

        return Case(fn, *CHANGES)

    return factory


def named(name, use):
    factory = over(use)
    factory.__name__ = name
    program(factory)


named("add", lambda o, x: o + x)
named("right_add", lambda o, x: x + (1 + o))
named("multiply", lambda o, x: x * (o * 2))
named("right_multiply", lambda o, x: x * (2 * o))
named("negate", lambda o, x: x * -o)
named("matrix_multiply", lambda o, x: o @ x)
named("equal", lambda o, x: x if o == 2.0 else -x)
named("not_equal", lambda o, x: x if o != 2.0 else -x)
named("less", lambda o, x: x if o < 2.5 else -x)
named("truth", lambda o, x: x if o else -x)
named("truth_in_an_or", lambda o, x: x * (o or Number(5.0)).k)
named("truth_in_a_not", lambda o, x: x if not o else -x)
named("truth_by_all", lambda o, x: x if all([o, True]) else -x)
named("truth_of_a_filter", lambda o, x: x + len(list(filter(None, [o, 1]))))
named("float_conversion", lambda o, x: x * float(o))
named("int_conversion", lambda o, x: x * int(o))
named("index_conversion", lambda o, x: x + [1.0, 2.0, 3.0, 4.0][o])
named("index_by_operator", lambda o, x: x + operator.index(o))
named("range_of_an_index", lambda o, x: x + len(range(o)))
named("contains", lambda o, x: x if 2.0 in o else -x)
named("get_item", lambda o, x: x * o[1])
named("get_item_by_operator", lambda o, x: x * operator.itemgetter(1)(o))
named("iterate", lambda o, x: x * sum(v for v in o))
named("iterate_by_unpacking", lambda o, x: x * [*o][0])
named("iterate_by_star_call", lambda o, x: x * max(*o))
named("iterate_by_zip", lambda o, x: x * next(a * b for a, b in zip(o, [2.0, 3.0], strict=True)))
named("iterate_by_list", lambda o, x: x * list(o)[0])
named("iterate_by_sorted", lambda o, x: x * sorted(o)[-1])
named("iterate_by_map", lambda o, x: x * list(map(float, o))[0])
named("iterate_by_enumerate", lambda o, x: x * dict(enumerate(o))[0])
named("reversed_", lambda o, x: x * list(reversed(o))[-1])
named("length", lambda o, x: x * len(o))
named("called", lambda o, x: o(x))
named("called_by_map", lambda o, x: list(map(o, [x]))[0])
named("called_by_reduce", lambda o, x: functools.reduce(lambda a, b: o(a) + b, [x, x]))
named("formatted", lambda o, x: x if f"{o}" == "low" else -x)
named("represented", lambda o, x: x if repr(o) == "Number(2.0)" else -x)
named("to_string", lambda o, x: x if "2.0" in str(o) else -x)
named("percent_formatted", lambda o, x: x if "%s" % o == "Number(2.0)" else -x)
named("missing_attribute", lambda o, x: x * o.double)
named("missing_attribute_by_getter", lambda o, x: x * operator.attrgetter("double")(o))
named("absolute", lambda o, x: x * abs(o))
named("rounded", lambda o, x: x * round(o))
named("maximum_by_order", lambda o, x: x * max(o, Number(2.5), key=lambda v: v.k).k)
named("in_a_list_by_equality", lambda o, x: x if 2.0 in [1.0, o] else -x)
named("index_in_a_list_by_equality", lambda o, x: x + [o, 2.0].index(2.0))
named("key_by_hash_and_equality", lambda o, x: x * {1: 2.0, o: 3.0}.get(Number(2.0), 1.0))


@program
def with_block():
    number = Number()

    def fn(x):
        with number as k:
            return x * k

    return Case(fn, *CHANGES)


@program
def context_manager_from_a_generator():
    o = Box(k=2.0)

    @contextlib.contextmanager
    def scaled():
        yield o.k

    def fn(x):
        with scaled() as k:
            return x * k

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def exit_stack():
    number = Number()

    def fn(x):
        with contextlib.ExitStack() as stack:
            return x * stack.enter_context(number)

    return Case(fn, *CHANGES)


@program
def property_getter():
    class Kind:
        _k = 2.0

        @property
        def k(self):
            return self._k

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(o, "_k", 3.0, 2.0))


@program
def descriptor():
    class Field:
        k = 2.0

        def __get__(self, owner, kind=None):
            return self.k

    field = Field()

    class Kind:
        k = field

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(field, "k", 3.0, 2.0))


@program
def get_attribute():
    class Kind:
        def __init__(self):
            self.table = {"k": 2.0}

        def __getattribute__(self, name):
            table = object.__getattribute__(self, "table")
            return table[name] if name in table else object.__getattribute__(self, name)

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *item(o.table, "k", 3.0, 2.0))


@program
def lru_cache_that_reads():
    o = Box(k=2.0)

    @functools.lru_cache
    def helper(name):
        return o.k

    def fn(x):
        return x * helper("a")

    return Case(fn, *attribute(o, "k", 3.0, 2.0), helper.cache_clear)


@program
def lru_cache_filled_before():
    o = Box(k=2.0)

    @functools.lru_cache
    def helper(name):
        return o.k

    helper("a")

    def fn(x):
        return x * helper("a")

    return Case(fn, *attribute(o, "k", 3.0), helper.cache_clear)


@program
def wraps_of_a_reader():
    o = Box(k=2.0)

    def doubled(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) * o.k

        return wrapper

    @doubled
    def fn(x):
        return x + 1

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def cached_property_of_a_reader():
    class Kind:
        base = 2.0

        @functools.cached_property
        def k(self):
            return self.base * 2

    o = Kind()

    def fn(x):
        return x * o.k

    return Case(fn, *attribute(o, "base", 3.0), lambda: vars(o).pop("k", None))


@program
def single_dispatch():
    @functools.singledispatch
    def helper(v):
        return 2.0

    o = Box()

    def fn(x):
        return x * helper(o)

    return Case(fn, lambda: helper.register(Box, lambda v: 3.0))


@program
def imported_inside():
    module = types.ModuleType("hostile_late")
    sys.modules["hostile_late"] = module
    exec("def scale(x): return x * 2", vars(module))

    def fn(x):
        from hostile_late import scale

        return scale(x)

    return Case(fn, lambda: exec("def scale(x): return x * 3", vars(module)))


@program
def generator_that_reads():
    o = Box(k=2.0)

    def values():
        for i in range(2):
            yield i * o.k

    def fn(x):
        return x * sum(values())

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def comprehension_that_reads():
    o = Box(k=2.0)

    def fn(x):
        return x * sum([o.k * i for i in range(3)]) + len({o.k for _ in range(2)})

    return Case(fn, *attribute(o, "k", 3.0, 2.0))


@program
def sort_key_that_reads():
    o = Box(sign=1)

    def fn(x):
        first = sorted([3.0, 2.0], key=lambda v: v * o.sign)[0]
        return x * first

    return Case(fn, *attribute(o, "sign", -1, 1))


@program
def tensor_function_of_a_subclass():
    class Loud(torch.Tensor):
        k = 2.0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            out = super().__torch_function__(func, types, args, kwargs or {})
            return out * cls.k if func is torch.Tensor.neg else out

    def fn(x):
        return -x

    def make(n):
        return ((torch.arange(n) + 1.0).as_subclass(Loud),)

    return Case(fn, *attribute(Loud, "k", 3.0, 2.0), args=make)


@program
def bool_that_gives_no_bool():
    class Odd:
        def __bool__(self):
            return LEVEL

    odd = Odd()

    def fn(x):
        return x * 2 if odd else x * 3

    return Case(fn)


@program
def bool_that_gives_no_bool_and_is_handled():
    class Odd:
        def __bool__(self):
            return LEVEL

    odd = Odd()

    def fn(x):
        try:
            return x * 2 if odd else x * 3
        except TypeError:
            return x + 1

    return Case(fn)
