"""Tensors of classes that wrap other tensors, by torch's protocol."""

from __future__ import annotations

import pytest
import torch
from torch.nn import Buffer, Module, Parameter
from torch.utils import _pytree as pytree

from anyshape import ConstraintError, UnsupportedError, export


class Pair(torch.Tensor):
    """Two tensors of one shape; an op does the same to both."""

    @staticmethod
    def __new__(cls, a, b, label="pair"):
        return torch.Tensor._make_wrapper_subclass(
            cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device,
            requires_grad=a.requires_grad,
        )  # fmt: skip

    def __init__(self, a, b, label="pair"):
        self.a, self.b, self.label = a, b, label

    def __repr__(self):
        return "Pair"

    def __tensor_flatten__(self):
        return ["a", "b"], self.label

    @classmethod
    def __tensor_unflatten__(cls, inner, label, outer_size, outer_stride):
        return cls(inner["a"], inner["b"], label)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        outs = [
            func(*(pytree.tree_map_only(cls, lambda x, n=n: getattr(x, n), args)), **(kwargs or {}))
            for n in ("a", "b")
        ]
        made = [cls(a, b) for a, b in zip(*map(pytree.tree_leaves, outs), strict=True)]
        return pytree.tree_unflatten(made, pytree.tree_structure(outs[0]))

    def first(self):
        return self.a


class Product(Pair):
    """Two factors; an op gets the plain product."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].a, args[0].b)
        args = pytree.tree_map_only(cls, lambda x: x.a * x.b, args)
        return func(*args, **(kwargs or {}))


def pair(kind=Pair, rows=3):
    return kind(torch.randn(rows, 4), torch.randn(rows, 4))


class Holder(Module):
    def __init__(self, held=None):
        super().__init__()
        self.plain = Parameter(torch.randn(3, 4))
        self.held = Buffer(pair()) if held is None else held


class Read(Holder):
    def forward(self, x):
        y = 2 * self.plain + self.held + x
        return y.a, y.first() + self.held.b, y.label, isinstance(y, Pair), y.shape


class Plain(Holder):
    def __init__(self):
        super().__init__(Parameter(pair(Product)))

    def forward(self, x):
        return x + (2 * self.plain + self.held).sum()


class Nested(Holder):
    def __init__(self):
        super().__init__(Parameter(Pair(pair(), pair())))

    def forward(self, x):
        y = (self.held + x).sum(0)
        return y.a.b + y.b.a, y.dtype


class Several(Holder):
    def forward(self, x):
        y = self.held + x
        top, bottom = y.split([1, 2])
        return top.a, bottom.b, y.T.b, torch.cat([y, y]).a, y[0].a


class Made(Module):
    def forward(self, x):
        y = Pair(x, x.relu())
        z = y @ y.T
        return y.a is x, z.b, z, z.shape[0] + 1, y.reshape(-1).a


def assert_equal(got, want):
    assert pytree.tree_structure(got) == pytree.tree_structure(want)
    for a, b in zip(pytree.tree_leaves(got), pytree.tree_leaves(want), strict=True):
        assert type(a) is type(b)
        if isinstance(a, Pair):
            assert_equal((a.a, a.b), (b.a, b.b))
            assert a.requires_grad == b.requires_grad
        elif isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=0, atol=0)
            assert a.requires_grad == b.requires_grad
        else:
            assert a == b


@pytest.mark.parametrize("kind", [Read, Plain, Nested, Several, Made])
@pytest.mark.parametrize("grad", [False, True])
def test_a_program_computes_with_them_as_eager_execution_does(kind, grad):
    module = kind()
    program = export(module, (torch.randn(3, 4, requires_grad=grad),))
    x = torch.randn(3, 4, requires_grad=grad)
    assert_equal(program(x), module(x))


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_their_sizes_may_be_dynamic(rows):
    program = export(Made(), (torch.randn(3, 4),), dynamic_shapes=({0: "rows"},))
    x = torch.randn(rows, 4)
    assert_equal(program(x), Made()(x))


def test_gradients_flow_through_them():
    module = Plain()
    program = export(module, (torch.randn(3, 4),))
    program(torch.randn(3, 4)).sum().backward()
    got = module.plain.grad
    module.plain.grad = None
    module(torch.randn(3, 4)).sum().backward()
    assert torch.equal(got, module.plain.grad)


def test_what_is_not_read_is_not_in_the_program():
    code = export(Plain(), (torch.randn(3, 4),)).code
    assert ".a" not in code
    assert ".b" not in code


class Given(Module):
    def forward(self, x):
        return x + 1, x.a.b * 2, x.shape[0], x.label


def nested(rows, columns, label="pair"):
    parts = [torch.randn(rows, columns) for _ in range(4)]
    return Pair(Pair(*parts[:2]), Pair(*parts[2:], label))


@pytest.mark.parametrize("rows", [0, 1, 4, 6])
def test_an_input_may_wrap_others(rows):
    program = export(Given(), (nested(3, 4),), dynamic_shapes=({0: "rows"},))
    x = nested(rows, 4)
    got, want = program(x), Given()(x)
    assert_equal((got[0].a.a, got[0].b.b, *got[1:]), (want[0].a.a, want[0].b.b, *want[1:]))
    assert type(got[0].a) is Pair


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (torch.randn(3, 4), "is a Tensor"),
        (Pair(torch.randn(3, 4), torch.randn(3, 4)), "is a Tensor"),
        (nested(3, 4, "another"), "another"),
        (Pair(pair(), pair().double()), "float64"),
        (nested(3, 5), r"x.size\(1\) is 5"),
    ],
)
def test_an_input_that_wraps_others_has_the_form_of_the_example(other, what):
    program = export(Given(), (nested(3, 4),), dynamic_shapes=({0: "rows"},))
    with pytest.raises(ConstraintError, match=what):
        program(other)


class Changed(Holder):
    def forward(self, x):
        self.held.add_(x)
        return x


class Asked(Holder):
    def forward(self, x):
        return x + (self.held + x).sum().item()


class Kept(Holder):
    def forward(self, x):
        self.kept = self.held + x
        return x


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (Changed, "add_ in place on a tensor that wraps others"),
        (Asked, "needs data"),
        (Kept, "Pair"),
    ],
)
def test_what_cannot_be_traced_is_refused(kind, what):
    with pytest.raises(UnsupportedError, match=what):
        export(kind(), (torch.randn(3, 4),))


def test_they_are_not_saved(tmp_path):
    with pytest.raises(UnsupportedError, match="it is a Product"):
        export(Plain(), (torch.randn(3, 4),)).save(tmp_path / "program.as")


def test_variants_with_such_inputs_are_merged():
    program = export(Given(), (nested(3, 4),), dynamic_shapes=({0: "rows"},))
    assert len(program.variants) == 1
