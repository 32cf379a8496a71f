"""Where control goes: generators driven by hand, coroutines, blocks in stacks, errors with companions."""

import contextlib
import contextvars

import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program

LOG = []
VAR = contextvars.ContextVar("var", default=1.0)


def accumulate(start):
    total = start
    try:
        while True:
            try:
                got = yield total
            except KeyError as e:
                LOG.append(str(e))
                got = None
            total = total + (1 if got is None else got)
    finally:
        LOG.append("closed")


@program
def generator_sent_and_thrown_into():
    def fn(x):
        g = accumulate(x * 0)
        next(g)
        a = g.send(x)
        b = g.throw(KeyError("k"))
        c = g.send(x.shape[0])
        g.close()
        return a, b, c, len(LOG), next(g, "ended")

    return Case(fn, LOG.clear, looks_at=LOG)


@program
def generator_kept_between_calls():
    held = Box(g=None)

    def fn(x):
        if held.g is None:
            held.g = accumulate(0.0)
            next(held.g)
        return x * held.g.send(2.0)

    return Case(fn, lambda: held.g.close() and None, looks_at=LOG, sizes=())


@program
def generator_whose_return_value_is_used():
    def inner(x):
        got = yield x + 1
        return x * got

    def outer(x):
        r = yield from inner(x)
        LOG.append(tuple(r.shape))
        return r + 1

    def fn(x):
        g = outer(x)
        a = next(g)
        try:
            g.send(3.0)
        except StopIteration as e:
            return a, e.value, e.args[0] is e.value

    return Case(fn, LOG.clear, looks_at=LOG)


@program
def coroutine_driven_by_hand():
    class Later:
        def __init__(self, v):
            self.v = v

        def __await__(self):
            got = yield self.v
            return got

    async def work(x):
        LOG.append("start")
        a = await Later(x)
        b = await Later(a + 1)
        return a * b

    def fn(x):
        c = work(x)
        first = c.send(None)
        second = c.send(first * 2)
        try:
            c.send(second)
        except StopIteration as e:
            return e.value, second
        finally:
            c.close()

    return Case(fn, LOG.clear, looks_at=LOG)


@program
def asynchronous_generator_by_hand():
    async def rows(x):
        for k in range(x.shape[0]):
            yield x[k]

    async def total(x):
        found = 0
        async for r in rows(x):
            found = found + r
        return found

    def fn(x):
        try:
            total(x).send(None)
        except StopIteration as e:
            return e.value * x

    return Case(fn)


class Logged:
    def __init__(self, name, handles=()):
        self.name, self.handles = name, handles

    def __enter__(self):
        LOG.append(f"in {self.name}")
        return self

    def __exit__(self, kind, error, trace):
        LOG.append((f"out {self.name}", None if kind is None else kind.__name__))
        return kind is not None and issubclass(kind, self.handles)


@program
def stack_of_blocks():
    wanted = {"n": 2}

    def fn(x):
        with contextlib.ExitStack() as stack:
            blocks = [stack.enter_context(Logged(k)) for k in range(wanted["n"])]
            stack.callback(LOG.append, x.shape[0])
            stack.push(lambda *e: LOG.append(e[0]))
            y = x * len(blocks)
            if x.shape[0] == 5:
                stack.pop_all().close()
            return y, len(LOG)

    return Case(fn, LOG.clear, *item(wanted, "n", 0, 3), looks_at=LOG)


@program
def stack_that_handles():
    def fn(x):
        y = x
        with contextlib.ExitStack() as stack:
            stack.enter_context(Logged("outer", (ZeroDivisionError,)))
            stack.enter_context(Logged("inner", (KeyError,)))
            y = x + 1
            y = y * (6 // (x.shape[0] - 3))
        return y

    return Case(fn, LOG.clear, looks_at=LOG)


@contextlib.contextmanager
def scaled(x, by):
    LOG.append("enter")
    try:
        yield x * by
    except ValueError as e:
        LOG.append(str(e))
    else:
        LOG.append("fine")
    finally:
        LOG.append("exit")


@program
def block_from_a_generator():
    def fn(x):
        with scaled(x, x.shape[0]) as y, scaled(y, 2) as z:
            if x.shape[0] > 4:
                raise ValueError(f"{x.shape[0]} rows")
            z = z + 1
        return y, z

    return Case(fn, LOG.clear, looks_at=LOG)


@program
def block_as_a_decorator():
    class Deco(contextlib.ContextDecorator):
        depth = 0

        def __enter__(self):
            Deco.depth += 1

        def __exit__(self, *_):
            Deco.depth -= 1

    @Deco()
    def inner(x, n):
        return x * Deco.depth if n == 0 else inner(x, n - 1)

    return Case(lambda x: (inner(x, x.shape[0] % 3), Deco.depth), lambda: setattr(Deco, "depth", 5),
                looks_at=Deco)  # fmt: skip


@program
def finally_that_returns():
    def inner(x):
        try:
            if x.shape[0] > 2:
                raise ValueError("big")
            return x + 1
        except ValueError:
            return x + 2
        finally:
            LOG.append(x.shape[0])
            if x.shape[0] == 5:
                return x * 100

    return Case(lambda x: inner(x), LOG.clear, looks_at=LOG)


@program
def finally_that_breaks_and_continues():
    def fn(x):
        y = x
        for k in range(5):
            try:
                if k == 1:
                    continue
                y = y + k
                if k == x.shape[0]:
                    raise KeyError
            except KeyError:
                y = y * 2
            finally:
                LOG.append(k)
                if k == 3:
                    break
        else:
            LOG.append("else")
        return y

    return Case(fn, LOG.clear, looks_at=LOG)


@program
def errors_with_causes_and_notes():
    def fail(n):
        try:
            return [1, 2][n]
        except IndexError as e:
            error = LookupError(f"no {n}")
            error.add_note(f"of {n} rows")
            raise error from e

    def fn(x):
        try:
            return x * fail(x.shape[0] - 2)
        except LookupError as e:
            told = (str(e), e.__notes__, type(e.__cause__).__name__, e.__context__ is e.__cause__)
            LOG.append(told[0])
            return x, told

    return Case(fn, looks_at=LOG)


@program
def group_of_errors():
    def fn(x):
        found = []
        errors = [ValueError("v")] if x.shape[0] > 2 else []
        errors += [KeyError(x.shape[0]), ExceptionGroup("in", [TypeError("t")])]
        try:
            raise ExceptionGroup("all", errors)
        except* ValueError as g:
            found.append(("value", len(g.exceptions)))
            x = x + 1
        except* (KeyError, TypeError) as g:
            found.append(("other", [type(e).__name__ for e in g.exceptions]))
            LOG.append(str(g))
        return x, found

    return Case(fn, looks_at=LOG)


@program
def error_that_leaves_after_effects():
    def fn(x, log=[]):
        log.append(x.shape[0])
        x.add_(1)
        if len(log) % 3 == 0:
            raise RuntimeError(f"call {len(log)}") from None
        return x * len(log)

    return Case(fn, sizes=())


@program
def error_kept_and_raised_again():
    held = Box(e=None)

    def fn(x):
        if held.e is not None and x.shape[0] == 5:
            raise held.e
        try:
            torch.ones(2) + torch.ones(3)
        except RuntimeError as e:
            held.e = ValueError("kept", len(str(e)) > 0)
        return x + 1, held.e.args

    return Case(fn, looks_at=held)


@program
def context_variables():
    held = Box(token=None)

    def put(v):
        return lambda: setattr(held, "token", VAR.set(v))

    def fn(x):
        return x * VAR.get(), contextvars.copy_context()[VAR] if held.token else None

    return Case(fn, put(3.0), put(-1.0), lambda: VAR.reset(held.token))


@program
def context_variable_set_inside():
    def fn(x):
        token = VAR.set(VAR.get() + x.shape[0])
        y = x * VAR.get()
        VAR.reset(token)
        return y, VAR.get()

    return Case(fn, lambda: VAR.set(10.0) and None)


@program
def run_in_a_context():
    ctx = contextvars.copy_context()

    def inner(x):
        VAR.set(VAR.get() * 2)
        return x * VAR.get()

    return Case(lambda x: (ctx.run(inner, x), VAR.get()))


@program
def recursion_with_state():
    depth = Box(most=0)

    def walk(x, n, path):
        depth.most = max(depth.most, len(path))
        if n == 0 or not x.shape[0]:
            return x, tuple(path)
        path.append(n)
        try:
            return walk(x[1:] if n % 2 else x * 2, n - 1, path)
        finally:
            path.pop()

    return Case(
        lambda x: walk(x, x.shape[0] + 1, []), *attribute(depth, "most", 100, 0), looks_at=depth
    )


@program
def mutual_recursion_through_globals():
    rules = {}

    def even(x, n):
        return x if n == 0 else rules["odd"](x + 1, n - 1)

    def odd(x, n):
        return x * 0 if n == 0 else rules["even"](x * 2, n - 1)

    rules.update(even=even, odd=odd)
    return Case(
        lambda x: rules["even"](x, x.shape[0]), *item(rules, "odd", even, odd, lambda x, n: x - 7)
    )


@program
def loop_with_walrus_and_else():
    state = Box(left=3)

    def fn(x):
        while (n := state.left) > 0:
            state.left -= 1
            x = x + n
            if n == x.shape[0]:
                break
        else:
            x = x * 2
        return x, [last := k for k in range(x.shape[0])], last if x.shape[0] else None

    return Case(fn, *attribute(state, "left", 3, 5), looks_at=state, sizes=(1,))
