"""Programs whose loops have counters, and other numbers that change from round to round."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from tests.unit.export.branches.branch_programs import FIRST, Case, Dim, one_tensor


def counter(x: torch.Tensor) -> Any:
    rounds = 0
    while (x.abs() > 1).any():
        x = x / 2
        rounds += 1
    return x, rounds


def counter_in_question(x: torch.Tensor) -> Any:
    i = 0
    while i < int(x.abs().sum()):
        x = x * 0.5
        i += 1
    return x + i, i


def limited(x: torch.Tensor) -> Any:
    """A loop that stops after some rounds, and one that may not go on so long."""
    n = 0
    while x.sum() > 0:
        assert n < 1000, "too many rounds"
        x = x - 0.125
        n = n + 1
        if n >= 20:
            break
    return x * n


def downwards(x: torch.Tensor) -> Any:
    k = 30
    while k > 0 and (x.abs() > 0.01).any():
        x = x * 0.5
        k -= 3
    return x, k


def two_counters(x: torch.Tensor) -> Any:
    """Numbers that change together, and one that doubles."""
    i, j, step = 0, 5, 1
    while (x.abs() > 1).any():
        x = x * 0.75 + 0.1 * (j - 2 * i - 5)
        i, j, step = i + 1, j + 2, step * 2
    return x, i, j, step


def elapsed(x: torch.Tensor) -> Any:
    """A float that grows."""
    t = 0.0
    while x.sum() > t:
        t += 0.5
    return x * t, t


def grown(ids: torch.Tensor) -> Any:
    """A tensor that is longer after each round."""
    while ids[-1] < 10:
        ids = torch.cat([ids, ids[-1:] + 1])
    return ids, ids.shape[0]


def decoded(ids: torch.Tensor) -> Any:
    """Two tensors that grow together, and a counter of the new elements."""
    done = ids[:, :1] * 0
    mask = torch.ones_like(ids)
    new = 0
    while new < 12 and not (ids[:, -1] > 3).all():
        scores = (ids * mask).sum(1, keepdim=True).remainder(5)
        ids = torch.cat([ids, scores], 1)
        mask = torch.cat([mask, done + 1], 1)
        new += 1
    return ids, mask, new


class Step(NamedTuple):
    """The state of a solver."""

    y: torch.Tensor
    size: torch.Tensor
    tries: int


class Solver:
    """An object that counts in an attribute, in a list, and in a tuple."""

    def __init__(self, y: torch.Tensor) -> None:
        self.state = Step(y, torch.ones(()), 0)
        self.calls = 0
        self.log = [0, {"halved": 0}]

    def advance(self) -> None:
        y, size, tries = self.state
        self.calls += 1
        new = y - size * y
        if (new - y).abs().sum() > 1:
            self.state = Step(y, size / 2, tries + 1)
            self.log[1]["halved"] += 1
        else:
            self.state = Step(y * 0.5, size * 1.5, tries)
            self.log[0] += 1


def solved(x: torch.Tensor) -> Any:
    solver = Solver(x)
    while (solver.state.y.abs() > 0.25).any():
        solver.advance()
    return solver.state.y, solver.state.tries, solver.calls, solver.log


def nested_counters(x: torch.Tensor) -> Any:
    total = 0
    outer = 0
    while x.sum() > 1:
        inner = 0
        while (x > 1).any():
            x = torch.where(x > 1, x / 2, x)
            inner += 1
        total += inner
        x = x - 0.25
        outer += 1
    return x, total, outer


class Layers(nn.Module):
    """A counter that picks a layer cannot be a symbol: the loop is unrolled."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(12)])

    def forward(self, x: torch.Tensor) -> Any:
        i = 0
        while i < len(self.layers):
            x = self.layers[i](x)
            if x.sum() > 3:
                break
            i += 1
        return x, i


def reset_on_one_side(x: torch.Tensor) -> Any:
    """A counter that begins anew on one side."""
    calm = 0
    while calm < 9:
        if (x.abs() > 1).any():
            x = x / 2
            calm = 0
        else:
            calm += 1
    return x, calm


def seen_again(x: torch.Tensor) -> Any:
    """A tensor that grows, and a view of an earlier one."""
    y = x[:1]
    tail = y[0]
    while y.numel() < 15 and (y.sum() < 20).all():
        tail = y[-1]
        y = torch.cat([y, y[-1:] * 1.5 + 1])
    return y, tail


def kept_pairs(x: torch.Tensor) -> Any:
    """An inner loop over a tuple that each round makes anew."""
    count = 0
    for i in range(int(x.abs().sum())):
        is_far = True
        for bound in (x.min() + i, x.max() - i):
            if (x - bound).abs().sum() < i:
                is_far = False
        if is_far:
            count = count + 1
    return x * count


def _rows(n: int) -> tuple[Any, ...]:
    return (torch.randint(0, 3, (n, 3)),)


def _column(n: int) -> tuple[Any, ...]:
    return (torch.randn(n, 1),)


FROM_ONE = ({0: Dim("n", min=1)},)
LOOPS: dict[str, Case] = {
    "counter": Case(counter, one_tensor, FIRST, [5]),
    "counter_in_question": Case(counter_in_question, one_tensor, FIRST, [5]),
    "limited": Case(limited, one_tensor, FIRST, [7]),
    "downwards": Case(downwards, one_tensor, FIRST, [7]),
    "two_counters": Case(two_counters, one_tensor, FIRST, [5]),
    "elapsed": Case(elapsed, one_tensor, FIRST, [5]),
    "grown": Case(grown, one_tensor, FROM_ONE, [5], 1),
    "decoded": Case(decoded, _rows, FIRST, [7]),
    "solved": Case(solved, one_tensor, FIRST, [9]),
    "nested_counters": Case(nested_counters, one_tensor, FIRST, [11]),
    "layers": Case(Layers().eval(), _column, FIRST, [25]),
    "reset_on_one_side": Case(reset_on_one_side, one_tensor, FIRST, [7]),
    "kept_pairs": Case(kept_pairs, one_tensor, FROM_ONE, [13], 1),
    "seen_again": Case(seen_again, one_tensor, FROM_ONE, [7], 1),
}
