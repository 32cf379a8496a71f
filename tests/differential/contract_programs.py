"""Programs whose contract is compared with eager execution at all small sizes.

Each takes a tensor `x` of n rows and a tensor `y` of m elements, and treats some sizes differently.
"""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F  # noqa: N812


def twice_if_many(x, y):
    return x * 2 if x.shape[0] > 3 else x + y.sum()


def even_and_odd(x, y):
    return x.view(2, -1) if x.shape[0] % 2 == 0 else x + 1


def squares(x, y):
    n, m = x.shape[0], y.shape[0]
    return x * 2 if n * m == 12 else x


def same_sizes(x, y):
    return x[:, 0] + y if x.shape[0] == y.shape[0] else x


def both_or_neither(x, y):
    n, m = x.shape[0], y.shape[0]
    return x * 2 if (n > 2 and m > 2) or (n < 2 and m < 2) else x


def larger_of_two(x, y):
    return x.new_zeros(max(x.shape[0], y.shape[0]))


def smaller_of_two(x, y):
    k = min(x.shape[0], y.shape[0])
    return x[:k, 0] * y[:k]


def padded(x, y):
    rest = -x.shape[0] % 4
    return F.pad(x, (0, 0, 0, rest)).view(-1, 4, 2)


def in_pairs(x, y):
    return x.view(-1, 2, 2)


def divides(x, y):
    return x.view(y.shape[0], -1)


def asserted(x, y):
    assert x.shape[0] >= 2, "too few"
    return x - y.sum()


def raised(x, y):
    if x.shape[0] + y.shape[0] > 8:
        raise ValueError("too many")
    return x.sum() + y


def checked(x, y):
    torch._check(x.shape[0] <= y.shape[0] + 2, lambda: "too many rows")
    return x + 1


def divided(x, y):
    return x * (6 // x.shape[0])


def remainder(x, y):
    return x + x.shape[0] % y.shape[0]


def mean_of_rows(x, y):
    return x.mean(0) / (y.shape[0] or 1)


def first_row(x, y):
    return x[0] + y.sum()


def third_row(x, y):
    return x[2]


def last_rows(x, y):
    return x[-2:]


def middle(x, y):
    return x[1:-1]


def every_second(x, y):
    return x[::2], y[1::3]


def unrolled(x, y):
    total = x.sum()
    for i in range(y.shape[0]):
        total = total + y[i] * i
        if i == 4:
            break
    return total


def chunks(x, y):
    return torch.chunk(x, 3)


def pieces(x, y):
    return torch.split(x, 2)


def unbound(x, y):
    return torch.unbind(y[:4])


def joined(x, y):
    return torch.cat([x[:, 0], y]).view(-1, 1)


def stacked(x, y):
    return torch.stack([x[:, 0], y])


def broadcast(x, y):
    return x[:, :1] + y


def added(x, y):
    return x[:, 0] + y


def product(x, y):
    return x.T @ x.view(-1, 2), torch.outer(x[:, 0], y)


def convolved(x, y):
    return F.conv1d(y.view(1, 1, -1), torch.ones(1, 1, 3))


def convolved_with_stride(x, y):
    return F.conv1d(y.view(1, 1, -1), torch.ones(1, 1, 2), stride=2, padding=1)


def pooled(x, y):
    return F.max_pool1d(y.view(1, 1, -1), 2), F.avg_pool1d(y.view(1, 1, -1), 2, ceil_mode=True)


def windows(x, y):
    return y.unfold(0, 3, 2)


def reshaped(x, y):
    return x.reshape(-1, x.shape[0])


def squeezed(x, y):
    return y.squeeze(0)


def expanded(x, y):
    return y.expand(3, -1) if y.shape[0] != 1 else y.expand(4)


def repeated(x, y):
    return x.repeat(y.shape[0], 1)


def root(x, y):
    k = math.isqrt(x.shape[0])
    return x.view(k, k, 2) if k * k == x.shape[0] else x


def halved(x, y):
    return x[: int(x.shape[0] / 2)], y[: int(y.shape[0] * 0.5)]


def rounded(x, y):
    return y[: round(y.shape[0] / 4)]


def logarithm(x, y):
    return x * math.log2(x.shape[0]) if x.shape[0] > 0 else x


def power_of_two(x, y):
    n = x.shape[0]
    return x * 2 if n & (n - 1) == 0 else x


def bits(x, y):
    return x + (x.shape[0] << 1) + (y.shape[0] ^ 3)


def in_a_set(x, y):
    return x * 3 if x.shape[0] in (1, 3, 5) else x


def looked_up(x, y):
    return x * {0: 1.0, 1: 2.0, 2: 3.0}.get(x.shape[0], 0.5)


def compared_shapes(x, y):
    return x * 2 if x.shape == (3, 2) else x


def by_elements(x, y):
    return x * 2 if x.numel() >= 6 else x + y.numel()


def empty_first(x, y):
    if x.numel() == 0:
        return y
    return x.max(0).values + y.sum()


def best(x, y):
    return y.argmax(), x.sum()


def top(x, y):
    return y.topk(2).values


def ordered(x, y):
    return y.sort().values[: x.shape[0]]


def gathered(x, y):
    return x[torch.arange(y.shape[0]) % 2]


def triangle(x, y):
    return torch.tril(torch.ones(x.shape[0], y.shape[0]))


def nested_branches(x, y):
    n, m = x.shape[0], y.shape[0]
    if n > m:
        return x * 2 if n > 2 * m else x * 3
    return y if n == m else y * 4


def chain(x, y):
    n, m = x.shape[0], y.shape[0]
    return x if n <= m <= n + 2 else x * 2


def sums(x, y):
    return x * 2 if x.shape[0] + y.shape[0] == 7 else x


def differences(x, y):
    return x * abs(x.shape[0] - y.shape[0])


def multiple(x, y):
    n, m = x.shape[0], y.shape[0]
    return y.view(n, -1) if n and m % n == 0 else x


def tried(x, y):
    try:
        return x[:, 0] + y
    except RuntimeError:
        return x


def interpolated(x, y):
    return F.interpolate(y.view(1, 1, -1), scale_factor=2.0)


def normed(x, y):
    return F.layer_norm(x, (2,)), F.normalize(y, dim=0)


def in_groups(x, y):
    return F.softmax(x.view(-1, 2), 0).sum(1)


def grouped_rows(x, y):
    return x.unflatten(0, (-1, 3)) if x.shape[0] % 3 == 0 else x.flatten()


def counted(x, y):
    return torch.arange(x.shape[0], y.shape[0] + x.shape[0]), torch.linspace(0, 1, x.shape[0])


def any_and_all(x, y):
    sizes = [x.shape[0], y.shape[0]]
    return x if all(n > 1 for n in sizes) else x * 2 if any(n > 1 for n in sizes) else x * 3


def sorted_sizes(x, y):
    least, most = sorted([x.shape[0], y.shape[0]])
    return x.new_ones(least, most)


def as_text(x, y):
    return x * len(str(x.shape[0] + 8))


def swapped(x, y):
    return x.transpose(0, 1).contiguous().view(-1) if x.shape[0] > 1 else x.t()


PROGRAMS = [
    f for f in list(vars().values()) if callable(f) and getattr(f, "__module__", "") == __name__
]
