"""Descriptors, metaclasses, generators, contexts, flags of the process, unusual tensors."""

from __future__ import annotations

import abc
import collections
import contextlib
import inspect
import io
import itertools
import operator
import os
import random
import threading
import traceback
import typing
import unittest.mock
import weakref

import numpy as np
import torch
from torch import nn

from tests.differential.hostile.program import Box, Case, attribute, item, matrix, program


# --- descriptors
@program
def desc_data():
    class D:
        def __init__(s):
            s.v = 2.0
            s.n = 0

        def __get__(s, o, t):
            s.n += 1
            return s.v * (1 if o is None else o.m)

        def __set__(s, o, v):
            o.m = v

        def __delete__(s, o):
            o.m = -1.0

    class A:
        d = D()

    a = A()
    a.m = 1.0

    def f(x):
        y = x * a.d
        a.d = a.m + 1
        if a.m > 5:
            del a.d
        return y + A.__dict__["d"].n

    return Case(f, lambda: setattr(A.__dict__["d"], "v", 3.0), looks_at=(a, A.__dict__["d"]))


@program
def desc_nondata_shadow():
    class D:
        def __get__(s, o, t):
            return 2.0

    class A:
        d = D()

    a = A()

    def f(x):
        return x * a.d

    return Case(
        f,
        lambda: a.__dict__.__setitem__("d", 5.0),
        lambda: a.__dict__.pop("d"),
        lambda: setattr(A, "d", 8.0),
        lambda: setattr(D, "__set__", lambda s, o, v: None),
    )


@program
def desc_set_name_bound():
    class D:
        def __set_name__(s, o, n):
            s.name = "_" + n

        def __get__(s, o, t):
            return getattr(o, s.name, 7.0)

    class A:
        k = D()

    a = A()

    def f(x):
        return x * a.k

    return Case(
        f, lambda: setattr(a, "_k", 2.0), lambda: setattr(a, "_k", 3.0), lambda: delattr(a, "_k")
    )


@program
def property_setter_deleter():
    class A:
        def __init__(s):
            s._k = 1.0

        @property
        def k(s):
            return s._k

        @k.setter
        def k(s, v):
            s._k = v * s.scale

        scale = 2.0

    a = A()

    def f(x):
        a.k = a.k + 1
        return x * a.k

    return Case(
        f,
        lambda: setattr(A, "scale", 3.0),
        lambda: setattr(A, "k", property(lambda s: 9.0, lambda s, v: None)),
        looks_at=a,
    )


@program
def getattribute_override():
    class A:
        k = 1.0

        def __getattribute__(s, n):
            log.append(n)
            return object.__getattribute__(s, n)

    log = []
    a = A()

    def f(x):
        return x * a.k

    return Case(f, *attribute(a, "k", 3.0), looks_at=log)


@program
def setattr_override():
    class A:
        def __setattr__(s, n, v):
            log.append((n, v))
            object.__setattr__(s, n, v * 2)

    log = []
    a = A()

    def f(x):
        a.k = x.shape[0]
        return x * a.k

    return Case(f, looks_at=(log, a))


# --- metaclasses
@program
def meta_call():
    class M(type):
        n = 0

        def __call__(c, *a):
            M.n += 1
            o = super().__call__(*a)
            o.idx = M.n
            return o

    class A(metaclass=M):
        def __init__(s, k):
            s.k = k

    def f(x):
        a = A(2.0)
        return x * a.k + a.idx

    return Case(f, lambda: setattr(M, "n", 10), looks_at=M)


@program
def meta_getattr():
    class M(type):
        def __getattr__(c, n):
            return table[n]

        def __iter__(c):
            return iter(items)

        def __len__(c):
            return len(items)

        def __contains__(c, i):
            return i in items

    table = {"k": 2.0}
    items = [1, 2]

    class A(metaclass=M):
        pass

    def f(x):
        return x * A.k + sum(A) + len(A) + (5 in A)

    return Case(f, *item(table, "k", 3.0), lambda: items.append(5), lambda: setattr(A, "k", 7.0))


@program
def meta_instancecheck():
    class M(type):
        def __instancecheck__(c, o):
            return isinstance(o, kinds[0])

    kinds = [int]

    class A(metaclass=M):
        pass

    def f(x):
        return x * (2 if isinstance(x.shape[0], A) else 3) + (1 if isinstance(x, A) else 0)

    return Case(
        f,
        lambda: kinds.__setitem__(0, torch.Tensor),
        lambda: kinds.__setitem__(0, (int, torch.Tensor)),
    )


@program
def abc_register():
    class A(abc.ABC):
        pass

    class B:
        pass

    b = B()

    def f(x):
        return x * (2 if isinstance(b, A) else 3)

    return Case(f, lambda: A.register(B))


@program
def abc_subclasshook():
    class A(abc.ABC):
        @classmethod
        def __subclasshook__(c, k):
            return True if any("foo" in q.__dict__ for q in k.__mro__) else NotImplemented

    class B:
        pass

    box = Box(o=B())

    def f(x):
        return x * (2 if isinstance(box.o, A) else 3)

    class C2:
        foo = 1

    return Case(f, lambda: setattr(box, "o", C2()), lambda: setattr(box, "o", B()))


@program
def protocol_runtime():
    @typing.runtime_checkable
    class P(typing.Protocol):
        def go(self): ...

    b = Box()

    def f(x):
        return x * (2 if isinstance(b, P) else 3)

    return Case(f, lambda: setattr(b, "go", lambda: 1), lambda: delattr(b, "go"))


@program
def init_subclass():
    reg = []

    class B:
        def __init_subclass__(c, k=1.0):
            reg.append(k)
            c.k = k

    def f(x):
        class A(B, k=2.0 + len(reg)):
            pass

        return x * A.k

    return Case(f, looks_at=reg)


@program
def class_getitem():
    class A:
        k = 2.0

        def __class_getitem__(c, i):
            log.append(i)
            return c.k * i

    log = []

    def f(x):
        return x * A[3] + A[x.shape[0]]

    return Case(f, lambda: setattr(A, "k", 3.0), looks_at=log)


@program
def generic_alias():
    T = typing.TypeVar("T")

    class A(typing.Generic[T]):
        def __init__(s, v):
            s.v = v

    b = Box(k=2.0)

    def f(x):
        a = A[int](b.k)
        return x * a.v, a.__orig_class__ == A[int], typing.get_args(list[int])

    return Case(f, *attribute(b, "k", 3.0))


@program
def mro_change():
    class P:
        k = 2.0

    class Q:
        k = 3.0

    class A(P):
        pass

    a = A()

    def f(x):
        return x * a.k

    return Case(
        f,
        lambda: setattr(A, "__bases__", (Q,)),
        lambda: setattr(Q, "k", 4.0),
        lambda: setattr(A, "__bases__", (P,)),
    )


@program
def class_swap():
    class P:
        def g(s, x):
            return x * s.k

    class Q:
        def g(s, x):
            return x + s.k

    o = P()
    o.k = 2.0

    def f(x):
        return o.g(x)

    return Case(
        f,
        lambda: setattr(o, "__class__", Q),
        lambda: setattr(o, "k", 3.0),
        lambda: setattr(o, "__class__", P),
    )


@program
def new_returns_other():
    class A:
        inst = None

        def __new__(c):
            if c.inst is None:
                c.inst = super().__new__(c)
                c.inst.n = 0
            return c.inst

        def __init__(s):
            s.n += 1

    def f(x):
        return x * A().n, A() is A.inst

    return Case(f, lambda: setattr(A, "inst", None), looks_at=A)


# --- __torch_function__
@program
def torch_function_arg():
    class W:
        def __init__(s, t):
            s.t = t

        @classmethod
        def __torch_function__(c, fn, ty, a=(), kw=None):
            log.append(fn.__name__)
            a = tuple(i.t if isinstance(i, W) else i for i in a)
            return fn(*a, **(kw or {}))

    log = []
    w = W(torch.tensor(2.0))

    def f(x):
        return torch.mul(x, w) + torch.add(w, 1)

    return Case(f, lambda: setattr(w, "t", torch.tensor(5.0)), looks_at=log)


@program
def subclass_arg():
    class S(torch.Tensor):
        pass

    def f(x):
        return x * 2, type(x * 2).__name__, isinstance(x, S)

    def mk(n):
        t = torch.arange(n) + 1.0
        return (t.as_subclass(S) if n in (3, 1) else t,)

    return Case(f, args=mk)


@program
def subclass_tf_state():
    class S(torch.Tensor):
        k = 2.0

        @classmethod
        def __torch_function__(c, fn, ty, a=(), kw=None):
            r = super().__torch_function__(fn, ty, a, kw or {})
            if fn is torch.Tensor.mul:
                return r * c.k if False else r + c.k
            return r

    w = torch.ones(3).as_subclass(S)

    def f(x):
        return x.sum() * w, w * 2

    return Case(f, lambda: setattr(S, "k", 3.0), lambda: w.fill_(7.0))


@program
def subclass_made_inside():
    class S(torch.Tensor):
        def twice(s):
            return s * 2

    def f(x):
        y = x.as_subclass(S)
        return y.twice(), type(y) is S, type(y.twice().as_subclass(torch.Tensor)) is torch.Tensor

    return Case(f)


# --- weakrefs
@program
def weak_proxy():
    class O:
        k = 2.0

    o = O()
    p = weakref.proxy(o)

    def f(x):
        p.k += 1
        return x * p.k

    return Case(f, lambda: setattr(o, "k", 30.0), looks_at=o)


@program
def finalizer_inside():
    log = []

    class O:
        pass

    def f(x):
        o = O()
        weakref.finalize(o, log.append, x.shape[0])
        del o
        return x * len(log)

    return Case(f, looks_at=log)


@program
def del_method():
    log = []

    class O:
        def __del__(s):
            log.append("d")

    def f(x):
        o = O()
        y = x * len(log)
        o = None
        return y + len(log)

    return Case(f, looks_at=log)


# --- generators
@program
def gen_send_throw():
    b = Box(k=2.0)

    def g():
        acc = 0
        while True:
            try:
                v = yield acc
            except ValueError:
                acc = -b.k
                continue
            acc = acc + v

    def f(x):
        it = g()
        next(it)
        it.send(x)
        it.send(x * b.k)
        r = it.throw(ValueError())
        s = it.send(x)
        it.close()
        return s, r

    return Case(f, *attribute(b, "k", 3.0))


@program
def gen_outside_persist():
    def g():
        k = 1.0
        while True:
            s = yield k
            k = k + 1 if s is None else s

    it = g()

    def f(x):
        return x * next(it)

    return Case(f, lambda: it.send(50.0))


@program
def gen_return_value():
    def sub(x):
        yield x * 2
        return x.shape[0]

    def g(x):
        n = yield from sub(x)
        yield x * n

    def f(x):
        return list(g(x))

    return Case(f)


@program
def gen_finally_effects():
    log = []

    def g(x):
        try:
            for i in range(5):
                yield x * i
        finally:
            log.append(x.shape[0])

    def f(x):
        for i, y in enumerate(g(x)):
            if i == 2:
                break
        return y

    return Case(f, looks_at=log)


@program
def gen_expr_late_binding():
    b = Box(l=[1.0, 2.0])

    def f(x):
        k = 1.0
        ge = (v * k for v in b.l)
        k = 5.0
        b.l.append(3.0) if len(b.l) < 4 else None
        return x * sum(ge)

    return Case(f, lambda: b.l.clear(), looks_at=b)


@program
def iter_tee_groupby():
    b = Box(l=[1, 1, 2, 3, 3])

    def f(x):
        a, c = itertools.tee(b.l)
        y = x * sum(a)
        for k, gr in itertools.groupby(c):
            y = y + k * len(list(gr))
        for p, q in itertools.pairwise(b.l):
            y = y + p * q
        return (
            y
            + sum(itertools.accumulate(b.l, operator.mul))
            + sum(itertools.chain.from_iterable([b.l, [x.shape[0]]]))
        )

    return Case(f, lambda: b.l.append(4), lambda: b.l.__setitem__(0, 7))


# --- context managers
@program
def cm_suppress_state():
    class CM:
        n = 0

        def __enter__(s):
            CM.n += 1
            return s

        def __exit__(s, *e):
            s.seen = e[0].__name__ if e[0] else None
            return CM.n % 2 == 0

    cm = CM()

    def f(x):
        try:
            with cm:
                raise ValueError("v")
            return x * 2
        except ValueError:
            return x * 3

    return Case(f, looks_at=(cm, CM))


@program
def cm_exitstack():
    log = []

    @contextlib.contextmanager
    def c(k):
        log.append(("in", k))
        try:
            yield k
        finally:
            log.append(("out", k))

    b = Box(ks=[1, 2])

    def f(x):
        with contextlib.ExitStack() as s:
            for k in b.ks:
                x = x * s.enter_context(c(k))
            s.callback(log.append, x.shape[0])
            if len(b.ks) > 2:
                s.pop_all().close()
        return x

    return Case(f, lambda: b.ks.append(3), lambda: b.ks.clear(), looks_at=log)


@program
def cm_redirect():
    def f(x):
        s = io.StringIO()
        with contextlib.redirect_stdout(s):
            print("n", x.shape[0])
        return x * 2, s.getvalue()

    return Case(f)


@program
def cm_decorator():
    b = Box(k=0)

    @contextlib.contextmanager
    def c():
        b.k += 1
        yield
        b.k += 10

    @c()
    def g(x):
        return x * b.k

    def f(x):
        return g(x) + b.k

    return Case(f, lambda: setattr(b, "k", 5), looks_at=b)


@program
def cm_chdir_env():
    def f(x):
        with unittest.mock.patch.dict(os.environ, {"ZZ_K": "3"}):
            k = int(os.environ["ZZ_K"])
        return x * k, "ZZ_K" in os.environ

    return Case(f)


@program
def mock_patch_object():
    class A:
        k = 2.0

    def f(x):
        with unittest.mock.patch.object(A, "k", 5.0):
            y = x * A.k
        return y + A.k

    return Case(f, lambda: setattr(A, "k", 3.0))


# --- threads, re-entry
@program
def thread_inside():
    out = []

    def f(x):
        t = threading.Thread(target=lambda: out.append(x * 2))
        t.start()
        t.join()
        return out[-1], threading.active_count() > 0

    return Case(f, looks_at=out)


@program
def thread_local():
    tl = threading.local()
    tl.k = 2.0

    def f(x):
        tl.n = getattr(tl, "n", 0) + 1
        return x * tl.k + tl.n

    return Case(f, lambda: setattr(tl, "k", 3.0), lambda: setattr(tl, "n", 50))


@program
def lock_inside():
    l = threading.RLock()
    b = Box(k=1)

    def f(x):
        with l:
            b.k += 1
            return x * b.k

    return Case(f, looks_at=b)


@program
def reenter():
    b = Box(fn=None, d=0)

    def f(x):
        if b.d < 2 and b.fn is not None:
            b.d += 1
            y = b.fn(x * 2)
            b.d -= 1
            return y + 1
        return x

    def d(g, x):
        b.fn = g
        try:
            return g(x)
        finally:
            b.fn = None

    return Case(f, drive=d)


@program
def queue_state():
    q = collections.deque([1.0, 2.0, 3.0], maxlen=3)

    def f(x):
        q.append(q[0] + x.shape[0])
        q.rotate(1)
        return x * q[-1]

    return Case(f, lambda: q.clear() or q.extend([5.0, 6.0]), looks_at=q)


# --- RNG
@program
def rng_fork():
    def f(x):
        with torch.random.fork_rng():
            torch.manual_seed(x.shape[0])
            a = torch.rand(2)
        return x + a[0], torch.rand(2)

    return Case(f, lambda: torch.manual_seed(5))


@program
def rng_state_roundtrip():
    b = Box(s=None)

    def f(x):
        if b.s is not None:
            torch.set_rng_state(b.s)
        b.s = torch.get_rng_state()
        return x + torch.rand(1), torch.initial_seed()

    return Case(f, lambda: torch.manual_seed(5))


@program
def rng_generator_arg():
    g = torch.Generator()

    def f(x):
        return torch.rand(x.shape, generator=g) + x, g.initial_seed()

    return Case(f, lambda: g.manual_seed(3), lambda: g.manual_seed(4))


@program
def rng_python():
    r = random.Random(3)

    def f(x):
        return x * r.random(), r.randint(0, 9), random.uniform(0, 1)

    return Case(f, lambda: r.seed(5), lambda: random.seed(5))


@program
def rng_np_gen():
    g = np.random.default_rng(3)

    def f(x):
        return x * float(g.random()), int(g.integers(5))

    return Case(f, lambda: g.standard_normal(3))


@program
def rng_dropout_p():
    d = nn.Dropout(0.5)

    def f(x):
        return d(x)

    return Case(f, *attribute(d, "p", 0.1, 0.9), lambda: torch.manual_seed(3))


# --- default dtype, device, flags
@program
def default_dtype_outside():
    def f(x):
        return (
            torch.ones(2),
            torch.tensor(1.5),
            x * torch.zeros(x.shape),
            torch.arange(0, 1, 0.5),
            torch.get_default_dtype(),
        )

    return Case(
        f,
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
        lambda: torch.set_default_dtype(torch.bfloat16),
        cleanup=lambda: torch.set_default_dtype(torch.float32),
    )


@program
def default_dtype_inside():
    def f(x):
        old = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            y = torch.ones(2) / x.shape[0] if x.shape[0] else torch.ones(2)
        finally:
            torch.set_default_dtype(old)
        return y, torch.ones(1)

    return Case(f)


@program
def default_dtype_int_div():
    def f(x):
        n = torch.tensor(x.shape[0])
        return n / 2, torch.true_divide(n, 3), x.long().mean(dtype=None) if False else x.long() / 2

    return Case(
        f,
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
        cleanup=lambda: torch.set_default_dtype(torch.float32),
    )


@program
def default_device_meta():
    def f(x):
        return torch.ones(2).device.type, x * 2

    return Case(
        f,
        lambda: torch.set_default_device("meta"),
        lambda: torch.set_default_device("cpu"),
        lambda: torch.set_default_device(None),
        cleanup=lambda: torch.set_default_device(None),
    )


@program
def device_ctx_inside():
    def f(x):
        with torch.device("meta"):
            a = torch.empty(x.shape[0])
        return a.device, a.shape, x * 2

    return Case(f)


@program
def det_flag():
    def f(x):
        y = torch.empty(3).fill_(1) if torch.are_deterministic_algorithms_enabled() else x
        return y * 2

    return Case(
        f,
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
        cleanup=lambda: torch.use_deterministic_algorithms(False),
    )


@program
def det_fill_uninit():
    def f(x):
        return (
            torch.empty(x.shape[0]).isnan().all()
            if torch.are_deterministic_algorithms_enabled()
            else x * 0
        )

    return Case(
        f,
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
        cleanup=lambda: torch.use_deterministic_algorithms(False),
    )


# --- autocast
@program
def autocast_nest():
    b = Box(e=True)

    def f(x):
        with torch.autocast("cpu", torch.bfloat16, enabled=b.e):
            y = x @ x.T
            with torch.autocast("cpu", enabled=False):
                z = x @ x.T
            w = x @ x.T
        return y.dtype, z.dtype, w, torch.is_autocast_enabled("cpu")

    return Case(f, *attribute(b, "e", False, True), args=matrix)


@program
def autocast_outside():
    def f(x):
        return x @ x.T, torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")

    b = Box(dt=None)

    def d(g, x):
        if b.dt is None:
            return g(x)
        with torch.autocast("cpu", b.dt):
            return g(x)

    return Case(f, *attribute(b, "dt", torch.bfloat16, torch.float16, None), args=matrix, drive=d)


# --- torch.Size, memory formats, odd tensors
@program
def size_ops():
    def f(x):
        s = x.shape
        return (
            s + (1,),
            (1,) + tuple(s),
            s * 2,
            s[::-1],
            type(s[:1]).__name__,
            type(s + s).__name__,
            s.numel(),
            hash(s) == hash(tuple(s)),
            s.index(4),
            s.count(4),
            isinstance(s, tuple),
            repr(s),
        )

    return Case(f, args=matrix)


@program
def sparse_args():
    def f(x):
        if x.is_sparse:
            return x.coalesce().values() * 2, x.layout
        return x * 3, x.layout

    def mk(n):
        t = torch.arange(n) + 1.0
        return (t.to_sparse() if n in (3, 1) else t,)

    return Case(f, args=mk)


@program
def sparse_inside():
    w = torch.eye(3).to_sparse()

    def f(x):
        return torch.sparse.mm(w, x.expand(3, -1) if x.dim() < 2 else x[:3]), w._nnz()

    return Case(f, args=lambda n: (torch.ones(3, n),))


@program
def complex_views():
    def f(x):
        z = torch.complex(x, x * 2)
        c = z.conj()
        r = torch.view_as_real(z)
        r[..., 0] += 1
        return z, c.is_conj(), c.resolve_conj(), c.imag, c.imag.is_neg(), z.abs()

    return Case(f)


@program
def zero_dim():
    s = torch.tensor(2.0)

    def f(x):
        k = s.item()
        y = x * s
        s.add_(1)
        return y, k, (x.to(torch.float16) * s).dtype, len(x.shape[1:])

    return Case(f, lambda: s.fill_(9.0), looks_at=s)


@program
def dtype_promotion_scalar():
    b = Box(k=2)

    def f(x):
        return x.int() * b.k, (x.int() * b.k).dtype, torch.result_type(x.int(), b.k)

    return Case(f, *attribute(b, "k", 2.0, True, 2 + 0j, torch.tensor(2.0), np.float64(2.0)))


@program
def tensor_attrs():
    def f(x):
        x.tag = getattr(x, "tag", 0) + 1
        return x * x.tag, x.__dict__

    return Case(f)


@program
def names_tensor():
    def f(x):
        y = x.refine_names("N")
        return y.names, y.rename(None) * 2

    return Case(f)


@program
def signature_of_substitute():
    def f(x):
        return (
            x * 2,
            str(inspect.signature(traceback.print_exc)),
            str(inspect.signature(print)),
            inspect.signature(isinstance).parameters.keys() if False else 0,
        )

    return Case(f)


class Truth:
    """Its truth is that of a box, and is counted."""

    def __init__(self, box, counts=False):
        self.box, self.counts = box, counts

    def __bool__(self):
        if self.counts:
            self.box.n += 1
        return self.box.on


class Sized:
    def __init__(self, box):
        self.box = box

    def __len__(self):
        return int(self.box.on)


def tested(name, use):
    """A program that asks for truths which it changes while it runs."""

    def factory():
        b = Box(on=False, n=0, items=[])
        o, s, c = Truth(b), Sized(b), Truth(b, counts=True)

        def f(x):
            k = []
            for _ in range(3):
                k.append(use(b, o, s, c))
                b.on = not b.on
                b.items.append(1) if b.on else b.items.clear()
            return x * len([v for v in k if v is not None]), k, b.n

        return Case(f, *attribute(b, "on", True, False))

    factory.__name__ = name
    return program(factory)


tested("truth_in_and", lambda b, o, s, c: "yes" if o and True else None)
tested("truth_in_or", lambda b, o, s, c: (o or None) is o)
tested("truth_of_length", lambda b, o, s, c: (s and 1) == 1)
tested("truth_counted", lambda b, o, s, c: bool(c and 1 or 2))
tested("truth_of_list", lambda b, o, s, c: list(b.items or (5,)))
tested("truth_negated", lambda b, o, s, c: not (o and s) or (s and o and None))
tested("truth_in_comprehension", lambda b, o, s, c: [v for v in (1, 2) if o and s])
