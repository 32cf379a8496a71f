"""Programs that are exported again: the program itself, its module, and modules that call it."""

from __future__ import annotations

import pytest
import torch

import anyshape
from anyshape import Dim, export, from_torch
from anyshape.errors import ConstraintError, UnsupportedError
from anyshape.export import retrace

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, about its structures
SIZES = (0, 1, 2, 3, 7)
WEIGHT = torch.randn(4)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(4, 4)
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x, *, scale=1.0):
        return {"y": self.norm(self.body(self.first(x)) + self.first(x)) * scale}


class Outer(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.last = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.inner(x)["y"] + self.inner(x * 2)["y"])


def variants(x):
    if x.size(0) == 2:
        return x * 2, x.size(0)
    if x.size(0) > 5:
        raise ValueError("too many")
    return x + 1, x.size(0) + 1


def from_data(x):
    y = x[x.sum(1) > 0]
    torch._check(y.size(0) >= 1)
    return y * y.size(0)


def branches(x):
    return x + WEIGHT if x.sum() > 0 else x - 1


def conditional(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def exported(f, x=None, **options):
    x = torch.ones(3, 4) if x is None else x
    return export(f, (x,), dynamic_shapes={"x": {0: Dim("n")}}, **options)


def outcome(f, x):
    try:
        return torch.utils._pytree.tree_leaves(f(x))
    except (anyshape.AnyshapeError, RuntimeError):
        return None


def need_equal(f, g):
    for n in SIZES:
        for x in (torch.rand(n, 4), -torch.rand(n, 4)):
            a, b = outcome(f, x), outcome(g, x)
            assert (a is None) is (b is None)
            for p, q in zip(a or (), b or (), strict=True):
                torch.testing.assert_close(p, q, rtol=0, atol=0)


@pytest.mark.parametrize("f", [Net().eval(), variants, from_data, branches, conditional])
@pytest.mark.parametrize("form", ["program", "module", "loaded", "of torch"])
def test_again(f, form, tmp_path):
    program = exported(f, allow_partial=True)
    if form == "of torch":
        program = from_torch(program.to_torch(variant=0), allow_partial=True)
        again = exported(program.module(), allow_partial=True)
    elif form == "loaded":
        program.save(tmp_path / "program")
        again = exported(anyshape.load(tmp_path / "program").module(), allow_partial=True)
    else:
        again = exported(program if form == "program" else program.module(), allow_partial=True)
    need_equal(again, program)
    need_equal(again, again.module())
    assert len(again.variants) == len(program.variants)


def test_names_and_modules():
    net = Net().eval()
    program = exported(net)
    again = exported(program.module())
    assert again.name == exported(program).name == "Net"
    assert dict(again.named_parameters()).keys() == dict(net.named_parameters()).keys()
    assert dict(again.named_parameters())["first.weight"] is net.first.weight
    for p, q in zip(program.graph.nodes, again.graph.nodes, strict=True):
        assert p.func is q.func
        assert p.module_path == q.module_path
        assert str(p.site) == str(q.site)
    calls = [[(c.path, c.class_name, c.number) for c in p.module_calls] for p in (program, again)]
    assert calls[0] == calls[1]


def test_inside_another_module():
    outer = Outer(exported(Net().eval()).module()).eval()
    program = exported(outer)
    need_equal(program, outer)
    calls = [(c.path, c.number) for c in program.module_calls if c.path.startswith("inner.first")]
    assert calls == [("inner.first", i) for i in range(4)]
    need_equal(program.to_torch().module(), outer)


def test_mutation():
    net = Net().train()
    program = exported(net, allow_partial=True)
    again = exported(program.module(), allow_partial=True)
    assert again.state.mutated == program.state.mutated != frozenset()
    x = torch.randn(5, 4)
    before = net.norm.running_mean.clone()
    again(x)
    assert not torch.equal(net.norm.running_mean, before)


def test_other_tensors_in_the_module():
    module = exported(Net().eval()).module()
    module.first.weight = torch.nn.Parameter(torch.zeros(4, 4))
    need_equal(exported(module), module)


def test_sizes_that_a_program_refuses():
    again = exported(exported(variants, allow_partial=True), allow_partial=True)
    with pytest.raises(ConstraintError, match="raises"):
        again(torch.ones(6, 4))
    with pytest.raises(ConstraintError, match="float64"):
        exported(exported(Net().eval()), torch.ones(3, 4, dtype=torch.float64))


def says(x):
    print("three")
    return x + 1


def test_effects_are_refused():
    with pytest.raises(UnsupportedError, match="has effects"):
        exported(exported(says))


def test_a_compiled_function_runs_it_eagerly():
    module = exported(Net().eval()).module()
    compiled = anyshape.compile(lambda x: module(x)["y"] + 1)
    x = torch.randn(3, 4)
    assert torch.equal(compiled(x), module(x)["y"] + 1)
    module.first.weight = torch.nn.Parameter(torch.zeros(4, 4))
    assert torch.equal(compiled(x), module(x)["y"] + 1)


def test_a_wrong_graph_is_noticed(monkeypatch):
    program, other = exported(Net().eval()), exported(lambda x: {"y": x})
    made = retrace._made
    monkeypatch.setattr(retrace, "_made", lambda _, variant: made(other, other.variants[0]))
    with pytest.raises(AssertionError):
        need_equal(exported(program), program)


def test_a_compiled_function_takes_a_program_without_tensors():
    program = exported(lambda x: x * x.size(0) + 1)
    compiled = anyshape.compile(lambda x: program(x) * 2, fullgraph=True, dynamic=True)
    for n in (3, 1, 0, 5):
        x = torch.randn(n, 4)
        assert torch.equal(compiled(x), program(x) * 2)
