"""A server under load: latencies of an exported program, of the same with Inductor's kernels, of
eager execution and of torch.compile.

    python benchmarks/serve_load.py [--requests 400] [--clients 16] [--workers 2] [--turns 3]

One server of `examples/serve.py` after the other on the loopback interface, with the same model,
the same weights and the same requests, whose lengths vary from 0 to 96. Each client asks, waits for
the answer and asks again. Batching, workers and threads are the same for all, and each compiler
starts with an empty cache of kernels. The engines take turns, `--turns` times, so that another load
of the machine meets all of them; latencies of all turns count together. `slowest` is the slowest of
the first hundred requests, which count for nothing else: what a compiler does at new sizes shows
there. `CPU ms` is the time that processors spent in workers for a request. Memory is that of one
worker: what is resident, what of it other processes have and have not, and `PSS`, which counts
pages that several processes share in part.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))
from examples import serve

LONGEST = 96
EARLY = 100
BAR = 40
MEMORY = ("rss", "shared", "private", "pss")


class Loaded:
    """A server of one engine, and what it did."""

    def __init__(self, engine: str, folder: Path, workers: int) -> None:
        self.engine = engine
        cache = (("TORCHINDUCTOR_CACHE_DIR", str(folder / "kernels")),)
        setup = serve.Setup(folder, engine, environment=cache)
        self.server = serve.Server(setup, workers)
        self.start = self.seconds = self.cpu = 0.0
        self.memory = dict.fromkeys(MEMORY, 0.0)
        self.early: list[float] = []
        self.latencies: list[float] = []
        self.batches = 0

    async def open(self) -> None:
        """Start the server."""
        begin = time.perf_counter()
        self._port = await self.server.start("127.0.0.1", 0)
        self.start = time.perf_counter() - begin

    async def load(self, requests: list[list[int]], clients: int) -> list[float]:
        """Send requests from some clients at once; the seconds that each took."""
        asked = [client(self._port, requests[i::clients]) for i in range(clients)]
        return [t for taken in await asyncio.gather(*asked) for t in taken]

    async def measure(self, requests: list[list[int]], clients: int) -> None:
        """Add what a load shows."""
        batches, begin, spent = self.server.batches, time.perf_counter(), self._spent()
        self.latencies += await self.load(requests, clients)
        self.seconds += time.perf_counter() - begin
        self.cpu += self._spent() - spent
        self.batches += self.server.batches - batches

    def _spent(self) -> float:
        return sum(worker.seconds() for worker in self.server.workers)

    async def close(self) -> None:
        """Read the memory of the workers, and stop the server."""
        memory = [worker.memory() for worker in self.server.workers]
        self.memory = {kind: statistics.mean(m[kind] for m in memory) for kind in MEMORY}
        await self.server.stop()


async def client(port: int, requests: list[list[int]]) -> list[float]:
    """Send requests one after the other; the seconds that each took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    taken = []
    for ids in requests:
        body = json.dumps({"ids": ids}).encode()
        head = f"POST /score HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        begin = time.perf_counter()
        writer.write(head + body)
        status = await reader.readline()
        size = int((await reader.readline()).split()[1])
        await reader.readexactly(2 + size)
        taken.append(time.perf_counter() - begin)
        assert b"200" in status, status
    writer.close()
    return taken


async def measure(folder: Path, options: argparse.Namespace) -> list[Loaded]:
    """Start the servers one after the other, warm them up, load them by turns, and stop them."""
    draw = random.Random(0)
    made = [[draw.randrange(20_000) for _ in range(draw.randrange(LONGEST + 1))]
            for _ in range(options.requests * options.turns + EARLY)]  # fmt: skip
    found = []
    for engine in options.engines.split(","):
        own = folder / engine
        own.mkdir()
        for file in ("program.anyshape", "weights.pt"):
            shutil.copy(folder / file, own)
        loaded = Loaded(engine, own, options.workers)
        await loaded.open()
        loaded.early = await loaded.load(made[:EARLY], options.clients)
        found.append(loaded)
    for turn in range(options.turns):
        part = made[EARLY + turn * options.requests :][: options.requests]
        for loaded in found:
            await loaded.measure(part, options.clients)
    for loaded in found:
        await loaded.close()
    return found


def show(results: list[Loaded], weights: float) -> None:
    """The table, and a histogram for each engine."""
    print(f"{'':14}{'start s':>8}{'slowest ms':>12}{'req/s':>8}{'p50 ms':>8}{'p90 ms':>8}"
          f"{'p99 ms':>8}{'CPU ms':>8}{'per batch':>10}{'RSS MB':>8}{'shared':>8}{'private':>8}"
          f"{'PSS MB':>8}")  # fmt: skip
    for r in results:
        cut = statistics.quantiles(r.latencies, n=100)
        count = len(r.latencies)
        print(f"{r.engine:14}{r.start:8.1f}{1000 * max(r.early):12.0f}{count / r.seconds:8.0f}"
              f"{1000 * cut[49]:8.1f}{1000 * cut[89]:8.1f}{1000 * cut[98]:8.1f}"
              f"{1000 * r.cpu / count:8.1f}{count / r.batches:10.1f}"
              f"{''.join(f'{r.memory[kind]:8.0f}' for kind in MEMORY)}")  # fmt: skip
    print(f"the weights take {weights:.0f} MB")
    edges = [0, 5, 10, 20, 40, 80, 160, 320, 640, float("inf")]
    for r in results:
        print(f"\n{r.engine}, requests by ms:")
        for low, high in itertools.pairwise(edges):
            count = sum(low <= 1000 * t < high for t in r.latencies)
            if count:
                bar = "#" * max(1, BAR * count // len(r.latencies))
                print(f"  {low:>4} to {high:<5} {count:5}  {bar}")


def main() -> None:
    """Measure one engine after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--engines", default=",".join(serve.ENGINES))
    options = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        serve.prepare(serve.Classifier(), folder)
        weights = (folder / "weights.pt").stat().st_size / 2**20
        results = asyncio.run(measure(folder, options))
    show(results, weights)


if __name__ == "__main__":
    main()
