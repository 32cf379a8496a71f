"""Ten programs with sizes that vary and sizes that come from data, as people write them.

Each is a callable with `dynamic` (one spec for each argument; a string names a size) and
`inputs(seed, n)`, where `n` is the size that varies, 0 and 1 included. Weights are the same in
every call, so that only the data differs.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

Tensor = torch.Tensor
Specs = tuple[dict[int, str], ...]


def seeded(seed: int) -> torch.Generator:
    """A generator of random numbers that depend on the seed alone."""
    return torch.Generator().manual_seed(7919 + seed)


def weight(*shape: int, seed: int = 0) -> Tensor:
    """The same small random numbers in every call."""
    return torch.randn(*shape, generator=seeded(seed)) / 10


class Workload:
    """A program, its inputs, and which of their sizes vary.

    `branches` says that the program compares a varying size with a number in Python, which takes a
    size with an example.
    """

    dynamic: ClassVar[Specs]
    branches: ClassVar[bool] = False

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        """The arguments of one call."""
        raise NotImplementedError

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        raise NotImplementedError


class JaggedFeatures(Workload):
    """A recommender's features: values of all samples feature by feature, split by lengths that
    the data gives, pooled for each sample, and put together again in another order.
    """

    dynamic = ({0: "values"}, {}, {})

    def __init__(self, features: int = 4, samples: int = 3, width: int = 8) -> None:
        self.features, self.samples, self.width = features, samples, width

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        count = self.features * self.samples
        lengths = torch.randint(0, n + 1, (count,), generator=seeded(seed))
        ids = torch.randint(0, 50, (int(lengths.sum()),), generator=seeded(seed + 1))
        return ids, lengths, weight(50, self.width)

    def __call__(self, ids: Tensor, lengths: Tensor, table: Tensor) -> Any:
        totals = lengths.view(self.features, self.samples).sum(1).tolist()
        parts = torch.split(ids, totals)
        samples = torch.arange(self.samples)
        pooled = []
        for i, part in enumerate(parts):
            own = lengths[i * self.samples : (i + 1) * self.samples]
            owners = torch.repeat_interleave(samples, own, output_size=totals[i])
            start = torch.zeros(self.samples, self.width)
            pooled.append(start.index_add(0, owners, table[part]))
        return torch.cat(pooled, 1), torch.cat(parts[::-1])


class Experts(Workload):
    """Tokens go to their two best experts; every expert works on as many as the data sends it."""

    dynamic = ({0: "tokens"}, {}, {})
    experts, width = 4, 8

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        x = torch.randn(n, self.width, generator=seeded(seed))
        return (
            x,
            weight(self.width, self.experts, seed=1),
            weight(self.experts, self.width, self.width, seed=2),
        )

    def __call__(self, x: Tensor, gate: Tensor, experts: Tensor) -> Any:
        share, choice = (x @ gate).softmax(-1).topk(2, dim=-1)
        choice = choice.reshape(-1)
        order = choice.argsort(stable=True)
        counts = F.one_hot(choice, self.experts).sum(0).tolist()
        sent = torch.split(x[order // 2], counts)
        done = torch.cat([(part @ experts[i]).relu() for i, part in enumerate(sent)])
        back = torch.zeros_like(done).index_copy(0, order, done)
        return (back.view(-1, 2, self.width) * share.unsqueeze(-1)).sum(1)


class PackedAttention(Workload):
    """Attention over sequences that lie one after another without padding."""

    dynamic = ({0: "total"}, {0: "total"}, {0: "total"}, {})

    def __init__(self, sequences: int = 3, heads: int = 2, width: int = 8) -> None:
        self.sequences, self.heads, self.width = sequences, heads, width

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        lengths = torch.randint(0, n + 1, (self.sequences,), generator=seeded(seed))
        ends = F.pad(lengths.cumsum(0), (1, 0))
        shape = (int(ends[-1]), self.heads, self.width)
        q, k, v = (torch.randn(*shape, generator=seeded(seed + i)) for i in (1, 2, 3))
        return q, k, v, ends

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ends: Tensor) -> Any:
        bounds = ends.tolist()
        attended = []
        for i in range(self.sequences):
            own = slice(bounds[i], bounds[i + 1])
            one = [t[own].transpose(0, 1) for t in (q, k, v)]
            y = F.scaled_dot_product_attention(*one, is_causal=True)
            attended.append(y.transpose(0, 1))
        return torch.cat(attended).reshape(-1, self.heads * self.width)


class ObjectMatching(Workload):
    """The loss of a detector: each image has no, one or many objects, matched to predictions."""

    dynamic = ({}, {0: "objects"}, {})
    images, queries = 3, 5

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        counts = torch.randint(0, min(n, 6) + 1, (self.images,), generator=seeded(seed))
        objects = torch.rand(int(counts.sum()), 4, generator=seeded(seed + 1))
        return torch.rand(self.images, self.queries, 4, generator=seeded(seed + 2)), objects, counts

    def __call__(self, predicted: Tensor, objects: Tensor, counts: Tensor) -> Any:
        sizes = counts.tolist()
        losses, matches = [], []
        for i, own in enumerate(torch.split(objects, sizes)):
            best = torch.cdist(own, predicted[i], p=1).argmin(1)
            matches.append(best + i * self.queries)
            losses.append((own - predicted[i][best]).abs().sum())
        return torch.stack(losses).sum() / max(sum(sizes), 1), torch.cat(matches)


class Subgraph(Workload):
    """The part of a graph around some nodes: masks, new numbers for the nodes, a sum over edges."""

    dynamic = ({0: "nodes"}, {1: "edges"}, {0: "nodes"}, {})
    width = 6

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        x = torch.randn(n, self.width, generator=seeded(seed))
        edges = torch.randint(0, max(n, 1), (2, 3 * n), generator=seeded(seed + 1))
        chosen = torch.rand(n, generator=seeded(seed + 2)) > 0.5
        return x, edges, chosen, weight(2 * self.width, self.width)

    def __call__(self, x: Tensor, edges: Tensor, chosen: Tensor, w: Tensor) -> Any:
        near = chosen.clone()
        near[edges[0][chosen[edges[1]]]] = True
        nodes = near.nonzero().view(-1)
        inside = edges[:, near[edges[0]] & near[edges[1]]]
        number = torch.full((x.size(0),), -1, dtype=torch.long)
        number[nodes] = torch.arange(nodes.size(0))
        source, target = number[inside]
        h = x[nodes]
        around = torch.zeros_like(h).index_add(0, target, h[source])
        return (torch.cat([h, around], 1) @ w).relu(), nodes


class LikelyTokens(Workload):
    """The tokens whose probabilities sum up to a share, and the part of the vocabulary in use."""

    dynamic = ({0: "batch"},)
    branches = True
    vocabulary = 20

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        return (3 * torch.randn(n, self.vocabulary, generator=seeded(seed)),)

    def __call__(self, logits: Tensor) -> Any:
        p, order = logits.softmax(-1).sort(-1, descending=True)
        p = p.masked_fill(p.cumsum(-1) - p > 0.7, 0.0)
        kept = torch.zeros_like(p).scatter(1, order, p)
        used = (kept > 0).any(0).nonzero().squeeze(1)
        part = kept[:, used]
        part = part / part.sum(-1, keepdim=True)
        if part.shape[0] == 0:
            return used, part.new_zeros(0, dtype=torch.long)
        return used, used[part.argmax(-1)]


class UniqueEmbedding(Workload):
    """Each id that occurs is looked up once."""

    dynamic = ({0: "ids"}, {})

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        return torch.randint(0, 20, (n,), generator=seeded(seed)), weight(20, 6)

    def __call__(self, ids: Tensor, table: Tensor) -> Any:
        unique, inverse, counts = torch.unique(ids, return_inverse=True, return_counts=True)
        rows = table[unique] / counts.unsqueeze(1)
        often = rows[counts > 1]
        y = rows[inverse]
        torch._check(y.size(0) == ids.size(0))
        return y, often.sum(0), unique.size(0)


class Speculation(Workload):
    """Guessed tokens are accepted up to the first wrong one; those are packed with their slots."""

    dynamic = ({0: "requests"}, {0: "requests"}, {0: "requests"})
    guesses, vocabulary = 4, 3

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        guess = torch.randint(0, self.vocabulary, (n, self.guesses), generator=seeded(seed))
        right = torch.randint(0, self.vocabulary, (n, self.guesses + 1), generator=seeded(seed + 1))
        return guess, right, 16 * torch.arange(n)

    def __call__(self, guess: Tensor, right: Tensor, first: Tensor) -> Any:
        accepted = (guess == right[:, : self.guesses]).long().cumprod(1).sum(1)
        steps = torch.arange(self.guesses + 1)
        emitted = steps[None] <= accepted[:, None]
        tokens = right[emitted]
        slots = (first[:, None] + steps)[emitted]
        ends = F.pad((accepted + 1).cumsum(0), (1, 0))
        requests = torch.arange(guess.size(0))
        owner = torch.repeat_interleave(requests, accepted + 1, output_size=tokens.size(0))
        return torch.stack([tokens, slots]), ends, owner


class Serving(Workload):
    """A block of a vision transformer whose batch and length vary."""

    dynamic = ({0: "batch", 1: "length"}, {}, {}, {})
    heads, width = 2, 8

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        length = 1 + (3 + seed * 7) % 13
        return (
            torch.randn(n, length, self.width, generator=seeded(seed)),
            weight(1, 1, self.width),
            weight(self.width, 3 * self.width, seed=1),
            weight(self.width, 2, seed=2),
        )

    def __call__(self, x: Tensor, token: Tensor, qkv: Tensor, head: Tensor) -> Any:
        x = torch.cat([token.expand(x.shape[0], -1, -1), x], 1)
        b, s, d = x.shape
        split = (x @ qkv).reshape(b, s, 3, self.heads, d // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        x = F.layer_norm(x + y.transpose(1, 2).reshape(b, s, d), (d,))
        return (x[:, 0] @ head).softmax(-1)


class Windows(Workload):
    """A sequence padded to a multiple of the window, attention inside each, and the crop."""

    dynamic = ({0: "batch", 1: "length"},)
    window, width = 8, 8

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        return (torch.randn(2 + seed % 3, n, self.width, generator=seeded(seed)),)

    def __call__(self, x: Tensor) -> Any:
        b, length, d = x.shape
        padded = F.pad(x, (0, 0, 0, -length % self.window))
        w = padded.view(b, padded.shape[1] // self.window, self.window, d).flatten(0, 1)
        y = (w @ w.transpose(1, 2)).softmax(-1) @ w
        return y.reshape(b, -1, d)[:, :length]


PROGRAMS: dict[str, Workload] = {
    "jagged features": JaggedFeatures(),
    "experts": Experts(),
    "packed attention": PackedAttention(),
    "object matching": ObjectMatching(),
    "subgraph": Subgraph(),
    "likely tokens": LikelyTokens(),
    "unique embedding": UniqueEmbedding(),
    "speculation": Speculation(),
    "serving": Serving(),
    "windows": Windows(),
}
