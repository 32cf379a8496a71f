"""Autocast: dtypes of results are eager's, whichever list an op is in."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape.rules.dispatch import autocast
from anyshape.torch_compat.aten_op import all_op_names, has_kernel
from anyshape.torch_compat.tensor_subclass import make_wrapper_subclass
from anyshape.torch_compat.torch_function import disabled_torch_function
from anyshape.trace import capture
from anyshape.trace.argument import inputs
from tests.differential.replay import Replay

_WINDOW: Any = ([1], [0], [1], False, [0], 1, False, False, False)


def _convolve(op: Any, *more: Any, **named: Any) -> Any:
    return lambda a, b: op(a[None], b[:, :, None], None, *_WINDOW, *more, **named)


PROGRAMS: dict[str, Any] = {
    "matmul": lambda a, b: a @ b,
    "reflected matmul": lambda a, b: torch.Tensor.__rmatmul__(b, a),
    "mm": torch.mm,
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "mv": lambda a, b: torch.mv(a, b[0]),
    "dot": lambda a, b: torch.dot(a[0], b[0]),
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "addmv": lambda a, b: torch.addmv(a[0], a, b[0]),
    "linear": F.linear,
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
    "vecdot": torch.linalg.vecdot,
    "pinv": lambda a, b: torch.linalg.pinv(a),
    "conv1d": lambda a, b: F.conv1d(a[None], b[:, :, None]),
    "_convolution": _convolve(torch.ops.aten._convolution.default, False),
    "_convolution, deprecated": _convolve(torch.ops.aten._convolution.deprecated),
    "_convolution of a packet": _convolve(torch.ops.aten._convolution, allow_tf32=False),
    "_convolution of a packet, deprecated": _convolve(torch.ops.aten._convolution),
    "convolution": lambda a, b: torch.convolution(a[None], b[:, :, None], None, *_WINDOW[:6]),
    "attention": lambda a, b: F.scaled_dot_product_attention(
        a[None, None], b[None, None], b[None, None]
    ),
    "prelu": lambda a, b: F.prelu(a, b[0]),
    "prod": lambda a, b: (a @ b).prod(0),
    "trace": lambda a, b: (a @ b).trace(),
    "cdist": lambda a, b: torch.cdist(a @ b, b),
    "mse_loss": lambda a, b: F.mse_loss(a @ b, a @ b),
    "cross_entropy": lambda a, b: F.cross_entropy(a @ b, torch.zeros(4, dtype=torch.int64)),
    "inverse": lambda a, b: torch.linalg.inv(a @ b + torch.eye(4) * 9),
    "fft": lambda a, b: torch.fft.rfft(a @ b),
    "softmax": lambda a, b: torch.softmax(a @ b, -1),
    "layer_norm": lambda a, b: F.layer_norm(a @ b, (4,)),
    "sum": lambda a, b: (a @ b).sum(),
    "mixed add": lambda a, b: (a @ b) + b,
    "cat": lambda a, b: torch.cat([a @ b, b]),
    "double": lambda a, b: a.double() @ b.double(),
    "integers": lambda a, b: (a > 0).long() * 2,
    "lstm": lambda a, b: torch.lstm_cell(
        a, (b, b), [torch.ones(16, 4), torch.ones(16, 4)][0], torch.ones(16, 4)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_dtypes_are_eagers(name: str) -> None:
    def f(a: torch.Tensor, b: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return PROGRAMS[name](a, b)

    args = (torch.rand(4, 4), torch.rand(4, 4))
    captured = capture(f, args, dynamic="static")
    assert Replay(captured, list(args)).run(strides=False) == []


def test_a_planted_mistake_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(autocast.POLICIES["cpu"], "matmul")
    with pytest.raises(AssertionError):
        test_dtypes_are_eagers("matmul")


@pytest.mark.parametrize(("device", "key"), [("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")])
def test_the_table_has_every_op_that_torch_registers_for_autocast(device: str, key: str) -> None:
    """And nothing besides, but for ops that torch composes of registered ones."""
    names = [n for n in all_op_names() if n.startswith("aten::") and has_kernel(n, key)]
    registered = {n.removeprefix("aten::").partition(".")[0] for n in names}
    cast, uncast = set(autocast.POLICIES[device]), autocast.UNCAST[device]
    assert not cast & uncast
    assert registered - cast - uncast == set()
    composed = " ".join(
        (
            autocast._COMPOSED,
            autocast._COMPOSED_ON_CPU if device == "cpu" else "",
            autocast._COMPOSED_IN_FULL if device == "cpu" else autocast._COMPOSED_IN_FULL_ON_CUDA,
        )
    )
    only_with_cuda = {"_cudnn_rnn"}  # not in a build without CUDA
    assert (cast | uncast) - registered - only_with_cuda == set(composed.split())


class Ghost(torch.Tensor):
    """A tensor on a device that may not be there."""

    __torch_function__ = disabled_torch_function

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any) -> Any:
        raise NotImplementedError(func)


ON_CUDA: dict[str, tuple[Any, torch.dtype]] = {
    "mm": (torch.mm, torch.float16),
    "mv": (lambda a, b: torch.mv(a, b[0]), torch.float16),
    "addmv": (lambda a, b: torch.addmv(a[0], a, b[0]), torch.float16),
    "overload": (torch.ops.aten.mm.default, torch.float16),
    "exp": (lambda a, b: a.half().exp(), torch.float32),
    "norm": (lambda a, b: torch.linalg.vector_norm(a.half()), torch.float32),
    "layer_norm": (lambda a, b: F.layer_norm(a.half(), (4,)), torch.float32),
    "interpolate": (lambda a, b: F.interpolate(a[None, None].half(), size=8), torch.float32),
    "grid_sample": (
        lambda a, b: F.grid_sample(
            a[None, None].half(), b.view(1, 2, 4, 2).half(), align_corners=False
        ),
        torch.float16,
    ),
    "avg_pool3d": (lambda a, b: F.avg_pool3d(a[None, None, None].half(), (1, 2, 2)), torch.float16),
    "pad": (lambda a, b: F.pad(a[None, None].half(), (1,) * 4, "reflect"), torch.float16),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 1), torch.float32),
    "cross_entropy": (
        lambda a, b: F.cross_entropy(a.half(), torch.zeros(4, dtype=torch.int64, device="cuda")),
        torch.float32,
    ),
}


@pytest.mark.parametrize("name", ON_CUDA)
def test_dtypes_on_a_gpu_without_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What eager gives there, by `AT_FORALL_*` of torch's autocast_mode.h."""
    monkeypatch.setattr(inputs, "untraceable", lambda _: None)  # take the ghost for a tensor
    program, expected = ON_CUDA[name]
    given = make_wrapper_subclass(Ghost, (4, 4), dtype=torch.float32, device=torch.device("cuda:0"))
    seen = []

    def f(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        out: torch.Tensor = program(a, b)
        seen.append(out.dtype)
        torch.set_autocast_enabled("cuda", False)
        return out

    capture(f, (given, given), dynamic="static")
    assert seen == [expected]
    assert not torch.is_autocast_enabled("cuda")


def test_a_registered_overload_is_found_by_the_name_of_the_op() -> None:
    PROGRAMS["overload"] = torch.ops.aten.mm.default
    test_dtypes_are_eagers("overload")


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (1, 3), (0, 2)])
def test_tensordot_is_a_product_of_matrices_unless_it_gives_one_element(n: int, m: int) -> None:
    def f(a: torch.Tensor, b: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.tensordot(a, b, 1)

    args = (torch.rand(n, 4), torch.rand(4, m))
    assert Replay(capture(f, args, dynamic="static"), list(args)).run(strides=False) == []
