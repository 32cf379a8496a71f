"""Objects that Python's own protocols build, copy, match, name and drop in unusual ways."""

import array
import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import inspect
import io
import logging
import operator
import pickle
import string
import sys
import textwrap
import threading
import types
import typing
import warnings
import weakref

import torch

from tests.differential.hostile.program import (
    Box,
    Call,
    Case,
    attribute,
    body,
    item,
    matrix,
    program,
)

STATE = Box(k=2.0, name="a", flag=True, rows={"a": 1.0, "b": 2.0, "c": 3.0}, log=[])
VARIABLE = contextvars.ContextVar("VARIABLE", default=1.0)
LOCAL = threading.local()
LOCAL.k = 2.0


class Named:
    """A descriptor that knows its name and keeps values under another."""

    def __set_name__(self, owner, name):
        self.slot = f"_{name}_{STATE.name}"

    def __get__(self, o, kind=None):
        return self if o is None else getattr(o, self.slot, STATE.k)

    def __set__(self, o, value):
        setattr(o, self.slot, value)


class Holder:
    first = Named()
    second = Named()


@program
def descriptor_with_a_name():
    o = Holder()

    def f(x):
        o.first = o.second + 1
        return x * o.first

    rename = lambda: setattr(Holder.__dict__["second"], "slot", "_first_a")  # noqa: E731
    return Case(f, rename, *attribute(STATE, "k", 5.0), looks_at=o)


@program
def generator_closed_in_the_middle():
    def parts(x):
        try:
            got = yield x * STATE.k
            while True:
                got = yield x * got
        except KeyError as e:
            yield x - e.args[0]
        finally:
            STATE.log.append("closed")

    def f(x):
        g = parts(x)
        a, b = next(g), g.send(3.0)
        c = g.throw(KeyError(x.size(0)))
        g.close()
        return a, b, c, g.gi_frame is None

    return Case(f, *attribute(STATE, "k", 5.0), looks_at=STATE)


@program
def delegated_generator():
    def inner():
        total = 0
        while (got := (yield total)) is not None:
            total += got
        return total * STATE.k

    def outer(out):
        out.append((yield from inner()))
        yield "done"

    def f(x):
        out = []
        g = outer(out)
        next(g)
        g.send(x.size(0))
        g.send(2)
        last = g.send(None)
        return x * out[0], last

    return Case(f, *attribute(STATE, "k", 5.0))


class Later:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        got = yield self.value
        return got * STATE.k


@program
def awaitable_driven_by_hand():
    async def part(x):
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(STATE.log.append, "left")
            return x * await Later(x.size(0))

    def f(x):
        c = part(x)
        asked = c.send(None)
        try:
            c.send(asked + 1)
        except StopIteration as e:
            return e.value

    return Case(f, *attribute(STATE, "k", 5.0), looks_at=STATE)


@program
def stack_of_many_kinds():
    @contextlib.contextmanager
    def block(name):
        STATE.log.append(f"in {name}")
        try:
            yield STATE.k
        finally:
            STATE.log.append(f"out {name}")

    def f(x):
        with contextlib.ExitStack() as stack:
            k = stack.enter_context(block("a"))
            stack.push(lambda *error: STATE.log.append(error[0] is None) or True)
            stack.callback(STATE.log.append, x.size(0))
            moved = stack.pop_all()
        with moved:
            if x.size(0) > 2:
                raise ValueError(k)
            return x * k
        return x - k

    return Case(f, *attribute(STATE, "k", 5.0), looks_at=STATE)


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Frozen:
    rank: int
    k: float = dataclasses.field(default=1.0, compare=False)
    parts: tuple = dataclasses.field(default=(), repr=False, kw_only=True)

    def with_more(self, n):
        return dataclasses.replace(self, rank=self.rank + n, parts=(*self.parts, n))


@program
def frozen_and_slotted():
    state = Box(of=Frozen(1, 2.0))

    def f(x):
        one = state.of.with_more(x.size(0))
        two = (
            copy.replace(one, k=4.0)
            if hasattr(copy, "replace")
            else dataclasses.replace(one, k=4.0)
        )
        state.of = max(state.of, Frozen(2))
        return x * one.k, one == two, one < Frozen(3), repr(two), hash(one) == hash(two), two

    return Case(f, *attribute(state, "of", Frozen(5, 3.0)), looks_at=state)


class Mood(enum.Flag):
    CALM = enum.auto()
    GLAD = enum.auto()
    BOTH = CALM | GLAD


@body(*attribute(STATE, "flag", False, True))
def flags_of_a_mood(x):
    mood = Mood.CALM if STATE.flag else Mood.BOTH
    mood |= Mood.GLAD if x.size(0) > 2 else Mood(0)
    return (
        x * len([*mood]),
        mood.name,
        (mood & ~Mood.CALM) == Mood.GLAD,
        bool(mood ^ mood),
        {mood: 1},
    )


@program
def generic_function_that_grows():
    @functools.singledispatch
    def scale(v, x):
        return x

    @scale.register
    def _(v: int, x):
        return x * v

    @scale.register(list)
    def _(v, x):
        return x * len(v)

    def f(x):
        return scale(x.size(0), x), scale([1, 2], x), scale("s", x), scale(True, x)

    def more():
        scale.register(bool, lambda v, x: x * 100)

    return Case(f, more, lambda: scale.register(str, lambda v, x: x * 9))


class Shapes:
    @functools.singledispatchmethod
    def area(self, v):
        return self.k

    @area.register
    def _(self, v: torch.Tensor):
        return v.sum() * self.k

    k = 3.0


@program
def generic_method():
    o = Shapes()
    return Case(lambda x: (o.area(x), o.area(x.size(0))), *attribute(Shapes, "k", 4.0))


@program
def finalizer_of_an_inner_object():
    log = []

    def f(x):
        class Part:
            pass

        p = Part()
        stop = weakref.finalize(p, log.append, x.size(0))
        alive = stop.alive
        del p
        return x * 2, alive, stop.alive

    return Case(f, looks_at=log)


@program
def finalizer_detached():
    class Part:
        pass

    part, log = Part(), []

    def f(x):
        stop = weakref.finalize(part, log.append, 1)
        kept = stop.peek()
        stop.detach()
        return x, kept[1] is log.append or kept[1] == log.append

    return Case(f, looks_at=log)


class Copied:
    made = 0

    def __init__(self, t):
        self.t = t

    def __deepcopy__(self, memo):
        Copied.made += 1
        return Copied(copy.deepcopy(self.t, memo) * STATE.k)

    def __copy__(self):
        return Copied(self.t + STATE.k)


@body(*attribute(STATE, "k", 5.0), looks_at=Copied)
def copies_by_own_rules(x):
    o = Copied(x)
    pair = [o, o, {"x": x}]
    deep = copy.deepcopy(pair)
    return copy.copy(o).t, deep[0].t, deep[0] is deep[1], deep[2]["x"] is x


class Packed:
    def __init__(self, n):
        self.n = n

    def __reduce__(self):
        return _unpack, (self.n, STATE.name)


def _unpack(n, name):
    made = Packed(n)
    made.name = f"{name}{STATE.k}"
    return made


@body(*attribute(STATE, "k", 5.0))
def pickled_by_own_rules(x):
    o = pickle.loads(pickle.dumps(Packed(4)))
    return x * o.n, o.name


@body(*attribute(STATE, "name", "b", "c"))
def dispatch_on_a_signature(x):
    def one(a, *, b=1):
        return a + b

    def two(c, /, *d, **e):
        return c * len(e)

    made = []
    for g in (one, two):
        s = inspect.signature(g)
        bound = s.bind(x, **{STATE.name: 2.0}) if "b" not in s.parameters else s.bind_partial(x)
        bound.apply_defaults()
        made.append((g(*bound.args, **bound.kwargs), str(s), [*bound.arguments]))
    return made


class Registering:
    known: typing.ClassVar = {}

    def __init_subclass__(cls, /, scale=1.0, **more):
        super().__init_subclass__(**more)
        cls.scale = scale * STATE.k
        Registering.known[cls.__name__] = cls


@body(*attribute(STATE, "k", 5.0), looks_at=Registering)
def subclass_made_with_keywords(x):
    class Made(Registering, scale=3.0):
        pass

    return x * Made.scale, [*Registering.known], Made.__qualname__.split(".")[-1]


class Single(type):
    kept: typing.ClassVar = {}

    def __call__(cls, *args):
        if cls not in Single.kept:
            Single.kept[cls] = super().__call__(*args)
        Single.kept[cls].calls += 1
        return Single.kept[cls]

    def __getitem__(cls, i):
        return cls().k * i

    def __len__(cls):
        return len(Single.kept)


class Lone(metaclass=Single):
    def __init__(self):
        self.k, self.calls = STATE.k, 0


@body(lambda: Single.kept.clear(), *attribute(STATE, "k", 5.0), looks_at=Single)
def metaclass_that_calls(x):
    return x * Lone().k, Lone() is Lone(), Lone[3], len(Lone)


class Row(typing.NamedTuple):
    t: torch.Tensor
    k: float = 2.0
    more: list = []  # noqa: RUF012  the shared default is the point

    def scaled(self):
        return self._replace(t=self.t * self.k, k=STATE.k)


@body(lambda: Row._field_defaults["more"].append(1), *attribute(STATE, "k", 5.0))
def named_tuple_with_defaults(x):
    row = Row(x).scaled()
    row.more.append(x.size(0))
    match row:
        case Row(t, k) if k > 3:
            return t, k, row._asdict()["k"], Row._make([x, 1]).more is row.more if False else row
        case (t, k, [*_, last]):
            return t, k, last, row


@body(*item(STATE.rows, "b", 0.0, 9.0))
def order_by_an_outside_table(x):
    names = sorted("abc", key=lambda n: (STATE.rows[n], n))
    best = max(STATE.rows, key=STATE.rows.get)
    return (
        x * STATE.rows[names[0]],
        names,
        best,
        min(STATE.rows.items(), key=operator.itemgetter(1)),
    )


@body(args=matrix)
def memory_of_typed_arrays(x):
    a = array.array("l", [*x.shape, 7])
    view = memoryview(a)
    view[0] += 1
    a2 = array.array("d", (float(n) for n in x.shape))
    return x * a[0], view.tolist(), a2.tobytes(), view.itemsize, a.index(7)


@body(args=matrix)
def memory_cast_and_sliced(x):
    b = bytearray(8)
    v = memoryview(b).cast("H")
    v[1] = x.size(0)
    v[2:4] = v[0:2]
    return bytes(b), x + v[1], v.nbytes, v.readonly


@program
def warnings_by_filter():
    def warn(x):
        warnings.warn(f"size {x.size(0)}", UserWarning, stacklevel=2)
        return x * STATE.k

    def f(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("error" if STATE.flag else "always")
            try:
                y = warn(x)
            except UserWarning as e:
                return x - 1, str(e)
        return y, [str(w.message) for w in caught]

    return Case(f, *attribute(STATE, "flag", False, True))


class Keeping(logging.Handler):
    def __init__(self):
        super().__init__()
        self.kept = []

    def emit(self, record):
        self.kept.append((record.levelname, record.getMessage(), record.args))

    def filter(self, record):
        return STATE.flag


@program
def records_captured_by_a_handler():
    log = logging.getLogger(f"hostile.{__name__}")
    handler = Keeping()
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(logging.INFO)

    def f(x):
        log.info("rows %d", x.size(0))
        log.debug("never %s", x)
        return x * (2 if log.isEnabledFor(logging.DEBUG) else 3), len(handler.kept)

    return Case(f, *attribute(STATE, "flag", False, True), lambda: log.setLevel(logging.DEBUG),
                looks_at=handler.kept)  # fmt: skip


@program
def context_copied_and_run():
    def part(x):
        VARIABLE.set(VARIABLE.get() + 1)
        return x * VARIABLE.get()

    def f(x):
        held = contextvars.copy_context()
        y = held.run(part, x)
        return y, VARIABLE.get(), held[VARIABLE], VARIABLE in held, len([*held]) > 0

    return Case(f, lambda: VARIABLE.set(5.0))


@program
def local_of_a_thread():
    def f(x):
        LOCAL.seen = getattr(LOCAL, "seen", 0) + 1
        return x * LOCAL.k, LOCAL.seen, sorted(vars(LOCAL))

    return Case(f, *attribute(LOCAL, "k", 7.0), lambda: delattr(LOCAL, "seen"))


@program
def recursion_that_is_caught():
    def deep(n):
        return deep(n + 1) + 1

    def f(x):
        try:
            return x * deep(0)
        except RecursionError as e:
            return x * STATE.k, type(e).__name__

    return Case(f, *attribute(STATE, "k", 5.0))


@program
def recursion_limit_is_read():
    def f(x):
        return x * (sys.getrecursionlimit() % 7)

    limit = sys.getrecursionlimit()
    return Case(
        f, lambda: sys.setrecursionlimit(limit + 3), cleanup=lambda: sys.setrecursionlimit(limit)
    )


@body(*attribute(STATE, "flag", False, True))
def groups_with_notes(x):
    try:
        errors = [ValueError(x.size(0)), KeyError("k")]
        errors[0].add_note(f"flag {STATE.flag}")
        raise ExceptionGroup("both", errors if STATE.flag else errors[:1])
    except* ValueError as g:
        kept = g.exceptions[0].__notes__
        y = x * 2
    except* KeyError:
        y = y + 1
    return y, kept


@program
def keywords_in_any_order():
    orders = iter([("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")] * 9)

    def f(x, **named):
        return [k for k in named], x * named["a"] - named["b"], named

    def args(n):
        return Call((torch.ones(n),), {k: float(ord(k)) for k in next(orders)})

    return Case(f, args=args)


@program
def default_that_many_share():
    def one(x, seen=[]):  # noqa: B006
        seen.append(x.size(0))
        return x * len(seen)

    two = types.FunctionType(one.__code__, one.__globals__, "two", one.__defaults__)

    def f(x):
        return one(x), two(x), one.__defaults__ is two.__defaults__

    return Case(f, lambda: one.__defaults__[0].clear(), looks_at=(one, two))


@program
def nonlocal_chain_rebound():
    def make():
        total, step = 0, 1

        def outer(x):
            nonlocal total

            def inner():
                nonlocal step, total
                step, total = step * 2, total + step

            inner()
            inner()
            return x * total + step

        def reset():
            nonlocal step
            step = 1

        return outer, reset

    f, reset = make()
    return Case(lambda x: f(x), reset)


@body(*attribute(STATE, "k", 3.0, 0.0))
def walrus_in_comprehensions(x):
    total = 0
    rows = [total := total + n for n in range(x.size(0)) if (last := n) >= STATE.k]
    named = {(k := f"r{n}"): n for n in x.shape}
    return x + total, rows, named, k, last if x.size(0) else None


@body(*attribute(STATE, "k", 3.0, 0.0))
def match_with_guards(x):
    match x.shape, STATE.rows:
        case (n,), {"b": b, **rest} if n > STATE.k:
            return x * b, rest
        case [(n,), dict(rows)] if len(rows) > 2:
            return x - n, rows
        case _:
            return x


@body(*attribute(STATE, "flag", False, True))
def finally_that_overrides(x):
    def part():
        for i in range(3):
            try:
                if i == 1:
                    return "tried"
            finally:
                STATE.log.append(i)
                if STATE.flag:
                    continue
                if x.size(0) > 2:
                    return "finally"
        else:
            return "else"

    return part(), x, len(STATE.log)


@program
def deleted_in_every_way():
    o = Box(a=1.0, rows={"a": 1, "b": 2}, items=[1, 2, 3, 4])

    def f(x):
        k = o.a if hasattr(o, "a") else 7.0
        if hasattr(o, "a"):
            del o.a
        o.rows.pop("z", None)
        if "b" in o.rows:
            del o.rows["b"]
        del o.items[::2]
        y = x * k
        del k
        try:
            return y + k
        except UnboundLocalError:
            return y, len(o.items)

    def again():
        o.a, o.rows["b"] = 3.0, 4
        o.items.extend([1, 2, 3])

    return Case(f, again, looks_at=o)


@body(lambda: STATE.rows.__setitem__("d", 4.0), lambda: STATE.rows.pop("a", 0))
def star_of_dict_views(x):
    first, *rest = STATE.rows.items()
    *names, last = STATE.rows
    a, *_ = reversed(STATE.rows.values())
    return x * a, first, rest, names, last, {*STATE.rows.keys()} & {"a", "d"}, [*(STATE.rows | {})]


@program
def object_that_formats_itself():
    class Text:
        def __format__(self, how):
            return f"{how}{STATE.k}"

        def __str__(self):
            return f"<{STATE.name}>"

    t = Text()

    def f(x):
        return (
            x,
            f"{t:>3}",
            f"{t!s}",
            "{0:abc}{0}".format(t),
            string.Template("$a b").substitute(a=t),
        )

    return Case(f, *attribute(STATE, "k", 5.0), *attribute(STATE, "name", "q"))


@program
def proxy_of_attributes():
    class Proxy:
        def __init__(self, of):
            object.__setattr__(self, "of", of)

        def __getattr__(self, name):
            return getattr(object.__getattribute__(self, "of"), name)

        def __setattr__(self, name, value):
            setattr(self.of, name, value * 2)

        def __delattr__(self, name):
            setattr(self.of, name, None)

    target = Box(k=2.0, old=1)
    p = Proxy(Proxy(target))

    def f(x):
        y = x * p.k
        p.k = x.size(0)
        del p.old
        return y, p.k, p.old

    return Case(f, *attribute(target, "k", 5.0), looks_at=target)


@program
def text_kept_in_a_buffer():
    out = io.StringIO()

    def f(x):
        with contextlib.redirect_stdout(out):
            print("rows", x.size(0), end=";")
        at = out.tell()
        print(textwrap.shorten("a b c d", 3 + int(STATE.k)), file=out)
        return x * at

    return Case(f, *attribute(STATE, "k", 4.0), looks_at=out)


@program
def mapping_that_makes_what_is_missing():
    class Table(collections.UserDict):
        def __missing__(self, key):
            self.data[key] = len(self.data) * STATE.k
            return self.data[key]

    table = Table()

    def f(x):
        return x * table[x.size(0)] + table["k"], len(table), table.get("none", 3)

    return Case(f, *attribute(STATE, "k", 4.0), lambda: table.clear(), looks_at=table.data)


@program
def annotations_that_decide():
    @dataclasses.dataclass
    class Made:
        k: "float"
        n: int = 3

    def f(x):
        kinds = typing.get_type_hints(Made)
        return x * len(kinds), [*Made.__annotations__], kinds["n"] is int, Made(STATE.k).k

    return Case(
        f, lambda: Made.__annotations__.__setitem__("more", int), *attribute(STATE, "k", 5.0)
    )
