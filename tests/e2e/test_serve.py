"""The example of a server: answers of any length are eager's, nothing is lost at its end."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from examples import serve

if TYPE_CHECKING:
    from pathlib import Path

LENGTHS = (0, 1, 2, 7, 31, 3)


def model() -> serve.Classifier:
    torch.manual_seed(0)
    return serve.Classifier(words=50, width=16, depth=1).eval()


def words(n: int) -> list[int]:
    return [1 + 7 * i % 49 for i in range(n)]


async def asked(port: int, path: str, content: Any = None) -> tuple[int, Any]:
    """The status and the answer of one request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(content).encode()
    writer.write(f"POST {path} HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    status = int((await reader.readline()).split()[1])
    size = int((await reader.readline()).split()[1])
    await reader.readline()
    found = json.loads(await reader.readexactly(size))
    writer.close()
    return status, found


async def session(folder: Path) -> dict[str, Any]:
    """What a server answers from its start to its end."""
    serve.prepare(model(), folder)
    server = serve.Server(serve.Setup(folder), workers=2)
    port = await server.start("127.0.0.1", 0)
    found: dict[str, Any] = {}
    many = [asked(port, "/score", {"ids": words(n)}) for n in LENGTHS * 5]
    bad = [asked(port, "/score", {"ids": [99]}), asked(port, "/score", {"ids": "x"})]
    found["many"], found["bad"] = await asyncio.gather(
        asyncio.gather(*many), asyncio.gather(*bad, asked(port, "/other"))
    )
    found["memory"] = await asked(port, "/memory")
    last = [asyncio.create_task(asked(port, "/score", {"ids": words(n)})) for n in LENGTHS]
    while server.requests < len(LENGTHS) * 6 + 1:
        await asyncio.sleep(0.001)
    found["codes"] = await server.stop()
    found["last"] = await asyncio.gather(*last)
    found["batches"] = server.batches
    return found


def alone(n: int) -> list[float]:
    """The scores of one request by eager execution."""
    with torch.inference_mode():
        scores: list[float] = model()(*serve.padded([words(n)]))[0].tolist()
    return scores


def test_a_server_from_start_to_end(tmp_path: Path) -> None:
    found = asyncio.run(session(tmp_path))
    assert len(found["many"]) == 30
    for n, (status, answer) in zip(LENGTHS * 6, [*found["many"], *found["last"]], strict=True):
        assert status == 200
        torch.testing.assert_close(answer["scores"], alone(n), rtol=1e-4, atol=1e-5)
    assert [status for status, _ in found["bad"]] == [400, 400, 404]
    assert len(found["memory"][1]) == 2
    for memory in found["memory"][1]:
        assert memory["pss"] <= memory["rss"]
        assert memory["shared"] > 0
        assert abs(memory["shared"] + memory["private"] - memory["rss"]) <= 2  # rounded down
    assert found["codes"] == [0, 0]
    assert found["batches"] < 37  # requests that wait go together


async def restless(port: int, n: int) -> list[tuple[int, Any]]:
    """The answers of a client that asks again as soon as it has one, until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"ids": words(n)}).encode()
    found: list[tuple[int, Any]] = []
    while True:
        head = f"POST /score HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        try:
            if not (line := await reader.readline()):
                break
            size = int((await reader.readline()).split()[1])
            content = await reader.readexactly(2 + size)
        except ConnectionError:
            break
        found.append((int(line.split()[1]), json.loads(content)))
    writer.close()
    return found


async def raw(port: int, content: bytes) -> bytes:
    """The first line of what the server says to this content."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /score HTTP/1.1\r\ncontent-length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    line = await reader.readline()
    writer.close()
    return line


async def hard_times(folder: Path) -> dict[str, Any]:
    """A worker dies under load, clients send nonsense, and the server ends under load."""
    serve.prepare(model(), folder)
    server = serve.Server(serve.Setup(folder), workers=1)
    port = await server.start("127.0.0.1", 0)
    loads = [asyncio.create_task(restless(port, n)) for n in LENGTHS]
    while server.requests < 20:
        await asyncio.sleep(0.001)
    server.workers[0].kill()
    found: dict[str, Any] = {}
    nonsense = (b"", b"[]", b"{", b"\xff", b'{"ids": 3}', b"[" * 500_000, b'{"ids": [1e400]}')
    long = json.dumps({"ids": words(serve.LONGEST_REQUEST + 1)}).encode()
    wide = json.dumps({"ids": [2**70]}).encode()
    found["nonsense"] = [await raw(port, content) for content in (*nonsense, long, wide)]
    after = server.requests
    while server.requests < after + 20:
        await asyncio.sleep(0.001)
    async with asyncio.timeout(serve.PATIENCE / 2):
        found["codes"] = await server.stop()
    found["answers"] = await asyncio.gather(*loads)
    return found


def test_a_server_in_hard_times(tmp_path: Path) -> None:
    found = asyncio.run(hard_times(tmp_path))
    assert all(line.split()[1] == b"400" for line in found["nonsense"]), found["nonsense"]
    assert found["codes"] == [0]
    statuses = {status for answers in found["answers"] for status, _ in answers}
    assert statuses == {200, 503}
    for n, answers in zip(LENGTHS, found["answers"], strict=True):
        assert answers[-1][0] == 200  # by the process that took the place of the dead one
        for status, answer in answers:
            if status == 200:
                torch.testing.assert_close(answer["scores"], alone(n), rtol=1e-4, atol=1e-5)


def test_padding_that_is_attended_to_is_found() -> None:
    """A planted bug: every sequence is as long as its batch."""
    ids, lengths = serve.padded([words(n) for n in LENGTHS])
    with torch.inference_mode():
        right, wrong = model()(ids, lengths), model()(ids, lengths * 0 + ids.shape[1])
    torch.testing.assert_close(right[1].tolist(), alone(1), rtol=1e-4, atol=1e-5)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(wrong[1].tolist(), alone(1), rtol=1e-4, atol=1e-5)
