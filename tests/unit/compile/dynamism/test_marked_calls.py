"""Marks, source lists and policies as a compiled function meets them, torch's weak spots included.

Each test compares with eager execution and counts the programs that were traced.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch._dynamo import decorators as theirs

import anyshape
from anyshape import config, mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from anyshape.compile.dynamism import policy
from anyshape.errors import AnyshapeWarning, ConfigError, ConstraintViolation, RuntimeAssertError

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = pytest.mark.parametrize("fullgraph", [False, True])


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(shape)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + x.shape[0]


def agrees(compiled: Any, fn: Any, *args: Any) -> None:
    torch.testing.assert_close(compiled(*args), fn(*args))


# ---------------------------------------------------------------------- policies


@WHOLE
@pytest.mark.parametrize(
    ("dynamic", "entries"), [(None, 4), (True, 3), (False, 6), ("unbacked", 1)]
)
def test_how_many_programs_a_policy_needs(dynamic: Any, entries: int, fullgraph: bool) -> None:
    compiled = anyshape.compile(scaled, dynamic=dynamic, fullgraph=fullgraph)
    for n in (4, 6, 7, 1, 0, 5, 4, 6):
        agrees(compiled, scaled, ones(n))
    assert len(compiled.entries) == entries


@pytest.mark.parametrize("dynamic", [None, True])
def test_without_specialization_two_programs_are_enough(dynamic: Any) -> None:
    compiled = anyshape.compile(scaled, dynamic=dynamic)
    with config.patch(specialize_zero_one=False):
        for n in (4, 1, 0, 7, 5):
            agrees(compiled, scaled, ones(n))
    assert len(compiled.entries) == (2 if dynamic is None else 1)


def test_only_what_changed_becomes_dynamic() -> None:
    def f(x: torch.Tensor, k: int, r: float) -> torch.Tensor:
        return x.sum(0) * k + r

    compiled = anyshape.compile(f)
    agrees(compiled, f, ones(3, 4), 2, 0.5)
    agrees(compiled, f, ones(5, 4), 2, 0.5)
    assert len(compiled.entries[0].captured.inputs.binds) == 1
    agrees(compiled, f, ones(6, 4), 3, 0.5)
    assert len(compiled.entries[0].captured.inputs.binds) == 2
    agrees(compiled, f, ones(7, 4), -1, 1.5)
    assert len(compiled.entries[0].captured.inputs.binds) == 3
    for k, r in ((0, -1.0), (1, 0.0), (-7, 2.0)):
        agrees(compiled, f, ones(2, 4), k, r)
    assert len(compiled.entries) == 4


# ---------------------------------------------------------------------- torch's weak spots


@WHOLE
def test_a_violated_equality_is_an_assert(fullgraph: bool) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum()

    x, y = ones(4, 2), ones(4, 3)
    for t in (x, y):
        mark_unbacked(t, 0, shape_id="batch")
    compiled = anyshape.compile(f, fullgraph=fullgraph)
    agrees(compiled, f, x, y)
    agrees(compiled, f, ones(7, 2), ones(7, 3))
    with pytest.raises(RuntimeAssertError, match=r"x\.size\(0\) and y\.size\(0\) are marked to be"):
        compiled(ones(4, 2), ones(5, 3))
    assert len(compiled.entries) == 1


@WHOLE
def test_a_violated_equality_in_the_first_call_is_an_assert(fullgraph: bool) -> None:
    x, y = ones(4, 2), ones(5, 2)
    for t in (x, y):
        theirs.mark_unbacked(t, 0, shape_id="batch")
    compiled = anyshape.compile(lambda x, y: x.sum() + y.sum(), fullgraph=fullgraph)
    with pytest.raises(RuntimeAssertError, match="by shape_id 'batch', and differ"):
        compiled(x, y)
    agrees(compiled, lambda x, y: x.sum() + y.sum(), x, ones(4, 2))


@WHOLE
def test_violated_bounds_are_asserts(fullgraph: bool) -> None:
    x = ones(4)
    mark_unbacked(x, 0, min=2, max=8)
    compiled = anyshape.compile(scaled, fullgraph=fullgraph)
    for n in (4, 2, 8):
        agrees(compiled, scaled, x if n == 4 else ones(n))
    for n in (1, 9):
        with pytest.raises(RuntimeAssertError, match=r"x\.size\(0\)"):
            compiled(ones(n))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_strict_unbacked_mark_of_torch_is_unbacked(n: int) -> None:
    x = ones(n)
    theirs.mark_unbacked(x, 0, strict=True)
    compiled = anyshape.compile(scaled)
    agrees(compiled, scaled, x)
    for m in (0, 1, 2, 9):
        agrees(compiled, scaled, ones(m))
    assert len(compiled.entries) == 1


def test_lists_of_dims_keep_their_arguments() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[0] - x.shape[1]

    x = ones(4, 5)
    mark_unbacked(x, [0, -1], max=6)
    compiled = anyshape.compile(f)
    agrees(compiled, f, x)
    agrees(compiled, f, ones(0, 6))
    for shape in ((7, 1), (1, 7)):
        with pytest.raises(RuntimeAssertError):
            compiled(ones(*shape))


@pytest.mark.parametrize("bounds", [{"min": 3}, {"max": 9}])
@pytest.mark.parametrize("mark", [mark_dynamic, theirs.mark_dynamic])
def test_one_bound_is_enough(mark: Any, bounds: dict[str, int]) -> None:
    x = ones(5)
    mark(x, 0, **bounds)
    compiled = anyshape.compile(scaled)
    for n in (5, 4, 9, 3):
        agrees(compiled, scaled, x if n == 5 else ones(n))
    assert len(compiled.entries) == 1


def branch(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] < 50 else x - 1


def test_a_hint_changes_nothing() -> None:
    x = ones(5)
    theirs.mark_dynamic(x, 0, hint_override=100)
    compiled = anyshape.compile(branch)
    for n in (5, 7, 100, 6):
        agrees(compiled, branch, x if n == 5 else ones(n))
    assert len(compiled.entries) == 2


@WHOLE
@pytest.mark.parametrize("first", [-3, 0, 1])
def test_an_unbacked_integer_is_no_size(first: int, fullgraph: bool) -> None:
    def f(x: torch.Tensor, k: int) -> torch.Tensor:
        return x * k

    compiled = anyshape.compile(f, fullgraph=fullgraph)
    with config.patch(unbacked_sources="L['k']"):
        for k in (first, -3, 0, 1, 7, -(2**40)):
            agrees(compiled, f, ones(2), k)
    assert len(compiled.entries) == 1


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3, 4))
        self.factor = 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ self.weight) * self.factor


def test_parameters_that_a_list_names() -> None:
    for lists in ({}, {"unbacked_sources": ".*"}, {"dynamic_sources": "L['self'].weight:0"}):
        model = Model()
        compiled = anyshape.compile(model, dynamic="unbacked")
        with config.patch(**lists):
            agrees(compiled, model, ones(2, 3))
            model.weight = torch.nn.Parameter(torch.ones(5, 4))
            agrees(compiled, model, ones(2, 5))
        assert len(compiled.entries) == (1 if lists else 2), lists


def test_an_attribute_that_a_list_names() -> None:
    for lists, entries in (({}, 2), ({"unbacked_sources": "L['self'].factor"}, 1)):
        model = Model()
        compiled = anyshape.compile(model)
        with config.patch(**lists):
            for value in (2, -3, 0, 1):
                model.factor = value
                agrees(compiled, model, ones(2, 3))
        assert len(compiled.entries) == entries


def test_a_bad_pattern_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_COMPILE_UNBACKED_SOURCES", "L['x'],(")
    with pytest.raises(ConfigError, match="is neither a name nor a pattern"):
        anyshape.compile(scaled)(ones(3))


def test_a_name_that_matches_nothing_is_one_warning() -> None:
    compiled = anyshape.compile(scaled)
    with config.patch(dynamic_sources="L['X']"):
        with pytest.warns(AnyshapeWarning, match=r"L\['X'\] .* matched nothing; .* are: x\n"):
            compiled(ones(3))
        for n in (4, 5):
            agrees(compiled, scaled, ones(n))


# ---------------------------------------------------------------------- marks


def test_a_mark_beats_dynamic_false() -> None:
    x = ones(4)
    maybe_mark_dynamic(x, 0)
    compiled = anyshape.compile(scaled, dynamic=False)
    for n in (4, 5, 6):
        agrees(compiled, scaled, x if n == 4 else ones(n))
    assert len(compiled.entries) == 1


def test_a_static_mark_beats_the_policy() -> None:
    x = ones(4)
    mark_static(x)
    compiled = anyshape.compile(scaled, dynamic=True)
    agrees(compiled, scaled, x)
    agrees(compiled, scaled, ones(5))
    agrees(compiled, scaled, ones(6))
    assert len(compiled.entries) == 2


@WHOLE
def test_a_mark_that_does_not_hold_is_an_error_with_the_line(fullgraph: bool) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(4)  # this line needs 4

    x = ones(4)
    mark_dynamic(x, 0)
    with pytest.raises(ConstraintViolation, match="always 4 in the program") as e:
        anyshape.compile(f, fullgraph=fullgraph)(x)
    assert "this line needs 4" in e.value.why
    x = ones(4)
    maybe_mark_dynamic(x, 0)
    agrees(anyshape.compile(f, fullgraph=fullgraph), f, x)


# ---------------------------------------------------------------------- one hundred inputs


def test_a_hundred_sparse_inputs_of_sizes_zero_one_and_two() -> None:
    def f(*xs: torch.Tensor) -> torch.Tensor:
        return sum([x.sum() for x in xs], start=torch.zeros(()))

    choose = random.Random(0)
    compiled = anyshape.compile(f)
    with config.patch(unbacked_sources=r"xs\[\d+\]:0"):
        for _ in range(6):
            agrees(compiled, f, *[ones(choose.choice((0, 1, 2)), 2) for _ in range(100)])
    assert len(compiled.entries) == 1


# ---------------------------------------------------------------------- decisions that are kept


def test_decisions_are_kept_for_later_functions(tmp_path: Path) -> None:
    with config.patch(profile_store=str(tmp_path / "decisions.json")):
        for calls, entries in (((4, 5, 6), 2), ((7, 8), 1)):
            compiled = anyshape.compile(scaled)
            for n in calls:
                agrees(compiled, scaled, ones(n))
            assert len(compiled.entries) == entries


def test_decisions_are_kept_for_modules_and_methods(tmp_path: Path) -> None:
    class Doubled:
        @anyshape.compile
        def method(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    with config.patch(profile_store=str(tmp_path / "decisions.json")):
        for sizes, entries in (((4, 5), 2), ((6, 7), 1)):
            model, doubled = anyshape.compile(Model()), Doubled()
            for n in sizes:
                agrees(model, model.original, ones(n, 3))
                agrees(doubled.method, lambda x: x * 2, ones(n))
            assert len(model.entries) == len(doubled.method.entries) == entries


# ---------------------------------------------------------------------- a planted bug


def test_a_policy_that_sees_no_marks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "marks_of", lambda t: {})
    with pytest.raises(AssertionError):
        test_a_mark_beats_dynamic_false()
