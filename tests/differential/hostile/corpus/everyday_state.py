"""What programs keep in containers, texts, closures and caches of everyday use."""

from __future__ import annotations

import array
import base64
import bisect
import collections
import copy
import dataclasses
import datetime
import graphlib
import hashlib
import heapq
import inspect
import itertools
import json
import logging
import math
import numbers
import os
import queue
import re
import string
import struct
import sys
import tempfile
import threading
import types
import typing
import warnings
import zlib

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, attribute, item, program


@program
def storage_fill():
    w = torch.ones(2)

    def f(x):
        w.untyped_storage().fill_(0)
        return x.sum() + w

    return Case(f, lambda: w.fill_(3.0), looks_at=w)


@program
def json_state():
    d = {"k": 2.0, "l": [1]}

    def f(x):
        s = json.dumps(d, sort_keys=True)
        return x * json.loads(s)["k"], s

    return Case(f, *item(d, "k", 3.0), lambda: d["l"].append(2))


@program
def heap_state():
    h = [3, 5, 9]

    def f(x):
        heapq.heappush(h, x.shape[0])
        return x * heapq.heappop(h), heapq.nsmallest(2, h)

    return Case(f, lambda: h.clear() or h.append(4), looks_at=h)


@program
def bisect_state():
    h = [1, 3, 5]

    def f(x):
        i = bisect.bisect(h, x.shape[0])
        bisect.insort(h, i)
        return x * i

    return Case(f, lambda: h.pop(), looks_at=h)


@program
def array_state():
    a = array.array("d", [1.0, 2.0])

    def f(x):
        a[0] += 1
        return x * a[0] + sum(a)

    return Case(f, lambda: a.append(5.0), looks_at=a)


@program
def struct_pack():
    b = bytearray(8)

    def f(x):
        struct.pack_into("d", b, 0, 2.0 + x.shape[0])
        return x * struct.unpack("d", bytes(b))[0]

    return Case(f, looks_at=b)


@program
def memoryview_state():
    b = bytearray(b"abcd")
    v = memoryview(b)

    def f(x):
        return x * v[0] + len(v)

    return Case(f, lambda: b.__setitem__(0, 5), lambda: v.__setitem__(0, 9))


@program
def re_state():
    b = Box(p="a+", s="caaat")

    def f(x):
        return x * len(re.search(b.p, b.s).group()), re.sub(b.p, lambda m: str(len(m.group())), b.s)

    return Case(f, *attribute(b, "s", "xaab"), *attribute(b, "p", "a", "x|a"))


@program
def string_template():
    b = Box(t="$k")

    def f(x):
        return x * float(string.Template(b.t).substitute(k=x.shape[0])), string.Formatter().format(
            "{0:>5}", b.t
        )

    return Case(f, *attribute(b, "t", "1$k"))


@program
def datetime_state():
    b = Box(d=datetime.timedelta(seconds=3))

    def f(x):
        return (
            x * b.d.total_seconds(),
            b.d + datetime.timedelta(days=1),
            b.d > datetime.timedelta(seconds=4),
        )

    return Case(f, *attribute(b, "d", datetime.timedelta(seconds=5)))


@program
def hash_text():
    b = Box(s="abc")

    def f(x):
        return (
            x * (hashlib.md5(b.s.encode()).digest()[0]),
            zlib.crc32(b.s.encode()),
            base64.b64encode(b.s.encode()),
        )

    return Case(f, *attribute(b, "s", "abd"))


@program
def graphlib_order():
    g = {"a": {"b"}, "b": {"c"}}

    def f(x):
        return x * len(list(graphlib.TopologicalSorter(g).static_order())), list(
            graphlib.TopologicalSorter(g).static_order()
        )

    return Case(f, lambda: g.__setitem__("c", {"d"}))


@program
def logging_levels():
    lg = logging.getLogger("hostile.outsider")
    lg.setLevel(logging.WARNING)

    def f(x):
        if lg.isEnabledFor(logging.INFO):
            x = x * 2
        lg.warning("n %s", x.shape[0])
        return x + lg.getEffectiveLevel()

    return Case(
        f,
        lambda: lg.setLevel(logging.INFO),
        lambda: lg.setLevel(logging.ERROR),
        lambda: logging.disable(logging.CRITICAL),
        lambda: logging.disable(logging.NOTSET),
        cleanup=lambda: logging.disable(logging.NOTSET),
    )


@program
def warnings_filters():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("w")
                k = 1
            except UserWarning:
                k = 2
        return x * k

    return Case(f)


@program
def recursion_limit():
    def g(n):
        return 0 if n <= 0 else 1 + g(n - 1)

    def f(x):
        return x * g(x.shape[0] * 3)

    return Case(f)


@program
def mutual_recursion_state():
    b = Box(d=2)

    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - b.d + 1)

    def f(x):
        return x * 2 if even(x.shape[0]) else x * 3

    return Case(f)


@program
def default_mutable_arg():
    def g(x, acc=[]):
        acc.append(x.shape[0])
        return x * len(acc), list(acc)

    def f(x):
        return g(x)

    return Case(f, lambda: g.__defaults__[0].clear(), looks_at=g)


@program
def kwdefault_change():
    def g(x, *, k=2.0):
        return x * k

    def f(x):
        return g(x)

    return Case(
        f,
        lambda: g.__kwdefaults__.__setitem__("k", 3.0),
        lambda: setattr(g, "__kwdefaults__", {"k": 4.0}),
    )


@program
def code_swap():
    def g(x):
        return x * 2

    def h(x):
        return x + 3

    def f(x):
        return g(x)

    return Case(f, lambda: setattr(g, "__code__", h.__code__))


@program
def func_attr():
    def g(x):
        g.n = getattr(g, "n", 0) + 1
        return x * g.n

    def f(x):
        return g(x)

    return Case(f, lambda: setattr(g, "n", 10), looks_at=g)


@program
def closure_counter():
    def mk():
        n = 0

        def inc():
            nonlocal n
            n += 1
            return n

        def reset():
            nonlocal n
            n = 0

        return inc, reset

    inc, reset = mk()

    def f(x):
        return x * inc() + inc()

    return Case(f, reset)


@program
def global_del():
    g = globals()

    def f(x):
        try:
            return x * ZZ
        except NameError:
            return x - 1

    return Case(
        f,
        lambda: g.__setitem__("ZZ", 2.0),
        lambda: g.__setitem__("ZZ", 3.0),
        lambda: g.pop("ZZ"),
        cleanup=lambda: g.pop("ZZ", None),
    )


@program
def builtins_shadow():
    g = globals()

    def f(x):
        return x * len([1, 2]) + max(1, x.shape[0])

    return Case(
        f,
        lambda: g.__setitem__("len", lambda o: 7),
        lambda: g.pop("len"),
        lambda: g.__setitem__("max", min),
        cleanup=lambda: (g.pop("len", None), g.pop("max", None)),
    )


@program
def module_getattr():
    m = types.ModuleType("zzmod")
    d = {"k": 2.0}
    m.__getattr__ = lambda n: d[n]

    def f(x):
        return x * m.k

    return Case(f, *item(d, "k", 3.0), lambda: setattr(m, "k", 5.0))


@program
def ordered_dict_move():
    d = collections.OrderedDict(a=1.0, b=2.0, c=3.0)

    def f(x):
        d.move_to_end(next(iter(d)))
        return x * next(iter(d.values())), list(d)

    return Case(f, lambda: d.popitem(), looks_at=d)


@program
def default_dict_missing():
    d = collections.defaultdict(lambda: len(d) + 1.0)

    def f(x):
        return x * d[x.shape[0]] + len(d)

    return Case(
        f, lambda: d.clear(), lambda: setattr(d, "default_factory", lambda: 9.0), looks_at=d
    )


@program
def counter_ops():
    c = collections.Counter("aab")

    def f(x):
        c.update([x.shape[0]])
        return x * c.total(), c.most_common(1), (c - collections.Counter("a"))["a"]

    return Case(f, lambda: c.subtract("a"), looks_at=c)


@program
def chainmap_state():
    a, b = {"k": 1.0}, {"k": 2.0, "j": 3.0}
    m = collections.ChainMap(a, b)

    def f(x):
        y = x * m["k"] + m["j"]
        m["n"] = x.shape[0]
        return y, len(m)

    return Case(
        f,
        lambda: a.pop("k", None),
        lambda: b.__setitem__("k", 5.0),
        lambda: m.maps.insert(0, {"j": 9.0}),
        looks_at=(a, b),
    )


@program
def userlist_dict():
    l = collections.UserList([1.0, 2.0])
    d = collections.UserDict(k=3.0)

    def f(x):
        l.append(d["k"])
        return x * l[-1] + sum(l)

    return Case(f, lambda: d.__setitem__("k", 4.0), lambda: l.clear(), looks_at=(l, d))


@program
def dict_subclass_missing():
    class D(dict):
        n = 0

        def __missing__(s, k):
            D.n += 1
            return k * 2.0

        def __getitem__(s, k):
            return dict.__getitem__(s, k) if k in s else s.__missing__(k)

    d = D()

    def f(x):
        return x * d[3] + d.n

    return Case(f, lambda: d.__setitem__(3, 5.0), lambda: d.pop(3), looks_at=(d, D))


@program
def set_iteration_order():
    s = {3, 1, 2}

    def f(x):
        return x * sum(s), sorted(s), 5 in s

    return Case(f, lambda: s.add(5), lambda: s.discard(1))


@program
def frozenset_nested():
    b = Box(s=frozenset({(1, 2.0), (3, 4.0)}))

    def f(x):
        return x * sum(v for _, v in b.s), (1, 2.0) in b.s

    return Case(f, *attribute(b, "s", frozenset({(1, 2)}), frozenset({(1, True), (0.0, -0.0)})))


@program
def neg_zero_nan():
    b = Box(k=0.0)

    def f(x):
        return x / (b.k or 1.0), math.copysign(1.0, b.k), b.k == b.k, x * b.k

    return Case(f, *attribute(b, "k", -0.0, float("nan"), float("inf"), -0.0))


@program
def bool_int_float_keys():
    d = {1: 2.0}

    def f(x):
        return x * d[True] + d[1.0], list(d)[0]

    return Case(f, lambda: d.__setitem__(True, 3.0), lambda: d.clear() or d.__setitem__(1.0, 4.0))


@program
def big_ints():
    b = Box(k=2**70)

    def f(x):
        return x * float(b.k % 7), b.k + x.shape[0], b.k.bit_length(), -b.k // 3

    return Case(f, *attribute(b, "k", 2**63, -(2**63) - 1, 5))


@program
def int_overflow_size():
    def f(x):
        n = x.shape[0]
        return x * float((n**40) % 1000), n**30, (n << 70) % 11, -n // 2, -n % 3, n & 1, ~n

    return Case(f)


@program
def float_formats():
    def f(x):
        return (
            f"{x.shape[0]:05d}",
            f"{x.shape[0] / 3:.2f}",
            "%x" % x.shape[0],
            x * 2,
            str(x.shape),
            repr(x.shape[0]),
        )

    return Case(f)


@program
def chained_compare_sizes():
    b = Box(lo=2, hi=4)

    def f(x):
        return x * 2 if b.lo <= x.shape[0] < b.hi else x * 3

    return Case(f, *attribute(b, "hi", 3, 9))


@program
def del_local_error():
    def f(x):
        y = x
        if x.shape[0] > 2:
            del y
        try:
            return y * 2
        except UnboundLocalError as e:
            return x * 3, str(e)

    return Case(f)


@program
def try_else_finally_order():
    log = []

    def f(x):
        for i in range(3):
            try:
                log.append(i)
                if i == 1:
                    continue
                if x.shape[0] == 2:
                    raise KeyError(i)
            except KeyError as e:
                log.append(e.args)
            else:
                log.append("else")
            finally:
                log.append("fin")
        else:
            log.append("done")
        return x * len(log)

    return Case(f, looks_at=log)


@program
def reraise_bare():
    def f(x):
        try:
            try:
                raise ValueError(x.shape[0])
            except ValueError:
                raise
        except ValueError as e:
            return x * e.args[0]

    return Case(f)


@program
def exc_from_shape():
    def f(x):
        try:
            return x.reshape(3, -1)
        except RuntimeError as e:
            return x, str(e)

    return Case(f)


@program
def exc_index():
    def f(x):
        try:
            return x[2] + x
        except IndexError as e:
            return x, str(e)

    return Case(f)


@program
def exc_custom_state():
    class E(Exception):
        n = 0

        def __init__(s, t):
            super().__init__(t)
            E.n += 1
            s.t = t

    def f(x):
        try:
            raise E(x * 2)
        except E as e:
            return e.t + E.n

    return Case(f, lambda: setattr(E, "n", 5), looks_at=E)


@program
def exc_uncaught_state():
    b = Box(n=0)

    def f(x):
        b.n += 1
        if x.shape[0] == 2:
            raise ValueError(f"bad {x.shape[0]} {b.n}")
        return x * b.n

    return Case(f, looks_at=b)


@program
def assert_message():
    b = Box(ok=True)

    def f(x):
        assert b.ok, f"not ok {x.shape[0]}"
        return x * 2

    return Case(f, *attribute(b, "ok", False, True, 0))


@program
def iterator_zip_strict():
    b = Box(l=[1, 2])

    def f(x):
        try:
            return x * sum(i * j for i, j in zip(b.l, range(2), strict=True))
        except ValueError as e:
            return x, str(e)

    return Case(f, lambda: b.l.append(3), lambda: b.l.clear())


@program
def sort_key_state():
    b = Box(l=[("a", 2), ("b", 1)], i=1)

    def f(x):
        b.l.sort(key=lambda t: t[b.i], reverse=b.i == 1)
        return x * b.l[0][1], [t[0] for t in b.l]

    return Case(f, *attribute(b, "i", 0, 1), looks_at=b)


@program
def min_max_default():
    b = Box(l=[])

    def f(x):
        return x * max(b.l, default=7) + min([3, *b.l], key=lambda v: -v)

    return Case(f, lambda: b.l.append(2), lambda: b.l.append(9))


@program
def slices_obj():
    b = Box(s=slice(0, 2))

    def f(x):
        return x[b.s], b.s.indices(x.shape[0]), x[..., None][b.s, 0]

    return Case(f, *attribute(b, "s", slice(1, None), slice(None, None, 2), Ellipsis))


@program
def index_mixed():
    i = torch.tensor([0, 0])

    def f(x):
        return x[i] if x.shape[0] else x, x[None, :].shape

    return Case(f, lambda: i.fill_(0), lambda: i[1:].fill_(0))


@program
def nonlocal_in_comp():
    def f(x):
        t = 0

        def add(v):
            nonlocal t
            t += v
            return t

        ys = [add(i) for i in range(x.shape[0] % 4)]
        return x * t, ys

    return Case(f)


@program
def lambda_defaults_loop():
    fs = []
    for i in range(3):
        fs.append(lambda x, i=i: x * i)

    def f(x):
        return sum(g(x) for g in fs)

    return Case(f, lambda: fs.pop(), lambda: fs.append(lambda x: x + 10))


@program
def class_counter_new():
    class A:
        made = 0

        def __new__(c, *a):
            c.made += 1
            return super().__new__(c)

        def __init__(s, k):
            s.k = k

        def __add__(s, o):
            return A(s.k + (o.k if isinstance(o, A) else o))

        __radd__ = __add__

    def f(x):
        r = sum([A(1.0), A(2.0)])
        return x * r.k + A.made

    return Case(f, lambda: setattr(A, "made", 0), looks_at=A)


@program
def operator_overloads():
    class V:
        def __init__(s, v):
            s.v = v

        def __mul__(s, o):
            return V(s.v * o.v) if isinstance(o, V) else s.v * o

        __rmul__ = __mul__

        def __matmul__(s, o):
            return s.v + o.v

        def __getitem__(s, i):
            return s.v + (i if isinstance(i, int) else 0)

        def __len__(s):
            return 3

        def __bool__(s):
            return s.v > 2

        def __float__(s):
            return float(s.v)

        def __index__(s):
            return int(s.v)

        def __hash__(s):
            return hash(s.v)

        def __eq__(s, o):
            return isinstance(o, V) and s.v == o.v

        def __lt__(s, o):
            return s.v < o.v

        def __contains__(s, o):
            return o == s.v

        def __reversed__(s):
            return iter([s.v])

        def __round__(s, n=0):
            return round(s.v, n)

        def __format__(s, sp):
            return f"V{s.v}{sp}"

    v = V(2.0)

    def f(x):
        y = x * (v * V(3.0)).v + (v @ v) + v[1] + len(v) + float(v) + [10, 20, 30, 40, 50][v]
        return (
            (y if v else -y),
            f"{v:q}",
            V(2.0) in {v: 1},
            sorted([V(3), v])[0] is v,
            2.0 in v,
            list(reversed(v)),
            round(v),
        )

    return Case(f, lambda: setattr(v, "v", 3.0), lambda: setattr(v, "v", 1.0))


@program
def tensor_truth_paths():
    def f(x):
        if x.sum() > 5:
            return x * 2
        elif x.numel() == 0:
            return x
        return x * 3

    return Case(f)


@program
def while_data():
    def f(x):
        n = 0
        while x.sum() < 50 and n < 5:
            x = x * 2 + 1
            n += 1
        return x, n

    return Case(f)


@program
def item_effects():
    log = []

    def f(x):
        s = x.sum().item()
        log.append(round(s, 2))
        return x * s

    return Case(f, looks_at=log)


@program
def tolist_dict():
    d = {}

    def f(x):
        for v in x.tolist():
            d[v] = d.get(v, 0) + 1
        return x * len(d)

    return Case(f, d.clear, looks_at=d)


@program
def print_tensor():
    def f(x):
        print("sum", x.sum(), x.shape, sep="|")
        return x * 2

    return Case(f)


@program
def tempfile_io():
    def f(x):
        with tempfile.TemporaryFile("w+") as t:
            t.write(str(x.shape[0]))
            t.seek(0)
            return x * int(t.read())

    return Case(f)


@program
def environ_get():
    def f(x):
        return x * float(os.environ.get("ZZ_HOSTILE", "2")), os.getenv("ZZ_HOSTILE")

    return Case(
        f,
        lambda: os.environ.__setitem__("ZZ_HOSTILE", "3"),
        lambda: os.environ.__setitem__("ZZ_HOSTILE", "4"),
        lambda: os.environ.pop("ZZ_HOSTILE"),
        cleanup=lambda: os.environ.pop("ZZ_HOSTILE", None),
    )


@program
def sys_flags():
    def f(x):
        return x * sys.getrecursionlimit(), sys.byteorder, "zzz" in sys.modules

    return Case(
        f,
        lambda: sys.modules.__setitem__("zzz", sys),
        lambda: sys.modules.pop("zzz", None),
        cleanup=lambda: sys.modules.pop("zzz", None),
    )


@program
def inspect_signature():
    def g(x, k=2.0):
        return x * k

    def f(x):
        k = inspect.signature(g).parameters["k"].default
        return g(x, k + 1), list(inspect.signature(g).parameters)

    return Case(f, lambda: setattr(g, "__defaults__", (5.0,)))


@program
def event_state():
    e = threading.Event()
    s = threading.Semaphore(2)

    def f(x):
        k = 1.0 if e.is_set() else 2.0
        with s:
            return x * k

    return Case(f, e.set, e.clear)


@program
def queue_obj():
    q = queue.Queue()

    def f(x):
        q.put(x.shape[0])
        return x * q.qsize(), q.empty()

    return Case(f, lambda: q.get(), drive=lambda g, x: (g(x), q.qsize()))


@program
def numbers_abc():
    b = Box(k=2)

    def f(x):
        return (
            x * (2 if isinstance(b.k, numbers.Integral) else 3),
            isinstance(x.shape[0], numbers.Number),
            issubclass(type(b.k), numbers.Real),
        )

    return Case(f, *attribute(b, "k", 2.5, True, 1j, np.int32(2)))


@program
def copy_state_obj():
    class A:
        def __init__(s):
            s.l = [1.0]

        def __copy__(s):
            log.append("c")
            r = A()
            r.l = s.l
            return r

    log = []
    a = A()

    def f(x):
        b = copy.copy(a)
        b.l.append(2.0)
        return x * len(a.l)

    return Case(f, lambda: a.l.clear(), looks_at=(a, log))


@program
def dataclass_slots_frozen():
    @dataclasses.dataclass(slots=True, frozen=True)
    class A:
        k: float = 2.0
        t: tuple = ()

    b = Box(a=A())

    def f(x):
        try:
            b.a.k = 3
        except dataclasses.FrozenInstanceError as e:
            msg = str(e)
        return x * b.a.k, msg, b.a == A(), repr(b.a)

    return Case(f, lambda: setattr(b, "a", A(3.0, (1,))), lambda: object.__setattr__(b.a, "k", 4.0))


@program
def dataclass_kwonly_factory():
    n = itertools.count()

    @dataclasses.dataclass(kw_only=True)
    class A:
        k: float = dataclasses.field(default_factory=lambda: float(next(n)))
        v: dataclasses.InitVar[float] = 1.0

        def __post_init__(s, v):
            s.k2 = s.k + v

    def f(x):
        return x * A(v=2.0).k2 + A().k2

    return Case(f)


@program
def dataclass_inherit_default():
    @dataclasses.dataclass
    class A:
        k: float = 2.0

    @dataclasses.dataclass
    class B(A):
        j: float = 3.0

    def f(x):
        return x * B().k + B(j=1.0).j, dataclasses.astuple(B())

    return Case(
        f, lambda: setattr(A, "k", 9.0), lambda: setattr(B.__init__, "__defaults__", (4.0, 5.0))
    )


@program
def typed_dict_newtype():
    class T(typing.TypedDict):
        k: float

    N = typing.NewType("N", float)
    t = T(k=2.0)

    def f(x):
        u = T(k=t["k"] + 1)
        return x * N(u["k"]), u

    return Case(f, *item(t, "k", 3.0))


@program
def simple_namespace():
    s = types.SimpleNamespace(k=2.0)

    def f(x):
        s.n = getattr(s, "n", 0) + 1
        return x * s.k + s.n, s == types.SimpleNamespace(k=2.0, n=1)

    return Case(f, *attribute(s, "k", 3.0), looks_at=s)


@program
def mapping_proxy():
    d = {"k": 2.0}
    p = types.MappingProxyType(d)

    def f(x):
        return x * p["k"], len(p), p | {"z": 1}

    return Case(f, *item(d, "k", 3.0), lambda: d.__setitem__("j", 1))


@program
def exec_made():
    ns = {"k": 2.0}
    exec("def g(x, j=1.0):\n    return x * k * j", ns)
    g = ns["g"]

    def f(x):
        return g(x)

    return Case(
        f,
        *item(ns, "k", 3.0),
        lambda: setattr(g, "__defaults__", (4.0,)),
        lambda: setattr(g, "__defaults__", ([5.0][0],)),
    )


@program
def exec_made_kwdefaults():
    ns = {}
    exec("def g(x, *, j=[1.0]):\n    return x * j[0]", ns)
    g = ns["g"]

    def f(x):
        return g(x)

    return Case(
        f,
        lambda: g.__kwdefaults__["j"].__setitem__(0, 4.0),
        lambda: setattr(g, "__kwdefaults__", {"j": [6.0]}),
    )
