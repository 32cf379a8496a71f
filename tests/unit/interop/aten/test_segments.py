"""Branches on data as `torch.cond`, loops on data as `while_loop`, and what is refused."""

from __future__ import annotations

import copy

import pytest
import torch

from anyshape import export
from anyshape.errors import UnsupportedError
from anyshape.interop.aten.segment_flow import Flow
from tests.unit.interop.aten.test_program import forms, need_equal

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, about its structures
WEIGHT = torch.randn(4)


def one_side_passes_its_input(x):
    z = x if x.sum() > 0 else x - WEIGHT
    return z * 3, z


def nested_with_numbers(x):
    if x.sum() > 0:
        if x.max() > 0.5:
            return x + 1, x.shape[0]
        return x.clone(), 3
    return x[:, 1:], 4


def other_sizes(x):
    y = x[:1] if x.sum() > 0 else x
    return y * 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.first(x)
        if y.sum() > 0:
            y = self.second(y).relu()
        return y + x


def counted_rounds(x):
    i = 0
    while x.sum() < 10:
        x = x.abs() + 1
        i += 1
    return x, i


@pytest.mark.parametrize(
    ("f", "op"),
    [
        (one_side_passes_its_input, "cond"),
        (nested_with_numbers, "cond"),
        (other_sizes, "cond"),
        (Net(), "cond"),
        (counted_rounds, "while_loop"),
    ],
)
def test_against_eager(f, op):
    program = export(f, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    targets = [str(n.target) for g in program.graph_module.modules() for n in g.graph.nodes]
    assert op in targets
    made = forms(program)
    for n in (3, 1, 2):
        for factor in (1, -1, 0.1):
            x = torch.rand(n, 4) * factor
            for name, module in made.items():
                need_equal(module(x), f(x), name)


def other_structures(x):
    return x + 1 if x.sum() > 0 else (x * 2,)


def other_dtypes(x):
    return x + 1 if x.sum() > 0 else (x * 2).double()


def reshapes(x):
    y = x.clone()
    if x.sum() > 0:
        y.t_()
    return y.sum(0)


def carries_a_view_of_what_it_changes(x):
    y = x.clone()
    z = y[0] * 1
    while z.sum() < 20:
        y.add_(1)
        z = y[0]
    y.add_(5)
    return y, z


def grows(x):
    y = x
    while y.sum() < 10:
        y = torch.cat([y, x.abs() + 1])
    return y


def draws(x):
    y = x.abs()
    while (y + torch.rand(())).sum() < 20:
        y = y + 1
    return y


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (other_structures, "other structures"),
        (other_dtypes, r"float32 and torch\.float64"),
        (reshapes, r"changes a tensor from outside.*test_segments\.py"),
        (carries_a_view_of_what_it_changes, "used in another way"),
        (grows, "change size"),
        (draws, "random numbers"),
    ],
)
def test_what_does_not_fit_is_refused(f, why):
    program = export(f, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    with pytest.raises(UnsupportedError, match=rf"(?s){why}"):
        program.to_torch()


def one_side_changes(x):
    y = x * 2
    if x.sum() > 0:
        y.add_(1)
        y.mul_(x)
    return y, y[-1:] + 1


def both_sides_change_a_part(x):
    y = x + 0
    part = y[:, 1:3]
    if x.sum() > 0:
        part.zero_()
    else:
        part.T.sub_(part.sum())
    return y * 3 if x.max() > 0.5 else y - 1


def changes_what_it_sees_twice(x):
    y = x.clone()
    z = y[0]
    if x.sum() > 0:
        y[0] = 5
        y[:, 1:].add_(z[1:] * 2)
        return z * 2, y[:, 1:] * 2
    return z + 1, y[:, 1:]


def views_of_what_has_turned(x):
    y = x.clone()
    row = y[0]
    y.t_()
    if x.sum() > 0:
        return row * 2, y.sum(1)
    return row - 1, y.sum(1)


def changes_its_input(x):
    total = x.sum()
    if total > 0:
        x.clamp_(max=0.5)
    return x.sum(0), total


def changes_in_nested_sides(x):
    y, z = x + 1, x - 1
    if x.sum() > 0:
        y.mul_(2)
        if x.max() > 0.5:
            y.add_(z)
            z[:1] = 7
        y.sub_(1)
    return y, z


def changes_and_returns(x):
    y = x.clone()
    if x.sum() > 0:
        y.add_(1)
        return y, y.sum()
    return x, x.sum()


def a_loop_that_changes(x):
    found = torch.zeros(3, dtype=torch.int64)
    low = x.clone()
    while low.sum() < 20:
        found[0] += 1
        found[1:] = found[0] + 1
        low = low.abs() + 1
    return low, found


@pytest.mark.parametrize(
    "f",
    [
        one_side_changes,
        both_sides_change_a_part,
        changes_what_it_sees_twice,
        views_of_what_has_turned,
        changes_its_input,
        changes_in_nested_sides,
        changes_and_returns,
        a_loop_that_changes,
    ],
)
def test_changes_of_memory_around_a_branch(f):
    program = export(f, (torch.rand(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    for name, module in forms(program).items():
        for n in (3, 1, 2, 7):
            for factor in (1, -1, 0.1):
                x = torch.rand(n, 4) * factor
                given, wanted = x.clone(), x.clone()
                need_equal(module(given), f(wanted), name)
                need_equal(given, wanted, name)


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("opened", torch.zeros(()))

    def forward(self, x):
        if x.sum() > 0:
            self.opened += 1
            return x * self.opened
        return x + self.opened


def test_a_buffer_that_one_side_changes():
    model = Gate()
    exported = export(copy.deepcopy(model), (torch.rand(3, 4),), dynamic_shapes=({0: "n"},))
    module = exported.to_torch().module()
    for n, factor in ((3, 1), (1, -1), (2, 1), (7, 1)):
        x = torch.rand(n, 4) * factor
        need_equal(module(x), model(x))
        assert module.opened == model.opened


class Ways:
    """A branch whose answers lead to other segments."""

    def __init__(self, *targets):
        self.targets = dict(enumerate(targets))


def test_where_sides_meet():
    flow = Flow([(None, Ways(1, 2)), (None, Ways(3)), (None, Ways(3)), (None, None)])
    assert flow.join([1, 2]) == 3
    apart = Flow([(None, Ways(1, 2)), (None, None), (None, None)])
    assert apart.join([1, 2]) is None
    loop = Flow([(None, Ways(0, 1)), (None, None)])
    assert loop.comes_back(0)
    assert not loop.comes_back(1)


def test_the_views_of_a_loop():
    """0 asks whether to leave; 1 whether to leave by 4; 2 whether to come back by 3."""
    ways = [Ways(1, 5), Ways(2, 4), Ways(0, 3), Ways(0), None, None]
    loop = Flow([(None, w) for w in ways]).loop(0)
    assert loop.test.ends == {0, 2, 3, 4, 5}
    assert loop.returning == {0, 2, 3}
    assert loop.tested == {0, 1}
    assert (loop.round.targets(0), loop.round.targets(1)) == ({0: 1}, {0: 2})
    assert loop.round.targets(2) == {0: 0, 1: 3}
    assert (loop.last.targets(0), loop.last.targets(1)) == ({0: 1, 1: 5}, {1: 4})
    assert not loop.last.comes_back(0)


def left_inside(x):
    n = 0
    while x.abs().sum() > 1:
        x = x / 2
        if x.max() > 3:
            return x * 0, -1
        n += 1
    return x + 0, n


def left_at_two_places(x):
    k = 0
    while True:
        x = x * 0.5
        k += 1
        if x.max() < 0.1:
            break
        x = x + 0.001
        if x.sum() < -5:
            x = x * 10
            break
    return x + 0, k


def left_from_a_loop_inside(x):
    out = x * 0
    while x.abs().sum() > 1:
        y = x + 0
        while y.max() > 0.5:
            y = y / 2
            if y.sum() > 20:
                break
        out = out + y
        x = x / 3
        if out.sum() < -20:
            return out, x
    return x + 0, out


def carries_a_float_and_a_truth(x):
    total, found = 0.0, False
    while not found and x.abs().sum() > 1:
        total = total + x.sum().item()
        x = x / 2
        if x.max() > 2:
            found = True
    return x * total, total


def raises_inside(x):
    while x.abs().sum() > 1:
        x = x / 2
        if x.max() > 4:
            raise ValueError("too large")
    return x + 0


def buffers_change_until_it_is_left(x):
    seen, y = torch.zeros(2), x.clone()
    while y.abs().sum() > 1:
        seen[0] += 1
        y.mul_(0.5)
        if y.sum() > 3:
            y.add_(1)
            break
        y.sub_(0.01)
        seen[1] += y.sum()
    return y, seen


@pytest.mark.parametrize(
    "f",
    [
        left_inside,
        left_at_two_places,
        left_from_a_loop_inside,
        carries_a_float_and_a_truth,
        raises_inside,
        buffers_change_until_it_is_left,
    ],
)
def test_loops_that_are_left_anywhere(f):
    program = export(f, (torch.rand(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    targets = [str(n.target) for g in program.graph_module.modules() for n in g.graph.nodes]
    assert "while_loop" in targets
    is_quick = f is not left_from_a_loop_inside
    for name, module in forms(program, decomposed=is_quick).items():
        for n in (3, 1):
            for factor in (1, -1, 0.1, 30):
                x = torch.rand(n, 4) * factor
                try:
                    want = f(x.clone())
                except ValueError as e:
                    said = None if name == "decomposed" else str(e)  # torch's own text there
                    with pytest.raises((RuntimeError, AssertionError), match=said):
                        module(x)
                    continue
                need_equal(module(x), want, name)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.tensor(0))


class AroundABranch(Layer):
    def forward(self, x):
        with torch.no_grad():
            self.steps += 1
            self.mean.lerp_(self.layer.bias, 0.1)
            if self.steps > 2:
                self.mean.zero_()
        return self.layer(x) + self.mean


class InASide(Layer):
    def forward(self, x):
        y = self.layer(x)
        if x.sum() > 0:
            with torch.no_grad():
                z = self.layer(y)
            y = y + z
        return y * 2


class AutocastAround(Layer):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(x)
            y = self.layer(y) if y.sum() > 0 else y - 1
            y = self.layer(y)
        return y.float()


@pytest.mark.parametrize("kind", [AroundABranch, InASide, AutocastAround])
def test_modes_around_and_inside_branches(kind):
    model = kind()
    xs = [torch.rand(n, 4) * s for n in (3, 1, 7) for s in (1, -1)]

    def program():
        return export(copy.deepcopy(model), (xs[0],), dynamic_shapes=({0: "n"},)).to_torch()

    eager = copy.deepcopy(model)
    wanted = [eager(x) for x in xs]
    for name, module in forms(program()).items():
        for t in dict(module.named_buffers()).values():
            t.zero_()  # a form that was made of the same tensors has run
        for x, want in zip(xs, wanted, strict=True):
            need_equal(module(x), want, name)


def test_gradients_beside_branches():
    model, x = InASide(), torch.rand(3, 4)
    trained = export(copy.deepcopy(model), (x,), dynamic_shapes=({0: "n"},)).to_torch().module()
    for m in (trained, model):
        m(x).sum().backward()
    need_equal(trained.layer.weight.grad, model.layer.weight.grad)


def loops_without_gradients(x):
    with torch.no_grad():
        while x.sum() > 1:
            x = x / 2
            if x.max() > 3:
                break
    return x + 0


def stretches_inside_a_round(x):
    while x.sum() > 1:
        with torch.no_grad():
            y = x / 2
            if x.max() > 3:
                y = y - 1
        x = y - x.abs() * 0.1
    return x * 2


def loops_under_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x[:, None] @ x[None]
        while x.sum() > 1:
            x = x / 2
            if x.max() > 3:
                x = x - (x[None] @ x[:, None]).float()[0] * 0.1
    return x + y.float().sum()


@pytest.mark.parametrize(
    "f", [loops_without_gradients, stretches_inside_a_round, loops_under_autocast]
)
def test_modes_around_and_inside_loops_that_branch(f):
    xs = [torch.full((n,), 5.0) for n in (3, 0, 1)]
    program = export(f, (xs[0],), dynamic_shapes=({0: "n"},)).to_torch()
    for name, module in forms(program).items():
        for x in xs:
            need_equal(module(x), f(x), name)


class CountsUnderAutocast(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.total.add_((x[None] @ x[:, None]).sum())
        return x * 2


def test_effects_of_a_stretch_under_autocast_without_results():
    model, xs = CountsUnderAutocast(), [torch.ones(n) for n in (3, 0, 1)]
    program = export(copy.deepcopy(model), (xs[0],), dynamic_shapes=({0: "n"},)).to_torch()
    made = forms(program)
    for x in xs:
        before = model.total.clone()
        model(x)
        for name, module in made.items():
            with torch.no_grad():
                module.total.copy_(before)
            module(x)
            need_equal(module.total, model.total, name)


def sides_with_a_float(x):
    s = x.sum().item()
    return x * s if s > 0 else x - s


def sides_that_give_floats(x):
    return x.sum().item() if x.max() > 0.5 else 0.5


def sides_that_give_nothing(x):
    y = x / 2
    if y.sum() > 1:
        y = y / 2
        if y.sum() > 1:
            y = y / 2
    return y


@pytest.mark.parametrize("f", [sides_with_a_float, sides_that_give_floats, sides_that_give_nothing])
def test_numbers_of_sides(f):
    program = export(f, (torch.rand(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    for name, module in forms(program).items():
        for n in (3, 1, 7):
            for factor in (1, -1, 0.1):
                x = torch.rand(n, 4) * factor
                need_equal(module(x), f(x), name)


def test_a_wrong_side_is_noticed():
    """The comparison finds a program that takes the other side."""
    program = export(
        one_side_passes_its_input, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},)
    ).to_torch()
    node = next(n for n in program.graph.nodes if n.target is torch.ops.higher_order.cond)
    test, then, other, operands = node.args
    node.args = (test, other, then, operands)
    x = torch.ones(2, 4)
    with pytest.raises(AssertionError):
        need_equal(program.module()(x), one_side_passes_its_input(x))
