"""Threads that compile at once leave torch as it was."""

from __future__ import annotations

import threading
from typing import Any

import torch

import anyshape
from anyshape.interop.backend import Backend, find_backend
from anyshape.interop.compiler_turn import turn_of


def compiles(errors: list[Exception]) -> None:
    try:
        for k in range(5):
            f = anyshape.compile(lambda x, k=k: (x * k + 1).relu(), backend="aot_eager")
            x = torch.randn(3 + k % 2)
            assert torch.equal(f(x), (x * k + 1).relu())
    except Exception as e:
        errors.append(e)


def test_threads_that_compile_at_once() -> None:
    before = torch.nn.Module.__call__, torch.is_anomaly_enabled()
    errors: list[Exception] = []
    threads = [threading.Thread(target=compiles, args=(errors,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    assert (torch.nn.Module.__call__, torch.is_anomaly_enabled()) == before


def test_compilers_of_torch_share_a_turn() -> None:
    def mine(_module: Any, _inputs: Any) -> Any: ...

    named = [turn_of(find_backend(name)) for name in ("aot_eager", "inductor")]
    assert named[0] is named[1]
    assert turn_of(Backend("mine", mine)) is not named[0]
