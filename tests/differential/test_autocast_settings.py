"""What a program leaves of autocast and of the gradient mode is what eager execution leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = (2, 3, 5, 1, 0, 2)
DTYPES = (torch.bfloat16, torch.float16)


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    yield
    torch.set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)


def block(x: Any) -> Any:
    with torch.autocast("cpu", torch.float16):
        y = x @ x.T
    return y, x @ x.T


def blocks(x: Any) -> Any:
    x = x * 1  # autocast keeps one cast of a leaf
    with torch.autocast("cpu", torch.float16):
        y = x @ x.T
        with torch.autocast("cpu", torch.bfloat16):
            z = x @ x.T
        with torch.autocast("cpu", enabled=False):
            return y, z, x @ x.T


def error_inside(x: Any) -> Any:
    try:
        with torch.autocast("cpu", torch.float16):
            y = x @ x.T
            if x.shape[0] % 2:
                raise ValueError
    except ValueError:
        y = x
    return y


def idle_dtype(x: Any) -> Any:
    """The dtype that a block without one takes later, set where autocast is off."""
    torch.set_autocast_dtype("cpu", torch.float16)
    y = x + 1
    with torch.autocast("cpu"):
        return y, x @ x.T


def older_setter(x: Any) -> Any:
    """A setter whose name ends like that of a question."""
    torch._C.set_autocast_cpu_dtype(torch.float16)
    return x + 1


def plain_gradient(x: Any) -> Any:
    with torch.set_grad_enabled(False):
        torch._C._set_grad_enabled(True)
        y = x * 2
        torch._C._set_grad_enabled(False)
        z = x * 3
    return y, z, x * 4


def plain_gradient_left(x: Any) -> Any:
    torch._C._set_grad_enabled(False)
    return x * 2


PROGRAMS = (
    block,
    blocks,
    error_inside,
    idle_dtype,
    older_setter,
    plain_gradient,
    plain_gradient_left,
)


def outcome(f: Callable[..., Any], n: int, dtype: torch.dtype) -> Any:
    """The results of a call and the settings after it."""
    torch.set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", dtype)
    found = f((torch.arange(n * 2.0).reshape(n, 2) + 1).requires_grad_())
    parts = found if isinstance(found, tuple) else (found,)
    left = torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")
    return [(t.dtype, t.requires_grad, t.tolist()) for t in parts], left, dtype_now()


def dtype_now() -> torch.dtype:
    return torch.get_autocast_dtype("cpu")


@pytest.mark.filterwarnings("ignore:torch.set_autocast_cpu_dtype")
@pytest.mark.parametrize("options", [{}, {"dynamic": "unbacked"}, {"backend": "aot_eager"}])
@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled(program: Any, options: dict[str, Any]) -> None:
    compiled = anyshape.compile(program, **options)
    for i, n in enumerate(SIZES * 2):
        dtype = DTYPES[i % 2]
        assert outcome(compiled, n, dtype) == outcome(program, n, dtype), (n, dtype)


@pytest.mark.parametrize("program", [block, blocks, plain_gradient, plain_gradient_left])
def test_exported_and_called_under_another_dtype(program: Any) -> None:
    x = torch.ones(4, 2, requires_grad=True)
    exported = anyshape.export(program, (x,), dynamic_shapes=({0: "n"},))
    torch.set_grad_enabled(True)
    for n in SIZES:
        for dtype in DTYPES:
            assert outcome(exported, n, dtype) == outcome(program, n, dtype), (n, dtype)
