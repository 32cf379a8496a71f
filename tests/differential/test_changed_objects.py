"""Objects from outside that a program changes, and looks at after the change."""

from __future__ import annotations

import warnings

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.trace.record.attribute import attribute


def compiled(f, **options):
    return anyshape.compile(f, fullgraph=True, **options)


class Box:
    def __init__(self):
        self.a = 3


def looks(o, x):
    o.c = 7
    if "c" in o.__dict__:
        x = x * o.__dict__["c"]
    o.__dict__["d"] = 2
    return x * o.__dict__.get("a") * o.d + len(vars(o)), list(vars(o))


def removes(o, x):
    o.c = 7
    before = "c" in vars(o)
    del o.c
    return x + 1, before, "c" in vars(o), [*vars(o).items()]


@pytest.mark.parametrize("f", [looks, removes])
def test_the_dict_of_a_changed_object(f):
    o, other = Box(), Box()
    g = compiled(lambda x: f(o, x))
    for n in (2, 0, 1, 3):
        x = torch.ones(n)
        found, wanted = g(x), f(other, x)
        assert torch.equal(found[0], wanted[0])
        assert found[1:] == wanted[1:]
        assert vars(o) == vars(other)


def test_a_dict_that_hides_the_change_is_found(monkeypatch):
    """A planted bug."""
    monkeypatch.setattr(attribute, "show_change", lambda *_: None)
    o = Box()
    assert compiled(lambda x: looks(o, x))(torch.ones(2))[1] != looks(Box(), torch.ones(2))[1]


def test_the_dict_of_a_module():
    class Model(torch.nn.Module):
        def forward(self, x):
            self.__dict__["a"] = 10
            return x * self.a + self.__dict__["a"]

    model = Model()
    found = compiled(model)(torch.ones(2))
    assert model.a == 10
    assert torch.equal(found, model(torch.ones(2)))


def test_arguments_that_are_keys():
    kept = {}

    def f(o, x):
        if o in kept:
            kept[o]["x"] = x
        return x + len(kept)

    g = compiled(f)
    boxes = [Box() for _ in range(3)]
    for o in boxes:
        kept[o] = {}
    for o in (*boxes, *boxes):
        x = torch.randn(2)
        assert torch.equal(g(o, x), x + 3)
        assert kept[o]["x"] is x
    with pytest.raises(AnyshapeError, match="looked up by its identity"):
        compiled(f)(Box(), torch.ones(2))


def test_an_attribute_of_an_input():
    def f(x, y, flag):
        x.mark = flag
        return x + y, x.mark

    g = compiled(f)
    x, y = torch.ones(2), torch.zeros(2)
    for flag in (True, False, True):
        assert g(x, y, flag)[1] is flag
        assert x.mark is flag
        assert not hasattr(y, "mark")
    assert torch.equal(g(y, y, True)[0], y + y)
    assert y.mark is True

    def reads(x, y):
        x.mark = 1
        return y.mark

    with pytest.raises(AnyshapeError):
        compiled(reads)(torch.ones(2), x)


@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (1, 0)])
@pytest.mark.parametrize("f", [torch.Tensor.acos_, lambda a: a, lambda a: a.view(-1)])
def test_vmap_hands_its_operand_on(f, dims):
    def g(z):
        x = z.clone()
        y = torch.vmap(f, *dims)(x)
        same = y is x
        y.mul_(2)
        return same, x, y

    h = compiled(g, dynamic=True)
    for shape in ((4, 3), (2, 1), (1, 1), (3, 3)):
        z = torch.rand(shape)
        found, wanted = h(z), g(z)
        assert found[0] is wanted[0]
        assert torch.equal(found[1], wanted[1])
        assert torch.equal(found[2], wanted[2])


def test_vmap_changes_an_input():
    def g(x):
        return torch.vmap(lambda a, b: a.add_(b))(x, x.sum(1)), x + 1

    x = torch.rand(3, 2)
    y = x.clone()
    found, wanted = compiled(g)(x), g(y)
    assert torch.equal(found[1], wanted[1])
    assert torch.equal(x, y)
    assert found[0] is x


def test_members_of_a_list_by_data():
    for f in (lambda x: 1 in [x], lambda x: 1 not in [2, x], lambda x: 1 in {x}):
        g = compiled(f)
        for value in (0.0, 1.0, 0.0):
            assert g(torch.tensor([value])) == f(torch.tensor([value]))


def test_an_op_without_results():
    with torch.library._scoped_library("leaves", "FRAGMENT") as lib:
        torch.library.define("leaves::fill", "(Tensor x, Tensor(a!)? z) -> ()", lib=lib)
        lib.define("halves(Tensor x, *, Tensor(a!)[] out) -> ()")

        def fill(x, z):
            if z is not None:
                z.add_(x)

        def halves(x, out):
            torch.split_with_sizes_copy(x, [2, 2], out=out)

        torch.library.impl("leaves::fill", "cpu", fill, lib=lib)
        for key in ("Meta", "CPU"):
            lib.impl("halves", halves, key)

        def f(x, z, out):
            torch.ops.leaves.halves(x, out=out)
            return torch.ops.leaves.fill(x, None), torch.ops.leaves.fill(x, z), z * 2

        x = torch.randn(4)
        z, out = torch.zeros(4), [torch.zeros(2), torch.zeros(2)]
        found = compiled(f)(x, z, out)
        assert found[:2] == (None, None)
        assert torch.equal(found[2], x * 2)
        assert torch.equal(torch.cat(out), x)


def test_a_function_that_is_disabled():
    @torch.compiler.disable(recursive=False)
    def f(x):
        return x + 2

    g = anyshape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(g(torch.ones(2)), torch.full((2,), 3.0))
    assert g.stats.eager == 1
    with pytest.raises(AnyshapeError):
        compiled(f)(torch.ones(2))


def test_detach_in_place():
    def f(x):
        y = x * 2
        y.detach_()
        return y + 1, y.requires_grad, y.grad_fn is None, y.is_leaf

    x = torch.randn(3, requires_grad=True)
    found, wanted = compiled(f)(x), f(x)
    assert torch.equal(found[0], wanted[0])
    assert found[1:] == wanted[1:]
    assert not found[0].requires_grad
