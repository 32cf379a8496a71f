"""`torch.compiler.disable`: breaks of compiled programs, errors of whole ones."""

from __future__ import annotations

import functools

import pytest
import torch

import anyshape
from anyshape import UnsupportedError, events

SIZES = (0, 1, 2, 5)
ran: list[object] = []


@torch.compiler.disable(reason="it keeps a log")
def outside(x):
    ran.append(x.size(0))
    return x * 2


@torch.compiler.disable
def unexplained(x):
    ran.append(x.size(0))
    return x * 2


def doubled(x):
    ran.append(torch.compiler.is_compiling())
    return x * 2


@torch.compiler.disable(recursive=False)
def alone(x):
    ran.append(torch.compiler.is_compiling())
    return doubled(x + 0)


@functools.wraps(outside)
def named_alike(x):
    return x * 2


def around(f):
    def program(x):
        y = x + 1
        y = f(y)
        return y - 1

    return program


def breaks_of(compiled, x):
    found = []
    with events.subscribe(found.append, events.GraphBreak):
        compiled(x)
    return found


@pytest.mark.parametrize(("f", "reason"), [(outside, "it keeps a log"), (unexplained, "without a")])
def test_a_program_breaks_there_once(f, reason):
    compiled = anyshape.compile(around(f), dynamic=True)
    (found,) = breaks_of(compiled, torch.randn(3))
    assert f"{f.__name__} is called, which torch.compiler.disable keeps out" in found.question
    assert reason in found.question
    assert "y = f(y)" in found.question
    ran.clear()
    for n in SIZES:
        x = torch.randn(n)
        assert torch.equal(compiled(x), (x + 1) * 2 - 1)
    assert ran == [*SIZES]
    assert compiled.stats.breaks == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda f, x: anyshape.compile(f, fullgraph=True)(x),
        lambda f, x: anyshape.export(f, (x,), dynamic_shapes=({0: "n"},)),
    ],
)
def test_a_whole_program_is_refused(make):
    with pytest.raises(
        UnsupportedError, match=r"disable keeps out of programs, at .*y = f\(y\)"
    ) as e:
        make(around(outside), torch.randn(3))
    assert "its reason: it keeps a log" in str(e.value)
    assert "call outside outside of the" in str(e.value)


def test_what_a_function_calls_that_is_disabled_alone():
    ran.clear()
    compiled = anyshape.compile(around(alone), dynamic=True)
    x = torch.randn(4)
    assert torch.equal(compiled(x), (x + 1) * 2 - 1)
    assert ran == [False, True]
    with pytest.raises(UnsupportedError, match="alone is called"):
        anyshape.compile(around(alone), fullgraph=True)(x)
    ran.clear()
    whole = anyshape.compile(around(outside))
    whole(x)
    assert ran == [4]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    @torch.compiler.disable(recursive=False)
    def inner(self, x):
        return self.linear(x)

    @torch.compiler.disable
    def told(self, x):
        return self.linear(x)

    def forward(self, x, is_told):
        return self.told(x) if is_told else self.inner(x) + 1


def test_methods():
    net = Layer()
    for is_told in (True, False):
        compiled = anyshape.compile(net, dynamic=True)
        for n in SIZES:
            x = torch.randn(n, 3)
            torch.testing.assert_close(compiled(x, is_told), net(x, is_told))
    x = torch.randn(4, 3)
    for is_told in (True, False):
        program = anyshape.export(net, (x, is_told), dynamic_shapes=({0: "n"}, None))
        for n in SIZES:
            x = torch.randn(n, 3)
            assert torch.equal(program(x, is_told), net(x, is_told))


class WholeDisabled(torch.nn.Module):
    @torch.compiler.disable
    def forward(self, x):
        return x * 2 if x.size(0) > 2 else x - 1


def test_an_exported_module_whose_forward_has_a_mark_without_a_reason():
    net = WholeDisabled()
    program = anyshape.export(net, (torch.randn(4),), dynamic_shapes=({0: "n"},))
    for n in SIZES:
        x = torch.randn(n)
        assert torch.equal(program(x), net(x))


def test_effects_of_an_exported_function_without_a_reason_are_still_refused():
    with pytest.raises(UnsupportedError, match="outside"):
        anyshape.export(around(unexplained), (torch.randn(3),), dynamic_shapes=({0: "n"},))


def test_a_function_with_the_attributes_of_another_is_not_disabled():
    x = torch.randn(3)
    compiled = anyshape.compile(around(named_alike), fullgraph=True)
    assert torch.equal(compiled(x), (x + 1) * 2 - 1)


def asked(x):
    answers = (
        torch.compiler.is_compiling(),
        torch.compiler.is_dynamo_compiling(),
        torch.compiler.is_exporting(),
    )
    return x + 1, answers


def broken(x):
    y, before = asked(x)
    outside(y)
    return y + 1, before, asked(y)[1]


def branching(x):
    y, before = asked(x)
    return (y, before) if y.sum() > 0 else (y - 1, asked(y)[1])


MODES = {
    "eager": lambda f, x: f(x),
    "compile": lambda f, x: anyshape.compile(f)(x),
    "dynamic": lambda f, x: anyshape.compile(f, dynamic="unbacked")(x),
    "fullgraph": lambda f, x: anyshape.compile(f, fullgraph=True)(x),
    "export": lambda f, x: anyshape.export(f, (x,), dynamic_shapes=({0: "n"},))(x),
    "draft": lambda f, x: anyshape.export(f, (x,), draft=True)(x),
    "raise": lambda f, x: anyshape.export(f, (x,), on_deviation="raise")(x),
}
COMPILING, EXPORTING = (True, True, False), (True, False, True)


@pytest.mark.parametrize("mode", MODES)
def test_what_torch_compiler_answers(mode):
    wanted = {"eager": (False,) * 3, "compile": COMPILING, "dynamic": COMPILING}
    wanted["fullgraph"] = COMPILING
    x = torch.ones(3)
    for f in (asked,) if mode == "fullgraph" else (asked, branching):
        assert MODES[mode](f, x)[1] == wanted.get(mode, EXPORTING)
    assert torch.compiler.is_compiling() is torch.compiler.is_exporting() is False


def test_answers_on_both_sides_of_a_break():
    x = torch.ones(3)
    assert anyshape.compile(broken)(x)[1:] == (COMPILING, COMPILING)
    with anyshape.config.patch(stance="force_eager"):
        assert anyshape.compile(broken)(x)[1:] == ((False,) * 3,) * 2
