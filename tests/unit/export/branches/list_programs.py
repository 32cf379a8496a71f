"""Programs whose loops have as many rounds as only data knows, and lists that grow with them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.unit.export.branches.branch_programs import FIRST, Case, Dim, one_tensor


class ConditionalRandomField(nn.Module):
    """Viterbi decoding as pytorch-crf writes it."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.start = nn.Parameter(torch.randn(tags, generator=generator))
        self.end = nn.Parameter(torch.randn(tags, generator=generator))
        self.transitions = nn.Parameter(torch.randn(tags, tags, generator=generator))

    def forward(self, emissions: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
        assert emissions.shape[:2] == mask.shape
        assert mask[0].all()
        seq_length, batch_size = mask.shape
        score = self.start + emissions[0]
        history = []
        for i in range(1, seq_length):
            next_score = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            next_score, indices = next_score.max(dim=1)
            score = torch.where(mask[i].unsqueeze(1), next_score, score)
            history.append(indices)
        score = score + self.end
        seq_ends = mask.long().sum(dim=0) - 1
        best_tags_list = []
        for idx in range(batch_size):
            _, best_last_tag = score[idx].max(dim=0)
            best_tags = [best_last_tag.item()]
            for hist in reversed(history[: seq_ends[idx]]):
                best_last_tag = hist[idx][best_tags[-1]]
                best_tags.append(best_last_tag.item())
            best_tags.reverse()
            best_tags_list.append(best_tags)
        return best_tags_list


def repeated(x: torch.Tensor) -> Any:
    """A count that only data knows."""
    for _ in range(int(x.abs().sum())):
        x = x * 0.5
    return x


def numbered(x: torch.Tensor) -> Any:
    """The number of the round, in what is computed and after the loop."""
    i = -1
    total = x.sum() * 0
    for i in range(2, (x > 0).sum().item() + 12, 3):
        total = total + i
    for k in reversed(range((x > 0).sum().item() + 9)):
        total = total * 0.5 + k
    return total, i


def selected(x: torch.Tensor) -> Any:
    """Rows by number, as many as data says."""
    s = x.new_zeros(())
    for i in range((x > 0).sum().item()):
        s = torch.tanh(s + x[i])
    return s


def recurrent(x: torch.Tensor) -> Any:
    """The rows of a tensor of a size that data decides, with a state."""
    s = x.new_zeros(())
    seen = []
    for row in x[x > 0]:
        s = torch.tanh(s + row)
        seen.append(s)
    return s, seen


def enumerated(x: torch.Tensor) -> Any:
    total = x.sum() * 0
    for i, row in enumerate(x[x > 0], 1):
        total = total + i * row
    for a, b in zip(x[x < 0], x[x < 0] * 2, strict=False):
        total = total - a * b
    return total


def stacked(x: torch.Tensor) -> Any:
    out = [x]
    while x.sum() > 0:
        x = x - 1
        out.append(x)
    return torch.stack(out), torch.cat(out), len(out), out[-1] + out[0]


def sometimes(x: torch.Tensor) -> Any:
    """A list that grows in some rounds, and is held twice."""
    kept: list[torch.Tensor] = []
    other = {"kept": kept}
    while (x.abs() > 1).any():
        if x.sum() > 0:
            other["kept"].append(x.sum())
        x = x / 2
    return kept, x


def of_other_sizes(x: torch.Tensor) -> Any:
    """Items of sizes that data decides."""
    out = [x[x > 0]]
    while x.sum() > 0:
        x = x - 1
        out.append(x[x > 0])
    return torch.cat(out), torch.cat(out).shape[0], out[-1].shape[0], out


def taken_back(x: torch.Tensor) -> Any:
    """A stack: numbers are pushed and popped."""
    work = [3, 1]
    total = 0.0
    while work and (x.sum() > -5):
        n = work.pop()
        x = x - 0.25
        total = total + x.sum().item() * n
        if (x > 1).any():
            work.append(n + 1)
            work.insert(0, 2)
    return x, work, total


def changed_in_place(x: torch.Tensor) -> Any:
    """Items share memory with each other and with tensors outside of the list."""
    y = x.sum() + 0.5
    out = [y, y * 2]
    while y > 0:
        first, last = out[0], out[-1]
        before = first.item()
        y.sub_(1)
        after = first.item()
        first.mul_(0.5)
        out.append(last + y + before - 2 * after)
    return out, y, out[0] + 1, x


def parts(x: torch.Tensor) -> Any:
    """Slices of lists, of a list that grows and of one that does not."""
    pieces = list((x.sum() * torch.arange(12)).unbind(0))
    n = (x > 0).sum().item() + 2
    out = pieces[1:n]
    out += [x.sum()]
    for piece in pieces[n:]:
        out.append(piece + 1)
    return out[-2], torch.stack(out[::2]), torch.stack(out + out[:1]), len(out)


def as_tensor(x: torch.Tensor) -> Any:
    """A list of numbers as a tensor; the dtype of an empty one is another."""
    found = []
    for i in range((x > 0).sum().item()):
        found.append(i * 2)
    for n in x[x > 1].long().tolist():
        found.append(n)
    return torch.tensor(found), torch.tensor(found, dtype=torch.float64)


def generated(ids: torch.Tensor) -> Any:
    """Greedy decoding with a cache of keys that grows, and a list of the new tokens."""
    keys = ids.float()[:, None] * torch.ones(4)
    tokens = []
    new = ids[-1:]
    while len(tokens) < 20:
        scores = torch.softmax(keys @ keys[-1], 0) @ keys
        new = (scores.sum() * 7).long().remainder(11)[None]
        if new == 5:
            break
        tokens.append(new.item())
        keys = torch.cat([keys, new.float()[:, None] * torch.ones(4) / 11])
    return tokens, keys.shape[0], keys


def _emissions(n: int) -> tuple[Any, ...]:
    lengths = torch.randint(1, 6, (3,))
    return torch.randn(5, 3, 4) * (n + 1), torch.arange(5)[:, None] < lengths


def _ids(n: int) -> tuple[Any, ...]:
    return (torch.randint(0, 9, (n,)),)


def every_row(x: torch.Tensor) -> Any:
    """As many rounds as the input has rows."""
    total = x.new_zeros(())
    seen = [total]
    for i in range(x.shape[0]):
        total = torch.tanh(total + x[i])
        seen.append(total)
    for row in x:
        total = total * 0.5 + row
    return total, torch.stack(seen)


def _batch(n: int) -> tuple[Any, ...]:
    lengths = torch.randint(1, 4, (n,))
    return torch.randn(3, n, 3), torch.arange(3)[:, None] < lengths


def identical(x: torch.Tensor) -> Any:
    """Items that are the tensors that were put in, and others that are equal to them."""
    seen = [x, x + 0]
    while x.sum() > 0:
        x = x - 1
        seen.append(x)
    last = seen[-1]
    is_first = seen[0] is x
    if seen[-1] is not x:
        seen.append(last * 2)
    return is_first, last is x, seen[1] is x, seen[-1] is seen[0], seen


def _sequences(n: int) -> tuple[Any, ...]:
    steps, batch = {0: (1, 0), 1: (1, 1), 2: (2, 2), 3: (4, 1)}.get(n, (n, 3))
    lengths = torch.randint(1, steps + 1, (batch,))
    return torch.randn(steps, batch, 3), torch.arange(steps)[:, None] < lengths


def rows(x: torch.Tensor) -> Any:
    """Lists of known lengths in a list that grows."""
    out = []
    for i in range((x > 0).sum().item()):
        pair = [i, i * i]
        out.append(pair)
    none: list[int] = []
    return out, none[: (x > 0).sum()], len(out)


def ordered(x: torch.Tensor) -> Any:
    """Numbers in order, and what `min`, `max` and `sum` make of them."""
    found = x[x > -1].tolist()
    places = [7]
    for i in range((x > 0).sum().item()):
        places.append((i * 5) % 3)
    greatest = max(places)
    down = sorted(found, reverse=True)
    places.sort()
    total = sum(found)
    return down, found, places, greatest, min(places), sum(places), total, sorted(places)[0]


def chosen(x: torch.Tensor) -> Any:
    """A list to which the first rounds may add nothing."""
    large = []
    for c in x[x > -1].tolist():
        if c > 0:
            large.append(c)
    return large


def chosen_rows(x: torch.Tensor) -> Any:
    """The same in a function that reads a variable around it."""
    scale = x.sum()

    def scaled(rows: Any) -> Any:
        out = []
        for row in rows:
            if row > 0:
                out.append(row * scale)
        return out

    return scaled(x[x > -1])


def flagged(x: torch.Tensor) -> Any:
    """A flag that is set in a loop over a list, which decides whether the list grows."""
    kept: list[torch.Tensor] = []
    for point in x:
        is_far = True
        for other in kept:
            if (point - other).abs() < 0.5:
                is_far = False
        if is_far:
            kept.append(point)
    return torch.stack(kept) if len(kept) > 0 else x[:0]


def suppressed(x: torch.Tensor) -> Any:
    """A tensor that each round makes shorter, by as much as only data knows."""
    order = x.argsort(descending=True)
    kept = []
    while order.numel() > 0:
        first, rest = order[0], order[1:]
        kept.append(first)
        order = rest[(x[first] - x[rest]).abs() > 0.5]
    return torch.stack(kept) if kept else order


def comprehended(x: torch.Tensor) -> Any:
    """A comprehension of rows of which only data knows how many there are."""
    kept = [c for c in torch.unique_consecutive(x.round()) if c != 0]
    return torch.stack(kept) if kept else x


def comprehended_twice(x: torch.Tensor) -> Any:
    """One of `zip` that is the operand of a call, and one that is returned."""
    numbers = x[x > 0].tolist()
    total = sum([i * j for i, j in zip(numbers, numbers, strict=False)])
    return total, [i + 1 for i in numbers]


SEQUENCES = ({0: Dim("t", min=1), 1: Dim("b")},) * 2
FROM_ONE = ({0: Dim("n", min=1)},)
LISTS: dict[str, Case] = {
    "crf": Case(ConditionalRandomField(4), _emissions, (None, None), [13]),
    "crf_batch": Case(ConditionalRandomField(3), _batch, ({1: Dim("b")}, {1: Dim("b")}), [15]),
    "crf_both": Case(ConditionalRandomField(3), _sequences, SEQUENCES, [39]),
    "ordered": Case(ordered, one_tensor, FIRST, [9]),
    "chosen": Case(chosen, one_tensor, FIRST, [15]),
    "chosen_rows": Case(chosen_rows, one_tensor, FIRST, [15]),
    "comprehended": Case(comprehended, one_tensor, FIRST, [17]),
    "flagged": Case(flagged, one_tensor, FIRST, [23]),
    "suppressed": Case(suppressed, one_tensor, FIRST, [5, 1]),
    "comprehended_twice": Case(comprehended_twice, one_tensor, FIRST, [15]),
    "rows": Case(rows, one_tensor, FIRST, [7]),
    "every_row": Case(every_row, one_tensor, FIRST, [9]),
    "repeated": Case(repeated, one_tensor, FIRST, [5]),
    "numbered": Case(numbered, one_tensor, FIRST, [9]),
    "selected": Case(selected, one_tensor, FIRST, [5]),
    "recurrent": Case(recurrent, one_tensor, FIRST, [7]),
    "enumerated": Case(enumerated, one_tensor, FIRST, [11]),
    "stacked": Case(stacked, one_tensor, FIRST, [5]),
    "sometimes": Case(sometimes, one_tensor, FIRST, [13]),
    "of_other_sizes": Case(of_other_sizes, one_tensor, FIRST, [5]),
    "taken_back": Case(taken_back, one_tensor, FIRST, [15]),
    "changed_in_place": Case(changed_in_place, one_tensor, FIRST, [5]),
    "parts": Case(parts, one_tensor, FIRST, [5]),
    "as_tensor": Case(as_tensor, one_tensor, FIRST, [21]),
    "identical": Case(identical, one_tensor, FIRST, [7]),
    "generated": Case(generated, _ids, FROM_ONE, [9], 1),
}
