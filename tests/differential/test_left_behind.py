"""Tracing leaves no trace: the state of the process is as before, whatever happens."""

from __future__ import annotations

import builtins
import contextlib
import gc
import math
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape import config
from anyshape.errors import DataDependentError, UnsupportedError
from anyshape.trace import capture
from tests.differential.agree import KINDS, Dynamic
from tests.differential.snippet import B, S

if TYPE_CHECKING:
    Tensor = torch.Tensor


class Model(nn.Module):
    """A module with all kinds of state."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            y = F.dropout(self.linear(x), 0.5) + torch.rand(x.shape[0], 1)
        return self.norm(y.float())


def state_of_the_process(module: nn.Module | None = None) -> dict[str, Any]:
    """All that a trace might leave changed."""
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": [torch.is_autocast_enabled(d) for d in ("cpu", "cuda")],
        "autocast dtype": [torch.get_autocast_dtype(d) for d in ("cpu", "cuda")],
        "autocast cache": torch.is_autocast_cache_enabled(),
        "torch random": torch.get_rng_state().tolist(),
        "random": random.getstate(),
        "numpy random": str(np.random.get_state()),
        "modes": torch.overrides._get_current_function_mode_stack(),
        "function": torch._C._is_torch_function_enabled(),
        "dtype": torch.get_default_dtype(),
        "gc": gc.isenabled(),
        "gc thresholds": gc.get_threshold(),
        "compiling": (torch.compiler.is_compiling(), torch.compiler._is_compiling_flag),
        "config": repr(config),
        "threads": torch.get_num_threads(),
        "builtins": {k: v for k, v in vars(builtins).items() if k != "_"},
        "math": dict(vars(math)),
        "random module": dict(vars(random)),
        "time module": dict(vars(time)),
        "torch": dict(vars(torch)),
        "tensor": dict(vars(torch.Tensor)),
        "functional": dict(vars(F)),
        "numpy": dict(vars(np)),
        "attributes": [] if module is None else [dict(vars(m)) for m in module.modules()],
        "tensors": []
        if module is None
        else [(id(t), t._version, t.tolist()) for t in tensors(module)],
    }


def tensors(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(), *module.buffers()]


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [k for k in before if before[k] != after[k]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_leaves_nothing_behind(kind: str) -> None:
    module = Model()
    capture(module, (torch.randn(B, 4),), dynamic=Dynamic(kind, {B: {}}))
    before = state_of_the_process(module)
    captured = capture(module, (torch.randn_like(torch.empty(0)).new_ones(B, 4),), dynamic=kind)
    assert changes(before, state_of_the_process(module)) == []
    del captured
    assert changes(before, state_of_the_process(module)) == []


def test_a_program_leaves_its_modes_behind() -> None:
    captured = capture(Model(), (torch.randn(B, 4),), dynamic=Dynamic("unbacked", {B: {}}))
    x = torch.randn(4, 4)
    captured(x)
    before = state_of_the_process()
    captured(x)
    after = state_of_the_process()
    assert changes(before, after) == ["torch random"]


def raises_of_its_own(x: Tensor) -> Any:
    torch.set_grad_enabled(False)
    torch.rand(x.shape)
    raise KeyError("mine")


def raises_in_torch(x: Tensor) -> Any:
    with torch.autocast("cpu"), torch.no_grad():
        return x @ torch.zeros(2, 2, 2)[0, 0, 0]


def raises_in_a_body(x: Tensor) -> Any:
    return F.normalize(x, dim=7)


def raises_on_data(x: Tensor) -> Any:
    with torch.inference_mode():
        return x if x.sum() > 0 else x + 1


def raises_what_nobody_catches(x: Tensor) -> Any:
    raise KeyboardInterrupt


FAILING = (
    (raises_of_its_own, KeyError),
    (raises_in_torch, RuntimeError),
    (raises_in_a_body, RuntimeError),
    (raises_on_data, DataDependentError),
    (raises_what_nobody_catches, KeyboardInterrupt),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fn", "error"), FAILING, ids=[fn.__name__ for fn, _ in FAILING])
def test_a_failed_trace_leaves_nothing_behind(fn: Any, error: Any, kind: str) -> None:
    x = torch.randn(B, S)
    with pytest.raises(error):
        capture(fn, (x,), dynamic=kind)
    before = state_of_the_process()
    with pytest.raises(error):
        capture(fn, (x,), dynamic=kind)
    assert changes(before, state_of_the_process()) == []
    captured = capture(lambda y: y * 2, (x,), dynamic=kind)
    torch.testing.assert_close(captured(x), x * 2)


def test_a_traced_tensor_that_escapes() -> None:
    kept: list[Any] = []

    def fn(x: Tensor) -> Tensor:
        kept.append(x)
        return x + 1

    capture(fn, (torch.randn(B, S),))
    with pytest.raises(UnsupportedError):
        kept[0] + 1
    with pytest.raises(UnsupportedError):
        torch.add(kept[0], 1)
    with pytest.raises(UnsupportedError):
        capture(lambda x: x + kept[0], (torch.randn(B, S),))


def test_eight_threads_at_once() -> None:
    module = Model()
    before = state_of_the_process(module)
    problems: list[str] = []
    barrier = threading.Barrier(8)

    def work(i: int) -> None:
        try:
            barrier.wait()
            for round_ in range(6):
                kind = KINDS[(i + round_) % 2]
                n = 2 + i
                where = {n: {"min": 1}} if n != 4 else {}
                with config.patch(specialize_zero_one=False):
                    captured = capture(
                        lambda x, i=i: torch.cat([x * i, torch.ones(x.shape[0], 1)], 1).relu(),
                        (torch.randn(n, 4),),
                        dynamic=Dynamic(kind, where),
                    )
                    capture(module, (torch.randn(n, 4),), dynamic=Dynamic(kind, where))
                if i % 2:
                    with contextlib.suppress(KeyError):
                        capture(raises_of_its_own, (torch.randn(n, 4),))
                x = torch.randn(n if n == 4 else n + 3, 4)
                torch.testing.assert_close(
                    captured(x), torch.cat([x * i, torch.ones(x.shape[0], 1)], 1).relu()
                )
                if torch.overrides._get_current_function_mode_stack():
                    problems.append("a mode is left")
        except BaseException as e:
            problems.append(f"{type(e).__name__}: {e}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert problems == []
    after = state_of_the_process(module)
    assert [k for k in changes(before, after) if k != "torch random"] == []


def test_one_trace_inside_another() -> None:
    inner = capture(lambda x: x * 2, (torch.randn(B, S),), dynamic="unbacked")
    outer = capture(lambda x: inner(x) + 1, (torch.randn(B, S),), dynamic="unbacked")
    x = torch.randn(4, 7)
    torch.testing.assert_close(outer(x), x * 2 + 1)
