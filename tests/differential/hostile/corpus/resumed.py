"""Code that is resumed: generators, coroutines by hand, contexts, iterators that share state."""

from __future__ import annotations

import array
import asyncio
import bisect
import collections
import contextlib
import contextvars
import functools
import heapq
import itertools
import operator
import random
import types
from typing import Any

import torch

from tests.differential.hostile.program import Box, Case, body, program

STATE = Box(k=2.0, log=[])
LEVEL: contextvars.ContextVar[float] = contextvars.ContextVar("LEVEL", default=2.0)


def set_k(value: Any) -> Any:
    return lambda: setattr(STATE, "k", value)


def averager() -> Any:
    total, count = 0.0, 0
    while True:
        try:
            got = yield (total / count if count else 0.0)
        except ValueError as e:
            STATE.log.append(str(e))
            got = -1.0
        except GeneratorExit:
            STATE.log.append("closed")
            raise
        total, count = total + got * STATE.k, count + 1


@body(set_k(3.0), lambda: STATE.log.clear(), looks_at=STATE)
def a_generator_is_sent_values(x: Any) -> Any:
    g = averager()
    next(g)
    a = g.send(1.0)
    b = g.send(x.shape[0])
    c = g.throw(ValueError("odd"))
    g.close()
    return x * a + b + c


@body(looks_at=STATE)
def a_generator_returns_a_value(x: Any) -> Any:
    def inner() -> Any:
        got = yield 1
        STATE.log.append(got)
        return got + 1

    def outer() -> Any:
        result = yield from inner()
        yield result * 10

    g = outer()
    first = next(g)
    second = g.send(x.shape[0])
    try:
        next(g)
    except StopIteration as e:
        return x * first + second, e.value
    return None


@program
def a_generator_from_outside_is_sent_values() -> Case:
    g = averager()
    next(g)
    return Case(lambda x: x * g.send(float(x.shape[0])), looks_at=STATE, exported=False)


@program
def a_generator_stays_open_in_an_object() -> Case:
    box = Box(g=None)

    def count(n: int) -> Any:
        while True:
            n += 1
            yield n

    def fn(x: Any) -> Any:
        if box.g is None:
            box.g = count(x.shape[0])
        return x * next(box.g)

    return Case(fn, lambda: setattr(box, "g", None), exported=False)


@body(set_k(4.0), looks_at=STATE)
def finally_in_a_generator_that_is_left(x: Any) -> Any:
    def items() -> Any:
        try:
            for i in range(5):
                yield i
        finally:
            STATE.log.append("left")

    for i in items():
        if i * STATE.k > 4:
            break
    return x * i, len(STATE.log)


@types.coroutine
def pause(value: Any) -> Any:
    got = yield value
    return got


async def twice(x: Any) -> Any:
    a = await pause(1)
    b = await pause(a + 1)
    return x * (a + b) * STATE.k


@body(set_k(3.0))
def a_coroutine_by_hand(x: Any) -> Any:
    c = twice(x)
    first = c.send(None)
    second = c.send(first + 1)
    try:
        c.send(second)
    except StopIteration as e:
        return e.value
    return None


@body(set_k(3.0))
def an_event_loop_inside(x: Any) -> Any:
    async def work() -> Any:
        a, b = await asyncio.gather(half(x), half(x + 1))
        return a + b

    async def half(y: Any) -> Any:
        await asyncio.sleep(0)
        return y * STATE.k

    with contextlib.closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(work())


@body()
def an_async_generator_by_hand(x: Any) -> Any:
    async def items() -> Any:
        yield x
        yield x + 1

    async def total() -> Any:
        out = 0
        async for y in items():
            out = out + y
        return out

    c = total()
    try:
        c.send(None)
    except StopIteration as e:
        return e.value
    return None


# ---------------------------------------------------------------------- contexts


@program
def a_context_variable_is_set_outside() -> Case:
    return Case(
        lambda x: x * LEVEL.get() + LEVEL.get(5.0),
        lambda: LEVEL.set(3.0),
        lambda: LEVEL.set(0.5),
    )


@body()
def a_context_variable_is_set_and_reset(x: Any) -> Any:
    token = LEVEL.set(x.shape[0])
    y = x * LEVEL.get()
    LEVEL.reset(token)
    return y * LEVEL.get()


@body(drive=lambda f, x: contextvars.copy_context().run(f, x))
def run_in_a_copied_context(x: Any) -> Any:
    return contextvars.copy_context().run(lambda: x * LEVEL.get())


@program
def an_exit_stack_with_effects() -> Case:
    log: list[Any] = []

    def fn(x: Any) -> Any:
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, x.shape[0])
            stack.push(lambda kind, e, trace: log.append(kind.__name__ if kind else "") or True)
            if x.shape[0] % 2:
                raise ValueError("odd")
            return x * 2
        return x * len(log)

    return Case(fn, log.clear, looks_at=log)


@program
def a_context_manager_as_a_decorator() -> Case:
    box = Box(depth=0, most=0)

    @contextlib.contextmanager
    def deeper() -> Any:
        box.depth += 1
        box.most = max(box.most, box.depth)
        try:
            yield box.depth
        finally:
            box.depth -= 1

    @deeper()
    def inner(x: Any, n: int) -> Any:
        return x if n == 0 else inner(x, n - 1) * box.depth

    return Case(lambda x: inner(x, 3) + box.most, lambda: setattr(box, "most", 0), looks_at=box)


@program
def redirected_output() -> Case:
    import io

    def fn(x: Any) -> Any:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print("n", x.shape[0])
        return x * 2, out.getvalue()

    return Case(fn)


# ---------------------------------------------------------------------- iterators that share state


@body()
def tee_of_one_iterator(x: Any) -> Any:
    a, b = itertools.tee(iter([1, 2, x.shape[0]]))
    next(a)
    c = list(zip(a, b, strict=False))
    return x * len(c), c, list(b)


@body()
def groups_that_are_read_late(x: Any) -> Any:
    groups = itertools.groupby([1, 1, 2, 2, 3, x.shape[0]], key=lambda v: v > 1)
    kept = [(key, group) for key, group in groups]
    return x * len(kept), [list(group) for _, group in kept]


@program
def grouped_by_state() -> Case:
    return Case(
        lambda x: [x * sum(g) for _, g in itertools.groupby([1, 2, 3, 4], lambda v: v > STATE.k)],
        set_k(3.0),
        set_k(0.0),
    )


@program
def a_heap_outside() -> Case:
    heap = [5, 7, 9]

    def fn(x: Any) -> Any:
        heapq.heappush(heap, x.shape[0])
        least = heapq.heappop(heap)
        return x * least, heapq.nsmallest(2, heap), heapq.merge

    return Case(fn, lambda: heap.insert(0, -1), looks_at=heap)


@body(set_k(0.5))
def a_heap_of_keys(x: Any) -> Any:
    heap: list[Any] = []
    for i, word in enumerate(("b", "a", "c")):
        heapq.heappush(heap, (len(word) * STATE.k, -i, word))
    return x * heap[0][0], heapq.nlargest(1, heap, key=operator.itemgetter(1))


@program
def bisection_in_a_list_outside() -> Case:
    grades = [2, 4, 6]

    def fn(x: Any) -> Any:
        at = bisect.bisect(grades, x.shape[0])
        bisect.insort(grades, x.shape[0], key=lambda v: v * STATE.k)
        return x * at

    return Case(fn, lambda: grades.clear(), set_k(1.0), looks_at=grades)


@program
def arrays_of_the_array_module() -> Case:
    numbers = array.array("d", [1.0, 2.0])

    def fn(x: Any) -> Any:
        return x * numbers[0] + len(numbers) + sum(numbers)

    return Case(
        fn,
        lambda: numbers.append(5.0),
        lambda: numbers.__setitem__(0, 4.0),
        lambda: numbers.pop(),
    )


@program
def an_array_is_changed_inside() -> Case:
    numbers = array.array("l", [1, 2])

    def fn(x: Any) -> Any:
        numbers.append(x.shape[0])
        numbers[0] += 1
        return x * numbers[0], numbers.tobytes()[:1]

    return Case(fn, looks_at=lambda: list(numbers), exported=False)


@program
def a_memoryview_of_bytes_outside() -> Case:
    raw = bytearray(b"\x01\x02\x03")
    view = memoryview(raw)
    return Case(
        lambda x: x * view[0] + len(view),
        lambda: raw.__setitem__(0, 9),
        lambda: view.__setitem__(0, 4),
        exported=False,
    )


@body()
def a_memoryview_inside(x: Any) -> Any:
    raw = bytearray(4)
    view = memoryview(raw)
    view[0] = min(x.shape[0], 200)
    view[1:3] = b"ab"
    return x * raw[0], bytes(raw), view.tolist()


@program
def random_numbers_of_an_instance() -> Case:
    rng = random.Random(3)
    return Case(
        lambda x: x * rng.random() + rng.randint(0, 5),
        lambda: rng.seed(5),
        lambda: rng.setstate(random.Random(9).getstate()),
    )


@body()
def random_numbers_of_a_new_instance(x: Any) -> Any:
    rng = random.Random(x.shape[0])
    items = [1, 2, 3, 4]
    rng.shuffle(items)
    return x * rng.random(), items, rng.choice("abc")


@program
def a_getter_of_items_from_outside() -> Case:
    row = {"a": 2.0, "b": 3.0}
    get = operator.itemgetter("a", "b")
    attr = operator.attrgetter("k", "log")
    return Case(
        lambda x: x * sum(get(row)) + attr(STATE)[0],
        lambda: row.update(a=5.0),
        set_k(7.0),
    )


@program
def a_counter_that_is_shared() -> Case:
    seen = collections.Counter()
    ids = itertools.count(5, 2)

    def fn(x: Any) -> Any:
        seen.update([x.shape[0], "n"])
        seen.subtract({"n": 3})
        return x * seen["n"] + next(ids), seen.most_common(1), +seen

    return Case(fn, lambda: seen.clear(), looks_at=seen)


@program
def a_chain_of_maps() -> Case:
    base, top = {"k": 2.0}, {}
    maps = collections.ChainMap(top, base)

    def fn(x: Any) -> Any:
        maps["n"] = x.shape[0]
        child = maps.new_child({"k": 9.0})
        return x * maps["k"] + child["k"], dict(maps), len(child.parents)

    return Case(fn, lambda: top.update(k=5.0), lambda: top.pop("k"), looks_at=(base, top))


@program
def a_cache_of_a_method_with_state() -> Case:
    class Model:
        def __init__(self) -> None:
            self.k = 2.0

        @functools.lru_cache(maxsize=2)  # noqa: B019
        def scale(self, n: int) -> float:
            STATE.log.append(n)
            return self.k * n

    o = Model()
    return Case(
        lambda x: x * o.scale(x.shape[0]) + o.scale(7),
        lambda: setattr(o, "k", 5.0),
        lambda: Model.scale.cache_clear(),
        looks_at=STATE,
    )


@body(drive=lambda f, x: [f(x) for _ in range(2)])
def accumulate_with_an_effect(x: Any) -> Any:
    def step(a: Any, b: Any) -> Any:
        STATE.log.append(b)
        return a + b * STATE.k

    return x * list(itertools.accumulate([1, 2, x.shape[0]], step))[-1], len(STATE.log)


@body()
def iter_with_a_sentinel(x: Any) -> Any:
    stack = [3, 2, 1, x.shape[0]]
    taken = list(iter(stack.pop, 2))
    return x * len(taken), taken, stack


@body()
def a_pairwise_and_batched_walk(x: Any) -> Any:
    rows = list(itertools.pairwise([x, x + 1, x + 2]))
    return sum(a * b for a, b in rows), list(itertools.combinations_with_replacement("ab", 2))


@program
def an_iterator_is_shared_by_two_loops() -> Case:
    def fn(x: Any) -> Any:
        it = iter([1, 2, 3, 4, x.shape[0]])
        out = []
        for a in it:
            for b in it:
                out.append((a, b))
                break
        return x * len(out), out, next(it, "end")

    return Case(fn)


@body(lambda: torch.manual_seed(3))
def dropout_in_a_generator_expression(x: Any) -> Any:
    draws = (torch.rand(()) for _ in range(3))
    first = next(draws)
    return x * first, sum(draws)
