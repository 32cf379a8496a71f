"""Sizes as numbers: divided, rounded, sorted, sliced by, printed, kept as keys."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import math
import operator

import torch

from tests.differential.hostile.program import Box, Case, attribute, body, matrix, program


def pair(n):
    return (torch.arange(4.0 * n).reshape(n, 4) - 2.0, torch.ones(4, n) * 2)


def two(n):
    """Equal sizes at some n, different ones at others."""
    return (torch.ones(n, 2) * 3, torch.arange(2.0 * (n + n % 2)).reshape(-1, 2))


@body(args=matrix)
def divmod_of_products(x):
    q, r = divmod(x.shape[0] * x.shape[1] - 7, 3)
    return x * q, r, divmod(-x.shape[0], 4), divmod(x.shape[0], -2), -x.shape[0] // -3


@body(args=matrix)
def rounding_of_quotients(x):
    n = x.shape[0]
    k = [round(n / 2), round(n / 3, 1), round(n, -1), math.ceil(n / 2), math.floor(-n / 2)]
    return x * k[0] + k[2], k, math.trunc(-n / 2), int(-n / 4), round(-n / 2)


@body(args=matrix)
def negative_steps_of_lists(x):
    l = list(range(x.shape[0]))
    return x * len(l[::-2]), l[-2:], l[:-1], l[x.shape[0] // 2 :: -1], l[-100:100:3]


@body(args=matrix)
def slices_by_sizes(x):
    n = x.shape[0]
    return (
        x[: n // 2],
        x[-(n // 2) :],
        x[n // 2 : -1],
        x[:: max(n - 2, 1)],
        x[n:],
        x[-n - 1 :],
        x[: -n or None],
    )


@body(args=matrix)
def strides_of_slices(x):
    y = x[:: x.shape[0] // 2 + 1]
    return y, y.stride(), y.storage_offset(), y.is_contiguous(), y[1:].storage_offset()


@body(args=matrix)
def index_from_the_end(x):
    try:
        return x[-(x.shape[0] // 2) - 1], x[x.shape[0] - 1]
    except IndexError as e:
        return x, str(e)


@body(args=matrix)
def halves_by_recursion(x):
    def go(y):
        if y.shape[0] <= 1:
            return y.sum()
        half = y.shape[0] // 2
        return go(y[:half]) * 2 + go(y[half:])

    return go(x)


@body(args=matrix)
def recursion_with_memo(x):
    memo = {}

    def fib(n):
        if n not in memo:
            memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
        return memo[n]

    return x * fib(x.shape[0] + 2), memo


@body(args=matrix)
def collatz(x):
    n, steps = x.shape[0] + 1, 0
    while n != 1 and steps < 6:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return x * steps, steps


@body(args=two)
def greatest_common_divisor(x, y):
    g = math.gcd(x.shape[0], y.shape[0])
    return x * g, math.lcm(x.shape[0], 3), math.comb(x.shape[0] + 2, 2), math.isqrt(y.shape[0])


@body(args=two)
def sorted_by_sizes(x, y):
    z = torch.ones(3, 2)
    order = sorted([x, y, z], key=lambda t: (-t.shape[0], t.dim()))
    return [t * i for i, t in enumerate(order)], order[0] is y, min([x, y], key=len) is x


@body(args=two)
def set_of_shapes(x, y):
    s = {x.shape, y.shape, torch.Size([3, 2])}
    return x * len(s), x.shape in s, (2, 2) in s, tuple(y.shape) in s, s - {x.shape}


@body(args=two)
def counter_of_shapes(x, y):
    c = collections.Counter([x.shape, y.shape, (3, 2)])
    return x * c[x.shape], c.most_common(1), sorted(c.values())


@body(args=two)
def heap_of_tensors(x, y):
    h = []
    for i, t in enumerate((x, y, torch.ones(2, 2))):
        heapq.heappush(h, (t.shape[0], i, t))
    first = heapq.heappop(h)
    return first[2] * first[0], heapq.nlargest(1, h)[0][1], heapq.heappushpop(h, (1, 9, x))[1]


@body(args=two)
def merged_sizes(x, y):
    m = list(heapq.merge([1, x.shape[0], 9], [2, y.shape[0], 8]))
    return x * m[0] + m[-2], m


@body(args=matrix)
def buckets_by_bisection(x):
    i = bisect.bisect_left([1, 2, 4, 8], x.shape[0])
    j = bisect.bisect_right([1, 2, 4, 8], x.shape[0], lo=1)
    return torch.nn.functional.pad(x, (0, 0, 0, [1, 2, 4, 8][i] - x.shape[0])), i, j


@program
def queue_of_sizes():
    q = collections.deque(maxlen=3)

    def f(x):
        q.append(x.shape[0])
        return x * sum(q) / len(q), list(q), q[-1] == q[0], q.count(x.shape[0])

    return Case(f, q.clear, lambda: q.extendleft([7, 8]), looks_at=q)


@program
def window_of_sizes_by_text():
    seen = {}

    def f(x):
        key = f"{x.shape[0]}x{x.shape[-1]:>3}"
        seen[key] = seen.get(key, 0) + 1
        return x * seen[key], key in seen, len(seen)

    return Case(f, lambda: seen.popitem(), args=matrix, looks_at=seen)


@program
def last_item_popped():
    d = {}

    def f(x):
        d[x.shape[0]] = len(d)
        k, v = d.popitem() if x.shape[0] % 2 else next(iter(d.items()))
        return x * v + k, list(d)

    return Case(f, lambda: d.update({9: 1.5}), lambda: d.clear(), looks_at=d)


@program
def order_by_reinsertion():
    d = {"a": 1.0, "b": 2.0, "c": 3.0}

    def f(x):
        key = list(d)[x.shape[0] % len(d)]
        d[key] = d.pop(key) + 1
        return x * next(reversed(d.values())), list(d)

    return Case(f, lambda: d.update(a=d.pop("a")), looks_at=d)


@body(args=matrix)
def format_specifications(x):
    n = x.shape[0]
    w = n + 3
    return (
        x,
        f"{n:>{w}}|{n:<{w}d}|{n:^+{w}}|{n:#x}|{n:_}|{n!r:>4}|{n:e}|{n:%}|{n:b}",
        "%s %r %05.1f %*d" % (n, n, n, w, n),
        "{:{}}".format(n, w),
        format(n, "04"),
        str(n).zfill(4),
        f"{x.shape}",
        f"{x.shape[0] == 2}",
        f"{n / 2:.1f}",
    )


@body(args=matrix)
def text_repeated(x):
    n = x.shape[0]
    s = "ab" * n
    return x * len(s), s.find("b"), s[n:], s.center(n * 3, "-"), [0] * n, (1,) * (n - 2), b"z" * n


@body(args=matrix)
def arithmetic_of_shapes(x):
    s = x.shape
    return (
        x.new_zeros(s + (2,)),
        x.new_ones((1,) + s),
        type(s + (2,)).__name__,
        type((1,) + s).__name__,
        type(s * 2).__name__,
        type(s[1:]).__name__,
        s[::-1],
        s.numel(),
        s.index(4),
        s.count(4),
        s == (x.shape[0], 4),
        s == [x.shape[0], 4],
        s < (3, 5),
        hash(s) == hash(tuple(s)),
        torch.Size(reversed(s)),
        max(s),
        (*s,),
    )


@body(args=pair)
def products_of_shapes(x, y):
    total = functools.reduce(operator.mul, x.shape, 1)
    return (
        (x @ y) * (total == y.numel()),
        math.prod(x.shape[:0]),
        list(itertools.accumulate(x.shape, operator.mul)),
        sum(x.shape, start=2),
        (x @ y).shape == (x.shape[0],) * 2,
    )


@body(args=matrix)
def unpacked_shapes(x):
    first, *rest = x.shape
    *_, last = x.shape
    (a, b), c = x.shape, len(x.shape)
    return x * first, rest, last, a * b, c, [*x.shape, *x.T.shape], {**{str(a): b}}


@body(args=matrix)
def splits_by_sizes(x):
    n = x.shape[0]
    parts = x.split([n // 2, n - n // 2])
    more = x.split(max(n // 2, 1))
    chunks = x.chunk(3)
    return parts, len(more), more[-1], len(chunks), [c.shape[0] for c in chunks], x.tensor_split(3)


@body(args=matrix)
def split_by_lists_that_do_not_fit(x):
    try:
        return x.split([2, x.shape[0] - 2])
    except RuntimeError as e:
        return type(e).__name__


@body(args=matrix)
def padded_to_multiples(x):
    n = x.shape[0]
    short = -n % 4
    y = torch.nn.functional.pad(x, (0, 0, 0, short))
    return y.view(-1, 4, 4).sum(1), y.shape[0] // 4, (n + 3) // 4 * 4 == y.shape[0], n + 3 & ~3


@body(args=matrix)
def bits_of_sizes(x):
    n = x.shape[0]
    return (
        x * (n & -n),
        1 << n.bit_length() if n else 0,
        n ^ 5,
        n | 8,
        n >> 1,
        (n & (n - 1)) == 0,
        n.bit_count(),
        int.bit_length(n),
        n.to_bytes(2, "big"),
        n.as_integer_ratio(),
        n.conjugate(),
        n.real,
        n.imag,
        n.numerator,
    )


@body(args=matrix)
def powers_of_sizes(x):
    n = x.shape[0]
    return x * 2**n, n**0, 0**n, pow(n, 3, 5), 2 ** (n - 3), n**0.5, (-1) ** n, float(n) ** 2, n**n


@body(args=matrix)
def truth_of_sizes(x):
    n = x.shape[0]
    a = n or 7
    b = n and x.shape[1]
    return x * a, b, not n, bool(n - 1), n - 2 or "two", [k for k in x.shape if k - 3], any(x.shape)


@body(args=matrix)
def ranges_of_sizes(x):
    n = x.shape[0]
    r = range(n, -1, -2)
    return (
        x * len(r),
        list(r),
        r[-1],
        2 in r,
        r.index(n),
        range(0, n, 2) == range(0, n - n % 2, 2),
        list(reversed(range(1, n + 1))),
        list(zip(range(n), range(n, 2 * n))),
        sum(range(n)),
        max(range(n), default=-1),
    )


@body(args=matrix)
def loops_of_products(x):
    t = 0
    for i, j in itertools.product(range(x.shape[0]), range(2)):
        t = t + x[i, j] * (i - j)
    return t, list(itertools.combinations(range(x.shape[0]), 2)), list(itertools.islice(x.shape, 1))


@body(args=matrix)
def grouped_by_parity(x):
    groups = {k: list(g) for k, g in itertools.groupby(range(x.shape[0]), key=lambda i: i // 2)}
    pairs = list(itertools.pairwise(x.shape))
    rows = list(itertools.compress(x, [i % 2 == 0 for i in range(x.shape[0])]))
    return x * len(groups), groups, pairs, rows, list(itertools.zip_longest(x.shape, [1, 2, 3]))


@program
def limits_of_the_outside():
    b = Box(cap=4, step=2)

    def f(x):
        n = min(max(x.shape[0] - 1, 0), b.cap)
        while n % b.step:
            n -= 1
        return x[:n], n, x.shape[0] in range(0, b.cap, b.step), b.cap - x.shape[0]

    return Case(f, *attribute(b, "cap", 1, 2.5, True), *attribute(b, "step", 1, 3), args=matrix)


@body(args=matrix)
def comparisons_with_floats(x):
    n = x.shape[0]
    return (
        x * (n > 1.5),
        n == 2.0,
        n < math.inf,
        n != n,
        n <= True,
        n == 2 + 0j,
        (n > 1) + (n > 2),
        n is None,
        n == "2",
        n in (2.0, 3.0),
        n.__eq__(2),
        [1, 2, 3].index(3) == n,
        (n, 1) < (2, 5),
        max(n, 2.5),
        min(2, n, 3.0),
    )


@body(args=two)
def broadcast_of_two_sizes(x, y):
    try:
        return x + y, torch.broadcast_shapes(x.shape, y.shape), x.shape == y.shape
    except RuntimeError as e:
        return x, type(e).__name__, x.shape[0] - y.shape[0]


@body(args=two)
def joined_and_compared(x, y):
    z = torch.cat([x, y])
    if z.shape[0] == 2 * x.shape[0]:
        return z.view(2, -1, 2).sum(0), 1
    return z, 2 * y.shape[0] > z.shape[0]


@body(args=matrix)
def dictionary_by_size(x):
    names = {0: "none", 1: "one", 2: "two"}
    n = x.shape[0]
    return (
        x,
        names.get(n, "many"),
        names.setdefault(n, "new"),
        len(names),
        n in names,
        {n: 1} | names,
    )


@body(args=matrix)
def float_of_sizes_in_tensors(x):
    n = x.shape[0]
    return (
        torch.full((2,), n / 3),
        torch.tensor([n, n * 2]),
        torch.tensor(n / 2),
        torch.tensor([n, 0.5]).dtype,
        torch.linspace(0, n, 3),
        torch.arange(0, n, 0.5 * (n or 1)),
        x.new_tensor([n]),
        torch.as_tensor(n).dtype,
        torch.arange(n / 2),
    )


@body(args=matrix)
def quotients_of_zero(x):
    n = x.shape[0]
    try:
        k = 12 // n % (n - 1)
    except ZeroDivisionError as e:
        return x, str(e)
    return x * k, k
