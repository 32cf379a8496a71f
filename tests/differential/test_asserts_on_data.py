"""`assert` of what only data knows, in programs without a graph break, against eager execution."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace.record.effect import effect
from tests.differential.assert_programs import LOG, PROGRAMS, without_a_message

VALUES = ([3.0, 4, 5], [4.0, 4], [3.0], [], [7.0], [-1.0], [1.0, 1, 1], [4.0])


def outcomes(f: Any) -> list[Any]:
    LOG.clear()
    found: list[Any] = []
    for values in VALUES:
        try:
            found.append(repr(f(torch.tensor(values))))
        except Exception as e:
            kind = RuntimeError if isinstance(e, RuntimeError) else type(e)
            found.append((kind, str(e) if kind is AssertionError else ""))
        found.append(list(LOG))
    return found


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [None, "unbacked"])
def test_asserts_raise_when_the_program_runs(fn: Any, dynamic: Any) -> None:
    compiled = anyshape.compile(fn, fullgraph=True, dynamic=dynamic)
    assert outcomes(compiled) == outcomes(fn)


def test_an_assert_that_is_not_tested_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyshape.trace.record.builtin.meaning.raise_unless", effect.read_gradient)
    compiled = anyshape.compile(without_a_message, fullgraph=True)
    assert outcomes(compiled) != outcomes(without_a_message)


def sizes(shape: Any, x: Any) -> Any:
    if isinstance(shape, torch.Size):
        return x + shape.numel(), type(shape) is torch.Size, shape
    return x, type(shape) is tuple, shape


@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
def test_shapes_as_arguments_stay_shapes(dynamic: Any) -> None:
    compiled = anyshape.compile(sizes, fullgraph=True, dynamic=dynamic)
    for n in (3, 1, 0, 2, 5):
        for shape in (torch.Size((n,)), (n,), torch.Size((n, 2))):
            got, want = compiled(shape, torch.zeros(2)), sizes(shape, torch.zeros(2))
            assert torch.equal(got[0], want[0])
            assert got[1:] == want[1:]
            assert type(got[2]) is type(shape)
    exported = anyshape.export(lambda s, x: sizes(s, x)[0], (torch.Size((3,)), torch.zeros(2)))
    assert torch.equal(exported(torch.Size((3,)), torch.zeros(2)), torch.full((2,), 3.0))


@pytest.mark.parametrize("fullgraph", [True, False])
def test_slices_of_lists_are_new_lists(fullgraph: bool) -> None:
    kept: list[Any] = [1, 2, 3]

    def fn(x: Any, given: list[Any]) -> Any:
        a = given[1:3]
        a[0] = x
        kept.append(4)
        b = kept[1:]
        b[0] = x * 2
        given.append(x)
        return a, b, given[2:], kept

    compiled = anyshape.compile(fn, fullgraph=fullgraph)
    for n in (2, 1, 0, 3):
        results = []
        for f in (fn, compiled):
            kept[:] = [1, 2, 3]
            given = [5, 6, 7]
            results.append(repr((f(torch.ones(n), given), given, kept)))
        assert results[0] == results[1]
