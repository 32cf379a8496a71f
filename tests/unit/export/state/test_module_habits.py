"""What users do with a module: the module of a program does the same as the exported one."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn

from anyshape import StateError, export

X = torch.arange(5)


class Net(nn.Module):
    """Tied weights, buffers that change, one that is not persistent, a layer that is not used."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.idle = nn.Linear(2, 2)
        self.register_buffer("scale", torch.ones(4))
        self.register_buffer("shift", torch.zeros(4), persistent=False)

    def forward(self, x):
        return self.head(self.norm(self.linear(self.embed(x)) * self.scale + self.shift))


def exported(net):
    return export(net, (X,), dynamic_shapes=({0: "n"},), allow_partial=True)


def made(*, training=True):
    net = Net().train(training)
    return net, exported(net)


def outcome(module, change, **options):
    """What loading a changed state dict says, and the values that it leaves."""
    module = copy.deepcopy(module)
    state = {k: torch.full_like(v, 2) for k, v in module.state_dict().items()}
    try:
        said = str(module.load_state_dict(change(state), **options))
    except RuntimeError as e:
        said = str(e).partition(":")[2]
    return said, {k: v.clone() for k, v in module.state_dict().items()}


CHANGES = {
    "all": lambda s: s,
    "missing": lambda s: {k: v for k, v in s.items() if k != "linear.weight"},
    "unexpected": lambda s: {**s, "more": torch.ones(1)},
    "another shape": lambda s: {**s, "linear.weight": torch.ones(3, 3)},
    "one name of two": lambda s: {k: v for k, v in s.items() if k != "head.weight"},
    "not persistent": lambda s: {**s, "shift": torch.ones(4)},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("strict", [True, False])
def test_loading_a_state_dict(change, strict):
    net, program = made(training=False)
    said, values = outcome(program.module(), CHANGES[change], strict=strict)
    wanted, expected = outcome(net, CHANGES[change], strict=strict)
    assert said == wanted
    assert [*values] == [*expected]
    assert all(torch.equal(values[k], expected[k]) for k in values)


def trained(module, steps=3):
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        module(X).pow(2).sum().backward()
        optimizer.step()
    return module.state_dict()


@pytest.mark.parametrize("is_frozen", [False, True])
def test_training_changes_the_same_tensors(is_frozen):
    net = Net().requires_grad_(not is_frozen)
    other = copy.deepcopy(net).requires_grad_(True)
    module = exported(net).module().requires_grad_(True)
    module.linear.requires_grad_(False)
    other.linear.requires_grad_(False)
    found, wanted = trained(module), trained(other)
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=1e-4, atol=1e-5)
        assert found[name].data_ptr() == net.state_dict()[name].data_ptr()
    assert [p.grad is None for p in module.parameters()] == [
        p.grad is None for p in other.parameters()
    ]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_their_own_tensors_and_flags(copied):
    net, program = made()
    module = program.module()
    module.linear.requires_grad_(False)
    made_copy = copied(module)
    before = net.norm.running_mean.clone()
    made_copy(X)
    assert torch.equal(net.norm.running_mean, before)
    assert not torch.equal(made_copy.norm.running_mean, before)
    assert made_copy.norm.num_batches_tracked == 1
    assert made_copy.head.weight is made_copy.embed.weight
    flags = [p.requires_grad for p in made_copy.parameters()]
    assert flags == [p.requires_grad for p in module.parameters()]


def test_buffers_that_are_replaced_change():
    net, program = made()
    module = program.module()
    module.norm.running_mean = mean = torch.ones(4)
    other = copy.deepcopy(net)
    other.norm.running_mean = torch.ones(4)
    torch.testing.assert_close(module(X), other(X))
    torch.testing.assert_close(mean, other.norm.running_mean)
    assert not torch.equal(mean, torch.ones(4))
    assert torch.equal(net.norm.running_mean, torch.zeros(4))


def test_tensors_that_are_assigned_belong_to_one():
    net, program = made(training=False)
    module, zeros = (
        program.module(),
        {k: torch.zeros_like(v) for k, v in Net().state_dict().items()},
    )
    program.load_state_dict(zeros, assign=True)
    assert not program(X).any()
    torch.testing.assert_close(module(X), net(X))
    program = exported(net)
    module = program.module()
    module.load_state_dict(zeros, assign=True)
    assert not module(X).any()
    torch.testing.assert_close(program(X), net(X))


@pytest.mark.parametrize("convert", [lambda net, _: net.double(), lambda _, p: p.module().double()])
def test_tensors_that_are_converted_behind_a_program(convert):
    net, program = made(training=False)
    program(X)
    convert(net, program)
    assert net.embed.weight.dtype is torch.float64  # one tensor for all
    with pytest.raises(StateError, match=r"now torch.float64, and .*\n.*\n.*program.to\(torch.flo"):
        program(X)
    net.double()  # its buffers too
    torch.testing.assert_close(program.to(torch.float64)(X), net(X))
    net.float()
    torch.testing.assert_close(program(X), net(X))


def test_optimizers_of_a_program_before_it_is_converted():
    net, program = made(training=False)
    optimizer = torch.optim.SGD(program.module().parameters(), lr=0.1)
    before, wide = net.linear.weight.detach().clone(), program.double().module()
    wide(X).sum().backward()
    optimizer.step()
    assert torch.equal(net.linear.weight, before)
    assert net.linear.weight.grad is None
    torch.optim.SGD(wide.parameters(), lr=0.1).step()
    assert not torch.equal(wide.linear.weight.float(), before)


def test_a_module_inside_another():
    net, program = made(training=False)
    outer = nn.Sequential(program.module(), nn.Softmax(1)).eval()
    assert [*outer.state_dict()] == [f"0.{k}" for k in net.state_dict()]
    torch.testing.assert_close(copy.deepcopy(outer)(X), net(X).softmax(1))
    average = torch.optim.swa_utils.AveragedModel(program.module())
    average.update_parameters(program.module())
    torch.testing.assert_close(average.module(X), net(X))


def test_layers_are_known_without_source():
    space = {"nn": nn}
    source = "class Made(nn.Linear):\n    def forward(self, x):\n        return super().forward(x)"
    exec(source + "\nnet = nn.Sequential(Made(3, 3), nn.Linear(3, 3))", space)
    module = export(space["net"], (torch.randn(2, 3),)).module()
    assert isinstance(module.get_submodule("1"), nn.Linear)
