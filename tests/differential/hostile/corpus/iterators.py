"""Generators, coroutines and iterators: sent to, thrown into, shared, left, and driven by hand."""

import asyncio
import collections
import contextlib
import functools
import inspect
import itertools

import torch

from tests.differential.hostile.program import Box, Call, body

STATE = {"n": 2}
LOG = []
TWO, THREE = (lambda: STATE.update(n=3)), (lambda: STATE.update(n=5))


def inner(x):
    try:
        while True:
            got = yield x * STATE["n"]
            LOG.append(got)
            if got == "stop":
                return "done"
    except ValueError as e:
        yield x - len(str(e))
    finally:
        LOG.append("left")


def outer(x):
    result = yield from inner(x)
    yield result, x + 1


@body(TWO, THREE, looks_at=LOG)
def delegation_with_send(x):
    g = outer(x)
    first = next(g)
    second = g.send(STATE["n"])
    third = g.send("stop")
    return first, second, third, next(g, "over")


@body(TWO, THREE, looks_at=LOG)
def delegation_with_throw(x):
    g = outer(x)
    a = next(g)
    b = g.throw(ValueError("abc"))
    try:
        c = next(g)
    except StopIteration as e:
        c = e.value
    return a, b, c


@body(TWO, looks_at=LOG)
def delegation_that_is_closed(x):
    g = outer(x)
    y = next(g)
    g.close()
    return y, list(g), inspect.getgeneratorstate(g)


@body(TWO, looks_at=LOG)
def generator_that_ignores_its_end(x):
    def stubborn():
        try:
            yield x
        except GeneratorExit:
            yield x + 1

    g = stubborn()
    y = next(g)
    try:
        g.close()
    except RuntimeError as e:
        return y, str(e)


@body(TWO, THREE)
def stop_iteration_inside_a_generator(x):
    def bad():
        yield x
        raise StopIteration(STATE["n"])

    try:
        return list(bad())
    except RuntimeError as e:
        return x + 1, type(e.__cause__).__name__, e.__cause__.value


@body(TWO, THREE)
def generators_bind_late(x):
    k = STATE["n"]
    late = (x * k for _ in range(2))
    made = [lambda: k + i for i in range(3)]
    k = 10
    return list(late), [f() for f in made]


@body(TWO, THREE)
def outermost_iterable_is_early(x):
    items = [1, 2]
    g = (i * STATE["n"] for i in items)
    items = [5]
    return x + sum(g)


@body(TWO, looks_at=LOG)
def manager_that_catches(x):
    @contextlib.contextmanager
    def guard(tag):
        LOG.append(tag)
        try:
            yield STATE["n"]
        except KeyError as e:
            LOG.append(e.args[0])
        finally:
            LOG.append("end")

    with guard("a") as k, guard("b"):
        x = x * k
        raise KeyError("lost")
    return x


async def work(x, k):
    await asyncio.sleep(0)
    LOG.append(k)
    return x * k


@body(TWO, THREE, looks_at=LOG)
def coroutines_gathered(x):
    async def main():
        return await asyncio.gather(*[work(x, k) for k in range(STATE["n"])])

    return asyncio.run(main())


class Ready:
    def __init__(self, v):
        self.v = v

    def __await__(self):
        got = yield self.v
        return got


@body(TWO, THREE)
def coroutine_driven_by_hand(x):
    async def run():
        a = await Ready("first")
        b = await Ready("second")
        return x * a + b

    c = run()
    told = [c.send(None), c.send(STATE["n"])]
    try:
        c.send(4)
    except StopIteration as e:
        return e.value, told


@body(TWO, THREE)
def asynchronous_generator(x):
    async def numbers():
        for i in range(STATE["n"]):
            yield x + i

    async def main():
        return [y async for y in numbers()]

    return asyncio.run(main())


SHARED = iter(range(1000))


@body(TWO, looks_at=SHARED)
def iterator_of_all_calls(x):
    return x * next(SHARED), next(SHARED), list(itertools.islice(SHARED, 2))


def _endless():
    total = 0
    while True:
        total += (yield total) or STATE["n"]


ENDLESS = _endless()
next(ENDLESS)


@body(TWO)
def generator_of_all_calls(x):
    return x * ENDLESS.send(None), ENDLESS.send(4)


@body(TWO, THREE)
def iterator_by_a_sentinel(x):
    left = [1, 2, STATE["n"], 7, 8]
    return x + sum(iter(lambda: left.pop(0), 7)), left


@body(TWO, THREE)
def grouped_and_accumulated(x):
    words = ["a", "bb", "cc", "d" * STATE["n"], "e" * 3]
    groups = {k: list(g) for k, g in itertools.groupby(words, key=len)}
    sums = list(itertools.accumulate([1, 2, 3], lambda a, b: a * STATE["n"] + b, initial=1))
    return x + len(groups), groups, sums, list(itertools.pairwise(sums))


@body(TWO, THREE)
def group_that_is_used_late(x):
    groups = [(k, g) for k, g in itertools.groupby([1, 1, 2, 2, STATE["n"]])]
    return x, [(k, list(g)) for k, g in groups]


@body(TWO, THREE)
def zipped_strictly(x):
    try:
        return list(zip(x.shape, range(STATE["n"] - 1), strict=True)), x
    except ValueError as e:
        return x + 1, str(e)


@body(TWO, THREE)
def unpacked_in_every_way(x):
    a, *rest, (b, *c) = 1, 2, STATE["n"], (4, *range(STATE["n"]))
    first, *_, last = x.shape + (b,)
    d = {**{"a": a}, "b": b, **dict(a=7)}
    return x * b, rest, c, first, last, d, [*rest, *c], (lambda *p, **k: (p, k))(*rest, **d)


@body(TWO, THREE)
def iterators_that_change(x):
    d = dict.fromkeys(range(3), 0)
    told = []
    try:
        for k in d:
            d[k + 10] = 1
    except RuntimeError as e:
        told.append(str(e))
    items = [1, 2, 3]
    for i in items:
        if len(items) < 3 + STATE["n"]:
            items.append(i)
    return x + len(items), told, len(d)


@body(TWO, THREE)
def reduced_and_starmapped(x):
    pairs = [(1, 2), (3, STATE["n"])]
    return (
        functools.reduce(lambda a, p: a * p[1] + p[0], pairs, x),
        list(itertools.starmap(pow, pairs)),
        list(itertools.takewhile(lambda p: p[1] < 3, pairs)),
        list(itertools.zip_longest([1], [2, 3], fillvalue=STATE["n"])),
        list(itertools.compress("abc", [1, 0, STATE["n"] > 2])),
        ["".join(p) for p in itertools.permutations("ab")],
    )


@body(
    args=lambda n: (iter([torch.ones(n), torch.ones(n) * 2, torch.ones(n) * 3]), 1), exported=False
)
def iterator_as_an_argument(it, k):
    return next(it) + next(it) * k


@body(TWO, args=lambda n: ((i * torch.ones(n) for i in range(3)),), exported=False)
def generator_as_an_argument(g):
    return sum(g) * STATE["n"]


@body(TWO)
def generator_given_back(x):
    def rest():
        for i in range(3):
            LOG.append(i)
            yield x * i * STATE["n"]

    g = rest()
    return next(g), [y.sum() for y in g]


@body(TWO, THREE)
def deque_as_a_window(x):
    window = collections.deque(maxlen=2)
    sums = []
    for i in range(STATE["n"]):
        window.append(x * i)
        sums.append(sum(window))
    return sums[-1], len(window), window.maxlen


@body(TWO, THREE)
def tee_with_two_paces(x):
    a, b = itertools.tee((i * STATE["n"] for i in range(4)))
    next(a), next(a)
    return x + next(a), list(b), list(a)


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


DOWN = Countdown(50)


@body(TWO, looks_at=DOWN)
def iterator_of_the_users_goes_on(x):
    for i in DOWN:
        if i % STATE["n"] == 0:
            break
    return x * i, 3 in Countdown(5), min(Countdown(4)), dict(enumerate(Countdown(2), start=1))


@body(TWO, looks_at=LOG)
def loop_with_else(x):
    for i in range(STATE["n"]):
        if i == 2:
            break
    else:
        LOG.append("whole")
        x = x + 100
    while i > 0:
        i -= 1
    else:
        x = x * 2
    return x, i


@body(TWO, args=lambda n: (torch.arange(n) + 1.0,))
def rows_as_an_iterator(x):
    it = iter(x)
    first = next(it, None)
    return first, [y * STATE["n"] for y in it]
