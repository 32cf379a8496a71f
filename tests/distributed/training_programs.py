"""What the ranks run in the tests of training: compiled against eager, with equal data."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
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


class Small(nn.Module):
    """One layer: few kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.only = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.only(x)) * x.shape[0]


def model(kind: type[nn.Module] = Model) -> Any:
    torch.manual_seed(0)
    return kind()


def batch(rank: int, step: int) -> torch.Tensor:
    """Uneven sizes; one rank after the other has an empty batch, the first never."""
    n = (3, 1, 4, 2, 0, 5)[(step + rank - 1) % 6] if rank else (2, 2, 7, 1, 3, 2)[step % 6]
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
                world = distributed.get_world_size()
                chosen = torch.randint(0, world, (x.shape[0],), generator=generator)
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


# ---------------------------------------------------------------------- sharded modules


class Deep(nn.Module):
    """Blocks in a list, one of them called twice, and work between them."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Model() for _ in range(2))
        self.out = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        for block in self.blocks:
            y = y + block(y).tanh()
        return self.out(self.blocks[0](y)) / (x.shape[0] + 1)


def deep() -> Deep:
    torch.manual_seed(0)
    return Deep()


def sharded(rank: int, where: str, dynamic: Any) -> tuple[str, int]:
    """What training with `fully_shard` and `compile` does otherwise than with the first alone, and
    how often a compiled function was called that has a program.
    """
    from torch.distributed.fsdp import fully_shard

    def shard(module: Any) -> Any:
        for block in module.blocks:
            fully_shard(block)
        return fully_shard(module)

    expected = trained(shard(deep()), rank)
    module = deep()
    if where == "inside":  # compiled blocks, each of them sharded, in a compiled module
        module.blocks = nn.ModuleList(
            [anyshape.compile(block, dynamic=dynamic) for block in module.blocks]
        )
        made = shard(anyshape.compile(module, dynamic=dynamic))
    elif where == "around":
        made = anyshape.compile(shard(module), dynamic=dynamic)
    elif where == "blocks":  # a module that is not sharded itself
        for block in module.blocks:
            fully_shard(block)
        made = anyshape.compile(module, dynamic=dynamic)
        expected = trained(_blocks_alone(fully_shard), rank)
    elif where == "freed":  # parameters are gathered again for the backward pass
        for block in module.blocks:
            fully_shard(block, reshard_after_forward=True)
        made = anyshape.compile(fully_shard(module, reshard_after_forward=True), dynamic=dynamic)
    else:  # a planted bug: nothing is exchanged
        made = anyshape.compile(module, dynamic=dynamic)
    found = trained(made, rank)
    blocks = [vars(block).get("compiled") for block in made.blocks]
    functions = [made.compiled, *[block for block in blocks if block is not None]]
    hits = sum(c.stats.hits for function in functions for c in _compiled(function))
    return _difference(_whole(found), _whole(expected)), hits


def mixed(rank: int, kind: str, where: str, backend: str | None) -> tuple[float, int]:
    """How far training in bfloat16 with a compiled module is from that without, relative to the
    largest number of each tensor, and how often a program was called.

    `kind` is "sharded", by the policy of `fully_shard`, or "replicated", under autocast.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    is_sharded = kind == "sharded"

    def wrapped(module: Any) -> Any:
        if is_sharded:
            return fully_shard(module, mp_policy=policy)
        return DistributedDataParallel(module)

    def compiled(module: Any) -> Any:
        return anyshape.compile(module, dynamic="unbacked", backend=backend)

    def steps(module: Any) -> list[torch.Tensor]:
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
        losses = []
        for i in range(STEPS):
            with torch.autocast("cpu", torch.bfloat16, enabled=not is_sharded):
                loss = module(batch(rank, i)).float().square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
        return [*losses, *_whole([p.detach().clone() for p in module.parameters()])]

    form = Model if backend is None else Small
    expected = steps(wrapped(model(form)))
    made = compiled(wrapped(model(form))) if where == "around" else wrapped(compiled(model(form)))
    pairs = zip(steps(made), expected, strict=True)
    apart = max(float((a - b).abs().max() / (b.abs().max() + 1e-6)) for a, b in pairs)
    function = getattr(made, "compiled", None) or made.module.compiled
    return apart, sum(c.stats.hits for c in _compiled(function))


def accumulated(rank: int, where: str, dynamic: Any) -> str:
    """Gradients that are exchanged in every third step alone, against DDP without `compile`."""

    def steps(module: Any, exchange: Any) -> list[torch.Tensor]:
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
        for i in range(3 * STEPS):
            with exchange.no_sync() if i % 3 != 2 else nullcontext():
                module(batch(rank, i)).square().sum().backward()
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
        return [p.detach().clone() for p in module.parameters()]

    plain = DistributedDataParallel(model())
    expected = steps(plain, plain)
    if where == "inside":
        outer = DistributedDataParallel(anyshape.compile(model(), dynamic=dynamic))
        return _difference(steps(outer, outer), expected)
    outer = DistributedDataParallel(model())
    return _difference(steps(anyshape.compile(outer, dynamic=dynamic), outer), expected)


def sharded_update(rank: int, name: str) -> tuple[bool, list[str]]:
    """Whether a compiled update of sharded parameters is eager's, bit for bit, and why parts of it
    do not run as programs.
    """
    from torch.distributed.fsdp import fully_shard

    def steps(is_compiled: bool) -> tuple[list[torch.Tensor], Any]:
        module = fully_shard(model())
        optimizer = getattr(torch.optim, name)(module.parameters(), lr=0.01)
        update = anyshape.compile(optimizer.step) if is_compiled else optimizer.step
        for i in range(STEPS):
            module(batch(rank, i)).square().sum().backward()
            update()
            optimizer.zero_grad()
        return _whole([p.detach().clone() for p in module.parameters()]), update

    (expected, _), (found, update) = steps(False), steps(True)
    same = all(map(torch.equal, found, expected))
    return same, [c.eager_because for c in _compiled(update) if c.eager_because]


def _blocks_alone(fully_shard: Any) -> Deep:
    module = deep()
    for block in module.blocks:
        fully_shard(block)
    return module


def _compiled(function: Any) -> Any:
    """A compiled function and all that it consists of."""
    yield function
    parts = [] if function.pieces is None else function.pieces.parts
    for part in parts:
        yield from _compiled(part)


def _whole(parameters: list[torch.Tensor]) -> list[torch.Tensor]:
    return [p.full_tensor() if hasattr(p, "full_tensor") else p for p in parameters]
