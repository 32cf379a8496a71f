"""Programs whose sides meet again after a branch on data, and some whose sides must not."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.unit.export.branches.branch_programs import FIRST, Case, one_tensor


def five_ifs(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        y = x * 2
    else:
        t = x - 1
        y = t.abs()
    if y.sum() > 3:
        y = y / 2
    if (y > x).any():
        parts = [x, y]
        y = torch.stack(parts).sum(0)
    else:
        y = y + 1
    if y.mean().item() > 1:
        y = y - x
    if (y < 0).all():
        y = y * y
    return y, y.sum()


def nested(x: torch.Tensor) -> Any:
    y = x + 1
    if x.sum() > 0:
        y = y * 2 if (y > 2).any() else y * 3
        if (y < 1).any():
            y = y - 1
    else:
        y = y / 2
    if y.sum() > 1:
        y = -y
    return y


def in_loop(x: torch.Tensor) -> Any:
    rounds = torch.zeros((), dtype=torch.int64)
    while (x.abs() > 1).any():
        if (x > 1).any():
            x = torch.where(x > 1, x - 1, x)
        if (x < -1).any():
            x = torch.where(x < -1, x / 2, x)
            rounds += 1
        if rounds > 3:
            x = x.clamp(-1, 1)
    return x, rounds


def other_dtype(x: torch.Tensor) -> Any:
    y = x.double() if x.sum() > 0 else x + 1
    if y.abs().sum() > 2:
        y = y * 2
    return y


def other_rank(x: torch.Tensor) -> Any:
    y = x.unsqueeze(0) if x.sum() > 0 else x + 1
    if y.abs().sum() > 2:
        y = y.flip(0)
    return y


def other_number(x: torch.Tensor) -> Any:
    k = 3 if x.sum() > 0 else 4
    if (x > 1).any():
        x = x * k
    return x + k


def other_text(x: torch.Tensor) -> Any:
    name = "positive" if x.sum() > 0 else "negative"
    if (x > 1).any():
        x = x * 2
    return {name: x}


def early_returns(x: torch.Tensor) -> Any:
    if x.sum() > 9:
        return x
    y = x * 2 if x.sum() > 4 else x - 1
    if (y < -4).any():
        return y, "low"
    if (y > 3).any():
        y = y / 2
    if (y > 1).any():
        return y.sum()
    return y, x


def known_on_one_side(x: torch.Tensor) -> Any:
    """On one side there is at least one element, so `x.max()` has a value."""
    h = x[x > 0]
    y = x + 1
    if h.numel() > 0:
        y = y * h.max()
    if (y > 1).any():
        y = y - 1
    return y.max() if x.shape[0] > 0 else y


def sizes_of_sides(x: torch.Tensor) -> Any:
    """Both sides give a size that only the run knows."""
    h = x[x > 0] if x.sum() > 0 else x[x < 1]
    if (h > 0.5).any():
        h = h * 2
    return h, h.numel()


def shared_list(x: torch.Tensor) -> Any:
    """The lists of both sides are equal but for the tensors in them."""
    parts = [x]
    if x.sum() > 0:
        parts.append(x + 1)
    else:
        parts.append(x - 1)
    if (x > 1).any():
        parts[0] = parts[1] * 2
    return torch.cat(parts)


def same_or_other(x: torch.Tensor) -> Any:
    """On one side two names are of one tensor, which is then changed in place."""
    y = x * 2
    z = y if x.sum() > 0 else y + 0
    if (x > 1).any():
        z.add_(1)
    return y, z


def view_or_copy(x: torch.Tensor) -> Any:
    """On one side the result is a view of another tensor, which is then changed in place."""
    y = x * 2
    z = y[:1] if x.sum() > 0 else y[:1].clone()
    if (x > 1).any():
        y.add_(1)
    return y, z


def input_or_result(x: torch.Tensor) -> Any:
    """A result meets an input, which is then changed in place."""
    y = x + 1
    z = x if x.sum() > 0 else y * 2
    if (y > 1).any():
        z.mul_(2)
    return y, z


def input_seen_elsewhere(x: torch.Tensor) -> Any:
    """On one side what is changed in place is the input, which is read after."""
    z = x if x.sum() > 0 else x * 2
    if (x > 1).any():
        z.add_(1)
    return x + 1, z


def literal_in_a_loop(x: torch.Tensor) -> Any:
    rounds = torch.zeros((), dtype=torch.int64)
    while (x.abs() > 1).any():
        x = torch.where(x.abs() > 1, x / 2, x)
        rounds += 1
    if rounds == 0:
        return x * 0, rounds
    return x, rounds


def literal_on_a_side(x: torch.Tensor) -> Any:
    k = torch.tensor(3)
    if x.sum() > 0:
        k = k + 4
    if (x > 1).any():
        x = x + 1
    return x * 2 if k == 3 else x * 5


def literals_of_both_sides(x: torch.Tensor) -> Any:
    k = torch.arange(3) if x.sum() > 0 else torch.arange(3) + 5
    if (x > 1).any():
        x = x + 1
    return x, k.tolist(), torch.bincount(k, minlength=3)


class Seen(nn.Module):
    """Branches that write to a buffer in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> Any:
        if x.sum() > 0:
            self.seen[0] = x.sum()
        else:
            self.seen[1] = x.sum() - 1
        if (x > 1).any():
            self.seen[2] = self.seen[0] + self.seen[1]
        return x * self.seen.sum()


class Step(nn.Module):
    """A layer that is left out where the data say so."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((), 0.5), requires_grad=False)

    def forward(self, x: torch.Tensor) -> Any:
        if x.sum() > self.weight:
            return x * self.weight
        return x - self.weight


class Steps(nn.Module):
    """Branches in submodules, which a loop calls in the middle of an expression."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Step() for _ in range(n)])

    def forward(self, x: torch.Tensor) -> Any:
        for layer in self.layers:
            x = x + layer(x) * 0.5
        return x


class Exits(nn.Module):
    """Layers, each of which may be the last."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Step() for _ in range(n)])

    def forward(self, x: torch.Tensor) -> Any:
        for i, layer in enumerate(self.layers):
            y = x * layer.weight + 0.25
            if (y - x).abs().sum() < 0.5:
                return y, i
            x = y
        return x, -1


def clipped(x: torch.Tensor, bound: float) -> Any:
    if (x > bound).any():
        x = x.clamp(max=bound)
    return x if (x > -bound).all() else x.clamp(min=-bound)


def in_functions(x: torch.Tensor) -> Any:
    """Branches in a function that is called with values of an expression on the stack."""
    parts = [x, clipped(x + 1, 2.0), clipped(*(x - 1, 1.0))]
    return torch.stack(parts).sum(0) + clipped(parts[1] * 2, 3.0)


def in_for(x: torch.Tensor) -> Any:
    total = torch.zeros(())
    for name, k in {"a": 1, "b": 2}.items():
        for i in range(3):
            if (x > i * k).any():
                x = x - 0.5
                total = total + len(name)
    for i, w in zip(range(2), (0.5, 1.5), strict=True):
        if x.sum() > i:
            x = x * w
    return x, total


def places_differ(x: torch.Tensor) -> Any:
    """A loop that skips on one side: the sides meet at other rounds."""
    steps = iter(range(4))
    for i in steps:
        if (x > i).any():
            next(steps, None)
        x = x * 2 - i
    return x


JOINS: dict[str, Case] = {
    "five_ifs": Case(five_ifs, one_tensor, FIRST, [11]),
    "nested": Case(nested, one_tensor, FIRST, [9]),
    "in_loop": Case(in_loop, one_tensor, FIRST, [9]),
    "other_dtype": Case(other_dtype, one_tensor, FIRST, [7]),
    "other_rank": Case(other_rank, one_tensor, FIRST, [7]),
    "other_number": Case(other_number, one_tensor, FIRST, [7]),
    "other_text": Case(other_text, one_tensor, FIRST, [7]),
    "early_returns": Case(early_returns, one_tensor, FIRST, [11]),
    "known_on_one_side": Case(known_on_one_side, one_tensor, FIRST, [7, 7]),
    "sizes_of_sides": Case(sizes_of_sides, one_tensor, FIRST, [5]),
    "shared_list": Case(shared_list, one_tensor, FIRST, [5]),
    "same_or_other": Case(same_or_other, one_tensor, FIRST, [7]),
    "view_or_copy": Case(view_or_copy, one_tensor, FIRST, [7]),
    "input_or_result": Case(input_or_result, one_tensor, FIRST, [5]),
    "input_seen_elsewhere": Case(input_seen_elsewhere, one_tensor, FIRST, [7]),
    "literal_in_a_loop": Case(literal_in_a_loop, one_tensor, FIRST, [5]),
    "literal_on_a_side": Case(literal_on_a_side, one_tensor, FIRST, [7]),
    "literals_of_both_sides": Case(literals_of_both_sides, one_tensor, FIRST, [5]),
    "submodules": Case(Steps(20), one_tensor, FIRST, [41]),
    "exits": Case(Exits(20), one_tensor, FIRST, [41]),
    "in_functions": Case(in_functions, one_tensor, FIRST, [15]),
    "in_for": Case(in_for, one_tensor, FIRST, [17]),
    "places_differ": Case(places_differ, one_tensor, FIRST, [9]),
    "seen": Case(Seen(), one_tensor, FIRST, [5]),
}
