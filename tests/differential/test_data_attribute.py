"""`t.data` read and changed in place: autograd does not notice, in eager execution and in ours."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.torch_compat.aten_op import DATA


class Scaled(nn.Module):
    """A weight that is changed through `.data` after it was used."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([3.0]))
        self.change = change

    def forward(self, x: Any) -> Any:
        y = self.w * x.sin() * self.w
        self.change(self.w, y)
        return y * self.w


def scale(w: Any, _: Any) -> None:
    w.data.mul_(2)


def clamp(w: Any, _: Any) -> None:
    w.data.clamp_(max=1.5)


def augment(w: Any, _: Any) -> None:
    w.data -= 0.5


def fill(w: Any, y: Any) -> None:
    w.data[:] = y.size(0)


def result(_: Any, y: Any) -> None:
    y.data.add_(1)


def detached(w: Any, y: Any) -> None:
    w.data.detach().add_(1)
    y.data.data.sub_(1)


def noticed(w: Any, _: Any) -> None:
    w.detach().add_(1)


def quiet(w: Any, _: Any) -> None:
    with torch.no_grad():
        w.data.add_(w.data.size(0))


def kept(w: Any, y: Any) -> None:
    held = y.data
    y.data.mul_(3)
    w.data.copy_(held[:1].sum())


CHANGES = (scale, clamp, augment, fill, result, detached, noticed, quiet, kept)
SIZES = (3, 2, 1, 0, 5, 5)


def steps(module: Any, fn: Any) -> list[str]:
    """What each of some training steps leaves."""
    told = []
    for n in SIZES:
        x = torch.arange(float(n)).requires_grad_()
        module.zero_grad()
        try:
            y = fn(x)
            y.sum().backward()
            module.w.data -= 0.1 * module.w.grad
        except RuntimeError as e:
            told.append(str(e)[:60])
            continue
        told.append(repr((y.detach(), x.grad, module.w, module.w.grad)))
    return told


PLAIN = "ignore::anyshape.errors.AnyshapeWarning"  # torch's compilers are not given such programs


@pytest.mark.filterwarnings(PLAIN)
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_steps_of_training(change: Any, backend: str, dynamic: Any) -> None:
    eager, module = Scaled(change), Scaled(change)
    compiled = anyshape.compile(module, backend=backend, dynamic=dynamic)
    assert steps(module, compiled) == steps(eager, eager)


class Step(nn.Module):
    """A program that contains a backward pass and a step through `.data`."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([3.0]))

    def forward(self, x: Any) -> Any:
        loss = (self.w * x.detach()).square().sum()
        loss.backward()
        self.w.data -= 0.01 * self.w.grad
        self.w.grad = None
        return loss.detach()


def test_a_step_inside() -> None:
    eager, module = Step(), Step()
    compiled = anyshape.compile(module)
    for n in SIZES:
        assert repr(compiled(torch.ones(n))) == repr(eager(torch.ones(n)))
        assert repr(module.w) == repr(eager.w)


def inside(x: Any, y: Any) -> Any:
    a = x * y
    b = a * a
    a.data.mul_(2)
    c = a.data
    c += x.size(0)
    return a + b, a.data, c is a, a.data.is_leaf, a.data.requires_grad, a.data.grad_fn


def of_input(x: Any, y: Any) -> Any:
    z = x * x
    x.data.add_(1)
    y.data[1:].mul_(2)
    return z, x.data


def shapes(x: Any, y: Any) -> Any:
    return x.data.view(-1), x.data.t() if x.dim() > 1 else x.data[:1], y.data + x.data


def outcome(fn: Any, n: int, grad: bool) -> Any:
    x = (torch.arange(float(n)) + 1).requires_grad_(grad)
    y = torch.ones(n).requires_grad_(grad)
    made = fn(x, y)
    tensors = [t for t in made if isinstance(t, torch.Tensor)]
    shared = [a.data_ptr() == b.data_ptr() for a in (*tensors, x, y) for b in tensors if n]
    if grad and made[0].requires_grad:
        made[0].sum().backward()
    made = [t.detach() if isinstance(t, torch.Tensor) else t for t in made]
    return repr((made, x, y, x.grad, y.grad, shared))


@pytest.mark.filterwarnings(PLAIN)
@pytest.mark.parametrize("fn", [inside, of_input, shapes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("options", [{}, {"fullgraph": True}, {"backend": "aot_eager"}], ids=str)
def test_as_in_eager_execution(fn: Any, grad: bool, options: Any) -> None:
    compiled = anyshape.compile(fn, **options)
    for n in SIZES:
        want, got = outcome(fn, n, grad), outcome(compiled, n, grad)
        assert got == want


@pytest.mark.parametrize("fn", [inside, shapes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("grad", [False, True])
def test_exported_saved_and_loaded(fn: Any, grad: bool, tmp_path: Any) -> None:
    args = [(torch.arange(3.0) + 1).requires_grad_(grad), torch.ones(3).requires_grad_(grad)]
    specs = ({0: "n"}, {0: "n"})
    program = anyshape.export(fn, tuple(args), dynamic_shapes=specs)
    program.save(tmp_path / "p")
    loaded = anyshape.load(tmp_path / "p")
    for n in SIZES:
        want = outcome(fn, n, grad)
        assert outcome(program, n, grad) == want
        assert outcome(loaded, n, grad) == want


def test_exported_to_torch() -> None:
    def fn(x: Any) -> Any:
        a = x * 2
        b = a * a
        a.data.add_(1)
        return a + b

    program = anyshape.export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    module = program.to_torch().module()
    graph = program.to_fx()
    for n in (3, 2, 5):
        x = torch.arange(float(n), requires_grad=True)
        want, *found = (f(x) for f in (fn, module, lambda x: graph(x)[0]))
        gradient = torch.autograd.grad(want.sum(), x)
        for got in found:
            assert torch.equal(got, want)
            assert torch.equal(torch.autograd.grad(got.sum(), x)[0], gradient[0])


def test_inside_a_body() -> None:
    def fn(x: Any) -> Any:
        def bent(v: Any) -> Any:
            w = v * 2
            u = w * w
            w.data.mul_(3)
            return (u + w).sum()

        return torch.func.grad(bent)(x)

    compiled = anyshape.compile(fn)
    for n in SIZES:
        x = torch.arange(float(n))
        try:
            assert torch.equal(compiled(x), fn(x))
        except AnyshapeError:
            return


def test_a_detach_in_its_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from anyshape.tensor import sym_tensor

    assert sym_tensor.DATA is DATA
    monkeypatch.setattr(sym_tensor, "DATA", torch.Tensor.detach)
    module = Scaled(scale)
    assert steps(module, anyshape.compile(module)) != steps(eager := Scaled(scale), eager)
