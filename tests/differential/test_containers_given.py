"""Containers outside that are given to functions: what they hold when the program runs counts.

Each function gets a container as it is, and ones that the program has changed before. The content
changes between calls, also that of containers in a container.
"""

from __future__ import annotations

import bisect
import collections
import copy
import functools
import heapq
import itertools
import json
import linecache
import math
import operator
import pickle
import statistics
import struct
from typing import Any

import numpy as np
import pytest
import torch

import anyshape
from anyshape.trace.record.builtin import torch_call

SPACE: dict[str, Any] = {
    "bisect": bisect, "collections": collections, "copy": copy, "functools": functools,
    "heapq": heapq, "itertools": itertools, "json": json, "math": math, "operator": operator,
    "pickle": pickle, "statistics": statistics, "struct": struct, "np": np, "torch": torch,
}  # fmt: skip

OF_NUMBERS = (
    "math.fsum(q)", "math.prod(q)", "math.dist(q, [0.0] * len(q))", "math.hypot(*q)",
    "math.gcd(*q)", "math.isclose(*q[:2])", "statistics.mean(q)", "statistics.median(q)",
    "statistics.pstdev(q)", "sum(q)", "max(q)", "min(q)", "sum(sorted(q))", "any(q)", "all(q)",
    "len(q)", "sum(list(q))", "sum(tuple(q))", "sum(set(q))", "len(str(q))", "len(repr(q))",
    "hash(tuple(q)) % 97", "sum(reversed(q))", "sum(a * b for a, b in zip(q, q))",
    "sum(map(float, q))", "sum(i * v for i, v in enumerate(q))", "sum(filter(None, q))",
    "1 if q else 2", "bytes(q)[0]", "np.array(q).sum()", "np.mean(q)", "np.dot(q, q)",
    "torch.tensor(q).sum()", "torch.as_tensor(q).float().mean()", "x.new_tensor(q).sum()",
    "len(json.dumps(q))", "len(','.join(map(str, q)))", "len('%s' % q)", "len('%s' % (q,))",
    "len(f'{q}')", "len('{}'.format(q))", "sum(copy.copy(q))", "sum(copy.deepcopy(q))",
    "pickle.dumps(q)[-2]", "functools.reduce(operator.add, q)", "list(itertools.accumulate(q))[-1]",
    "sum(itertools.chain(q, q))", "sum(itertools.islice(q, 1, None))", "operator.itemgetter(1)(q)",
    "sum(heapq.nlargest(2, q))", "bisect.bisect(q, 5)", "collections.Counter(q)[3]",
    "len(dict.fromkeys(q))", "2 if q == [1, 2, 3] else 3", "2 if q < [4, 1] else 3",
    "sum(q + [1])", "sum(q * 2)", "2 if 3 in q else 3", "q.index(max(q))", "q.count(3)",
    "(lambda *a: sum(a))(*q)", "(lambda a, *b: a + len(b))(*q)", "sum(q[1:])", "q[-1]",
    "sum(q.copy())", "struct.pack('3b', *q[:3])[1]", "np.sqrt(q[0])", "np.maximum(q, 2).sum()",
    "sum([v * 2 for v in q])", "sum({v: v for v in q}.values())", "operator.countOf(q, 3)",
    "operator.contains(q, 3)", "operator.length_hint(q)", "sum(v for v in q if v > 2)",
    "int.from_bytes(bytearray(q), 'big') % 31", "len(q.__repr__())", "q.__len__()",
    "min(q, key=lambda v: -v)", "sum(itertools.product(q, repeat=2).__next__())",
    "next(iter(q))", "np.concatenate([q, q]).sum()", "float(np.asarray(q)[0])",
    "sum(collections.deque(q))", "collections.ChainMap(dict(enumerate(q)))[1]",
    "sum(range(*q[:2]))", "divmod(*q[1:3])[0]", "pow(*q[1:3])", "round(*q[:1])",
    "complex(*q[:2]).imag",
    "slice(*q[:3]).stop", "sum(x.new_zeros(q[:2]).shape)", "sum(torch.zeros(q[:2]).shape)",
    "sum(torch.Size(q))", "sum(torch.broadcast_shapes([1], q[:1]))",
    "sum(torch.empty(*q[:2]).shape)",
    "torch.Tensor(q).sum()", "torch.FloatTensor(q).sum()", "torch.LongTensor(q).sum()",
    "torch.tensor([q, q]).sum()", "torch.tensor((q, q))[1, 0]", "torch.full(q[:2], 2.0).sum()",
    "torch.zeros(3, 3).index_fill(0, torch.tensor(q[:1]) % 3, 1).sum()", "x.repeat(q[:2]).sum()",
    "torch.zeros(5, 5, 5).permute([v % 3 for v in (0, 1, 2)]).sum() + len(q)",
    "torch.nn.functional.pad(x, q[:2]).sum()", "x.view([*q[:0], -1]).sum()",
    "torch.Generator and q[2]", "np.asarray(q, dtype=float).max()", "np.stack([q, q]).sum()",
    "torch.stack([torch.tensor(v) for v in q]).sum()", "x.new_full([2], q[0])[0]",
    "torch.from_numpy(np.array(q)).sum()", "torch.Size([*q]).numel()", "sum(torch.Size(q) + (1,))",
    "statistics.fmean(q)", "statistics.mode(q)", "sum(np.cumsum(q).tolist())", "np.prod(q)",
    "sum(torch.arange(*q[:2]).tolist())", "torch.linspace(0, 1, q[1]).numel()",
)  # fmt: skip
OF_DICTS = (
    "sum(q.values())", "math.fsum(q.values())", "statistics.fmean(q.values())",
    "sum(torch.Size(q.values()))", "torch.tensor(list(q.values())).sum()",
    "torch.tensor([*q.values()]).sum()", "len(json.dumps(q))", "len(str(q))",
    "len('%(a)s %(b)s' % q)", "len('{a}'.format(**q))", "len('{a}'.format_map(q))",
    "(lambda **k: sum(k.values()))(**q)", "dict(q)['b']", "{**q}['b']", "sorted(q.items())[0][1]",
    "max(q, key=q.get)=='a'", "2 if q=={'a':1,'b':2} else 3", "len(q)", "copy.copy(q)['b']",
    "copy.deepcopy(q)['a']", "(q|{'z':1})['b']", "q.get('b',9)", "[*zip(*q.items())][1][0]",
    "np.array(list(q.values())).sum()", "pickle.dumps(q)[-3]",
    "collections.Counter(q).most_common(1)[0][1]", "operator.itemgetter('b')(q)",
    "math.prod(q.values())", "any(v>3 for v in q.values())",
    "functools.reduce(operator.add,q.values())", "collections.ChainMap(q)['a']",
    "list(map(q.get,['a','b']))[1]", "[q[k] for k in 'ab'][1]", "sum(map(q.__getitem__,'ab'))",
    "collections.OrderedDict(q)['a']", "len(repr(q))", "next(iter(q.values()))",
    "list(q.values())[-1]", "min(q.values())", "sum(sorted(q.values()))",
    "dict(sorted(q.items()))['a']", "dict.fromkeys(q,2)['a']+len(q)",
    "sum(v for k,v in q.items() if k!='a')", "torch.as_tensor(list(q.values()))[1]",
    "x.new_tensor(list(q.values())).sum()", "hash(tuple(q.items()))%97",
    "hash(frozenset(q.items()))%97", "len(set(q.values()))", "bytes(q.values())[0]",
    "vars(type('T',(),dict(q)))['b']", "type('T',(),q)().b",
    "__import__('types').SimpleNamespace(**q).b",
    "collections.namedtuple('N','a b')(**{k:q[k] for k in 'ab'}).b", "'b' in q and q['b']",
    "q.copy()['b']", "q.items().__len__()", "sum(i*v for i,v in enumerate(q.values()))",
    "list(reversed(q.values()))[0]", "collections.defaultdict(int,q)['b']",
    "str.join('-',map(str,q.values())).__len__()", "list(itertools.accumulate(q.values()))[-1]",
    "__import__('string').Template('$a').substitute(q).__len__()+q['a']",
    "dict(zip(q,q.values()))['a']", "dict([*q.items()])['b']",
)  # fmt: skip
OF_SETS = (
    "sum(q)", "sorted(q)[0]", "len(q)", "2 if 3 in q else 3", "len(q|{1})", "sum(q&{1,2,3,4})",
    "torch.tensor(sorted(q)).sum()", "len(str(sorted(q)))", "max(q)", "min(q)",
    "2 if q=={1,2} else 3", "2 if q<={1,2,4} else 3", "sum(list(q))", "sum(frozenset(q))",
    "math.prod(q)", "math.fsum(q)", "sum(q-{1})", "sum(q^{1})", "2 if q.issubset({1,2}) else 3",
    "2 if q.isdisjoint({1}) else 3", "sum(q.copy())", "sum(copy.copy(q))",
    "sum(sorted(q,reverse=True)[:1])", "any(v>3 for v in q)", "sum({v*2 for v in q})",
    "statistics.fmean(q)", "len(repr(q))", "pickle.dumps(q)[-3]", "sum(torch.Size(sorted(q)))",
    "np.array(sorted(q)).sum()", "hash(frozenset(q))%97", "sum(set(q))",
    "list(q)[0] if len(q)==1 else 0", "sum(itertools.chain(q,q))",
    "functools.reduce(operator.or_,q)",
)  # fmt: skip
OF_NESTED = (
    "torch.tensor(q[0]).sum()", "torch.tensor([r[:3] for r in q])[0,0]",
    "torch.tensor(q)[0,0] if len(q[0])==len(q[1]) else 1", "sum(sum(r) for r in q)",
    "len(str(q))", "len(repr(q))", "len(f'{q}')", "len('%s'%q)", "len(json.dumps(q))",
    "sum(map(sum,q))", "np.array(q[0]).sum()", "np.array([q[0][:3],q[1][:3]]).sum()",
    "copy.deepcopy(q)[1][0]", "copy.copy(q)[0][0]", "sum(itertools.chain(*q))",
    "sum(itertools.chain.from_iterable(q))", "max(q)[0]", "min(q)[0]", "sum(q[0])+len(q)",
    "[*zip(*q)][0][0]", "sorted(q)[0][0]", "sorted(q,key=sum)[0][0]", "sum(q[1])",
    "pickle.dumps(q)[-4]", "2 if q==[[1,2,3],[4,5,6]] else 3", "2 if q!=[[1,2,3],[4,5,6]] else 3",
    "2 if q<[[1,2,4]] else 3", "2 if q>=[[1,2,4]] else 3", "2 if [1,2,3] in q else 3",
    "2 if [1,2,3] not in q else 3", "q.count([1,2,3])", "q.index([4,5,6]) if [4,5,6] in q else 7",
    "torch.tensor([r[0] for r in q]).sum()", "hash(str(q))%97",
    "sum(a*b for r in q for a,b in zip(r,r))", "list(map(list,zip(*q)))[0][1]",
    "sum(functools.reduce(operator.add,q))", "sum(q[0]+q[1])", "2 if q[0]==q[1] else 3",
    "2 if (q[0],1)<(q[1],0) else 3", "{'k':q}['k'][0][0]",
    "2 if {'k':q}=={'k':[[1,2,3],[4,5,6]]} else 3", "2 if (q,)==([[1,2,3],[4,5,6]],) else 3",
    "tuple(map(tuple,q))[0][0]", "len({tuple(r) for r in q})", "statistics.fmean(map(sum,q))",
    "math.fsum(map(sum,q))", "collections.Counter(map(tuple,q))[(1,2,3)]",
    "heapq.nsmallest(1,q)[0][0]", "bisect.bisect(q,[2])", "sum(np.concatenate([q[0],q[1]]))",
    "x.new_tensor(q[0]).sum()", "torch.stack([torch.tensor(r[:3]) for r in q]).sum()",
    "operator.eq(q,[[1,2,3],[4,5,6]])+1", "all(r==[1,2,3] for r in q)+1",
    "any(r==[1,2,3] for r in q)+1", "q.__eq__([[1,2,3],[4,5,6]])+1",
    "torch.cat([torch.tensor(r) for r in q]).sum()", "operator.itemgetter(0)(q)[0]",
    "[r for r in q if r>[2]].__len__()",
    "torch.nn.functional.pad(x,[v%3 for v in q[0][:2]]).sum()",
    "list(itertools.product(*q))[0][1]", "next(iter(q))[0]", "(lambda *a: a[0][0])(*q)",
    "q[-1][-1]",
)  # fmt: skip
OF_NESTED_DICTS = (
    "sum(q['a'])", "len(str(q))", "len(json.dumps(q))", "2 if q=={'a':[1,2],'d':{'z':1}} else 3",
    "copy.deepcopy(q)['a'][0]", "pickle.dumps(q)[-4]", "sum(map(sum,[q['a']]))", "q['d']['z']",
    "sum(q['d'].values())", "len('%s'%(q,))", "len('%(a)s'%q)", "len('{a}'.format(**q))",
    "(lambda a,d: a[0]+d['z'])(**q)", "dict(q)['a'][0]", "{**q}['d']['z']", "max(q['a'])",
    "[1,2]==q['a'] or 2", "list(q.values())[0][0]", "sum(q.get('a'))", "[1,2] in q.values()",
    "({'z':1} in q.values())+1", "(('a',[1,2]) in q.items())+1",
    "q.items().__len__()+sum([*q.items()][0][1])",
)  # fmt: skip
STEPS = ("pass", "q[0] = 3", "q.append(2)")
CALLS = ([1, 2, 3], [1, 2, 3], [4, 1, 3], [2, 5, 3], [3, 2, 1], [1, 4, 1])


def program(expression: str, step: str) -> Any:
    """A function of a tensor and a list, whose source can be read."""
    text = f"def f(x, q):\n    {step}\n    return x * ({expression})\n"
    file = f"<given {expression} {step}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = dict(SPACE)
    exec(compile(text, file, "exec"), space)
    return space["f"]


def run(
    expression: str,
    step: str,
    dynamic: Any = None,
    calls: Any = CALLS,
    kind: Any = list,
    put: Any = None,
) -> str:
    """What differs between a compiled function and the function; empty if nothing."""
    f = program(expression, step)
    q = kind()
    compiled = anyshape.compile(lambda x: f(x, q), dynamic=dynamic)
    for call, held in enumerate(calls):
        x = torch.ones(2)
        outcomes = []
        for g in (compiled, lambda x: f(x, q)):
            (put or _put)(q, held)
            try:
                outcomes.append(repr((g(x), q)))
            except Exception as e:
                outcomes.append(repr((type(e), str(e).partition("\n")[0])))
        if outcomes[0] != outcomes[1]:
            return f"{expression} after {step}, call {call}: {outcomes[0]}, eager {outcomes[1]}"
    return ""


def _put(q: Any, held: Any) -> None:
    q.clear()
    (q.extend if hasattr(q, "extend") else q.update)(held)


def _in_place(q: Any, held: Any) -> None:
    """Put other items into the containers in a container, which stay the same objects."""
    for key in list(q)[len(held) :] if type(q) is list else ():
        q.remove(key)
    for key, part in held.items() if type(held) is dict else enumerate(held):
        if type(q) is list and key >= len(q):
            q.append([])
        inner = q.setdefault(key, type(part)()) if type(q) is dict else q[key]
        inner.clear()
        (inner.update if type(part) is dict else inner.extend)(part)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")
@pytest.mark.parametrize("dynamic", [None, "unbacked"])
def test_what_the_list_holds_counts(step: str, dynamic: Any) -> None:
    wrong = [run(expression, step, dynamic) for expression in OF_NUMBERS]
    assert not [w for w in wrong if w]


def test_a_list_that_is_not_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: functions of torch get the lists as they are outside."""
    monkeypatch.setattr(torch_call, "changed_below", lambda recorder, x: x)
    assert run("torch.tensor(q).sum()", "q[0] = 3")


DICTS = (
    {"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 4, "b": 2}, {"a": 4, "b": 7}, {"a": 40, "b": 7},
    {"b": 1, "a": 3},
)  # fmt: skip
SETS = ({1, 2}, {1, 2}, {1, 4}, {2}, {5, 6, 7}, {1, 2})
NESTED = (
    [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]], [[9, 2, 3], [4, 5, 6]], [[9, 2, 3], [4, 1, 6]],
    [[1, 2, 3], [4, 5, 6]], [[1, 2, 33], [4, 5, 6]],
)  # fmt: skip
NESTED_DICTS = tuple(
    {"a": [first, 2], "d": {"z": z}} for first, z in ((1, 1), (1, 1), (10, 1), (10, 55), (1, 1))
)
OTHERS = [
    (dict, OF_DICTS, ("pass", "q['a'] = 3", "q.update(b=5)"), DICTS, None),
    (collections.OrderedDict, OF_DICTS, ("pass", "q['c'] = 2"), DICTS, None),
    (set, OF_SETS, ("pass", "q.add(3)", "q.discard(1)"), SETS, None),
    (collections.deque, OF_NUMBERS, ("pass", "q[0] = 3", "q.rotate(1)"), CALLS, None),
    (list, OF_NESTED, ("pass", "q[0][0] = 3", "q[0].append(5)"), NESTED, _in_place),
    (dict, OF_NESTED_DICTS, ("pass", "q['a'][0] = 3", "q['d']['z'] = 9"), NESTED_DICTS, _in_place),
]


@pytest.mark.parametrize(("kind", "expressions", "steps", "calls", "put"), OTHERS)
@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")
def test_what_other_containers_hold_counts(
    kind: Any, expressions: Any, steps: Any, calls: Any, put: Any
) -> None:
    wrong = [run(e, step, None, calls, kind, put) for step in steps for e in expressions]
    assert not [w for w in wrong if w]
