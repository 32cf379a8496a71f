"""Programs that branch on data: what they do, and inputs for a size and a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from anyshape.export import Dim, export

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    """`segments` is the number of segments of each variant; `least` the smallest size."""

    fn: Callable[..., Any]
    inputs: Callable[[int], tuple[Any, ...]]
    dynamic: Any
    segments: list[int]
    least: int = 0

    def export(self) -> Any:
        torch.manual_seed(0)
        return export(self.fn, self.inputs(4), dynamic_shapes=self.dynamic)


class TooLarge(ValueError):
    """An error of the user's."""


def one_if(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        return x + 1
    return x * 2


def nested_ifs(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        y = x * 3 if x[:1].sum() > 1 else x - 1
    elif (x < -1).any():
        y = x.flip(0)
    else:
        y = -x
    return y, y.sum()


def two_values(x: torch.Tensor, y: torch.Tensor) -> Any:
    if x.sum().item() > y.sum().item():
        return {"x": x}
    return [y, x.shape[0]]


def both(x: torch.Tensor) -> Any:
    if ((x > 0).any() and not (x > 2).any()) or x.numel() == 3:
        return x.cumsum(0)
    return x.abs()


def early_exit(x: torch.Tensor) -> Any:
    h = x[x > 0]
    if h.numel() == 0:
        return x.sum()
    return h.max() * h.numel()


def while_changed(x: torch.Tensor) -> Any:
    changed = x > 1
    while changed.any():
        x = torch.where(changed, x / 2, x)
        changed = x > 1
    return x


def converge(x: torch.Tensor) -> Any:
    y = torch.ones_like(x)
    while True:
        z = (y + x.abs() / y) / 2
        if (z - y).abs().sum() < 1e-3:
            return z
        y = z


def if_in_loop(x: torch.Tensor) -> Any:
    rounds = torch.zeros((), dtype=torch.int64)
    while (x.abs() > 1).any():
        if (x > 1).any():
            x = torch.where(x > 1, x - 1, x)
            rounds += 1
        else:
            x = x / 2
    return x, rounds


def loop_in_if(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        while x.sum() < 50:
            x = x * 2
        return x
    return x - 1


def raises(x: torch.Tensor) -> Any:
    total = x.sum()
    if total > 1:
        excess = total - 1
        raise TooLarge(f"the sum of {x.shape[0]} is too large by {excess.item():.2f}")
    return x + 1


def asserts(x: torch.Tensor) -> Any:
    assert not torch.isnan(x).any(), "no NaN"
    if (x > 2).any():
        raise TooLarge("an element is too large")
    return x.sqrt()


def caught(x: torch.Tensor) -> Any:
    try:
        if x.sum() > 0:
            raise ValueError("positive")
        y = x
    except ValueError:
        y = -x
    return y + 1


def suppressed(boxes: torch.Tensor, scores: torch.Tensor) -> Any:
    """Non-maximum suppression, one box per round."""
    keep = torch.zeros(boxes.shape[0], dtype=torch.bool)
    alive = torch.ones_like(keep)
    while alive.any():
        i = torch.where(alive, scores, -1.0).argmax()
        keep[i] = True
        low = torch.maximum(boxes[:, :2], boxes[i, :2])
        high = torch.minimum(boxes[:, 2:], boxes[i, 2:])
        alive = alive & ((high - low).clamp(min=0).prod(1) < 0.1)
        alive[i] = False
    return keep.nonzero()[:, 0]


def shrinking(boxes: torch.Tensor, scores: torch.Tensor) -> Any:
    """Non-maximum suppression over a list of candidates that becomes shorter."""
    order = scores.argsort(descending=True)
    keep = torch.zeros(boxes.shape[0], dtype=torch.bool)
    while order.numel() > 0:
        i = order[0]
        keep[i] = True
        order = order[1:]
        order = order[(boxes[order] - boxes[i]).abs().sum(1) > 0.5]
    return keep


def known_before(x: torch.Tensor) -> Any:
    """What is known of a size before the loop is not known of those that follow it in the loop."""
    h = x.abs() + 1
    h = h[h > 0]
    torch._check(h.numel() >= 2)
    out = x.sum() * 0 + 1
    while h.sum() > 0:
        out = out * 2 + (10 if h.numel() >= 2 else 1)
        h = h[h < h.max()]
    return out


def largest(x: torch.Tensor) -> Any:
    n = int(x.abs().max()) + 1
    return torch.zeros(n).index_add(0, x.abs().long(), x)


def chosen(x: torch.Tensor) -> Any:
    """A number from data that has few values."""
    k = int((x > 0).any()) + int((x > 1).any())
    return [x, x * 2, x * 3][k]


def listed(x: torch.Tensor) -> Any:
    first, second = x[:2].abs().long().clamp(max=3).tolist()
    return x + 1 if first > second else x - 1


def viterbi(emissions: torch.Tensor, mask: torch.Tensor, transitions: torch.Tensor) -> Any:
    """Decoding of a conditional random field, of sequences of two lengths."""
    assert mask[0].all(), "the first step must not be masked"
    score = emissions[0]
    history = []
    for i in range(1, emissions.shape[0]):
        found, best = (score.unsqueeze(2) + transitions + emissions[i].unsqueeze(1)).max(dim=1)
        score = torch.where(mask[i].unsqueeze(1), found, score)
        history.append(best)
    tags = []
    last = score[0].argmax()
    for best, on in zip(reversed(history), reversed(mask[1:].unbind(0)), strict=True):
        if on[0]:
            tags.append(last)
            last = best[0, last]
    return torch.stack([*tags, last]).flip(0)


class Gate(nn.Module):
    """A branch in a submodule, which writes to a buffer on one side."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("opened", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            self.opened += 1
            return x * self.opened
        return x


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.gate = Gate()
        self.outer = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outer(self.gate(self.inner(x)))


def sizes_too(x: torch.Tensor) -> Any:
    """A branch on data, and one on a size inside of it."""
    if x.sum() > 0:
        return x.view(-1, 2).sum(1) if x.shape[0] % 2 == 0 else x
    return -x


def precise(x: torch.Tensor) -> Any:
    """Modes across branches."""
    with torch.no_grad():
        while (x < 10).any():
            x = x.abs() * 2 + 1
        y = x.exp()
    return y, x.requires_grad, (x * 2).sum()


def one_tensor(n: int) -> tuple[Any, ...]:
    return (torch.randn(n) * 3,)


def _boxes(n: int) -> tuple[Any, ...]:
    low = torch.rand(n, 2)
    return torch.cat([low, low + torch.rand(n, 2)], 1), torch.rand(n)


def _emissions(n: int) -> tuple[Any, ...]:
    lengths = torch.randint(1, 5, (n,))
    return torch.randn(4, n, 3), torch.arange(4)[:, None] < lengths, torch.randn(3, 3)


N = Dim("n")
B = Dim("b", min=1)
FIRST = ({0: N},)
CASES: dict[str, Case] = {
    "one_if": Case(one_if, one_tensor, FIRST, [3]),
    "nested_ifs": Case(nested_ifs, one_tensor, FIRST, [7]),
    "two_values": Case(two_values, lambda n: one_tensor(n) + one_tensor(n), ({0: N}, {0: N}), [3]),
    "both": Case(both, one_tensor, FIRST, [5, 5]),
    "early_exit": Case(early_exit, one_tensor, FIRST, [3]),
    "while_changed": Case(while_changed, one_tensor, FIRST, [3]),
    "converge": Case(converge, one_tensor, FIRST, [3]),
    "if_in_loop": Case(if_in_loop, one_tensor, FIRST, [5]),
    "loop_in_if": Case(loop_in_if, one_tensor, FIRST, [5]),
    "raises": Case(raises, one_tensor, FIRST, [3]),
    "asserts": Case(asserts, one_tensor, FIRST, [1]),
    "caught": Case(caught, one_tensor, FIRST, [3]),
    "suppressed": Case(suppressed, _boxes, ({0: N}, {0: N}), [3]),
    "shrinking": Case(shrinking, _boxes, ({0: N}, {0: N}), [3, 1]),
    "known_before": Case(known_before, one_tensor, FIRST, [7], 2),
    "largest": Case(largest, one_tensor, FIRST, [1], 1),
    "chosen": Case(chosen, one_tensor, FIRST, [4]),
    "listed": Case(listed, one_tensor, ({0: Dim("n", min=2)},), [3], 2),
    "viterbi": Case(
        viterbi, _emissions, ({1: Dim("b", min=1)}, {1: Dim("b", min=1)}, None), [15], 1
    ),
    "gated": Case(Gated().eval(), lambda n: (torch.randn(n, 3),), FIRST, [3]),
    "sizes_too": Case(sizes_too, one_tensor, FIRST, [3, 3]),
    "precise": Case(precise, one_tensor, FIRST, [3]),
}
