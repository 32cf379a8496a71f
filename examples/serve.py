"""A server that runs until Ctrl-C: worker processes, dynamic batching, requests of any length.

    python examples/serve.py --workers 2 --port 8000 [--engine inductor]
    curl -d '{"ids": [3, 14, 15]}' localhost:8000/score
    curl localhost:8000/memory

A model is exported once, with any batch and any length. Each worker process loads the program
without its weights and maps the file of the weights into its memory, so that the workers share the
pages. With `--engine inductor` each worker lets torch's compiler make kernels of the program, once
for all sizes. Nothing is compiled after the start. A worker that is free takes all requests that
wait, shared with other free workers and up to a limit, as one padded batch: the busier the server,
the larger the batches.

SIGINT and SIGTERM end the server: it takes no more requests, answers those that it has read, and
ends its workers. If a worker process dies, its requests are answered with 503, and another process
takes its place.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

LARGEST_BATCH = 32
LONGEST_BODY = 1 << 20  # bytes
LONGEST_REQUEST = 4096  # words: attention takes memory for each pair of them
PATIENCE = 30.0  # seconds for clients that do not read their answers, at the end
ENGINES = ("anyshape", "inductor", "eager", "torch.compile")


# ---------------------------------------------------------------------- the model


class Block(nn.Module):
    """Attention and a feed-forward layer; padding is not attended to."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.parts, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """The next states; `real` tells words from padding."""
        batch, length, width = x.shape
        parts = self.parts(self.before(x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        seen = scaled_dot_product_attention(query, key, value, attn_mask=real[:, None, None])
        x = x + self.joined(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(self.between(x))


class Classifier(nn.Module):
    """Scores of a sequence of words. A start symbol comes first, so that none is empty."""

    def __init__(self, words: int = 20_000, width: int = 256, depth: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.start = nn.Parameter(torch.randn(width))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(depth))
        self.scores = nn.Linear(width, 8)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The scores of padded sequences with these lengths."""
        batch, length = ids.shape
        x = torch.cat([self.start.expand(batch, 1, -1), self.words(ids)], 1)
        place = torch.arange(length + 1)
        x = x + torch.sin(place[:, None] / torch.arange(1, x.shape[2] + 1))
        real = place <= lengths[:, None]
        for block in self.blocks:
            x = block(x, real)
        return self.scores(x[:, 0])


def prepare(model: nn.Module, folder: Path) -> None:
    """Export a model, and write the program and the weights into a folder."""
    example = (torch.zeros(3, 5, dtype=torch.long), torch.tensor([5, 2, 0]))
    shapes = ({0: "batch", 1: "length"}, {0: "batch"})
    program = anyshape.export(model.eval(), example, dynamic_shapes=shapes)
    program.save(folder / "program.anyshape")
    torch.save(model.state_dict(), folder / "weights.pt")


def load(folder: Path, engine: str, make: Callable[[], nn.Module]) -> Callable[..., torch.Tensor]:
    """What scores a batch in a worker: the exported program, the same with Inductor's kernels, the
    model, or the model under `torch.compile`. Weights are mapped, not read.
    """
    weights = torch.load(folder / "weights.pt", mmap=True)
    if engine in ("anyshape", "inductor"):
        program = anyshape.load(folder / "program.anyshape", weights=False)
        program.load_state_dict(weights, assign=True)
        with torch.inference_mode():
            return program.compile() if engine == "inductor" else program
    with torch.device("meta"):
        model = make()
    model.load_state_dict(weights, assign=True)
    model.eval()
    return torch.compile(model, dynamic=True) if engine == "torch.compile" else model


# ---------------------------------------------------------------------- workers


class Setup(NamedTuple):
    """What a worker is started with."""

    folder: Path
    engine: str = "anyshape"
    make: Callable[[], nn.Module] = Classifier
    environment: tuple[tuple[str, str], ...] = ()  # variables that it sets


def work(setup: Setup, pipe: Connection) -> None:
    """The loop of a worker process: batches come in, scores go out; None ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server tells it when to end
    os.environ.update(setup.environment)
    torch.set_num_threads(1)
    run = load(setup.folder, setup.engine, setup.make)
    with torch.inference_mode():
        run(*padded([[1, 2], [3]]))
        pipe.send("ready")
        while (requests := _received(pipe)) is not None:
            try:
                pipe.send(run(*padded(requests)).tolist())
            except Exception as e:  # a bad request does not end the worker
                pipe.send(Failed(str(e)))


def _received(pipe: Connection) -> list[list[int]] | None:
    """The next batch; None at the end, or once the server is gone."""
    try:
        found: list[list[int]] | None = pipe.recv()
    except EOFError:
        return None
    return found


def padded(requests: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of any lengths as one batch, with the lengths."""
    lengths = torch.tensor([len(ids) for ids in requests])
    batch = torch.zeros(len(requests), int(lengths.max()), dtype=torch.long)
    for row, ids in zip(batch, requests, strict=True):
        row[: len(ids)] = torch.tensor(ids, dtype=torch.long)
    return batch, lengths


class Failed(Exception):
    """A batch that cannot be scored."""


class Gone(Exception):
    """A batch whose worker has died."""


class Worker:
    """A worker process, as the server sees it."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.start()

    def start(self) -> None:
        """Start a process, which says when it is ready."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch", "anyshape"])
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(self._setup, theirs))
        self._process.start()
        theirs.close()

    def start_again(self) -> None:
        """Start a process in place of one that has died, and wait until it is ready."""
        self._pipe.close()
        self._process.join()
        self.start()
        self.answer()

    def answer(self) -> Any:
        """Wait for what the worker sends. `Gone` if it has died."""
        try:
            found = self._pipe.recv()
        except (EOFError, OSError) as e:
            raise Gone("the worker process has died") from e
        if isinstance(found, Failed):
            raise found
        return found

    def ask(self, requests: list[list[int]]) -> Any:
        """The scores of a batch."""
        try:
            self._pipe.send(requests)
        except OSError as e:
            raise Gone("the worker process has died") from e
        return self.answer()

    def memory(self) -> dict[str, int]:
        """Resident memory in MB, the parts of it that other processes have and have not, and the
        proportional memory, in which a page that n processes share counts 1/n.
        """
        lines = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text().splitlines()
        found = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
        both = ("Clean", "Dirty")
        return {
            "rss": found["Rss"] >> 10,
            "shared": sum(found[f"Shared_{kind}"] for kind in both) >> 10,
            "private": sum(found[f"Private_{kind}"] for kind in both) >> 10,
            "pss": found["Pss"] >> 10,
        }

    def seconds(self) -> float:
        """The time that the processor has spent on it."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """Let the process die."""
        self._process.kill()

    def close(self) -> int | None:
        """End the process; its exit code."""
        with suppress(OSError):  # it has died
            self._pipe.send(None)
        self._process.join()
        return self._process.exitcode


# ---------------------------------------------------------------------- the server


class Server:
    """Requests over HTTP on one side, workers on the other, a queue between them."""

    def __init__(self, setup: Setup, workers: int) -> None:
        self.workers: list[Worker] = []
        self._setup, self._count = setup, workers
        self.batches = self.requests = 0
        self._free = 0  # workers that wait for a batch
        self._threads = ThreadPoolExecutor(workers)  # each waits for one worker
        self._waiting: asyncio.Queue[tuple[list[int], asyncio.Future[Any]]] = asyncio.Queue()
        self._connections: set[asyncio.StreamWriter] = set()
        self._open = 0  # requests that were read and not answered
        self._is_ending = False
        self._quiet = asyncio.Condition()

    async def start(self, host: str, port: int) -> int:
        """Start the workers, then listen; the port. What the first one compiles is in the cache of
        kernels for the others.
        """
        for count in (1, self._count - 1):
            new = [Worker(self._setup) for _ in range(count)]
            self.workers += new
            await asyncio.gather(*[self._in_thread(worker.answer) for worker in new])
        self._loops = [asyncio.create_task(self._serve(worker)) for worker in self.workers]
        self._server = await asyncio.start_server(self._connected, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> list[int | None]:
        """Answer what was asked, then end the workers; their exit codes."""
        self._is_ending = True
        self._server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE), self._quiet:
                await self._quiet.wait_for(lambda: not self._open)
        for connection in self._connections:
            connection.close()
        for loop in self._loops:
            loop.cancel()
        codes = await asyncio.gather(*[self._in_thread(worker.close) for worker in self.workers])
        self._threads.shutdown()
        return list(codes)

    # ------------------------------------------------------------------ batches

    async def _serve(self, worker: Worker) -> None:
        """Hand a worker its share of what waits, whenever it is free."""
        while True:
            self._free += 1
            batch = [await self._waiting.get()]
            share = math.ceil((1 + self._waiting.qsize()) / self._free)
            self._free -= 1
            while len(batch) < min(share, LARGEST_BATCH) and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            await self._score(worker, batch)

    async def _score(self, worker: Worker, batch: list[tuple[list[int], Any]]) -> None:
        self.batches += 1
        try:
            found = await self._in_thread(worker.ask, [ids for ids, _ in batch])
        except Failed as e:
            if len(batch) == 1:
                batch[0][1].set_exception(e)
            for request in batch if len(batch) > 1 else ():  # the others are answered
                await self._score(worker, [request])
        except Gone as e:
            for _, answer in batch:
                answer.set_exception(e)
            await self._replace(worker)
        else:
            for (_, answer), scores in zip(batch, found, strict=True):
                answer.set_result(scores)

    async def _replace(self, worker: Worker) -> None:
        """Start a worker again until it is ready."""
        while True:
            try:
                return await self._in_thread(worker.start_again)  # type: ignore[no-any-return]
            except (Gone, OSError):
                await asyncio.sleep(1.0)

    def _in_thread(self, f: Callable[..., Any], *args: Any) -> Any:
        return asyncio.get_running_loop().run_in_executor(self._threads, f, *args)

    # ------------------------------------------------------------------ HTTP

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while not self._is_ending and (request := await _request(reader)) is not None:
                self._open += 1
                try:
                    status, content = await self._reply(*request)
                    body = json.dumps(content).encode()
                    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
                    writer.write(head.encode() + body)
                    await writer.drain()
                finally:
                    self._open -= 1
                    async with self._quiet:
                        self._quiet.notify_all()
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass  # who is gone, or does not speak HTTP, gets no answer
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _reply(self, path: str, body: bytes) -> tuple[str, Any]:
        if path == "/memory":
            return "200 OK", [worker.memory() for worker in self.workers]
        if path != "/score":
            return "404 Not Found", {"error": "there are /score and /memory"}
        try:
            ids = json.loads(body)["ids"]
            if not isinstance(ids, list) or not all(type(i) is int for i in ids):
                raise ValueError("ids is a list of integers")
            if len(ids) > LONGEST_REQUEST:
                raise ValueError(f"there are at most {LONGEST_REQUEST} ids")
            answer = asyncio.get_running_loop().create_future()
            self._waiting.put_nowait((ids, answer))
            self.requests += 1
            return "200 OK", {"scores": await answer}
        except (ValueError, KeyError, TypeError, RecursionError, Failed) as e:
            return "400 Bad Request", {"error": str(e)}
        except Gone as e:
            return "503 Service Unavailable", {"error": str(e)}


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes] | None:
    """The path and the body of the next request of a connection; None at its end."""
    line = await reader.readline()
    if not line:
        return None
    _method, path, _version = line.decode().split()
    size = 0
    while (header := await reader.readline()).strip():
        name, _, value = header.decode().partition(":")
        size = int(value) if name.lower() == "content-length" else size
    if not 0 <= size <= LONGEST_BODY:
        raise ValueError(f"a body of {size} bytes")
    return path, await reader.readexactly(size)


# ---------------------------------------------------------------------- the command


async def serve(setup: Setup, workers: int, host: str, port: int) -> None:
    """Serve until a signal asks for the end."""
    server = Server(setup, workers)
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    print(f"listening on {host}:{await server.start(host, port)}; Ctrl-C ends it", flush=True)
    await asked.wait()
    codes = await server.stop()
    print(f"{server.requests} requests in {server.batches} batches; workers ended with {codes}")


def main() -> None:
    """Read the command line, export the model, and serve it."""
    parser = argparse.ArgumentParser(description="Serve an exported program.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--engine", choices=ENGINES, default="anyshape")
    options = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        prepare(Classifier(), Path(folder))
        setup = Setup(Path(folder), options.engine)
        asyncio.run(serve(setup, options.workers, options.host, options.port))


if __name__ == "__main__":
    main()
