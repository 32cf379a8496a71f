"""State of the process and of the thread that changes between calls, against eager execution.

Torch's compilers choose kernels and ops by it while they compile; eager execution does while it
runs. Modes and hooks of the caller see the ops of the function, and nothing else.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import anyshape
from anyshape.interop import lowering_condition

SEEN: list[str] = []


class Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append(str(func))
        return func(*args, **(kwargs or {}))


class Called(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def packed(t: Any) -> Any:
    SEEN.append("packed")
    return t


@contextlib.contextmanager
def between(put: Any, back: Any) -> Any:
    put()
    try:
        yield
    finally:
        back()


def dtype() -> Any:
    put = torch.set_default_dtype
    return between(lambda: put(torch.float64), lambda: put(torch.float32))


def deterministic() -> Any:
    put = torch.use_deterministic_algorithms
    return between(lambda: put(True), lambda: put(False))


def precision() -> Any:
    put = torch.set_float32_matmul_precision
    return between(lambda: put("medium"), lambda: put("highest"))


STATES: dict[str, Any] = {
    "grad_off": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "default_dtype": dtype,
    "deterministic": deterministic,
    "precision": precision,
    "math": lambda: sdpa_kernel(SDPBackend.MATH),
    "no_kernel": lambda: sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION),
    "mkldnn_off": lambda: torch.backends.mkldnn.flags(enabled=False),
    "meta": lambda: torch.device("meta"),
    "dispatch_mode": Dispatched,
    "function_mode": Called,
    "saved_tensors": lambda: torch.autograd.graph.saved_tensors_hooks(packed, lambda t: t),
}


def attend(x: Any) -> Any:
    return F.scaled_dot_product_attention(x, x, x).sum(-1)


def make(x: Any) -> Any:
    return torch.ones(3, dtype=torch.long) / 2 + x.sum() * torch.arange(3)


def outcome(fn: Any, state: Any) -> Any:
    x = (torch.arange(24.0).reshape(1, 2, 4, 3) / 7).requires_grad_()
    SEEN.clear()
    try:
        with state():
            y = fn(x)
    except RuntimeError as e:
        return type(e).__name__
    seen = list(SEEN)
    return repr((y.detach(), y.dtype, y.requires_grad, y.is_inference(), seen))


def differing(fn: Any, compiled: Any) -> list[str]:
    wrong = []
    for name, state in STATES.items():
        for where, entered in ((name, state), (f"after {name}", contextlib.nullcontext)):
            if outcome(compiled, entered) != outcome(fn, entered):
                wrong.append(where)
    return wrong


@pytest.mark.parametrize(
    ("fn", "backend"), [(attend, "eager"), (attend, "aot_eager"), (make, "eager")]
)
def test_as_in_eager_execution(fn: Any, backend: str) -> None:
    compiled = anyshape.compile(fn, backend=backend, recompile_limit=64)
    outcome(compiled, contextlib.nullcontext)
    assert differing(fn, compiled) == []
    before = compiled.stats.traces
    outcome(compiled, contextlib.nullcontext)
    assert compiled.stats.traces == before
    assert compiled.eager_because is None


def test_settings_that_are_not_looked_at_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering_condition.ProcessState, "source", lambda *_: "True")
    compiled = anyshape.compile(attend, backend="aot_eager", recompile_limit=64)
    outcome(compiled, contextlib.nullcontext)
    state = STATES["no_kernel"]
    assert outcome(compiled, state) != outcome(attend, state)


def _ops_of(fn: Any, x: torch.Tensor) -> list[str]:
    SEEN.clear()
    with Dispatched():
        fn(x)
    return list(SEEN)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_dispatch_mode_sees_the_ops_of_a_whole_graph(is_known: bool) -> None:
    """Also of one that a backend has compiled, and where the first call is under the mode."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + x.cos()

    lowered = []
    compiled = anyshape.compile(
        fn, fullgraph=True, backend=lambda gm, _: lowered.append(gm) or torch.zeros_like
    )
    x = torch.randn(3)
    if is_known:
        assert not torch.equal(compiled(x), fn(x))  # the backend's program is another one
    assert _ops_of(compiled, x) == _ops_of(fn, x)
    assert len(lowered) == is_known
