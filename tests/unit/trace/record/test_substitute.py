"""Substitutes belong to one trace; which functions have some is known once per process."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest
import torch

from anyshape.trace.record.builtin import substitute
from anyshape.trace.record.builtin.substitute import Substitutes
from anyshape.trace.record.hooks import recorder_for
from anyshape.trace.tracer import Tracer


def given(part: Any, word: str, *rest: Any) -> Any:
    return part, word, rest


class Part:
    def method(self) -> Any:
        return self

    def pairs(self) -> Any:
        yield len, self.method
        yield abs, functools.partial(self.method)
        yield print, functools.partial(given, self, "word")
        yield sum, functools.partial(given, self.method, word=functools.partial(self.method))
        yield max, min


def test_substitutes_are_those_of_the_trace_that_asks(monkeypatch: Any) -> None:
    monkeypatch.setattr(substitute, "_makers", {})
    monkeypatch.setattr(substitute, "_seen", [0])
    first, second = Part(), Part()
    made = [Substitutes((part,), part.pairs) for part in (first, second)]
    for part, table in zip((first, second), made, strict=True):
        assert table.get(id(len))() is part
        assert table.get(id(abs))() is part
        assert table.get(id(print))(1) == (part, "word", (1,))
        first_word, last, _ = table.get(id(sum))()
        assert first_word() is part
        assert last() is part
        assert table.get(id(max)) is min
        assert table.get(id(min)) is None


def test_an_object_of_one_trace_that_is_no_part_is_an_error(monkeypatch: Any) -> None:
    monkeypatch.setattr(substitute, "_makers", {})
    monkeypatch.setattr(substitute, "_seen", [0])
    part, other = Part(), recorder_for(Tracer())
    for found in (functools.partial(given, other), functools.partial(given, word=other.note)):
        substitute._seen[0] = 0
        with pytest.raises(TypeError, match="belongs to one trace"):
            Substitutes((part,), lambda found=found: [(len, found)])


def test_no_substitute_of_one_trace_refers_to_another() -> None:
    first, second = recorder_for(Tracer()), recorder_for(Tracer())
    tables = [r.hooks.calls._builtins.table for r in (first, second)]
    parts = set(map(id, tables[0]._parts))
    for key in substitute._makers:
        found = tables[1].get(key)
        while type(found) is functools.partial:
            assert not parts & set(map(id, found.args))
            found = found.func
        assert id(getattr(found, "__self__", None)) not in parts
        assert not any(
            id(c.cell_contents) in parts for c in getattr(found, "__closure__", ()) or ()
        )


def test_a_function_that_an_import_replaced_has_its_substitute(monkeypatch: Any) -> None:
    def seeded(seed: int) -> Any:
        return torch.random.manual_seed(seed)

    recorder_for(Tracer())
    monkeypatch.setattr(torch, "manual_seed", seeded)
    monkeypatch.setitem(sys.modules, "a_module_that_replaces_functions_of_torch", torch)
    table = recorder_for(Tracer()).hooks.calls._builtins.table
    assert table.get(id(seeded)) is not None
