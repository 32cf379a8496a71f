"""Functions, iterators, errors and modules that a program makes, returns and stores."""

import functools
import itertools
import operator

import torch

from tests.differential.hostile.program import Box, Case, program


def gives(name, make, use):
    """A program whose result is used after every call; what it holds is new each time."""

    def factory():
        return Case(make, drive=lambda fn, *args: use(fn(*args)), exported=False)

    factory.__name__ = name
    program(factory)


def adder(x):
    def add(y):
        return x + y

    return add


def counters(x):
    n = 0

    def step():
        nonlocal n
        n += 1
        return x + n

    def total():
        return n

    step()
    return step, total


def product(x):
    def down(k):
        return x if k == 0 else down(k - 1) * k

    return down


def decorated(x):
    @functools.wraps(adder)
    def inner(y: int = 2, *, z: "float" = 3) -> "T":
        """What it does."""
        return x + y + z

    inner.tag = x + 1
    return inner


def described(f):
    names = (f.__name__, f.__qualname__, f.__doc__, f.__annotations__, f.__kwdefaults__)
    return f(), f.tag, names, f.__wrapped__ is not None


OUTSIDE = [1.0, 2.0, 3.0]


class Pair(tuple):
    pass


def pair(x):
    made = Pair((x, x + 1))
    made.tag = x * 2
    return made


def advanced(x):
    steps = iter([x, x + 1, x + 2])
    next(steps)
    return steps


def shared(x):
    steps = iter([x, x + 1])
    return map(lambda v: v * 2, steps), steps


def listed(found):
    return type(found), list(found)


def scale(x):
    module = torch.nn.ReLU()
    module.tag = x + 1
    return module


gives("function", adder, lambda f: (f(1), f.__qualname__, f.__closure__[0].cell_contents))
gives("two_functions_share", counters, lambda fs: (fs[0](), fs[0](), fs[1]()))
gives("function_that_calls_itself", product, lambda f: f(3))
gives("function_with_a_default", lambda x: lambda y, z=x.sum(): y + z, lambda f: f(1))
gives("decorated_function", decorated, described)
gives("partial", lambda x: functools.partial(operator.add, x + 1), lambda f: (f(1), f.args))
gives("mapped", lambda x: map(lambda v: v + x, [x, x * 2]), listed)
gives("mapped_outside", lambda x: map(lambda v: v * x, OUTSIDE), listed)
gives("filtered", lambda x: filter(lambda v: v > 1, OUTSIDE), listed)
gives("filtered_by_truth", lambda x: filter(None, [0, 1, x.sum() > 0]), listed)
gives("zipped", lambda x: zip([x, x + 1], OUTSIDE), listed)
gives("sliced", lambda x: itertools.islice([x, x + 1, x + 2], 1, 3), listed)
gives("accumulated", lambda x: itertools.accumulate([x, x + 1], operator.mul), listed)
gives("counted", lambda x: (itertools.count(3), x), lambda found: (next(found[0]), found[1]))
gives("advanced_iterator", advanced, listed)
gives("shared_iterator", shared, lambda found: (next(found[0]), next(found[1])))
gives("tuple_subclass", pair, lambda t: (type(t).__name__, tuple(t), t.tag))
gives("error", lambda x: ValueError("text", x + 1), lambda e: (type(e), e.args, e.__cause__))
gives("module", scale, lambda m: (m(torch.ones(2)), m.tag, m.training))


@program
def function_stored_before_its_variable_changes():
    box = Box()

    def fn(x):
        n = 1

        def add(y):
            return y + n + x

        box.f = add
        n = 5
        return x * 2

    def drive(fn, x):
        return fn(x), box.f(1)

    return Case(fn, drive=drive, looks_at=[])


@program
def functions_appended():
    kept = []

    def fn(x):
        kept.append(lambda y: y + x)
        return x + 1

    def drive(fn, x):
        found = fn(x), [f(1) for f in kept]
        del kept[2:]
        return found

    return Case(fn, drive=drive, looks_at=[])
