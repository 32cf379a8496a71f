"""`to_torch` of numbers, buffers, and errors, in every form against eager execution."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn

import anyshape
from anyshape import Dim, export
from anyshape.errors import UnsupportedError
from tests.unit.interop.aten.test_program import forms, need_equal

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, about its structures
SIZES = (5, 0, 1, 2, 3, 4, 6, 7, 9)


def exported(f, *args, dynamic=None):
    return export(f, args, dynamic_shapes=dynamic or ({0: "n"}, *[None] * (len(args) - 1)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: math.sqrt(x.shape[0]),
        lambda x: (x.shape[0] / 2) ** 2,
        lambda x: math.pow(x.shape[0], 0.5),
        lambda x: round(x.shape[0] / 2),
        lambda x: round((x.shape[0] - 5) / 2),
        lambda x: round(x.shape[0] / 3),
    ],
)
def test_functions_of_sizes_are_not_specialized(f):
    for name, module in forms(exported(f, torch.ones(5)).to_torch()).items():
        for n in SIZES:
            assert module(torch.ones(n)) == f(torch.ones(n)), (name, n)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: math.log(x.shape[0] + 1), "log"),
        (lambda x: math.sin(x.shape[0]), "sin"),
        (lambda x: math.isqrt(x.shape[0]), "isqrt"),
        (lambda x: x.shape[0].bit_length(), "bit_length"),
        (lambda x: pow(x.shape[0], 3, 5), "power_mod"),
        (lambda x: round(x.shape[0], -1), "round_integer"),
    ],
)
def test_functions_that_torch_lacks_are_refused(f, name):
    program = exported(f, torch.ones(5))
    with pytest.raises(UnsupportedError, match=f"{name} of a number that varies"):
        program.to_torch()
    again = exported(program.module(), torch.ones(5))
    assert [again(torch.ones(n)) for n in SIZES] == [f(torch.ones(n)) for n in SIZES]


def test_sizes_of_one_result_of_several():
    def f(x):
        return torch.unique(x, return_counts=True), torch.unique(x, dim=0), x.nonzero(as_tuple=True)

    program = exported(f, torch.tensor([3, 1, 3])).to_torch()
    made = {**forms(program), "back": anyshape.from_torch(program)}
    for name, module in made.items():
        for n in SIZES[2:]:
            x = torch.arange(n) % 3
            need_equal(module(x), f(x), name)


def test_slices_by_numbers_that_may_be_negative():
    def f(x, k):
        return x[: k.item()], x[k.item() :]

    program = exported(f, torch.ones(5, 2), torch.tensor(2)).to_torch()
    for name, module in forms(program).items():
        for n, k in ((5, 2), (5, -2), (1, 7), (7, -9)):
            call = (torch.rand(n, 2), torch.tensor(k))
            need_equal(module(*call), f(*call), name)


class ChangesWithoutGradients(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x)
        z = y + self.seen
        with torch.no_grad():
            self.seen.add_(y.sum(0))
        return z


class Assigns(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))
        self.register_buffer("kept", torch.zeros(3), persistent=False)

    def forward(self, x):
        self.total = self.total + x.sum(0)
        self.last = self.total * 2
        self.kept = self.last + 1
        return x + self.last


@pytest.mark.parametrize("kind", [ChangesWithoutGradients, Assigns])
def test_buffers_that_change(kind):
    torch.manual_seed(0)
    model = kind()
    calls = [torch.randn(n, 3) for n in SIZES]

    def program():
        return exported(copy.deepcopy(model), calls[0])

    made = {
        **forms(program().to_torch()),
        "fx": program().to_fx(),
        "ours": program().module(),
        "again": exported(program().module(), calls[0]).module(),
        "back": anyshape.from_torch(program().to_torch()).module(),
    }
    names = [name for name, _ in model.named_buffers()]
    wanted = []
    for x in calls:
        wanted.append((model(x), {n: model.get_buffer(n).clone() for n in names}))
    for name, module in made.items():
        state = dict(module.named_buffers())
        for t in state.values():
            t.detach().zero_()  # a form that was made of the same tensors has run
        for x, (out, buffers) in zip(calls, wanted, strict=True):
            need_equal(module(x), out, name)
            assert torch.is_grad_enabled(), name
            for n, want in buffers.items():
                need_equal(state[n], want, f"{name}: {n}")


def test_dynamic_numbers_are_exported_again():
    def f(x, n, factor):
        return x * n * factor, n // 2, torch.zeros(n)

    dynamic = ({0: "rows"}, Dim("n"), Dim.DYNAMIC)
    program = exported(f, torch.ones(3), 4, 0.5, dynamic=dynamic)
    again = exported(program.module(), torch.ones(3), 4, 0.5, dynamic=dynamic)
    for n in SIZES:
        call = (torch.rand(n), n, n / 3)
        need_equal(again(*call), f(*call))


def test_errors_of_the_program_are_nodes():
    def f(x):
        if x.sum() > 3:
            raise KeyError("too large")
        return x + 1

    program = exported(f, torch.ones(2))
    module = program.to_fx()
    need_equal(module(torch.ones(3))[0], torch.full((3,), 2.0))
    with pytest.raises(KeyError, match="too large"):
        module(torch.ones(4))
    with pytest.raises(KeyError, match="too large"):
        exported(program.module(), torch.ones(2))(torch.ones(4))
