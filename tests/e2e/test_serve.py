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
    assert [memory["pss"] <= memory["rss"] for memory in found["memory"][1]] == [True, True]
    assert found["codes"] == [0, 0]
    assert found["batches"] < 37  # requests that wait go together


def test_padding_that_is_attended_to_is_found() -> None:
    """A planted bug: every sequence is as long as its batch."""
    ids, lengths = serve.padded([words(n) for n in LENGTHS])
    with torch.inference_mode():
        right, wrong = model()(ids, lengths), model()(ids, lengths * 0 + ids.shape[1])
    torch.testing.assert_close(right[1].tolist(), alone(1), rtol=1e-4, atol=1e-5)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(wrong[1].tolist(), alone(1), rtol=1e-4, atol=1e-5)
