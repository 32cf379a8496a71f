"""What the ranks run in the tests of training: compiled against eager, with equal data."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import anyshape

STEPS = 6


class Model(nn.Module):
    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x))) * x.shape[0]


def model() -> Model:
    torch.manual_seed(0)
    return Model()


def batch(rank: int, step: int) -> torch.Tensor:
    """Uneven sizes; one rank has an empty batch."""
    n = (3, 1, 4, 2, 0, 5)[step % 6] if rank else (2, 2, 7, 1, 3, 2)[step % 6]
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(n, 6, generator=generator)


def trained(module: Any, rank: int) -> list[torch.Tensor]:
    """The parameters after some steps at changing sizes."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    for i in range(STEPS):
        loss = module(batch(rank, i)).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return [p.detach().clone() for p in module.parameters()]


def data_parallel(rank: int, where: str, dynamic: Any) -> str:
    """DDP around a compiled module, or a compiled DDP module, against DDP alone."""
    expected = trained(DistributedDataParallel(model()), rank)
    if where == "inside":
        made: Any = DistributedDataParallel(anyshape.compile(model(), dynamic=dynamic))
    elif where == "around":
        made = anyshape.compile(DistributedDataParallel(model()), dynamic=dynamic)
    else:  # a planted bug: gradients that are not exchanged
        made = anyshape.compile(model(), dynamic=dynamic)
    return _difference(trained(made, rank), expected)


def _difference(found: list[torch.Tensor], expected: list[torch.Tensor]) -> str:
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if not torch.allclose(a, b, rtol=1e-6, atol=1e-6):
            return f"parameter {i} differs by {(a - b).abs().max().item()}"
    return ""


# ---------------------------------------------------------------------- collectives


total = torch.zeros(1)


def counted(x: torch.Tensor) -> torch.Tensor:
    """A collective that no tensor of the call reaches."""
    total.add_(1)
    distributed.all_reduce(total)
    return x + total


def reduced(x: torch.Tensor) -> torch.Tensor:
    y = x.sum(0)
    distributed.all_reduce(y)
    return y / distributed.get_world_size()


def gathered(x: torch.Tensor) -> torch.Tensor:
    """All rows of all ranks; how many each has, only the data tell."""
    count = torch.tensor([x.shape[0]])
    counts = [torch.empty_like(count) for _ in range(distributed.get_world_size())]
    distributed.all_gather(counts, count)
    most = max(int(c) for c in counts)
    padded = torch.zeros(most, x.shape[1])
    padded[: x.shape[0]] = x
    parts = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(parts, padded)
    return torch.cat([part[: int(c)] for part, c in zip(parts, counts, strict=True)])


def experts(x: torch.Tensor, chosen: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A mixture of experts, one on each rank: rows travel to their expert and back."""
    world = distributed.get_world_size()
    order = chosen.argsort(stable=True)
    sent = torch.bincount(chosen, minlength=world)
    received = torch.empty_like(sent)
    distributed.all_to_all_single(received, sent)
    give, take = sent.tolist(), received.tolist()
    rows = x.new_empty(sum(take), x.shape[1])
    distributed.all_to_all_single(rows, x[order], take, give)
    done = torch.relu(rows @ weight)
    back = x.new_empty(x.shape[0], x.shape[1])
    distributed.all_to_all_single(back, done, give, take)
    out = torch.empty_like(back)
    out[order] = back
    return out


def collective(rank: int, name: str, dynamic: Any) -> str:
    """What a compiled program with collectives does otherwise than eager, at changing sizes."""
    program = globals()[name]
    compiled = anyshape.compile(program, dynamic=dynamic)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(6):
            x = batch(rank, i)
            given = [x]
            if name == "experts":
                generator = torch.Generator().manual_seed(i + 7 * rank)
                chosen = torch.randint(0, 2, (x.shape[0],), generator=generator)
                given += [chosen, torch.eye(6) * (rank + 1)]
            total.fill_(i)
            expected = program(*given)
            total.fill_(i)
            found = compiled(*given)
            if not torch.equal(found, expected):
                return f"call {i}: {found} for {expected}"
            if name == "experts":
                alone = torch.relu(x) * (given[1][:, None] + 1.0)
                if not torch.allclose(found, alone):
                    return f"call {i}: {found} for {alone} in one process"
    return ""


def sharded(rank: int) -> tuple[str, str, str]:
    """What `compile` and `fully_shard` say of each other, and what training gives."""
    from torch.distributed.fsdp import fully_shard

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = anyshape.compile(fully_shard(model()))
    told = [str(w.message) for w in caught if "runs eagerly" in str(w.message)]
    found, expected = trained(made, rank), trained(fully_shard(model()), rank)
    different = _difference([p.full_tensor() for p in found], [p.full_tensor() for p in expected])
    try:
        fully_shard(anyshape.compile(model()))
    except anyshape.UnsupportedError as e:
        return told[0], different, e.what
    return told[0], different, ""
