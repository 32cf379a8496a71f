"""Weights of a program's module that are replaced, by tensors of other classes and by modules."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

from anyshape import StateError, UnsupportedError, export, load

SIZES = (0, 1, 2, 5)
F = nn.functional
ran: list[str] = []


class Quantized(torch.Tensor):
    """Eight bits and a scale for each row, as weight-only quantization has them."""

    @staticmethod
    def __new__(cls, values, scale):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, dtype=scale.dtype, device=values.device
        )

    def __init__(self, values, scale):
        self.values, self.scale = values, scale

    def __tensor_flatten__(self):
        return ["values", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["values"], inner["scale"])

    @classmethod
    def of(cls, w):
        scale = w.abs().amax(1, keepdim=True) / 7
        return cls((w / scale).round().to(torch.int8), scale)

    def plain(self):
        return self.values.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        if f is F.linear:
            ran.append("linear")
            return F.linear(args[0], args[1].plain(), *args[2:], **(kwargs or {}))
        with torch._C.DisableTorchFunctionSubclass():
            return f(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, f, types, args=(), kwargs=None):
        ran.append(str(f))
        if f is torch.ops.aten.detach.default:
            return cls(args[0].values, args[0].scale)
        given = pytree.tree_map_only(Quantized, Quantized.plain, (args, kwargs or {}))
        return f(*given[0], **given[1])


class Dispatched(Quantized):
    """The same by `__torch_dispatch__` alone."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class Traced(torch.Tensor):
    """A class that only sees the functions."""

    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        ran.append(getattr(f, "__name__", str(f)))
        return super().__torch_function__(f, types, args, kwargs or {})


def quantize(model, kind=Quantized):
    """Replace the weights of linear layers, as `torchao.quantize_` does; how many there were."""
    found = [m for m in model.modules() if isinstance(m, nn.Linear)]
    for m in found:
        m.weight = nn.Parameter(kind.of(m.weight.detach()), requires_grad=False)
    return len(found)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.LayerNorm(6), nn.ReLU())
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.body(x))


def made():
    net = Net().eval()
    return net, export(net, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))


def need_equal(found, wanted):
    for n in SIZES:
        x = torch.randn(n, 4)
        torch.testing.assert_close(found(x), wanted(x))


@pytest.mark.parametrize("kind", [Quantized, Dispatched])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_linear_layers_are_found_and_quantized(kind, is_loaded, tmp_path):
    net, program = made()
    if is_loaded:
        program.save(tmp_path / "net.shape")
        program = load(tmp_path / "net.shape")
    module, wanted = program.module(), copy.deepcopy(net)
    assert quantize(module, kind) == quantize(wanted, kind) == 2
    ran.clear()
    need_equal(module, wanted)
    assert ran
    with pytest.raises(AssertionError):  # it is not the program before
        need_equal(module, net)
    need_equal(program, net)


def test_a_class_that_sees_functions():
    net, program = made()
    module = program.module()
    weight = module.get_submodule("head").weight.detach().clone().as_subclass(Traced)
    module.get_submodule("head").weight = nn.Parameter(weight)
    ran.clear()
    need_equal(module, net)
    assert ran.count("linear") == len(SIZES)


def test_layers_keep_their_settings():
    _, program = made()
    body = program.module().get_submodule("body")
    assert isinstance(body.get_submodule("2"), nn.LayerNorm)
    assert body.get_submodule("2").eps == 1e-5
    assert not any(isinstance(m, nn.Dropout | nn.ReLU) for m in body.modules())
    with pytest.raises(UnsupportedError, match=r"eps of body\.2 is 1e-05 in the program"):
        body.get_submodule("2").eps = 0.1
    body.get_submodule("2").eps = 1e-5
    decayed = [n for n, m in program.module().named_modules() if isinstance(m, nn.Linear)]
    assert decayed == ["body.0", "head"]


def test_settings_of_a_loaded_program_are_unknown(tmp_path):
    _, program = made()
    program.save(tmp_path / "net.shape")
    norm = load(tmp_path / "net.shape").module().get_submodule("body.2")
    with pytest.raises(UnsupportedError, match=r"eps of body\.2 is a constant in the program"):
        norm.eps = 0.1


def test_methods_of_layers_change_the_weights():
    net, program = made()
    module = program.module()
    module.apply(lambda m: m.reset_parameters() if isinstance(m, nn.Linear) else None)
    need_equal(module, net)  # over the same tensors
    nn.init.zeros_(module.get_submodule("head").weight)
    assert not net.head.weight.any()


def test_a_layer_takes_the_place_of_another():
    net, program = made()
    module = program.module()
    module.head = net.head = nn.Linear(6, 2)
    need_equal(module, net)
    module.get_submodule("body").add_module("0", nn.Linear(4, 6))
    net.body[0] = module.get_submodule("body.0")
    need_equal(module, net)
    assert torch.equal(module.state_dict()["head.weight"], net.head.weight)


class Doubling(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


@pytest.mark.parametrize(
    ("path", "other", "text"),
    [
        ("head", lambda: Doubling(6, 2), "head is now a .*Doubling"),
        ("head", lambda: nn.Linear(6, 2, bias=False), "has no tensor head.bias"),
        ("head", lambda: nn.Linear(6, 3), "out_features of head is now 3"),
        ("head", nn.Identity, "head is now a .*Identity"),
        ("body.2", lambda: nn.LayerNorm(6, eps=0.1), "eps of body.2 is now 0.1"),
    ],
)
def test_a_module_that_computes_something_else_is_refused(path, other, text):
    _, program = made()
    module = program.module()
    module.set_submodule(path, other())
    with pytest.raises(StateError, match=text):
        module(torch.randn(2, 4))


def test_a_module_that_is_gone():
    _, program = made()
    module = program.module()
    del module.head
    with pytest.raises(StateError, match="has no module head"):
        module(torch.randn(2, 4))


def test_hooks_of_places_would_never_run():
    _, program = made()
    module = program.module()
    head = module.get_submodule("head")
    for register in (head.register_forward_hook, head.register_forward_pre_hook):
        with pytest.raises(UnsupportedError, match="head is not called"):
            register(lambda *_: None)
    with pytest.raises(UnsupportedError, match="head is not called"):
        nn.utils.spectral_norm(head)
    ran.clear()
    module.register_forward_hook(lambda *_: ran.append("whole"))
    module(torch.randn(2, 4))
    assert ran == ["whole"]


def test_copies_have_layers_too():
    _, program = made()
    module = program.module()
    for copied in (copy.deepcopy(module), copy.copy(module), pickle.loads(pickle.dumps(module))):
        assert quantize(copied) == 2
    assert isinstance(copy.deepcopy(module.get_submodule("head")), nn.Linear)
