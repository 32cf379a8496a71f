"""What an example may be: named tuples, tensors without data, specs of `*args`."""

from __future__ import annotations

from collections import namedtuple

import pytest
import torch
from torch._subclasses import FakeTensorMode

from anyshape import ArgumentError, UnsupportedError, export

Point = namedtuple("Point", ["x", "y"])


def add(x, y):
    return x + y


def join(*parts):
    return torch.cat(parts)


def test_arguments_may_be_a_named_tuple():
    x = torch.randn(3)
    program = export(add, Point(x, x), dynamic_shapes={"x": {0: "n"}, "y": {0: "n"}})
    y = torch.randn(5)
    assert torch.equal(program(y, y), y + y)


@pytest.mark.parametrize("spec", [(({0: "a"}, {0: "b"}),), ({0: "a"}, {0: "b"})])
def test_a_spec_of_star_arguments_may_be_one_entry(spec):
    program = export(join, (torch.randn(3), torch.randn(4)), dynamic_shapes=spec)
    parts = (torch.randn(7), torch.randn(0))
    assert torch.equal(program(*parts), torch.cat(parts))


def test_a_spec_of_star_arguments_needs_all_of_them():
    with pytest.raises(ArgumentError, match="1 entry for 2 arguments"):
        export(join, (torch.randn(3), torch.randn(4)), dynamic_shapes=(({0: "a"},),))


def test_an_example_needs_no_data():
    with FakeTensorMode():
        x = torch.randn(3, requires_grad=True)
    program = export(add, (x, x), dynamic_shapes=({0: "n"}, {0: "n"}))
    y = torch.randn(5, requires_grad=True)
    assert torch.equal(program(y, y), y + y)


def test_parameters_without_data_are_traced_and_not_saved(tmp_path):
    with FakeTensorMode():
        module = torch.nn.Linear(3, 4)
    program = export(module, (torch.randn(2, 3),), dynamic_shapes=({0: "n"},))
    assert "linear" in program.code
    with pytest.raises(UnsupportedError, match="FakeTensor"):
        program.save(tmp_path / "program.as")


def test_a_tensor_of_one_integer_is_a_size():
    def fn(x):
        return torch.zeros(x).view(-1, 4)

    program = export(fn, (torch.tensor([8]),))
    for n in (0, 4, 12):
        assert torch.equal(program(torch.tensor([n])), fn(torch.tensor([n])))


@torch.library.custom_op("anyshape_tests::tens", mutates_args=())
def tens(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    return x[: 10 * n.item() + 2].clone()


@tens.register_fake
def _(x, n):
    return x.new_empty(10 * torch.library.get_ctx().new_dynamic_size() + 2)


def test_a_size_may_be_a_multiple_of_what_an_op_decides():
    def fn(x, n):
        y = tens(x, n)
        return y, y.size(0) // 10

    program = export(fn, (torch.randn(40), torch.tensor(2)))
    x = torch.randn(40)
    for n in (0, 1, 3):
        got, want = program(x, torch.tensor(n)), fn(x, torch.tensor(n))
        assert torch.equal(got[0], want[0])
        assert got[1] == want[1]


@torch.jit.script
def scripted(x: torch.Tensor):
    if torch.jit.is_scripting():
        return x.cos()
    return x.sin()


def test_a_script_runs_as_a_script():
    def fn(x):
        return scripted(x), x if torch.jit.is_scripting() else x + 1

    program, x = export(fn, (torch.randn(3),)), torch.randn(3)
    assert torch.equal(program(x)[0], x.cos())
    assert torch.equal(program(x)[1], x + 1)
