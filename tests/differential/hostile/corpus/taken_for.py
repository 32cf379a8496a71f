"""Objects of the user's that C takes for numbers, places, sequences, mappings or keys."""

from __future__ import annotations

import array
import bisect
import collections
import contextlib
import functools
import heapq
import itertools
import json
import math
import operator
import os
import statistics
import struct

import numpy as np
import torch

from tests.differential.hostile.program import Box, Case, program

STATE = Box(k=2, log=[])


def set_(v):
    return lambda: setattr(STATE, "k", v)


class Number:
    """It counts as a number, a sequence, a mapping, a path, a function."""

    def __index__(self):
        return STATE.k

    def __int__(self):
        return STATE.k + 10

    def __float__(self):
        return STATE.k + 0.5

    def __bool__(self):
        return STATE.k > 2

    def __len__(self):
        return STATE.k

    def __round__(self, n=None):
        return STATE.k * 100

    def __trunc__(self):
        return STATE.k

    def __floor__(self):
        return STATE.k - 1

    def __abs__(self):
        return STATE.k * 3

    def __iter__(self):
        return iter(range(STATE.k))

    def __contains__(self, o):
        return o == STATE.k

    def __lt__(self, o):
        return STATE.k > 2

    def __add__(self, o):
        return STATE.k + o

    __radd__ = __add__

    def __mul__(self, o):
        return STATE.k * o

    __rmul__ = __mul__

    def __getitem__(self, i):
        return [5, 6, 7][i] * STATE.k

    def keys(self):
        return ["a", "b"][: STATE.k]

    def __fspath__(self):
        return f"p{STATE.k}"

    def __bytes__(self):
        return bytes([STATE.k])

    def __complex__(self):
        return complex(STATE.k)

    def __divmod__(self, o):
        return (STATE.k, o)

    def __pow__(self, o, m=None):
        return STATE.k**o

    def __invert__(self):
        return -STATE.k

    def __reversed__(self):
        return iter([STATE.k, 1])

    def __length_hint__(self):
        return 1

    def __call__(self, *a):
        return STATE.k

    def __hash__(self):
        return STATE.k

    def close(self):
        STATE.log.append("c")


class Mapping:
    def __getitem__(self, key):
        return {"a": 1, "b": 2}[key] * STATE.k

    def keys(self):
        return ["a", "b"][: STATE.k]


class Half:
    def __float__(self):
        return STATE.k + 0.5


class Ranked:
    def __init__(self, n):
        self.n = n

    def __lt__(self, o):
        return self.n * STATE.k < o.n * STATE.k


n, m, f = Number(), Mapping(), Half()
R = [Ranked(3), Ranked(1), Ranked(2)]


def kw(**k):
    return sum(k.values())


def counted(name, fn):
    def factory():
        return Case(fn, set_(3), set_(1), looks_at=STATE)

    factory.__name__, factory.__module__ = name, __name__
    program(factory)


counted("range_", lambda x: x * len(range(n)))
counted("full", lambda x: torch.full((n,), 2.0).sum() * x)
counted("fullf", lambda x: torch.full((2,), f) * x.sum())
counted("listindex", lambda x: x * [1, 2, 3, 4][n])
counted("slice_", lambda x: torch.arange(6)[:n].sum() * x.sum())
counted("listmul", lambda x: x * len([1] * operator.index(n)))
counted("struct_", lambda x: (x, struct.pack("i", n)))
counted("percent", lambda x: (x, "%d %f" % (n, n)))
counted("join", lambda x: (x, ",".join(map(str, n))))
counted("zip_", lambda x: x * len(list(zip(n, range(9)))))
counted("sum_", lambda x: x * sum([n, 1, n]))
counted("sumiter", lambda x: x * sum(n))
counted("any_", lambda x: x * (any([n]) + all([n, 1])))
counted("filter_", lambda x: x * len(list(filter(None, [n, 0, 1]))))
counted("max_", lambda x: x * max(R).n)
counted("sort_", lambda x: x * sorted(R)[0].n)
counted("heap", lambda x: (lambda h: (heapq.heapify(h), x * h[0].n))(list(R)))
counted("heapn", lambda x: x * heapq.nsmallest(1, R)[0].n)
counted("bisect_", lambda x: x * bisect.bisect_left(R, Ranked(2)))
counted(
    "insort",
    lambda x: (lambda h: (bisect.insort(h, Ranked(2)), x * h[0].n))([Ranked(1), Ranked(3)]),
)
counted("dict_", lambda x: x * sum(dict(m).values()))
counted("kwargs", lambda x: x * kw(**m))
counted("update", lambda x: (lambda d: (d.update(m), x * sum(d.values())))({}))
counted("fspath", lambda x: (x, os.fspath(n), os.path.join("a", n)))
counted("bytes_", lambda x: (x, bytes(n)))
counted("round_", lambda x: x * (round(n) + math.floor(n) + math.trunc(n) + abs(n)))
counted("complex_", lambda x: (x, complex(n), int(n), float(n)))
counted("divmod_", lambda x: x * divmod(n, 3)[0] + pow(n, 2) + ~n)
counted("reversed_", lambda x: x * next(reversed(n)))
counted("unpack", lambda x: (lambda a, *b: x * a + len(b))(*n))
counted("starlist", lambda x: x * len([*n, *n]))
counted("setof", lambda x: x * len({*n}))
counted("contains", lambda x: x * (3 in n))
counted("reduce_", lambda x: x * functools.reduce(operator.add, [n, 1, 2]))
counted("accumulate", lambda x: x * list(itertools.accumulate([1, n]))[-1])
counted(
    "closing", lambda x: (lambda: [x * 2 for _ in [0] if contextlib.closing(n).__enter__() is n])()
)
counted("npfloat", lambda x: x * float(np.float64(f)))
counted("nparray", lambda x: x * float(np.array([f], dtype=float)[0]))
counted("nparray2", lambda x: x * float(np.asarray(n).sum()))
counted("tensor_", lambda x: x * torch.tensor(float(f)))
counted("tensor_l", lambda x: x * torch.tensor([f, f]).sum())
counted("mul_t", lambda x: (n * 2) * x)
counted("tmul", lambda x: torch.mul(x, float(n)))
counted("addalpha", lambda x: torch.add(x, 1, alpha=n))
counted("mean_", lambda x: x * statistics.mean([STATE.k, 2, 3]))
counted("seq", lambda x: x * collections.deque(n).pop() if STATE.k else x)
counted("callable_", lambda x: x * list(map(n, [1]))[0] + (lambda: n())())
counted("iter_callable", lambda x: x * len(list(itertools.islice(iter(n, 99), 2))))
counted("enumerate_", lambda x: x * list(enumerate(n))[-1][0])
counted("minmax", lambda x: x * min(n, default=3))
counted(
    "jsondump", lambda x: (x, json.dumps({"a": STATE.k}), json.dumps([1], indent=operator.index(n)))
)
counted("ljust", lambda x: (x, "a".ljust(n), "a" * operator.index(n), "abc".center(n + 4)))
counted("rotate", lambda x: (lambda d: (d.rotate(n), x * d[0]))(collections.deque([1, 2, 3])))
counted("insert", lambda x: (lambda l: (l.insert(n, 9), x * l.index(9)))([1, 2, 3, 4]))
counted("pop", lambda x: (lambda l: x * l.pop(n))([1, 2, 3, 4]))
counted("delitem", lambda x: (lambda l: (operator.delitem(l, n), x * len(l), l))([1, 2, 3, 4]))
counted("setitem", lambda x: (lambda l: (operator.setitem(l, n, 9), x * len(l), l))([1, 2, 3, 4]))
counted("strindex", lambda x: (x, "abcd"[n], (1, 2, 3, 4)[n], b"abcd"[n], range(9)[n]))
counted("arraymod", lambda x: x * array.array("i", [1, 2, 3, 4])[n])
counted("chunk", lambda x: [c * 2 for c in torch.arange(6).chunk(n)])
counted("manualseed", lambda x: (torch.manual_seed(n), x + torch.rand(1))[1])
counted("randint", lambda x: x * 0 + torch.randint(n, n + 1, (1,)))
counted("gcd", lambda x: x * math.gcd(n, 6) + math.comb(5, n) + math.ldexp(1.0, n))
counted("hypot", lambda x: x * math.hypot(f, 1.0) + math.sqrt(f) + math.fsum([f, 1.0]))
counted("isclose", lambda x: x * math.isclose(f, 2.5))
counted("boolop", lambda x: x * 2 if n and 1 else x * 3)
counted("notop", lambda x: x * (not n))
counted("ternary", lambda x: x * (1 if n else 5))
counted("whiletest", lambda x: (lambda: x * len([1 for _ in [0] if n]))())
counted("assertop", lambda x: x * bool(n))


class Alike:
    def __init__(self, n):
        self.n = n

    def __eq__(self, o):
        return self.n % STATE.k == o.n % STATE.k

    def __hash__(self):
        return 1


def fill(x):
    d = {}
    d[Alike(1)] = 1
    d[Alike(3)] = 2
    s = set()
    s.add(Alike(1))
    s.add(Alike(3))
    return x * len(d) + len(s)


counted("dfill", fill)
OUTD = {Alike(1): 1}


def fill2(x):
    OUTD[Alike(3)] = 5
    return x * len(OUTD)


counted("dfillout", fill2)
