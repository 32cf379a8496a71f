"""What is recorded of a tensor does not change afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.trace import capture
from anyshape.trace.tracer import Tracer

if TYPE_CHECKING:
    from anyshape.tensor.meta import Meta


def changes_tensors(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x.to(torch.float64).cpu().to("cpu")
    y.add_(1).mul_(2)
    z = x.clone().resize_(2, 2)
    z.unsqueeze_(0).transpose_(0, 1)
    v = (w * 2).requires_grad_()
    u = torch.zeros(3)
    u += w.sum()
    out = torch.empty(0)
    torch.add(x, 1, out=out)
    return y, z, v, u, x.cpu(), out, torch.nn.functional.kl_div(x, x)


def fields(meta: Meta) -> tuple[Any, ...]:
    return meta.shape, meta.dtype, meta.layout, meta.device, meta.requires_grad


def check(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[tuple[Meta, tuple[Any, ...]]] = []
    original = Tracer.record

    def record(self: Any, *args: Any) -> Any:
        t = original(self, *args)
        for part in t if isinstance(t, tuple | list) else (t,):
            if isinstance(part, torch.Tensor):
                recorded.append((part._meta, fields(part._meta)))  # type: ignore[attr-defined]
        return t

    monkeypatch.setattr(Tracer, "record", record)
    capture(changes_tensors, (torch.randn(3, 4), torch.randn(3, requires_grad=True)))
    assert len(recorded) > 5
    for meta, before in recorded:
        assert all(a is b for a, b in zip(fields(meta), before, strict=True))


def test_recorded_metas_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch)


def test_a_meta_that_is_changed_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    touch = Tracer.touch

    def careless(self: Any, changed: Any) -> None:
        changed._meta.requires_grad = not changed._meta.requires_grad
        touch(self, changed)

    monkeypatch.setattr(Tracer, "touch", careless)
    with pytest.raises(AssertionError):
        check(monkeypatch)
