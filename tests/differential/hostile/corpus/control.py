"""Control flow: generators, `match`, exceptions and their causes, context managers, contexts."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import sys
import threading
import warnings
from typing import Any

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program

LOG: list[Any] = []


@program
def generator_that_is_sent_values() -> Case:
    def accumulate() -> Any:
        total = 0.0
        while True:
            got = yield total
            if got is None:
                return
            total = total + got

    def fn(x: Any) -> Any:
        g = accumulate()
        next(g)
        g.send(x)
        y = g.send(x * 2)
        g.close()
        return y

    return Case(fn)


@program
def generator_that_is_thrown_at() -> Case:
    def stubborn(x: Any) -> Any:
        try:
            yield x
        except ValueError:
            LOG.append("caught")
            yield x * 2
        finally:
            LOG.append("finally")

    def fn(x: Any) -> Any:
        g = stubborn(x)
        a = next(g)
        b = g.throw(ValueError)
        g.close()
        return a + b

    return Case(fn, looks_at=LOG)


@program
def generator_from_outside_goes_on() -> Case:
    g = (i * 2.0 for i in itertools.count(1))
    return Case(lambda x: x * next(g))


@program
def generator_with_a_value() -> Case:
    def inner(x: Any) -> Any:
        yield x + 1
        return 3.0

    def outer(x: Any) -> Any:
        k = yield from inner(x)
        yield x * k

    return Case(lambda x: list(outer(x)))


@program
def iterators_from_outside() -> Case:
    counter, cycle = itertools.count(1), itertools.cycle([1.0, 2.0, 3.0])
    return Case(lambda x: x * next(counter) + next(cycle))


@program
def iterators_of_itertools() -> Case:
    data = [1.0, 2.0, 3.0]

    def fn(x: Any) -> Any:
        a, b = itertools.tee(data)
        pairs = list(zip(a, itertools.islice(b, 1, None), strict=False))
        groups = [(k, len(list(g))) for k, g in itertools.groupby([1, 1, 2])]
        runs = list(itertools.accumulate(data))
        made = list(itertools.chain.from_iterable([data, runs]))
        return (
            x * sum(made) + len(pairs) + groups[0][1] + sum(map(sum, itertools.product(data, data)))
        )

    return Case(fn, lambda: data.append(4.0))


@program
def match_class_patterns() -> Case:
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a: float, b: float) -> None:
            self.a, self.b = a, b

    state: dict[str, Any] = {"o": Point(1.0, 2.0)}

    def fn(x: Any) -> Any:
        match state["o"]:
            case Point(1.0, b):
                return x * b
            case Point(a=a) if a > 5:
                return x - a
            case [first, *rest]:
                return x + first + len(rest)
            case {"k": k, **others}:
                return x * k + len(others)
            case int() | float() as n:
                return x / n
            case _:
                return x

    return Case(
        fn,
        *item(state, "o", Point(9.0, 1.0), [1.0, 2.0], {"k": 3.0, "l": 1}, 4, "text"),
    )


@program
def match_on_shapes() -> Case:
    def fn(x: Any) -> Any:
        match tuple(x.shape):
            case (0,):
                return x + 1
            case (1,) | (2,):
                return x * 2
            case (n,) if n % 2:
                return x * n
            case (n,):
                return x - n
            case _:
                return x

    return Case(fn)


@program
def walrus_in_a_comprehension() -> Case:
    data = [1.0, 2.0, 3.0]

    def fn(x: Any) -> Any:
        kept = [last := x * d for d in data if d > 1]
        return sum(kept) + last

    return Case(fn, lambda: data.append(4.0))


@program
def nonlocal_chain() -> Case:
    def outer() -> Any:
        count = 0

        def middle() -> Any:
            def inner(x: Any) -> Any:
                nonlocal count
                count += 1
                return x * count

            return inner

        return middle()

    return Case(outer())


@program
def finally_with_return() -> Case:
    def helper(x: Any) -> Any:
        try:
            raise ValueError("lost")
        finally:
            return x * 2  # noqa: B012  what is tested

    def fn(x: Any) -> Any:
        for _ in range(3):
            try:
                continue
            finally:
                x = x + 1
        return helper(x)

    return Case(fn)


@program
def causes_and_contexts() -> Case:
    def fn(x: Any) -> Any:
        try:
            try:
                raise KeyError("a")
            except KeyError as e:
                raise ValueError("b") from e
        except ValueError as e:
            names = (type(e.__cause__).__name__, e.__suppress_context__, e.args)
        try:
            try:
                raise KeyError("a")
            except KeyError:
                raise TypeError("c") from None
        except TypeError as e:
            names += (e.__cause__, type(e.__context__).__name__, e.__suppress_context__)
        return x + 1, names

    return Case(fn, exported=False)


@program
def exception_groups_and_notes() -> Case:
    def fn(x: Any) -> Any:
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2), ValueError(3)])
        except* ValueError as g:
            n = len(g.exceptions)
        except* TypeError:
            LOG.append("type")
        e = ValueError("x")
        e.add_note(f"size {x.shape[0]}")
        return x * n, e.__notes__

    return Case(fn, looks_at=LOG, exported=False)


@program
def error_that_leaves_with_a_note() -> Case:
    def fn(x: Any) -> Any:
        y = x + 1
        if x.shape[0] > 3:
            e = ValueError("too long")
            e.add_note("cut it")
            raise e
        return y

    return Case(fn)


@program
def error_after_a_write() -> Case:
    log: list[int] = []

    def fn(x: Any) -> Any:
        log.append(x.shape[0])
        x.add_(1)
        if x.shape[0] == 5:
            raise RuntimeError("five")
        return x

    return Case(fn, looks_at=log)


@program
def error_of_an_op_that_is_caught() -> Case:
    w = torch.ones(3, 4)

    def fn(x: Any) -> Any:
        try:
            return x @ w
        except RuntimeError as e:
            return x * 2, type(e).__name__

    return Case(fn)


@program
def error_that_is_raised_again() -> Case:
    def fn(x: Any) -> Any:
        try:
            return x.view(2, -1)
        except RuntimeError:
            LOG.append(x.shape[0])
            raise

    return Case(fn, looks_at=LOG)


@program
def state_of_the_error_that_is_handled() -> Case:
    def fn(x: Any) -> Any:
        before = sys.exc_info()[0]
        try:
            raise KeyError("k")
        except KeyError:
            within = sys.exc_info()[0]
        return x + 1, before, within, sys.exc_info()[0]

    return Case(fn, exported=False)


@program
def exit_stack() -> Case:
    @contextlib.contextmanager
    def noted(name: str) -> Any:
        LOG.append(f"in {name}")
        try:
            yield len(name)
        finally:
            LOG.append(f"out {name}")

    def fn(x: Any) -> Any:
        with contextlib.ExitStack() as stack:
            n = stack.enter_context(noted("abc"))
            stack.callback(LOG.append, "callback")
            x = x * n
        with contextlib.suppress(ZeroDivisionError):
            1 // 0  # noqa: B018  it raises
        with contextlib.nullcontext(3) as k:
            return x + k

    return Case(fn, looks_at=LOG)


@program
def manager_that_swallows() -> Case:
    class Swallow:
        count = 0

        def __enter__(self) -> Any:
            return self

        def __exit__(self, kind: Any, e: Any, tb: Any) -> bool:
            type(self).count += kind is not None
            return kind is ValueError

    def fn(x: Any) -> Any:
        with Swallow():
            if x.shape[0] > 2:
                raise ValueError
            x = x + 10
        return x * 2

    return Case(fn, looks_at=Swallow)


@program
def context_variable_outside() -> Case:
    v: Any = contextvars.ContextVar("v", default=2.0)
    return Case(lambda x: x * v.get(), lambda: v.set(3.0), lambda: v.set(5.0))


@program
def context_variable_is_set() -> Case:
    v: Any = contextvars.ContextVar("v2", default=1)

    def fn(x: Any) -> Any:
        token = v.set(v.get() + 1)
        y = x * v.get()
        if x.shape[0] > 2:
            v.reset(token)
        return y

    return Case(fn, looks_at=lambda: v.get())


@program
def context_that_is_copied() -> Case:
    v: Any = contextvars.ContextVar("v3", default=1)

    def inside(x: Any) -> Any:
        v.set(7)
        return x * v.get()

    def fn(x: Any) -> Any:
        y = contextvars.copy_context().run(inside, x)
        return y + v.get()

    return Case(fn)


@program
def coroutine_that_is_run() -> Case:
    async def double(x: Any) -> Any:
        await asyncio.sleep(0)
        return x * 2

    async def both(x: Any) -> Any:
        a, b = await asyncio.gather(double(x), double(x + 1))
        return a + b

    return Case(lambda x: asyncio.run(both(x)) + 1)


@program
def trace_function() -> Case:
    lines: list[str] = []

    def note(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_name == "traced_inner":
            lines.append(event)
        return None

    def traced_inner(x: Any) -> Any:
        return x * 2

    def fn(x: Any) -> Any:
        before = sys.gettrace()
        sys.settrace(note)
        try:
            return traced_inner(x)
        finally:
            sys.settrace(before)

    return Case(fn, looks_at=lines)


@program
def thread_that_is_started() -> Case:
    def fn(x: Any) -> Any:
        found: list[Any] = []
        t = threading.Thread(target=lambda: found.append(x * 2))
        t.start()
        t.join()
        return found[0] + 1

    return Case(fn)


@program
def thread_local_state() -> Case:
    local = threading.local()
    local.k = 2.0

    def fn(x: Any) -> Any:
        local.count = getattr(local, "count", 0) + 1
        return x * local.k + local.count

    return Case(fn, *attribute(local, "k", 3.0), looks_at=lambda: vars(local))


@program
def lock_that_is_held() -> Case:
    lock = threading.Lock()
    state = Box(n=0)

    def fn(x: Any) -> Any:
        with lock:
            state.n += 1
            y = x * state.n
        return y, lock.locked()

    return Case(fn, looks_at=state)


@program
def recursion() -> Case:
    def fact(n: int, x: Any) -> Any:
        return x if n <= 1 else fact(n - 1, x * n)

    return Case(lambda x: fact(x.shape[0], x) + 1)


@program
def mutual_recursion_with_state() -> Case:
    depth = Box(n=0)

    def even(n: int, x: Any) -> Any:
        depth.n += 1
        return x if n == 0 else odd(n - 1, x + 1)

    def odd(n: int, x: Any) -> Any:
        return x * 2 if n == 0 else even(n - 1, x)

    return Case(lambda x: even(x.shape[0], x), looks_at=depth)


@program
def loop_with_else_and_break() -> Case:
    data = [1.0, 2.0, 3.0]

    def fn(x: Any) -> Any:
        for d in data:
            if d == 2.5:
                break
            x = x * d
        else:
            x = x - 1
        while x.shape[0] > 100:
            break
        else:
            x = x + 3
        return x

    return Case(fn, lambda: data.insert(1, 2.5), lambda: data.remove(2.5))


@program
def warnings_with_filters() -> Case:
    def fn(x: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("inner", UserWarning, stacklevel=2)
        warnings.warn(f"outer {len(caught)}", UserWarning, stacklevel=2)
        return x * len(caught)

    return Case(fn)


@program
def default_that_is_shared() -> Case:
    def fn(x: Any, memo: list[float] = []) -> Any:  # noqa: B006  what is tested
        memo.append(1.0)
        return x * sum(memo)

    return Case(fn)


@program
def star_arguments() -> Case:
    def inner(a: Any, /, b: float, *rest: float, c: float = 1.0, **named: float) -> Any:
        named["z"] = 1.0
        return a * b + sum(rest) + c + sum(named.values())

    given = {"c": 2.0, "d": 3.0}
    return Case(
        lambda x: inner(x, 2.0, *[1.0, 2.0], **given), *item(given, "e", 5.0), looks_at=given
    )


@program
def deleted_names() -> Case:
    def fn(x: Any) -> Any:
        y = x + 1
        del y
        try:
            return y  # noqa: F821  what is tested
        except UnboundLocalError as e:
            return x * 2, type(e).__name__

    return Case(fn)


@program
def comparison_chains() -> Case:
    state = Box(a=1.0, b=2.0)

    def fn(x: Any) -> Any:
        n = x.shape[0]
        return x + 1 if 1 < n <= 4 != state.a < state.b else x - 1

    return Case(fn, *attribute(state, "b", 0.0, 9.0))


@program
def text_of_every_kind() -> Case:
    state = Box(n=3, f=0.5, s="a")

    def fn(x: Any) -> Any:
        texts = [
            f"{state.n:>5}|{state.f:.3f}|{state.s!r:^9}|{x.shape[0]:03d}",
            "%s %d %5.2f" % (state.s, state.n, state.f),  # noqa: UP031  what is tested
            "{0} {k}".format(state.n, k=state.s),  # noqa: UP030, UP032  what is tested
            state.s.join(["x", "y"]).upper().center(9, "*"),
        ]
        return x * len("".join(texts)), texts[3]

    return Case(fn, *attribute(state, "s", "bcd"), exported=False)
