"""One function, called with arguments of other types, spellings, structures, modes and memory."""

from __future__ import annotations

import collections
import dataclasses
import enum
import typing

import torch

from tests.differential.hostile.program import Box, Call, Case, leaf, program


def v(n=3):
    return torch.arange(n) + 1.0


def forms(*calls, **options):
    """A program whose calls have these arguments; each is a thunk."""

    def register(fn):
        def factory():
            return Case(fn, calls=[*calls, *reversed(calls)], **options)

        factory.__name__, factory.__module__ = fn.__name__, fn.__module__
        program(factory)
        return fn

    return register


@forms(*(lambda k=k: (v(), k) for k in (2, 2.0, True, 3, 2.5, False, 0, 0.0, -0.0, 1)))
def number_of_many_types(x, k):
    return x * k, x.int() * k, (x > 1) * k, k, type(k).__name__, x // (k or 2), torch.full((2,), k)


@forms(
    *(lambda k=k: (v(), k) for k in (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e308))
)
def special_floats(x, k):
    return x * k, k == k, k > 0, x / (k + 1), k * 10, k - k, torch.full((1,), k), max(k, 1.0)


@forms(*(lambda k=k: (v(), k) for k in (2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 5, 2**64, 7)))
def large_integers(x, k):
    try:
        return x.long() * k, k + 1, k % 1000, float(k), k // 3, x * k
    except (RuntimeError, OverflowError) as e:
        return type(e).__name__, k * 2


@forms(
    lambda: (v(), None),
    lambda: (v(), v() * 2),
    lambda: (v(5), None),
    lambda: (v(5), v(1)),
    lambda: (v(0), v(0)),
    lambda: (v(2), 3.0),
    lambda: (v(2), "text"),
)
def optional_tensor(x, mask):
    if mask is None:
        return x * 2
    if isinstance(mask, str):
        return x, mask.upper()
    return x + mask


@forms(
    lambda: Call((v(), 2.0)),
    lambda: Call((v(),), {"k": 2.0}),
    lambda: Call((), {"k": 2.0, "x": v()}),
    lambda: Call((), {"x": v(), "k": 3.0}),
    lambda: Call((v(),)),
    lambda: Call((v(), 2.0), {"z": v(2)}),
    lambda: Call((v(), 2.0, 4.0), {"y": 1, "z": 2}),
    lambda: Call((v(), 2.0), {"z": 2, "y": 1}),
)
def spellings(x, k=4.0, *rest, **more):
    return x * k, rest, more, list(more), len(rest)


@forms(*(lambda n=n: tuple(v(i + 1) for i in range(n)) for n in (1, 2, 3, 0, 5)))
def number_of_arguments(*xs):
    return sum(x.sum() for x in xs), [x * i for i, x in enumerate(xs)], xs[-1:] + xs[:1]


@forms(
    lambda: ([v(), v(2)],),
    lambda: ([v(), [v(2)]],),
    lambda: ((v(), v(2)),),
    lambda: ({"a": v(), "b": v(2)},),
    lambda: ({"b": v(), "a": v(2)},),
    lambda: ([],),
    lambda: ([v()],),
    lambda: (collections.OrderedDict(a=v()),),
    lambda: (collections.deque([v()]),),
    lambda: ({1: v(), "1": v(2)},),
)
def structures(d):
    items = list(d.items()) if isinstance(d, dict) else list(enumerate(d))
    return [(k, t * 2 if isinstance(t, torch.Tensor) else len(t)) for k, t in items], type(d)


def same():
    x = v()
    return x, x


def overlapping(a, b, n=5):
    x = v(n)
    return x[a : a + 3], x[b : b + 3]


@forms(
    same,
    lambda: (v(), v()),
    lambda: overlapping(0, 1),
    lambda: overlapping(0, 2),
    lambda: overlapping(1, 0),
    lambda: overlapping(0, 3, 8),
    lambda: overlapping(0, 0),
)
def written_and_read(x, y):
    x.add_(1)
    z = y * 2
    y.mul_(3)
    return z, x + y, x is y


@forms(
    lambda: (v(4), v(4)),
    lambda: (lambda x: (x, x.view(2, 2)))(v(4)),
    lambda: (lambda x: (x.view(2, 2).t(), x))(v(4)),
    lambda: (lambda x: (x.expand(3, 4), x))(v(4)),
    lambda: (lambda x: (x, x.detach()))(v(4)),
    lambda: (lambda x: (x, x.data.long()))(v(4)),
    lambda: (lambda x: (x[::2], x[1::2]))(v(4)),
    lambda: (lambda x: (x.real, x.imag))(torch.complex(v(4), v(4))),
)
def views_of_one_memory(x, y):
    y.zero_()
    return x + 1, x.sum(), y.numel()


@forms(
    lambda: (v(), v()),
    lambda: (v().requires_grad_(), v()),
    lambda: (v(), v().requires_grad_()),
    lambda: (v().requires_grad_(), v().requires_grad_()),
    lambda: ((v().requires_grad_() * 2), v()),
    lambda: (v().requires_grad_().detach(), v()),
)
def gradient_wanted(x, y):
    z = x * y + y.detach()
    return z, z.requires_grad, x.is_leaf, z.grad_fn is None


def inferred(n=3):
    with torch.inference_mode():
        return v(n)


@forms(lambda: (v(),), lambda: (inferred(),), lambda: (leaf(3)[0],), lambda: (inferred(5),))
def inference_tensors(x):
    return x * 2, x.is_inference(), x[1:], x.view(-1)


@forms(lambda: (inferred(),), lambda: (v(),), lambda: (inferred(2),))
def inference_tensor_written(x):
    try:
        x.add_(1)
        return x, x._version if not x.is_inference() else None
    except RuntimeError as e:
        return str(e)[:20]


def under(*managers):
    def drive(fn, x, i):
        with managers[i]():
            return fn(x)

    return drive


@program
def modes_of_the_caller():
    lin = torch.nn.Linear(3, 3)
    with torch.no_grad():
        lin.weight.fill_(0.5), lin.bias.fill_(0.1)

    def f(x):
        y = lin(x)
        return y, y.requires_grad, y.dtype, torch.is_grad_enabled(), torch.ones(1) * x.sum()

    managers = (
        torch.no_grad,
        torch.enable_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.autocast("cpu", torch.float16),
        lambda: torch.autocast("cpu", enabled=False),
        lambda: torch.inference_mode(False),
        lambda: torch.set_grad_enabled(False),
    )
    calls = [lambda i=i: (torch.ones(2, 3), i) for i in (*range(8), *range(7, -1, -1))]
    return Case(f, calls=calls, drive=under(*managers))


@program
def default_dtypes_of_the_caller():
    def f(x):
        return (
            torch.zeros(x.shape[0]) + 0.5,
            torch.tensor(1.5).dtype,
            x.long() / 2,
            torch.rand(1).dtype,
        )

    def at(dtype, n):
        def make():
            torch.set_default_dtype(dtype)
            return (torch.ones(n, dtype=torch.float32),)

        return make

    kinds = (torch.float32, torch.float64, torch.float32, torch.float16, torch.float64)
    calls = [at(d, n) for n in (3, 1, 0) for d in kinds]
    return Case(f, calls=calls, cleanup=lambda: torch.set_default_dtype(torch.float32))


@forms(
    *(
        lambda d=d: (v().to(d),)
        for d in (
            torch.float32,
            torch.int64,
            torch.bool,
            torch.uint8,
            torch.complex64,
            torch.bfloat16,
            torch.float64,
            torch.int16,
        )
    )
)
def dtypes(x):
    try:
        r = [x + 1, x * 1.5, x + True, x * -0.0, x.sum(), x.mean() if x.is_floating_point() else x]
    except RuntimeError as e:
        return str(e)[:30]
    return (
        r,
        [t.dtype for t in r],
        x.dtype.itemsize,
        torch.result_type(x, 1.0),
        torch.can_cast(x.dtype, torch.int8),
    )


@forms(
    *(
        lambda a=a, b=b: (torch.ones(a, dtype=torch.int32), torch.ones(b, dtype=torch.float16))
        for a, b in (((), (2,)), ((2,), ()), ((1,), (2,)), ((0,), ()), ((), ()), ((2,), (2,)))
    )
)
def promotion_by_dimension(x, y):
    z = x + y
    return z, z.dtype, (x * 2.5).dtype, (x / x).dtype, torch.where(x > 0, x, y).dtype


class Mode(enum.Enum):
    PLAIN = 1
    TWICE = 2


class Row(typing.NamedTuple):
    a: typing.Any
    b: typing.Any = 2


@dataclasses.dataclass
class Record:
    a: typing.Any
    b: typing.Any = dataclasses.field(default_factory=list)


@forms(
    lambda: (Row(v()),),
    lambda: (Row(v(), 3),),
    lambda: (Row(v(5), v(5)),),
    lambda: (Record(v()),),
    lambda: (Record(v(), [v(2)]),),
    lambda: (Record(v(1), 2),),
    lambda: (Box(a=v(), b=1.5),),
)
def records(r):
    r.b.append(r.a) if isinstance(r.b, list) else None
    return r.a * (len(r.b) if isinstance(r.b, list) else r.b), type(r)


@forms(
    *(
        lambda k=k: (v(), k)
        for k in (Mode.PLAIN, Mode.TWICE, 1, "1", b"1", (1,), frozenset([1]), slice(1, 2), ..., int)
    ),
    *(lambda k=k: (v(), k) for k in (torch.float64, torch.device("cpu"), torch.Size([3]), 1 + 0j)),
)
def objects_as_arguments(x, k):
    if isinstance(k, Mode):
        return x * k.value, k is Mode.TWICE
    if isinstance(k, (slice, type(...))):
        return x[k]
    if isinstance(k, torch.dtype):
        return x.to(k)
    return x, k, type(k), {k: 1}


@forms(
    lambda: (v(), lambda t: t * 2),
    lambda: (v(), torch.sin),
    lambda: (v(), torch.nn.ReLU()),
    lambda: (v(), lambda t: t * 3),
    lambda: (v(), Box(__call__=1).__class__),
    lambda: (v(), str),
)
def functions_as_arguments(x, fn):
    try:
        return fn(x)
    except TypeError as e:
        return str(e)[:10]


def tree(depth, x):
    return x if depth == 0 else {"l": tree(depth - 1, x * 2), "r": [tree(depth - 1, x)]}


@forms(*(lambda d=d: (tree(d, v()),) for d in (0, 1, 2, 1, 3)))
def trees(t):
    def total(t):
        if isinstance(t, dict):
            return sum(total(c) for c in t.values())
        return sum(map(total, t)) if isinstance(t, list) else t.sum()

    return total(t), t


def shared_list():
    l = [v()]
    return l, l


def looped():
    d = {"x": v()}
    d["me"] = d
    return d, [v()]


@forms(shared_list, lambda: ([v()], [v()]), lambda: ([v(), v()], [v()]), looped)
def containers_twice(a, b):
    b.append(len(a))
    return a is b, len(a), (a["me"] is a if isinstance(a, dict) else a[0] * 2)


@forms(
    lambda: (torch.ones(3, 4),),
    lambda: (torch.ones(4, 3).t(),),
    lambda: (torch.ones(3, 1).expand(3, 4),),
    lambda: (torch.ones(6, 4)[::2],),
    lambda: (torch.ones(1, 4).expand(1, 4),),
    lambda: (torch.ones(4).expand(0, 4),),
    lambda: (torch.ones(2, 2, 4)[1, :0],),
    lambda: (torch.as_strided(torch.arange(9.0), (3, 4), (1, 1)),),
)
def layouts(x):
    return (
        x.is_contiguous(),
        x.stride(),
        x.contiguous() is x,
        x.reshape(-1),
        x.clone().stride(),
        x.flatten().stride(),
    )


@forms(
    lambda: (torch.tensor(3),),
    lambda: (torch.tensor(0),),
    lambda: (torch.tensor(1),),
    lambda: (torch.tensor(2.7),),
    lambda: (torch.tensor(True),),
    lambda: (torch.tensor([2]),),
    lambda: (3,),
    lambda: (torch.tensor(5),),
)
def size_from_data(n):
    k = int(n)
    return torch.zeros(k).numel(), list(range(k)), torch.arange(k) * k, k == 2, float(n), bool(n)


@forms(
    *(lambda s=s: (v(), s) for s in ("sum", "mean", "max", "nothing", "sum", "_private", "__len__"))
)
def method_by_name(x, name):
    m = getattr(x, name, None)
    return (m() if m is not None else x * 2), hasattr(x, name)


@forms(
    lambda: (v(), torch.tensor([0, 2])),
    lambda: (v(), torch.tensor([True, False, True])),
    lambda: (v(), [0, 2]),
    lambda: (v(), (0,)),
    lambda: (v(), -1),
    lambda: (v(), None),
    lambda: (v(), slice(None, None, 2)),
    lambda: (v(), torch.tensor(1)),
    lambda: (v(), True),
    lambda: (v(), [True, False, False]),
    lambda: (v(), torch.zeros(0, dtype=torch.long)),
    lambda: (v(), []),
    lambda: (v(), (slice(1, 2), None)),
)
def indices(x, i):
    y = x[i]
    x[i] = 7.0
    return y, x


@forms(
    lambda: (v(), 1),
    lambda: (v(), torch.tensor(1)),
    lambda: (v(), torch.tensor(1.5)),
    lambda: (v(), torch.tensor([1])),
    lambda: (v(), 1.0),
    lambda: (v(), torch.tensor(1, dtype=torch.int8)),
)
def number_or_tensor(x, k):
    return (
        x + k,
        x.int() + k,
        (x.int() + k).dtype,
        isinstance(k, torch.Tensor),
        torch.add(x, 1, alpha=2),
    )


@forms(
    *(
        lambda k=k: (v(6), k)
        for k in ((2, 3), [3, 2], (-1,), torch.Size([6, 1]), (1, 1, -1), (4, 2), 6)
    )
)
def shapes_as_arguments(x, shape):
    try:
        return x.view(shape), x.reshape(shape).dim(), shape
    except RuntimeError as e:
        return str(e)


@forms(*(lambda d=d: (torch.ones(2, 3, 1), d) for d in (0, -1, (0, 1), None, [2], (), 1, 5)))
def dimensions_as_arguments(x, dim):
    try:
        return x.sum(dim), x.sum(dim, keepdim=True), x.squeeze() if dim is None else x.squeeze(dim)
    except (IndexError, TypeError) as e:
        return str(e)[:30]
