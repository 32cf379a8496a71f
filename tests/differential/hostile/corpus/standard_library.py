"""Classes and functions of the standard library, with state that changes between calls."""

from __future__ import annotations

import contextvars
import dataclasses
import enum
import functools
import math
import typing
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch
from torch import nn

from tests.differential.hostile.program import Box, Case, attribute, matrix, program


# --- dataclasses with defaults
@program
def dc_default_class_attr():
    @dataclasses.dataclass
    class C:
        k: float = 2.0
        xs: list = dataclasses.field(default_factory=list)

    def f(x):
        c = C()
        c.xs.append(x * c.k)
        return c.xs[0], dataclasses.asdict(C(k=c.k + 1))["k"]

    def ch(v):
        def g():
            C.__init__.__defaults__ = (v, C.__init__.__defaults__[1])

        return g

    return Case(f, ch(3.0), ch(4.0), ch(5.0))


@program
def dc_replace():
    @dataclasses.dataclass(frozen=True)
    class C:
        k: float = 2.0
        n: int = 1

    b = Box(c=C())

    def f(x):
        c = dataclasses.replace(b.c, n=x.shape[0])
        return x * c.k + c.n, c == C(2.0, 3), hash(c) == hash(C(2.0, 3))

    return Case(f, lambda: setattr(b, "c", C(3.0)), lambda: setattr(b, "c", C(4.0)))


@program
def dc_post_init():
    log = []

    @dataclasses.dataclass
    class C:
        k: float

        def __post_init__(self):
            log.append(self.k)
            self.k2 = self.k * scale.v

    scale = Box(v=1.0)

    def f(x):
        return x * C(3.0).k2, len(log)

    return Case(f, *attribute(scale, "v", 2.0, 3.0))


@program
def dc_fields_order():
    @dataclasses.dataclass(order=True)
    class C:
        a: int
        b: float = dataclasses.field(compare=False, default=0.0)

    s = [C(3, 1.0), C(1, 2.0), C(2, 3.0)]

    def f(x):
        return x * max(s).b + sorted(s)[0].b

    def ch(v):
        return lambda: setattr(s[0], "a", v)

    return Case(f, ch(0), ch(5), ch(1))


# --- singledispatch
@program
def single_dispatch():
    @functools.singledispatch
    def g(a):
        return 1.0

    @g.register
    def _(a: int):
        return 2.0

    b = Box(v=1)

    def f(x):
        return x * g(b.v) * g(x.shape[0])

    def reg():
        @g.register(str)
        def _(a):
            return 7.0

    return Case(
        f,
        lambda: setattr(b, "v", "s"),
        reg,
        lambda: setattr(b, "v", 1.5),
        lambda: g.register(int, lambda a: 11.0),
    )


@program
def single_dispatch_tensor():
    @functools.singledispatch
    def g(a):
        return 1.0

    @g.register(torch.Tensor)
    def _(a):
        return a.sum()

    def f(x):
        return x * g(x)

    return Case(
        f,
        lambda: g.register(torch.Tensor, lambda a: a.mean()),
        lambda: g.register(nn.Parameter, lambda a: 0.0),
    )


@program
def single_dispatch_method():
    class A:
        def __init__(self):
            self.k = 2.0

        @functools.singledispatchmethod
        def g(self, a):
            return self.k

        @g.register
        def _(self, a: int):
            return self.k * a

        @g.register
        def _(self, a: torch.Tensor):
            return self.k * a.sum()

    a = A()

    def f(x):
        return x * a.g(x.shape[0]) + a.g(x) + a.g("s")

    return Case(f, *attribute(a, "k", 3.0, 4.0))


# --- cached_property, lru_cache, partialmethod
@program
def cached_prop_invalidated():
    class A:
        k = 2.0

        @functools.cached_property
        def c(self):
            self.n = getattr(self, "n", 0) + 1
            return self.k * 2

    a = A()

    def f(x):
        return x * a.c

    return Case(
        f,
        lambda: setattr(a, "k", 3.0),
        lambda: a.__dict__.pop("c", None),
        lambda: a.__dict__.__setitem__("c", 9.0),
        looks_at=a,
    )


@program
def cached_prop_tensor():
    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))

        @functools.cached_property
        def c(self):
            return self.w * 2

        def forward(self, x):
            return x * self.c

    a = A()
    return Case(
        a,
        lambda: a.__dict__.pop("c", None),
        lambda: setattr(a, "w", nn.Parameter(torch.ones(4) * 3)),
        lambda: a.__dict__.pop("c", None),
        args=matrix,
    )


@program
def lru_unhashable():
    @functools.lru_cache
    def g(a):
        return 1.0

    def f(x):
        try:
            return x * g([1])
        except TypeError as e:
            return x + 2, str(e)

    return Case(f)


@program
def partial_method():
    class A:
        def g(self, k, x, *, b=0.0):
            return x * k + b + self.c

        h = functools.partialmethod(g, 2.0, b=1.0)

    a = A()
    a.c = 1.0

    def f(x):
        return a.h(x)

    return Case(
        f,
        *attribute(a, "c", 3.0),
        lambda: setattr(A, "h", functools.partialmethod(A.g, 3.0)),
        lambda: setattr(A, "g", lambda s, k, x, b=0: x - k),
    )


@program
def partial_mutated_keywords():
    def g(x, k=1.0):
        return x * k

    p = functools.partial(g, k=2.0)

    def f(x):
        return p(x)

    return Case(
        f,
        lambda: p.keywords.__setitem__("k", 3.0),
        lambda: p.__setstate__((g, (), {"k": 5.0}, {})),
        lambda: p.keywords.clear(),
    )


# --- contextvars
@program
def ctxvar_token():
    v = contextvars.ContextVar("v", default=1.0)

    def f(x):
        t = v.set(v.get() + 1)
        y = x * v.get()
        v.reset(t)
        return y + v.get()

    return Case(f, lambda: v.set(5.0), lambda: v.set(7.0))


@program
def ctxvar_copy_context_run():
    v = contextvars.ContextVar("v", default=1.0)

    def inner(x):
        v.set(9.0)
        return x * v.get()

    def f(x):
        y = contextvars.copy_context().run(inner, x)
        return y + v.get()

    return Case(f, lambda: v.set(5.0))


@program
def ctxvar_no_default():
    v = contextvars.ContextVar("w")

    def f(x):
        try:
            return x * v.get()
        except LookupError:
            return x - v.get(4.0)

    return Case(f, lambda: v.set(5.0), lambda: v.set(6.0))


# --- enum
@program
def enum_flags():
    class P(enum.Flag):
        A = 1
        B = 2
        C = 4

    b = Box(p=P.A | P.B)

    def f(x):
        if P.C in b.p:
            return x * 4
        y = x * b.p.value
        for m in b.p:
            y = y + m.value
        return y, b.p, ~b.p

    return Case(f, *attribute(b, "p", P.B, P.C | P.A, P(0)))


@program
def enum_value_lookup():
    class M(enum.IntEnum):
        ONE = 1
        THREE = 3
        FIVE = 5

        @classmethod
        def _missing_(cls, v):
            log.append(v)
            return cls.ONE

    log = []

    def f(x):
        m = M(x.shape[0])
        return x * m, m is M.THREE, m.name

    return Case(f, looks_at=log)


@program
def enum_auto_strenum():
    class S(str, enum.Enum):
        A = "a"
        B = "b"

        def k(self):
            return {"a": 1.0, "b": 2.0}[self.value] * scale.v

    scale = Box(v=1.0)
    b = Box(s=S.A)

    def f(x):
        return x * b.s.k(), f"{b.s}", b.s == "a"

    return Case(
        f,
        lambda: setattr(b, "s", S.B),
        lambda: setattr(scale, "v", 3.0),
        lambda: setattr(b, "s", "a") or setattr(b, "s", S.A),
    )


# --- namedtuple, slots
class NT(typing.NamedTuple):
    a: typing.Any
    b: float = 2.0

    def both(self):
        return self.a * self.b


@program
def nt_result():
    b = Box(k=2.0)

    def f(x):
        t = NT(x * b.k)
        u = t._replace(b=float(x.shape[0]))
        return t, u.both(), u._asdict(), NT._make([x, 1.0]).both()

    return Case(
        f,
        *attribute(b, "k", 3.0),
        lambda: setattr(NT.__new__, "__defaults__", (7.0,)),
        cleanup=lambda: setattr(NT.__new__, "__defaults__", (2.0,)),
    )


@program
def nt_arg():
    def f(t):
        return t.a * t.b, t._replace(a=t.a + 1), isinstance(t, NT)

    n = [0]

    def mk(k):
        n[0] += 1
        return (NT(torch.arange(k) + 1.0, n[0] * 0.5),)

    return Case(f, args=mk)


@program
def slots_del():
    class S:
        __slots__ = ("a", "b", "__weakref__")

    s = S()
    s.a = 2.0

    def f(x):
        try:
            return x * s.b
        except AttributeError:
            s.b = s.a + 1
            return x - s.a

    def d():
        del s.b

    return Case(f, d, lambda: setattr(s, "a", 7.0), d, looks_at=s)


# --- walrus, nested scopes
@program
def walrus_scopes():
    b = Box(k=2.0)

    def f(x):
        n = 1
        ys = [n := n + i for i in range(3) if (m := i * b.k) > 0]
        zs = {k: (lambda k=k: k * m)() for k in ys}
        return x * sum(ys) + m, n, zs

    return Case(f, *attribute(b, "k", 3.0, 4.0))


@program
def nested_comp_late():
    def f(x):
        fs = [lambda: i for i in range(3)]
        gs = [[j * i for j in range(i)] for i in range(x.shape[0] % 4)]
        return x * fs[0](), gs

    return Case(f)


@program
def class_scope_comp():
    G = Box(k=2)

    def f(x):
        class A:
            n = 3
            l = [i * G.k for i in range(n)]

        return x * sum(A.l)

    return Case(f, *attribute(G, "k", 3, 4))


# --- except*
@program
def except_star():
    b = Box(e=[ValueError("a"), TypeError("b")])

    def f(x):
        y = x
        try:
            if b.e:
                raise ExceptionGroup("g", b.e)
        except* ValueError as g:
            y = y * len(g.exceptions)
        except* TypeError as g:
            y = y + 10 * len(g.exceptions)
        return y

    return Case(
        f,
        lambda: setattr(b, "e", [ValueError("a"), ValueError("c")]),
        lambda: setattr(b, "e", []),
        lambda: setattr(b, "e", [KeyError(1)]),
    )


@program
def except_star_shape():
    def f(x):
        errs = []
        for k in (2, 3):
            try:
                errs.append(x.view(k, -1).sum())
            except RuntimeError as e:
                errs.append(e)
        bad = [e for e in errs if isinstance(e, Exception)]
        try:
            if bad:
                raise ExceptionGroup("g", bad)
        except* RuntimeError as g:
            errs[0] = -len(g.exceptions)
        return x + errs[0]

    return Case(f)


@program
def exc_notes_context():
    def f(x):
        try:
            try:
                x.view(7, 7)
            except RuntimeError as e:
                e.add_note("n")
                raise ValueError("outer") from e
        except ValueError as v:
            return (
                x * 2,
                len(v.__cause__.__notes__),
                v.__context__ is v.__cause__,
                v.__suppress_context__,
            )
        return x

    return Case(f)


@program
def exc_finally_override():
    b = Box(k=1)

    def g(x):
        try:
            if b.k > 1:
                raise ValueError("v")
            return x * 2
        finally:
            b.k += 1
            if b.k > 3:
                return x * 3

    def f(x):
        try:
            return g(x)
        except ValueError:
            return x * 5

    return Case(f, looks_at=b)


@program
def exc_traceback_object():
    def f(x):
        try:
            raise KeyError(x.shape[0])
        except KeyError as e:
            return x * e.args[0], e.__traceback__.tb_lineno > 0, repr(e)

    return Case(f)


# --- async
@program
def async_fn():
    b = Box(k=2.0)

    async def g(x):
        return x * b.k

    async def h(x):
        return await g(x) + 1

    def f(x):
        c = h(x)
        try:
            c.send(None)
        except StopIteration as e:
            return e.value

    return Case(f, *attribute(b, "k", 3.0, 4.0))


# --- fractions
@program
def fraction_state():
    b = Box(q=Fraction(1, 3))

    def f(x):
        b.q += Fraction(1, x.shape[0] or 1)
        return x * float(b.q), b.q.limit_denominator(4)

    return Case(f, lambda: setattr(b, "q", Fraction(5, 7)), looks_at=b)


@program
def fraction_of_size():
    def f(x):
        q = Fraction(x.shape[0], 6)
        return x * q.numerator + q.denominator, q > Fraction(1, 2), round(q), math.floor(q)

    return Case(f)


@program
def decimal_of_size():
    def f(x):
        d = Decimal(x.shape[0]) / Decimal(3)
        return x * float(d), str(d.quantize(Decimal("0.01")))

    return Case(f)


# --- numpy arrays as state
@program
def np_state_inplace():
    a = np.array([1.0, 2.0])

    def f(x):
        a[0] += x.shape[0]
        return x * float(a[0]) + a.sum().item()

    return Case(f, lambda: a.__setitem__(1, 5.0), looks_at=a)


@program
def np_state_view():
    a = np.arange(6.0)
    v = a[2:4]

    def f(x):
        return x * float(v.sum())

    return Case(
        f, lambda: a.__setitem__(2, 50.0), lambda: a.__setitem__(5, 50.0), lambda: v.fill(1.0)
    )


@program
def np_scalar_types():
    b = Box(k=np.float32(2.5))

    def f(x):
        y = x * b.k
        return y, y.dtype, b.k + 1, type(b.k + 1).__name__

    return Case(f, *attribute(b, "k", np.float64(2.5), np.int64(3), np.bool_(True), 2.5))


@program
def np_structured():
    a = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
    a["a"] = [1.5, 2.5]

    def f(x):
        return x * float(a["a"][1]) + int(a[0]["b"])

    return Case(f, lambda: a["b"].__setitem__(0, 3), lambda: a["a"].__setitem__(1, 7.5))


@program
def np_from_tensor_and_back():
    def f(x):
        a = x.numpy()
        a = np.concatenate([a, a])
        return torch.from_numpy(a) * 2, a.shape

    return Case(f)


@program
def np_object_array():
    a = np.array([1.0, "s", None], dtype=object)

    def f(x):
        return x * a[0], a[1]

    return Case(f, lambda: a.__setitem__(0, 3.0), lambda: a.__setitem__(1, "t"))


@program
def np_errstate():
    a = np.array([0.0])

    def f(x):
        with np.errstate(divide="raise"):
            try:
                k = float((1.0 / a)[0])
            except FloatingPointError:
                k = -1.0
        return x * k

    return Case(f, lambda: a.__setitem__(0, 2.0), lambda: a.__setitem__(0, 0.0))
