"""Statements, functions and classes of every kind within a program."""

import abc
import asyncio
import collections
import contextlib
import contextvars
import copy
import dataclasses
import decimal
import enum
import fractions
import functools
import itertools
import operator
import pickle
import struct
import types
import typing
import warnings
import weakref
from array import array

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program

SCALE = 2.0
LOG = []


def set_scale(value):
    global SCALE
    SCALE = value


SCALES = [lambda v=v: set_scale(v) for v in (3.0, -1.0)]


def simple(fn):
    """A program of one function, which reads `SCALE` and may write to `LOG`."""

    def factory():
        return Case(fn, *SCALES, looks_at=LOG)

    factory.__name__ = fn.__name__
    factory.__module__ = fn.__module__
    program(factory)
    return fn


@simple
def walrus_in_a_test(x):
    if (k := SCALE) > 2:
        return x * k
    return x + (k := k + 1) + k


@simple
def starred_targets(x):
    first, *rest, last = [SCALE, 1, 2, x.shape[0]]
    return x * first + sum(rest) + last


@simple
def starred_calls(x):
    args, named = (x, SCALE), {"alpha": 2}
    return torch.add(*args, **named)


@simple
def nested_unpacking(x):
    (a, (b, *c)), d = (SCALE, (1, 2, 3)), x
    return d * a + b + len(c)


@simple
def match_of_values(x):
    match (SCALE, x.dim()):
        case (2.0, 1):
            return x * 2
        case (k, 1) if k > 2:
            return x * k
        case _:
            return x


@simple
def match_of_mappings(x):
    match {"kind": "scale", "by": SCALE, "more": 1}:
        case {"kind": "scale", "by": float(k), **rest}:
            return x * k + len(rest)
    return x


@dataclasses.dataclass
class Point:
    x: float
    y: float = 1.0


@simple
def match_of_classes(x):
    match Point(SCALE, 2.0):
        case Point(x=3.0):
            return x
        case Point(a, b):
            return x * a + b


@simple
def match_of_sequences(x):
    match list(x.shape) + [SCALE]:
        case [3, k]:
            return x * k
        case [n, *_]:
            return x + n


@simple
def generator_with_send(x):
    def steps():
        total = 0.0
        while True:
            got = yield total
            if got is None:
                return
            total += got * SCALE

    s = steps()
    next(s)
    s.send(1.0)
    return x * s.send(2.0)


@simple
def generator_with_throw(x):
    def steps():
        try:
            yield 1.0
        except ValueError as e:
            LOG.append(str(e))
            yield SCALE
        finally:
            LOG.append("end")

    s = steps()
    next(s)
    k = s.throw(ValueError("no"))
    s.close()
    return x * k


@simple
def generator_that_returns(x):
    def inner():
        yield 1.0
        return SCALE

    def outer():
        k = yield from inner()
        yield k

    return x * sum(outer())


@simple
def generator_left_half(x):
    def steps():
        LOG.append("begin")
        yield SCALE
        LOG.append("never")

    return x * next(steps())


@simple
def coroutine_driven_by_hand(x):
    async def work():
        return SCALE

    try:
        work().send(None)
    except StopIteration as e:
        return x * e.value


@simple
def coroutine_run(x):
    async def work(v):
        await asyncio.sleep(0)
        return v * SCALE

    return asyncio.run(work(x))


@simple
def nonlocal_counter(x):
    n = 0

    def count():
        nonlocal n
        n += SCALE
        return n

    count()
    return x * count() + n


@simple
def closure_over_a_loop(x):
    functions = [lambda v: v * SCALE + i for i in range(3)]
    return sum(f(x) for f in functions)


@simple
def default_bound_early(x):
    functions = [lambda v, i=i: v * SCALE + i for i in range(3)]
    return sum(f(x) for f in functions)


@simple
def class_made_inside(x):
    class Local:
        k = SCALE

        def run(self, v):
            return v * self.k

    return Local().run(x)


@simple
def class_made_by_type(x):
    kind = type("Kind", (), {"k": SCALE, "run": lambda self, v: v * self.k})
    return kind().run(x)


@simple
def class_with_a_metaclass(x):
    class Meta(type):
        def __new__(mcs, name, bases, space):
            space["k"] = SCALE
            return super().__new__(mcs, name, bases, space)

    class Local(metaclass=Meta):
        pass

    return x * Local.k


class Registered:
    kinds = []

    def __init_subclass__(cls, k=1.0, **named):
        super().__init_subclass__(**named)
        cls.k = k * SCALE
        LOG.append(cls.__name__)


@simple
def subclass_that_registers(x):
    class Local(Registered, k=2.0):
        pass

    return x * Local.k


class Generic:
    def __class_getitem__(cls, k):
        return k * SCALE


@simple
def class_with_items(x):
    return x * Generic[3]


@simple
def evaluated_text(x):
    return x * eval("SCALE + 1")


@simple
def executed_text(x):
    space = {"k": SCALE}
    exec("k = k * 2", space)
    return x * space["k"]


@simple
def own_locals(x):
    k = SCALE
    return x * locals()["k"]


@simple
def own_globals(x):
    return x * globals()["SCALE"]


@simple
def own_variables(x):
    k = SCALE
    return x * vars()["k"]


@simple
def try_else_finally(x):
    try:
        k = 1.0 / (SCALE - 3.0)
    except ZeroDivisionError:
        k = 5.0
    else:
        k += 1
    finally:
        LOG.append(SCALE)
    return x * k


@simple
def return_in_finally(x):
    try:
        if SCALE > 2:
            raise ValueError
        return x
    finally:
        return x * SCALE  # noqa: B012


@simple
def continue_in_finally(x):
    for i in range(3):
        try:
            if i == SCALE:
                break
            x = x + i
        finally:
            LOG.append(i)
    return x * SCALE


@simple
def loop_with_else(x):
    for i in range(3):
        if i == SCALE:
            break
    else:
        return x * 5
    return x * i


@simple
def error_with_a_cause(x):
    try:
        try:
            raise KeyError("a")
        except KeyError as e:
            raise ValueError("b") from e
    except ValueError as e:
        LOG.append(type(e.__cause__).__name__)
    return x * SCALE


@simple
def error_groups(x):
    try:
        raise ExceptionGroup("g", [ValueError(SCALE), KeyError(1)])
    except* ValueError as g:
        k = g.exceptions[0].args[0]
    except* KeyError:
        LOG.append("key")
    return x * k


@simple
def error_that_leaves(x):
    if SCALE > 2:
        LOG.append("before")
        raise ValueError(f"at {SCALE}")
    return x * SCALE


class Failed(Exception):
    def __init__(self, k):
        super().__init__(f"failed {k}")
        self.k = k * SCALE


@simple
def error_of_the_program(x):
    try:
        raise Failed(2.0)
    except Failed as e:
        return x * e.k


@simple
def assertion_with_text(x):
    assert SCALE != 3.0, f"bad {SCALE} at {x.shape[0]}"
    return x * SCALE


@simple
def exit_stack(x):
    with contextlib.ExitStack() as stack:
        stack.callback(LOG.append, SCALE)
        stack.enter_context(torch.no_grad())
        y = x * SCALE
    return y


@simple
def suppressed(x):
    with contextlib.suppress(ValueError):
        x = x * SCALE
        if SCALE > 2:
            raise ValueError
        x = x + 1
    return x


@contextlib.contextmanager
def scaled(k):
    global SCALE
    before, SCALE = SCALE, k
    try:
        yield SCALE
    finally:
        SCALE = before


@simple
def global_within_a_block(x):
    with scaled(5.0) as k:
        y = x * SCALE * k
    return y * SCALE


@simple
def warnings_caught(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("w", stacklevel=1)
    return x * SCALE * len(found)


VARIABLE = contextvars.ContextVar("variable", default=1.0)


@simple
def context_variable_set(x):
    token = VARIABLE.set(SCALE)
    k = VARIABLE.get()
    VARIABLE.reset(token)
    return x * k + VARIABLE.get()


@simple
def context_copied(x):
    context = contextvars.copy_context()
    return x * context.run(lambda: SCALE)


@functools.singledispatch
def dispatched(v):
    return 1.0


@dispatched.register
def _(v: int):
    return v * SCALE


@dispatched.register
def _(v: float):
    return v + SCALE


@simple
def single_dispatch(x):
    return x * dispatched(1) + dispatched(1.0) + dispatched("a")


class Lazy:
    def __init__(self, k):
        self.k = k

    @functools.cached_property
    def value(self):
        LOG.append("computed")
        return self.k * SCALE

    @property
    def changing(self):
        return self.k

    @changing.setter
    def changing(self, v):
        LOG.append(v)
        self.k = v


@simple
def cached_property_of_a_local(x):
    o = Lazy(2.0)
    return x * o.value + o.value


@simple
def property_with_a_setter(x):
    o = Lazy(2.0)
    o.changing = SCALE
    o.changing += 1
    return x * o.changing


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    k: float
    more: tuple = ()

    def __post_init__(self):
        object.__setattr__(self, "more", (self.k * SCALE,))


@simple
def frozen_dataclass(x):
    o = dataclasses.replace(Frozen(SCALE), k=4.0)
    return x * o.k + o.more[0]


@simple
def dataclass_as_a_dict(x):
    return x * dataclasses.asdict(Point(SCALE))["x"] + dataclasses.astuple(Point(1.0))[1]


@dataclasses.dataclass(order=True)
class Ordered:
    k: float
    name: str = dataclasses.field(default="a", compare=False)
    items: list = dataclasses.field(default_factory=list)


@simple
def ordered_dataclasses(x):
    o = max(Ordered(SCALE), Ordered(2.5))
    o.items.append(1)
    return x * o.k * len(o.items)


class Pair(typing.NamedTuple):
    a: float
    b: float = 2.0

    def total(self):
        return self.a * SCALE + self.b


@simple
def named_tuple_with_a_method(x):
    p = Pair(1.0)._replace(b=SCALE)
    return x * p.total() + p[0]


class Mode(enum.Enum):
    LOW = 1
    HIGH = 2

    def factor(self):
        return self.value * SCALE


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@simple
def enum_methods(x):
    return x * Mode(2).factor() + Mode["LOW"].value


@simple
def flags_combined(x):
    flags = Flags.A | (Flags.B if SCALE > 2 else Flags.A)
    return x * (2 if Flags.B in flags else 3) + len(list(Flags))


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    def double(self):
        return 2 * self.area()


class Square(Shape):
    def area(self):
        return SCALE


@simple
def abstract_class(x):
    try:
        Shape()
    except TypeError:
        LOG.append("abstract")
    return x * Square().double()


@typing.runtime_checkable
class HasArea(typing.Protocol):
    def area(self): ...


@simple
def protocol_checked(x):
    return x * SCALE if isinstance(Square(), HasArea) and not isinstance(1, HasArea) else x


class Proxy:
    def __init__(self, target):
        self.__dict__["target"] = target

    def __getattr__(self, name):
        return getattr(self.target, name) * SCALE

    def __setattr__(self, name, value):
        LOG.append(name)
        setattr(self.target, name, value)


@simple
def proxy_object(x):
    p = Proxy(Box(k=2.0))
    p.k = 3.0
    return x * p.k


@simple
def copied_objects(x):
    o = Box(items=[SCALE], point=Point(SCALE))
    shallow, deep = copy.copy(o), copy.deepcopy(o)
    o.items.append(1.0)
    return x * len(shallow.items) + len(deep.items) + deep.point.x


@simple
def pickled_object(x):
    return x * pickle.loads(pickle.dumps([SCALE, {"a": 1}]))[0]


@simple
def decimals(x):
    return x * float(decimal.Decimal(str(SCALE)) / 3)


@simple
def decimal_context(x):
    with decimal.localcontext() as context:
        context.prec = 3
        k = decimal.Decimal(1) / decimal.Decimal(7)
    return x * float(k) * SCALE


@simple
def exact_fractions(x):
    return x * float(fractions.Fraction(SCALE).limit_denominator(3) / 7)


@simple
def packed_bytes(x):
    return x * struct.unpack("<d", struct.pack("<d", SCALE))[0]


@simple
def typed_array(x):
    a = array("d", [SCALE, 1.0])
    a.append(2.0)
    return x * a[0] + len(a)


@simple
def bytes_by_memory(x):
    b = bytearray(b"abc")
    view = memoryview(b)
    view[0] = int(SCALE) % 256
    return x * b[0]


@simple
def tools_of_iteration(x):
    pairs = itertools.pairwise([SCALE, 1.0, 2.0])
    count = itertools.islice(itertools.count(SCALE, 2), 3)
    return x * sum(a * b for a, b in pairs) + sum(count) + len(list(itertools.product("ab", "c")))


@simple
def operators_by_name(x):
    return operator.mul(operator.itemgetter(0)([x]), operator.attrgetter("k")(Box(k=SCALE)))


@simple
def counters_and_chains(x):
    c = collections.Counter("abca")
    m = collections.ChainMap({"a": SCALE}, {"b": 2.0})
    return x * c.most_common(1)[0][1] + m["a"] + m["b"]


@simple
def reassigned_global(x):
    global SCALE
    SCALE = SCALE + 1
    return x * SCALE


@simple
def deleted_names(x):
    k = SCALE
    del k
    try:
        return x * k  # noqa: F821
    except UnboundLocalError:
        return x * SCALE


@simple
def chained_comparison(x):
    return x * (2.0 if 1 < SCALE < 3 != x.shape[0] else 4.0)


@simple
def conditional_expressions(x):
    return x * (SCALE and 2.0 or 3.0) if SCALE > 0 else x - (not SCALE)


@simple
def annotated_names(x):
    k: float = SCALE
    n: int
    n = x.shape[0]
    return x * k + n


@simple
def decorated_inside(x):
    def twice(f):
        @functools.wraps(f)
        def g(*args):
            return f(*args) * 2

        return g

    @twice
    def inner(v):
        return v * SCALE

    return inner(x)


@simple
def recursive_inside(x):
    def power(v, n):
        return v if n == 0 else power(v, n - 1) * SCALE

    return power(x, 3)


@simple
def simple_namespace(x):
    o = types.SimpleNamespace(k=SCALE)
    o.n = 2
    return x * o.k * len(vars(o))


@simple
def weak_set_of_locals(x):
    kept = Box()
    things = weakref.WeakSet([kept, Box()])
    return x * len(things) * SCALE


@program
def registry_by_weak_keys():
    owner = Box()
    table = weakref.WeakKeyDictionary({owner: 2.0})

    def fn(x):
        return x * table[owner]

    return Case(fn, *item(table, owner, 3.0, 1.0), exported=False)


@program
def module_with_own_getattr():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 2)
            self.k = 2.0

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

        def forward(self, x):
            return x * self.k * self.in_features

    m = Model()
    return Case(m, *attribute(m, "k", 3.0, 4.0), *attribute(m.inner, "in_features", 5, 6))


@program
def named_tuple_argument():
    def fn(p):
        return p.a * p.b, type(p).__name__, p._fields

    return Case(fn, args=lambda n: (Pair(torch.ones(n), 3.0),), exported=False)


@program
def dataclass_argument():
    def fn(p):
        p.y = p.y + 1
        return p.x * p.y, p

    return Case(fn, args=lambda n: (Point(torch.ones(n), 3.0),), exported=False)


@program
def enum_argument():
    def fn(x, mode):
        return x * mode.value if mode is Mode.LOW else x + mode.factor()

    calls = [lambda m=m: (torch.ones(3), m) for m in (Mode.LOW, Mode.HIGH, Mode.LOW)]
    return Case(fn, calls=calls)
