"""Functions of torch, of Python and of modules that are replaced while a program is in use."""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import itertools
import math
import operator
import sys
import types

import torch
from torch import nn
from torch.nn import functional as F

from tests.differential.hostile.program import Box, Case, attribute, matrix, program


def patched(owner, name, *others):
    """Changes that put others in place of an attribute, and one that puts it back."""
    is_own = name in vars(owner)
    plain = vars(owner)[name] if is_own else None

    def back():
        if is_own:
            setattr(owner, name, plain)
        elif name in vars(owner):
            delattr(owner, name)

    return [lambda o=o: setattr(owner, name, o) for o in others], back


def replaced(body):
    """A program whose body gives a function, the owner and name of what it uses, and others."""

    def factory():
        fn, owner, name, *others = body()
        changes, back = patched(owner, name, *others)
        return Case(fn, *changes, back, cleanup=back, args=matrix)

    factory.__name__, factory.__module__ = body.__name__, body.__module__
    return program(factory)


@replaced
def function_of_torch():
    plain = torch.relu
    return lambda x: torch.relu(x) + 1, torch, "relu", lambda x: plain(x) * 2, torch.neg


@replaced
def functional_through_a_module():
    act = nn.ReLU()
    plain = F.relu
    return lambda x: act(x), F, "relu", lambda x, inplace=False: plain(x) - 1


@replaced
def method_of_tensors():
    return lambda x: x.relu() + x.size(0), torch.Tensor, "relu", lambda t: t * 3


@replaced
def operator_of_tensors():
    plain = torch.Tensor.__add__
    return lambda x: x + 1, torch.Tensor, "__add__", lambda a, b: plain(a, b) * 2


@program
def method_added_to_tensors():
    def fn(x):
        return x.doubled_up() if hasattr(x, "doubled_up") else x - 1

    def add(k):
        torch.Tensor.doubled_up = lambda t: t * k

    def remove():
        with contextlib.suppress(AttributeError):
            del torch.Tensor.doubled_up

    return Case(fn, lambda: add(2), lambda: add(3), remove, cleanup=remove)


@program
def property_added_to_tensors():
    def fn(x):
        return getattr(x, "rows_here", -1) * x

    def add():
        torch.Tensor.rows_here = property(lambda t: t.shape[0])

    def remove():
        with contextlib.suppress(AttributeError):
            del torch.Tensor.rows_here

    return Case(fn, add, remove, cleanup=remove)


@replaced
def forward_of_a_class_of_torch():
    lin = nn.Linear(4, 2)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(1)
    return lin.forward, nn.Linear, "forward", lambda m, x: F.linear(x, m.weight)


@program
def call_of_all_modules():
    lin = nn.Linear(4, 2)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(1)
    plain = nn.Module.__call__
    count = []

    def counted(m, *args, **kwargs):
        count.append(type(m).__name__)
        return plain(m, *args, **kwargs) + 1

    def put():
        nn.Module.__call__ = counted

    def back():
        nn.Module.__call__ = plain

    return Case(lambda x: lin(x), put, back, cleanup=back, args=matrix, looks_at=count)


@program
def getattr_of_all_modules():
    lin = nn.Linear(4, 4)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(1)
    plain = nn.Module.__getattr__

    def other(m, name):
        found = plain(m, name)
        return found * 2 if name == "bias" else found

    def put():
        nn.Module.__getattr__ = other

    def back():
        nn.Module.__getattr__ = plain

    return Case(lambda x: lin(x), put, back, cleanup=back, args=matrix)


@replaced
def function_of_math():
    return lambda x: x * math.floor(x.shape[0] / 2), math, "floor", math.ceil, lambda v: 7


@replaced
def function_of_operator():
    return (
        lambda x: operator.mul(x, x.shape[0]),
        operator,
        "mul",
        operator.add,
        lambda a, b: a - b,
    )


@replaced
def builtin_replaced():
    plain = len
    return lambda x: x * len(x), builtins, "len", lambda o: plain(o) + 1


@program
def builtin_hidden_by_a_global():
    around = globals()

    def fn(x):
        return x * max(x.shape[0], 2)

    def put():
        around["max"] = min

    def remove():
        around.pop("max", None)

    return Case(fn, put, remove, cleanup=remove)


@program
def global_hides_and_is_deleted():
    around = globals()
    around["sum"] = lambda v: 10

    def fn(x):
        return x * sum(x.shape)

    def remove():
        around.pop("sum", None)

    return Case(fn, remove, lambda: around.update(sum=lambda v: 20), cleanup=remove)


@program
def builtin_added():
    def fn(x):
        try:
            return x * added_builtin  # noqa: F821
        except NameError:
            return x

    def put(v):
        builtins.added_builtin = v

    def remove():
        with contextlib.suppress(AttributeError):
            del builtins.added_builtin

    return Case(fn, lambda: put(2), lambda: put(3.0), remove, cleanup=remove)


@program
def module_in_sys_modules():
    name = "hostile_made_up"

    def put(k):
        sys.modules[name] = made = types.ModuleType(name)
        made.scale = k
        made.act = lambda x: x * k

    put(2)

    def fn(x):
        import hostile_made_up
        from hostile_made_up import scale

        return hostile_made_up.act(x) + scale

    return Case(fn, lambda: put(3), lambda: put(4.0), cleanup=lambda: sys.modules.pop(name, None))


@program
def module_that_goes_away():
    name = "hostile_leaves"
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].k = 2

    def fn(x):
        try:
            import hostile_leaves as m
        except ImportError as e:
            return x, e.name
        return x * m.k

    def gone():
        sys.modules[name] = None

    return Case(fn, gone, cleanup=lambda: sys.modules.pop(name, None))


@program
def module_reloaded():
    import colorsys

    def fn(x):
        return x * colorsys.ONE_THIRD, colorsys.rgb_to_hsv(0.5, 0.25, x.shape[0] / 10)[2]

    def other():
        colorsys.ONE_THIRD = 1

    return Case(fn, other, lambda: importlib.reload(colorsys) and None)


@program
def import_replaced():
    plain = builtins.__import__
    seen = []

    def watching(name, *args, **kwargs):
        if name == "colorsys":
            seen.append(name)
        return plain(name, *args, **kwargs)

    def fn(x):
        import colorsys

        return x * colorsys.ONE_SIXTH

    def put():
        builtins.__import__ = watching

    def back():
        builtins.__import__ = plain

    return Case(fn, put, back, cleanup=back, looks_at=seen)


@replaced
def apply_of_a_function_of_autograd():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return (
        lambda x: Twice.apply(x),
        Twice,
        "forward",
        staticmethod(lambda ctx, x: x * 3),
        staticmethod(lambda ctx, x: x * 4),
    )


@program
def backward_of_a_function_of_autograd():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def put(k):
        Twice.backward = staticmethod(lambda ctx, g: g * k)

    return Case(
        lambda x: Twice.apply(x) * x,
        lambda: put(5),
        lambda: put(7),
        args=lambda n: ((torch.arange(n) + 1.0).requires_grad_(),),
    )


@program
def bound_method_on_the_instance():
    class Scaler:
        k = 2

        def __call__(self, x):
            return self.go(x)

        def go(self, x):
            return x * self.k

    s = Scaler()

    def other(self, x):
        return x + self.k

    return Case(
        lambda x: s(x),
        lambda: setattr(s, "go", types.MethodType(other, s)),
        lambda: setattr(Scaler, "k", 5),
        lambda: vars(s).pop("go", None),
    )


@program
def wrapper_around_the_wrapper():
    def scaled(k):
        def decorate(f):
            @functools.wraps(f)
            def inner(*args, **kwargs):
                return f(*args, **kwargs) * k

            return inner

        return decorate

    holder = Box(f=lambda x: x + 1)

    def wrap():
        holder.f = scaled(2)(holder.f)

    return Case(lambda x: holder.f(x), wrap, wrap, wrap)


@program
def code_of_a_nested_function():
    def inner(x):
        return x * 2

    def other(x):
        return x * 5 + x.shape[0]

    def fn(x):
        return inner(inner(x))

    plain = inner.__code__
    return Case(
        fn, *attribute(inner, "__code__", other.__code__, plain), args=matrix, exported=False
    )


@program
def defaults_of_a_method():
    class A:
        def go(self, x, k=2, *, j=1):
            return x * k + j

    a = A()
    return Case(
        lambda x: a.go(x),
        *attribute(A.go, "__defaults__", (3,), (4.0,)),
        *attribute(A.go, "__kwdefaults__", {"j": 5}, {"j": x_list()}),
    )


def x_list():
    return 2.5


@program
def annotations_that_choose():
    def part(x: int):
        return x

    def fn(x):
        return x * (2 if part.__annotations__["x"] in (int, "int") else 3)

    return Case(fn, lambda: part.__annotations__.update(x=float))


@program
def doc_and_name_that_choose():
    def part(x):
        """One."""

    def fn(x):
        return x * len(part.__doc__ or ""), part.__name__, part.__qualname__.rpartition(".")[2]

    return Case(
        fn, *attribute(part, "__doc__", "Three", None), *attribute(part, "__name__", "other")
    )


@program
def iterator_class_replaced():
    class It:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

    def fn(x):
        return [x * i for i in It(3)]

    def other(self):
        yield from (5, 6)

    plain = It.__iter__
    return Case(fn, *attribute(It, "__iter__", other, plain, itertools.repeat(1, 2).__iter__))


@program
def generator_function_replaced():
    holder = Box(make=lambda n: (i for i in range(n)))

    def fn(x):
        return sum((x * i for i in holder.make(x.shape[0])), x)

    def other(n):
        yield 7
        yield n

    return Case(fn, *attribute(holder, "make", other, lambda n: iter([1, 2])))


@program
def hash_of_the_key_class():
    class Key:
        def __init__(self, k):
            self.k = k

        def __hash__(self):
            return hash(self.k)

        def __eq__(self, other):
            return type(other) is Key and self.k == other.k

    table = {Key(1): 2.0}

    def fn(x):
        return x * table.get(Key(1), 5.0)

    def never():
        Key.__eq__ = lambda a, b: False

    return Case(fn, never)


@program
def class_of_an_instance_and_its_slots():
    class A:
        __slots__ = ("k",)

        def go(self, x):
            return x + self.k

    class B:
        __slots__ = ("k",)

        def go(self, x):
            return x * self.k

    a = A()
    a.k = 3
    return Case(lambda x: a.go(x), *attribute(a, "__class__", B, A))


@program
def bases_of_a_class():
    class One:
        k = 2

    class Two:
        k = 3

    class A(One):
        pass

    a = A()

    def swap():
        A.__bases__ = (Two,)

    return Case(lambda x: x * a.k, swap, lambda: setattr(Two, "k", 5))


@program
def module_attribute_by_getattr_of_modules():
    m = types.ModuleType("hostile_lazy")
    table = {"scale": 2}
    m.__getattr__ = lambda name: table[name]

    def fn(x):
        return x * m.scale

    return Case(fn, lambda: table.update(scale=3), lambda: setattr(m, "scale", 4), looks_at=table)


def special_method(name, body, *others, args=matrix):
    """A program that uses a special method of tensors, which is replaced between its calls."""

    def factory():
        changes, back = patched(torch.Tensor, name, *others)
        return Case(body, *changes, back, cleanup=back, args=args)

    factory.__name__, factory.__module__ = f"special{name}of_tensors".replace("__", "_"), __name__
    program(factory)


WEIGHT = torch.full((4,), 2.0)
special_method("__rsub__", lambda x: 1 - x, lambda a, b: a * 5)
special_method("__pow__", lambda x: x**2, lambda a, b: a * 3, lambda a, b: a)
special_method("__rpow__", lambda x: 2**x, lambda a, b: a * 3)
special_method("__rtruediv__", lambda x: 1 / (x + 9), lambda a, b: a - 1)
special_method("__neg__", lambda x: -x, lambda a: a * 2)
special_method("__abs__", lambda x: abs(x), lambda a: a * 2)
special_method("__ipow__", lambda x: operator.ipow(x * 1, 2), lambda a, b: a * 3)
special_method("__floordiv__", lambda x: x // 2, lambda a, b: a * 3)
special_method("__rmod__", lambda x: 3 % (x + 9), lambda a, b: a * 3)
special_method("__len__", lambda x: x * len(x), lambda a: 2)
special_method("__iter__", lambda x: [r + 1 for r in x], lambda a: iter([a]))
special_method("__contains__", lambda x: x + (1 if 1.0 in x else 2), lambda a, b: False)
special_method("__reversed__", lambda x: reversed(x), lambda a: a * 2)
special_method("__format__", lambda x: f"{x.size(0) and x}"[:6], lambda a, s: "text")
special_method("__repr__", lambda x: (x, repr(WEIGHT)), lambda a, **_: "a tensor")

special_method("__hash__", lambda x: x + len({x, x}), lambda a: 5)


@replaced
def operator_of_a_constant():
    return lambda x: x * (1 - WEIGHT) * len(WEIGHT), torch.Tensor, "__rsub__", lambda a, b: a * 5
