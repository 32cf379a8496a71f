"""Calls that mean the same, spelled otherwise; signatures of every kind."""

import functools

import torch

from tests.differential.hostile.program import Box, Call, Case, program


def x(n=3):
    return torch.arange(n) + 1.0


def spelled(name, fn, *calls):
    def factory():
        return Case(fn, calls=[make for make in calls for _ in range(2)])

    factory.__name__ = name
    program(factory)


def scaled(x, k=2.0):
    return x * k


def keyword_only(x, *, k=2.0):
    return x * k


def positional_only(x, k=2.0, /):
    return x * k


def many(x, *rest):
    return x * sum(rest)


def options(x, **rest):
    return x * sum(rest.values()), list(rest)


def both(x, *rest, k=1.0, **more):
    return x * k + sum(rest) + sum(more.values())


spelled(
    "positional_and_keyword",
    scaled,
    lambda: (x(), 3.0),
    lambda: Call((x(),), {"k": 3.0}),
    lambda: Call((), {"x": x(), "k": 3.0}),
    lambda: Call((), {"k": 3.0, "x": x(2)}),
    lambda: (x(),),
    lambda: (x(), 2.0),
)
spelled(
    "keyword_only",
    keyword_only,
    lambda: (x(),),
    lambda: Call((x(),), {"k": 3.0}),
    lambda: Call((x(2),), {"k": 2.0}),
)
spelled("positional_only", positional_only, lambda: (x(),), lambda: (x(), 3.0), lambda: (x(2), 2.0))
spelled(
    "rest", many, lambda: (x(), 1.0), lambda: (x(), 1.0, 2.0), lambda: (x(2),), lambda: (x(), 2.0)
)
spelled(
    "options",
    options,
    lambda: Call((x(),), {"a": 1.0, "b": 2.0}),
    lambda: Call((x(),), {"b": 2.0, "a": 1.0}),
    lambda: Call((x(2),), {"a": 1.0}),
)
spelled(
    "both_kinds",
    both,
    lambda: (x(), 1.0),
    lambda: Call((x(),), {"k": 2.0}),
    lambda: Call((x(), 1.0), {"z": 2.0}),
    lambda: Call((x(2),), {"z": 1.0, "k": 3.0}),
)
spelled(
    "errors_of_a_signature",
    scaled,
    lambda: (x(), 1.0),
    lambda: (x(), 1.0, 2.0),
    lambda: Call((x(),), {"j": 1.0}),
    lambda: (),
    lambda: Call((x(),), {"x": x()}),
)
spelled(
    "ints_and_floats",
    scaled,
    lambda: (x(), 2),
    lambda: (x(), 2.0),
    lambda: (x(), True),
    lambda: (x(), 2),
)
spelled(
    "tensor_and_number",
    scaled,
    lambda: (x(), torch.tensor(2.0)),
    lambda: (x(), 2.0),
    lambda: (x(2), torch.tensor([2.0])),
)
spelled(
    "none_and_not",
    lambda x, m=None: x if m is None else x * m,
    lambda: (x(),),
    lambda: (x(), None),
    lambda: (x(), x()),
)


@program
def number_of_entries():
    """Spellings of one call make one entry."""

    def fn(x, k=2.0):
        return x * k

    calls = [
        lambda: (x(), 2.0),
        lambda: (x(),),
        lambda: Call((x(),), {"k": 2.0}),
        lambda: Call((), {"k": 2.0, "x": x()}),
    ]

    def drive(call, *args, **kwargs):
        out = call(*args, **kwargs)
        return out, len(getattr(call, "entries", ())) <= 1

    return Case(fn, calls=calls, drive=drive)


@program
def method_of_an_object():
    class Kind:
        def __init__(self, k):
            self.k = k

        def scale(self, x):
            return x * self.k

    o = Kind(2.0)

    def change():
        o.k = 3.0

    def back():
        o.k = 2.0

    return Case(o.scale, change, back)


@program
def callable_object():
    class Kind:
        k = 2.0

        def __call__(self, x):
            return x * self.k

    o = Kind()

    def change():
        o.k += 1

    return Case(o, change)


@program
def class_as_the_function():
    class Kind:
        def __init__(self, x):
            self.y = x * 2

    return Case(lambda x: Kind(x).y)


@program
def lambda_as_the_function():
    o = Box(k=2.0)

    def change():
        o.k += 1

    return Case(lambda x: x * o.k, change)


@program
def two_lambdas_on_one_line():
    fs = [lambda x: x * 2, lambda x: x * 3]
    return Case(lambda x: fs[0](x) + fs[1](x), fs.reverse)


@program
def partial_method():
    class Kind:
        k = 2.0

        def scale(self, x, k):
            return x * k * self.k

        double = functools.partialmethod(scale, k=2.0)

    o = Kind()

    def change():
        Kind.k += 1

    return Case(o.double, change)


@program
def wrapped_function():
    calls = []

    def logged(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            calls.append(len(args))
            return f(*args, **kwargs)

        return inner

    @logged
    def fn(x):
        return x * 2

    return Case(fn, looks_at=calls)


@program
def function_made_by_exec():
    scope = {"K": 2.0}
    exec("def fn(x):\n    return x * K\n", scope)

    def change():
        scope["K"] += 1.0

    return Case(scope["fn"], change)


@program
def helper_made_by_exec():
    scope = {"K": 2.0}
    exec("def helper(x):\n    return x * K\n", scope)
    helper = scope["helper"]

    def change():
        scope["K"] += 1.0

    return Case(lambda x: helper(x) + 1, change)


@program
def helper_made_by_exec_that_appends():
    scope = {"seen": []}
    exec("def helper(x):\n    seen.append(x.shape[0])\n    return x * 2\n", scope)
    helper, seen = scope["helper"], scope["seen"]
    return Case(lambda x: helper(x) + 1, looks_at=seen)


@program
def class_made_by_exec_that_counts():
    scope = {"count": [0]}
    lines = ["class Key:", " def __hash__(self):", "  count[0] += 1", "  return 1"]
    exec("\n".join(lines), scope)
    key, count = scope["Key"](), scope["count"]
    table = {key: 2.0}
    return Case(lambda x: x * table[key], looks_at=count)


@program
def helper_made_by_eval():
    o = Box(k=2.0)

    def fn(x):
        return eval("x * o.k", {"x": x, "o": o})

    def change():
        o.k += 1

    return Case(fn, change)


@program
def nested_function_with_defaults():
    o = Box(k=2.0)

    def fn(x):
        def inner(y, k=o.k):
            return y * k

        return inner(x)

    def change():
        o.k += 1

    return Case(fn, change)


@program
def private_names():
    class Kind:
        def __init__(self):
            self.__k = 2.0

        def fn(self, x):
            return x * self.__k

        def change(self):
            self.__k += 1

    o = Kind()
    return Case(o.fn, o.change)


@program
def super_call():
    class Base:
        k = 2.0

        def scale(self, x):
            return x * self.k

    class Kind(Base):
        def scale(self, x):
            return super().scale(x) + 1

    o = Kind()

    def change():
        Base.k += 1

    return Case(lambda x: o.scale(x), change)


@program
def walrus_and_match():
    o = Box(kind={"type": "scale", "k": 2.0})

    def fn(x):
        match o.kind:
            case {"type": "scale", "k": k} if (n := x.shape[0]) >= 0:
                return x * k + n
            case _:
                return x

    def change():
        o.kind = {"type": "none"} if o.kind["type"] == "scale" else {"type": "scale", "k": 3.0}

    return Case(fn, change)


@program
def async_function():
    o = Box(k=2.0)

    async def inner(x):
        return x * o.k

    def fn(x):
        co = inner(x)
        try:
            co.send(None)
        except StopIteration as e:
            return e.value

    def change():
        o.k += 1

    return Case(fn, change)


@program
def locals_of_a_function():
    def fn(x):
        k = x.shape[0]
        return x * locals()["k"]

    return Case(fn)


@program
def deep_recursion():
    def down(x, n):
        return x if n == 0 else down(x, n - 1) + 1

    return Case(lambda x: down(x, 200))


@program
def frame_inspection():
    import sys

    def fn(x):
        return x * 2, sys._getframe().f_code.co_name

    return Case(fn)
