"""Processes that stay, and run one function after the other as ranks of a new process group."""

from __future__ import annotations

import datetime
import multiprocessing
import queue
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 120.0  # seconds for one function


def forking() -> Any:
    """A context whose processes are forked from one that has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.distributed.loaded"])
    return context


class Pool:
    """`size` processes. A function gets its rank and the arguments; its result is pickled."""

    def __init__(self, size: int) -> None:
        context = forking()
        self.size = size
        self._tasks = [context.Queue() for _ in range(size)]
        self._results = context.Queue()
        self._processes = [
            context.Process(target=_work, args=(rank, size, tasks, self._results), daemon=True)
            for rank, tasks in enumerate(self._tasks)
        ]
        for process in self._processes:
            process.start()

    def run(self, function: Callable[..., Any], *args: Any, timeout: float = 60.0) -> list[Any]:
        """The results of all ranks; raises what ranks raised, as text, when all have ended."""
        with tempfile.TemporaryDirectory() as folder:
            meeting = (Path(folder) / "store").as_uri()
            for tasks in self._tasks:
                tasks.put((function, args, meeting, timeout))
            found: dict[int, Any] = {}
            errors: list[str] = []
            while len(found) < self.size:
                try:
                    rank, result, error = self._results.get(timeout=PATIENCE)
                except queue.Empty:
                    raise AssertionError(f"only ranks {sorted(found)} came to an end") from None
                found[rank] = result
                errors += [f"rank {rank}: {error}"] if error else []
        assert not errors, "\n".join(errors)
        return [found[rank] for rank in range(self.size)]

    def close(self) -> list[int | None]:
        """End the processes; their exit codes."""
        for tasks in self._tasks:
            tasks.put(None)
        for process in self._processes:
            process.join(PATIENCE)
        return [process.exitcode for process in self._processes]


def _work(rank: int, size: int, tasks: Any, results: Any) -> None:
    torch.set_num_threads(1)
    while (task := tasks.get()) is not None:
        function, args, meeting, timeout = task
        result, error = None, ""
        try:
            distributed.init_process_group(
                "gloo", init_method=meeting, rank=rank, world_size=size,
                timeout=datetime.timedelta(seconds=timeout),
            )  # fmt: skip
            distributed.barrier()  # a rank that ends at once does not cut off one that connects
            result = function(rank, *args)
        except BaseException:
            error = traceback.format_exc()
        if distributed.is_initialized():
            distributed.destroy_process_group()
        results.put((rank, result, error))
