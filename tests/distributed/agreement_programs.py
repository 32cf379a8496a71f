"""What the ranks run in the tests of agreement."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import torch
from torch import distributed

import anyshape

PATIENCE, ROUNDS = 20.0, 12


def step(x: torch.Tensor, k: int) -> torch.Tensor:
    return (x * k).sum(0) + x.shape[0]


def sizes(rank: int, agree: Any, calls: list[list[tuple[int, int]]]) -> tuple[int, list[str]]:
    """Call a compiled function at this rank's sizes, in step with the others: how often it was
    traced, and why. More calls follow until the ranks have traced equally often for a while.
    """
    compiled = anyshape.compile(step)
    group = distributed.group.WORLD if agree == "object" else agree
    with anyshape.config.patch(agree=group):
        for n, m in calls[rank % 2]:
            x = torch.randn(n, m)
            torch.testing.assert_close(compiled(x, 2), step(x, 2), rtol=0, atol=0)
            distributed.barrier()
        end, stable = time.monotonic() + (1.0 if agree is None else PATIENCE), 0
        while stable < ROUNDS and time.monotonic() < end:
            compiled(x, 2)
            time.sleep(0.05)
            found = torch.tensor([compiled.stats.traces, -compiled.stats.traces])
            distributed.all_reduce(found, distributed.ReduceOp.MAX)
            stable = stable + 1 if found[0] == -found[1] else 0
        distributed.barrier()
    return compiled.stats.traces, [str(event.reasons[0].text) for event in compiled.recompilations]


def lonely(rank: int) -> int:
    """Only rank 0 calls the function; nobody waits."""
    compiled = anyshape.compile(step)
    with anyshape.config.patch(agree="group"):
        if rank == 0:
            for n in (3, 5, 7):
                compiled(torch.ones(n, 2), 2)
    return compiled.stats.traces


def survivor(rank: int, port: int, results: Any) -> None:
    """Rank 0, which holds the store, dies after its first call; rank 1 goes on."""
    store = distributed.TCPStore("127.0.0.1", port, 2, is_master=rank == 0)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
    compiled = anyshape.compile(step)
    anyshape.config.agree = "group"
    compiled(torch.ones(3, 2), 2)
    distributed.barrier()
    if rank == 0:
        os._exit(0)
    time.sleep(0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        equal = [
            torch.equal(compiled(x, 2), step(x, 2)) for x in (torch.ones(n, 2) for n in (5, 7, 9))
        ]
    told = [str(w.message) for w in caught if "the other processes are not told" in str(w.message)]
    results.put((equal, compiled.stats.traces, len(told)))
    results.close()
    results.join_thread()
    os._exit(0)  # the group cannot be destroyed: its store is gone
