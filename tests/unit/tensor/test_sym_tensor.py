"""Traced tensors: taken for real ones, with all properties that need no data."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from anyshape.errors import UnsupportedError
from anyshape.trace import capture


def inside(check: Any, *args: torch.Tensor, dynamic: str = "backed") -> Any:
    """Run `check` on traced tensors and give what it returns."""
    found: list[Any] = []

    def f(*tensors: Any) -> Any:
        found.append(check(*tensors))
        return tensors[0]

    capture(f, args, dynamic=dynamic)
    return found[0]


def test_it_is_a_tensor() -> None:
    def check(x: Any) -> Any:
        return (
            isinstance(x, torch.Tensor),
            torch.is_tensor(x),
            type(x) is torch.Tensor,
            isinstance(x.shape, torch.Size),
            isinstance(x.size(0), int),
            x.ndim,
            x.dim(),
            x.dtype,
            x.device,
            x.layout,
            x.is_cpu,
            x.is_cuda,
            x.is_meta,
            x.is_sparse,
            x.is_floating_point(),
            x.is_complex(),
            x.is_signed(),
            x.element_size(),
            x.itemsize,
            x.grad,
            x.is_leaf,
            x.names,
            x.get_device(),
            x.is_nested,
            x.is_quantized,
        )

    x = torch.randn(3, 4)
    assert inside(check, x) == (
        True, True, True, True, True, 2, 2, torch.float32, torch.device("cpu"), torch.strided, True,
        False, False, False, True, False, True, 4, 4, None, True, (None, None), -1, False, False,
    )  # fmt: skip


def test_sizes_stay_symbolic() -> None:
    def check(x: Any) -> Any:
        n, m = x.shape
        return str(x.numel()), str(n + m), str(x.nbytes), str(x.shape[1:]), str(x.shape.numel())

    assert inside(check, torch.randn(3, 4), dynamic="unbacked") == (
        "u0*u1",
        "u0 + u1",
        "4*u0*u1",
        "torch.Size([u1])",
        "u0*u1",
    )


def test_shapes_behave_like_torchs() -> None:
    def check(x: Any) -> Any:
        s = x.shape
        assert type(s) is torch.Size
        assert isinstance(s + s, torch.Size)
        assert isinstance((1, *s), tuple)
        assert isinstance(s * 2, torch.Size)
        assert s == (x.size(0), x.size(1))
        assert s != (1, 2, 3)
        assert len(s) == 2
        assert isinstance(s[:1], torch.Size)
        assert torch.Size([*s, 2])[2] == 2
        return repr(s)

    assert inside(check, torch.randn(3, 4)) == "torch.Size([s0, s1])"


def test_static_shapes_are_torchs_own() -> None:
    assert type(inside(lambda x: x.shape, torch.randn(3, 4), dynamic="static")) is torch.Size


@pytest.mark.parametrize("name", ["numpy", "data_ptr", "untyped_storage", "__array__", "tolist"])
def test_what_needs_data_is_refused(name: str) -> None:
    if name == "tolist":
        with pytest.raises(UnsupportedError, match="complex"):
            inside(lambda x: x.tolist(), torch.randn(2, dtype=torch.complex64), dynamic="static")
        return
    with pytest.raises(UnsupportedError, match=rf"{name} needs the data .* at test_sym_tensor.py"):
        inside(lambda x: getattr(x, name)(), torch.randn(3))


@pytest.mark.parametrize("name", ["data", "grad", "names"])
def test_attributes_that_cannot_be_set(name: str) -> None:
    with pytest.raises(
        UnsupportedError, match=rf"assigning \.{name}|attribute {name}|^\.{name} of"
    ):
        inside(lambda x: setattr(x, name, None), torch.randn(3))


def test_copies() -> None:
    def f(x: torch.Tensor) -> Any:
        deep, shallow = copy.deepcopy(x), copy.copy(x)
        shallow.add_(1)
        return deep, shallow, x

    x = torch.zeros(3)
    deep, shallow, same = capture(f, (torch.zeros(3),))(x)
    assert not deep.any()
    assert bool((x == 1).all())
    assert shallow.data_ptr() == x.data_ptr()
    assert same is x


def test_python_asks_for_values() -> None:
    def f(x: torch.Tensor) -> Any:
        rows = [row.sum() for row in x]
        return torch.stack(rows) + len(x)

    captured = capture(f, (torch.ones(3, 2),), dynamic="backed")
    assert [g.text for g in captured.guards] == ["2 <= x.size(1)", "x.size(0) == 3"]
    assert torch.equal(captured(torch.ones(3, 5)), torch.full((3,), 8.0))
    with pytest.raises(TypeError, match="0-d"):
        capture(lambda x: len(x.sum()), (torch.ones(3),))
    with pytest.raises(TypeError, match="0-d"):
        capture(lambda x: list(x.sum()), (torch.ones(3),))


def test_membership_hash_and_text() -> None:
    def check(x: Any) -> Any:
        return {x: 1}[x], f"{x}", repr(x)

    one, text, again = inside(check, torch.randn(3))
    assert one == 1
    assert text == again == "SymTensor(i0: float32[s0])"


def test_transposes_by_attribute() -> None:
    def f(x: torch.Tensor, z: torch.Tensor) -> Any:
        return x.T, x.mT, x.H, x.mH, z.H, z.mH, z.real, z.imag, x.real

    x, z = torch.randn(3, 4), torch.randn(2, 3, dtype=torch.complex64)
    captured = capture(f, (x, z), dynamic="unbacked")
    for got, want in zip(captured(x, z), f(x, z), strict=True):
        assert torch.equal(got, want)
        assert got.stride() == want.stride()
