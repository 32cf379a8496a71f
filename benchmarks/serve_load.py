"""A server under load: latencies of an exported program, of eager execution and of torch.compile.

    python benchmarks/serve_load.py [--requests 400] [--clients 16] [--workers 2] [--engines a,b]

One server of `examples/serve.py` after the other on the loopback interface, with the same model,
the same weights and the same requests, whose lengths vary from 0 to 96. Each client asks, waits for
the answer and asks again. `slowest` is the slowest of the first hundred requests, which count for
nothing else: what a compiler does at new sizes shows there. Memory is that of one worker; `PSS`
counts pages that several processes share in part.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))
from examples import serve

LONGEST = 96
BAR = 40


class Result(NamedTuple):
    """What one server did."""

    engine: str
    start: float
    seconds: float
    early: list[float]
    latencies: list[float]
    batches: int
    rss: float
    pss: float


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


async def measure(engine: str, folder: Path, options: argparse.Namespace) -> Result:
    """Start a server, warm it up, load it, and stop it."""
    draw = random.Random(0)
    make = [[draw.randrange(20_000) for _ in range(draw.randrange(LONGEST + 1))]
            for _ in range(options.requests + 100)]  # fmt: skip
    begin = time.perf_counter()
    server = serve.Server(serve.Setup(folder, engine), options.workers)
    port = await server.start("127.0.0.1", 0)
    start = time.perf_counter() - begin

    async def load(requests: list[list[int]]) -> list[float]:
        clients = [client(port, requests[i :: options.clients]) for i in range(options.clients)]
        return [t for taken in await asyncio.gather(*clients) for t in taken]

    early = await load(make[:100])
    batches, begin = server.batches, time.perf_counter()
    latencies = await load(make[100:])
    seconds = time.perf_counter() - begin
    memory = [worker.memory() for worker in server.workers]
    batches = server.batches - batches
    await server.stop()
    rss, pss = (statistics.mean(m[kind] for m in memory) for kind in ("rss", "pss"))
    return Result(engine, start, seconds, early, latencies, batches, rss, pss)


def show(results: list[Result], weights: float) -> None:
    """The table, and a histogram for each engine."""
    print(f"{'':14}{'start s':>8}{'slowest ms':>12}{'req/s':>8}{'p50 ms':>8}{'p90 ms':>8}"
          f"{'p99 ms':>8}{'per batch':>10}{'RSS MB':>8}{'PSS MB':>8}")  # fmt: skip
    for r in results:
        cut = statistics.quantiles(r.latencies, n=100)
        count = len(r.latencies)
        print(f"{r.engine:14}{r.start:8.1f}{1000 * max(r.early):12.0f}{count / r.seconds:8.0f}"
              f"{1000 * cut[49]:8.1f}{1000 * cut[89]:8.1f}{1000 * cut[98]:8.1f}"
              f"{count / r.batches:10.1f}{r.rss:8.0f}{r.pss:8.0f}")  # fmt: skip
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
    parser.add_argument("--engines", default=",".join(serve.ENGINES))
    options = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        serve.prepare(serve.Classifier(), folder)
        weights = (folder / "weights.pt").stat().st_size / 2**20
        results = [
            asyncio.run(measure(engine, folder, options)) for engine in options.engines.split(",")
        ]
    show(results, weights)


if __name__ == "__main__":
    main()
