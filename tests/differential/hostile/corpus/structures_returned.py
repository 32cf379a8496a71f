"""What a program returns and stores: containers with sizes as keys, limits, bounds and parts."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
import typing

import torch

from tests.differential.hostile.program import Box, Case, body, matrix, program


class Pair(typing.NamedTuple):
    a: typing.Any
    b: typing.Any = 2


@dataclasses.dataclass(frozen=True)
class Key:
    n: typing.Any


@dataclasses.dataclass(order=True)
class Ranked:
    n: typing.Any
    t: typing.Any = dataclasses.field(default=None, compare=False)


class Table(dict):
    pass


class Kind(enum.IntEnum):
    FEW = 2
    MANY = 5


@body(args=matrix)
def tuples_of_sizes_as_keys(x):
    return {(x.shape[0], 4): x, ((x.shape[0] + 1,), "a"): 1}


@body(args=matrix)
def shapes_as_keys(x):
    return {x.shape: x * 2, torch.Size([2, 4]): 1}, dict.fromkeys([x.shape, (x.shape[0],)])


@body(args=matrix)
def quotients_and_conditions_as_keys(x):
    n = x.shape[0]
    return {n / 2: 1, (n / 2,): 2, (n > 2,): 3, n: 4, (n,): 5}


@body(args=matrix)
def named_tuples_as_keys(x):
    return {Pair(x.shape[0]): 1, Pair(1, x.shape): x}, {frozenset({x.shape[0], 2}): 3}


@body(args=matrix)
def objects_as_keys(x):
    k = Key(x.shape[0])
    return {k: x, Key("a"): 1}, k, Key(x.shape[0]) == k


@body(args=matrix)
def keys_of_other_mappings(x):
    s = x.shape
    return (
        collections.OrderedDict([(s, 1), ((s[0],), 2)]),
        collections.defaultdict(list, {s: [x]}),
        collections.Counter([s, s, (4,)]),
        Table({s: x, (s[0], 1): 2}),
    )


@body(args=matrix)
def nested_keys(x):
    d = {}
    d.setdefault(x.shape[0], {}).setdefault(x.shape, []).append(x)
    return [d], ({"a": d},)


@body(args=matrix)
def factory_made_inside(x):
    d = collections.defaultdict(lambda: x.shape[0])
    return d["a"], d["b"] + 1, d


@program
def factory_that_reads_later():
    b = Box(k=2)

    def f(x):
        return collections.defaultdict(lambda: b.k + x.shape[0], {"a": x})

    def drive(fn, x):
        d = fn(x)
        return d["q"], d["a"], list(d)

    return Case(f, lambda: setattr(b, "k", 3), drive=drive)


@program
def mappings_stored():
    log = []
    b = Box()

    def f(x):
        log.append(collections.Counter([x.shape, "a"]))
        b.table = Table({x.shape: x * 2})
        b.rows = collections.defaultdict(lambda: x.shape[0], {(x.shape[0],): 1})
        return x * b.rows["z"]

    return Case(f, log.clear, looks_at=(log, b), exported=False)


@body(args=matrix)
def queues_with_a_limit(x):
    q = collections.deque(range(9), maxlen=x.shape[0])
    return q, q.maxlen, x * len(q)


@body(args=matrix)
def slices_and_ranges(x):
    n = x.shape[0]
    return slice(0, n), slice(None, None, n + 1), range(n), range(n, 0, -1), x[slice(n // 2)]


@body(args=matrix)
def functions_with_sizes(x):
    def later(k, n=x.shape[0]):
        return n * k

    return later, functools.partial(later, x.shape[0]), lambda: x.shape[0]


@program
def functions_called_later():
    def f(x):
        n = x.shape[0]
        return [lambda k, i=i: k * n + i for i in range(3)], functools.partial(divmod, n)

    def drive(fn, x):
        fs, part = fn(x)
        return [g(2) for g in fs], part(2)

    return Case(f, drive=drive, exported=False)


@program
def closures_of_a_loop():
    def f(x):
        made = []
        for i in range(3):
            made.append(lambda y: y * i + x.shape[0])
        i = 7
        return [g(x) for g in made], made

    def drive(fn, x):
        r, fs = fn(x)
        return r, [g(x) for g in fs]

    return Case(f, drive=drive, exported=False)


@body(args=matrix)
def sorted_records(x):
    r = sorted([Ranked(x.shape[0], x), Ranked(2), Ranked(4, x * 2)])
    return r, r[0] < r[-1], max(r).n, Ranked(3) == Ranked(x.shape[0], 5)


@body(args=matrix)
def namespaces(x):
    s = types.SimpleNamespace(n=x.shape[0], s=x.shape, k={x.shape[0]: 1})
    return s.k, s.n, s.s, vars(s)["n"] + 1


@body(args=matrix)
def extremes_keep_their_class(x):
    n = x.shape[0]
    found = [
        max(n, True),
        min(n, True),
        max(n, Kind.FEW),
        min(Kind.MANY, n),
        max(n, 2.0),
        min(n, n, 3.0),
    ]
    return x * found[0], found, [type(k).__name__ for k in found]


@body(args=matrix)
def one_list_in_two_places(x):
    l = [x.shape[0]]
    d = {"a": l, x.shape[0]: l}
    l.append(x)
    return d, l, d["a"] is l


@body(args=matrix)
def dictionary_views(x):
    d = {x.shape: 1, "k": x}
    return list(d), list(d.items())[0], tuple(d.values()), [*reversed(d)], len(d.keys() & {"k"})


@body(args=matrix)
def bytes_and_complex(x):
    n = x.shape[0]
    return bytes(n), bytearray(n), complex(n, 1), bytes([n]), memoryview(b"abc")[:n].tobytes()


@body(args=matrix)
def sets_of_sets(x):
    s = {frozenset(x.shape), frozenset({4})}
    return s, x * len(s), frozenset({4, x.shape[0]}) in s, sorted(map(len, s))


@program
def memo_by_shape_and_dtype():
    memo = {}

    def f(x):
        key = (x.shape, x.dtype, x.device.type)
        if key not in memo:
            memo[key] = torch.ones(x.shape) * len(memo)
        return x * memo[key], len(memo), {key: memo[key]}

    return Case(f, memo.clear, lambda: memo.pop(next(iter(memo))), args=matrix, looks_at=memo)


@program
def mapping_by_an_object_from_outside():
    k = Key(3)

    def f(x):
        d = {k: x.shape[0], Key(x.shape[0]): 9}
        return d, d[Key(3)], next(iter(d)) is k

    return Case(f, lambda: object.__setattr__(k, "n", 5), lambda: object.__setattr__(k, "n", 2))


@body(args=matrix)
def merged_mappings(x):
    d = {x.shape[0]: 1, 4: 2, **{"a": x.shape}}
    d |= {x.shape[1]: 3}
    e = d.copy()
    e.pop(x.shape[0])
    return d, e, d | e == d, d == {4: 3, "a": (4, 4)}


@body(args=matrix)
def transposed_table(x):
    rows = [{"n": x.shape[i], "i": i} for i in range(2)]
    return (
        {k: [r[k] for r in rows] for k in rows[0]},
        {r["n"]: r for r in rows},
        [*zip(*(r.items() for r in rows))],
    )


HELD = {"a": 1}


@program
def views_of_dicts():
    def fn(x):
        own = {"n": x.shape[0], "x": x}
        HELD["n"] = x.shape[0]
        return own.keys(), own.values(), own.items(), HELD.values(), dict(**HELD).items(), own

    return Case(fn, HELD.clear, looks_at=HELD, exported=False)
