"""Objects that a program makes and hands out: each run makes new ones, like those of eager."""

from __future__ import annotations

import dataclasses
import inspect
import traceback
import types
import warnings
import weakref

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError, EffectError, UnsupportedError
from anyshape.trace.record.container import recipe


def compiled(f, **options):
    return anyshape.compile(f, fullgraph=True, **options)


def counted(t, *more, scale=2, **named):
    yield t + 1
    for x in more:
        yield x * scale
    yield named.get("last", t)


@pytest.mark.parametrize(
    "call",
    [
        counted,
        lambda t: counted(t, t * 3, t, scale=5, last=t.sin()),
        lambda t: zip(range(3), counted(t, t * 2), strict=False),
        lambda t: (x * 2 for x in (t, t + 1)),
        lambda t: [counted(t), counted(t + 1)][1],
    ],
)
def test_generators_that_have_not_begun(call):
    g = compiled(call)
    for n in (2, 0, 1, 3):
        t = torch.randn(n)
        for found, wanted in zip(g(t), call(t), strict=True):
            parts = found if isinstance(found, tuple) else (found,)
            others = wanted if isinstance(wanted, tuple) else (wanted,)
            for a, b in zip(parts, others, strict=True):
                assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))
    first, second = g(t), g(t)
    assert first is not second
    next(first)
    assert type(first) is type(call(t))


def test_a_generator_function_that_is_compiled():
    def f(parts):
        for x in parts:
            yield x * 2

    x = torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [t.tolist() for t in anyshape.compile(f)([x, x])] == [[2, 2], [2, 2]]


def test_generators_that_have_begun_are_refused():
    def f(t):
        g = counted(t, t)
        next(g)
        return g

    kept = []

    def stored(t):
        g = counted(t, t)
        kept.append(g)
        next(g)
        return t + 1

    with pytest.raises(UnsupportedError, match="returns a generator"):
        compiled(f)(torch.ones(2))
    with pytest.raises(EffectError, match="moved on after it is stored"):
        compiled(stored)(torch.ones(2))
    assert not kept
    assert torch.equal(next(anyshape.compile(f)(torch.ones(2))), torch.full((2,), 2.0))


def test_a_recipe_that_forgets_arguments_is_found(monkeypatch):
    """A planted bug."""
    real = recipe._called
    monkeypatch.setattr(recipe, "_called", lambda f, args, names, values: real(f, args, (), ()))
    t = torch.ones(2)
    found = list(compiled(lambda t: counted(t, last=t * 9))(t))
    assert not torch.equal(found[-1], t * 9)


def test_classes_of_their_own():
    class Fixed(tuple):
        __slots__ = ()

        def __new__(cls, *_):
            return super().__new__(cls, [1, 2, 3])

    class Item:
        pass

    def f(x):
        made = Fixed()

        def inner(y: list[Item] | None = None):
            return x + 1

        return (x.cos() if 3 in made else x), made, inner

    g = compiled(f)
    x = torch.randn(3)
    (a, made, inner), (b, _, plain) = g(x), f(x)
    assert torch.equal(a, b)
    assert type(made) is Fixed
    assert made == (1, 2, 3)
    assert inner.__annotations__ == plain.__annotations__
    assert torch.equal(inner(), plain())


def test_weak_references():
    def f(x):
        y = x * 2
        return weakref.ref(y), y

    for n in (2, 0):
        ref, y = compiled(f)(torch.ones(n))
        assert ref() is y
    with pytest.raises(AnyshapeError):
        compiled(lambda x: weakref.ref(x * 2))(torch.ones(2))
    assert anyshape.compile(lambda x: weakref.ref(x * 2))(torch.ones(2))() is None


def _parameters(a, b, *rest, c=10, d=11, **named):
    pass


@pytest.mark.parametrize("defaults", [True, False])
def test_arguments_that_are_bound(defaults):
    def f(x):
        signature = inspect.signature(_parameters)
        bound = signature.bind(1, 2, 3, d=12, e=15)
        bound.arguments["d"] = 13
        if defaults:
            bound.apply_defaults()
        return signature, bound, bound.arguments, bound.args, bound.kwargs, x + 1

    g = compiled(f)
    for n in (2, 3, 2):
        found, wanted = g(torch.ones(n)), f(torch.ones(n))
        assert found[:5] == wanted[:5]


@pytest.mark.parametrize("f", [traceback.print_exc, _parameters, inspect.cleandoc])
def test_signatures_of_functions(f):
    def g(x):
        return inspect.signature(f), x + 1

    assert compiled(g)(torch.ones(2))[0] == inspect.signature(f)


def test_a_default_that_changes():
    def inner(a=1):
        return a

    g = compiled(lambda x: (str(inspect.signature(inner)), x + 1))
    assert g(torch.ones(2))[0] == "(a=1)"
    inner.__defaults__ = (2,)
    assert g(torch.ones(2))[0] == "(a=2)"


def test_kinds_of_recipes():
    assert recipe.recipe_of(list[int]) == (types.GenericAlias, (list, (int,)), None, {})
    union = recipe.recipe_of(int | None)
    assert union.make(*union.parts) == int | None


def test_texts_of_dataclasses():
    @dataclasses.dataclass(frozen=True)
    class Key:
        name: str
        place: int

    def f(x):
        return x * 2, f"path={(Key('a', 0), Key('b', 1))}"

    assert compiled(f)(torch.ones(2))[1] == f(torch.ones(2))[1]
