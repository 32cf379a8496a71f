"""Lists outside that are given to functions: what they hold when the program runs counts.

Each function gets a list as it is, one of which the program has assigned an item, and one that it
has added to. The content changes between calls.
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


def run(expression: str, step: str, dynamic: Any = None) -> str:
    """What differs between a compiled function and the function; empty if nothing."""
    f = program(expression, step)
    q: list[int] = []
    compiled = anyshape.compile(lambda x: f(x, q), dynamic=dynamic)
    for call, held in enumerate(CALLS):
        x = torch.ones(2)
        outcomes = []
        for g in (compiled, lambda x: f(x, q)):
            q[:] = held
            try:
                outcomes.append(repr((g(x), q)))
            except Exception as e:
                outcomes.append(repr((type(e), str(e).splitlines()[0])))
        if outcomes[0] != outcomes[1]:
            return f"{expression} after {step}, call {call}: {outcomes[0]}, eager {outcomes[1]}"
    return ""


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
