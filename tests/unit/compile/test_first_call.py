"""What a first call of a compiled function does, and does once."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.compile.dynamism.policy import Policy
from anyshape.errors import ShapeError
from anyshape.export.spec.size_symbols import SizeSymbols
from anyshape.trace.argument import arguments
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.argument.size_chooser import EachSize, SizeChooser, as_chooser


@pytest.mark.parametrize("fullgraph", [False, True])
def test_the_arguments_are_flattened_once(monkeypatch: Any, fullgraph: bool) -> None:
    flattened = []
    original = arguments.flatten_call
    monkeypatch.setattr(arguments, "flatten_call", lambda *x: flattened.append(x) or original(*x))
    compiled = anyshape.compile(lambda x: x * 2, fullgraph=fullgraph)
    compiled(torch.randn(3))
    assert len(flattened) == 1


def test_a_trace_that_is_too_general_is_made_less_general() -> None:
    compiled = anyshape.compile(lambda x, y: x.view(2, 3) + y, dynamic="unbacked")
    assert compiled(torch.ones(6), torch.ones(3)).shape == (2, 3)
    with pytest.raises((ShapeError, RuntimeError)):
        compiled(torch.ones(5), torch.ones(3))


def test_all_choosers_have_one_protocol() -> None:
    call = Arguments.of(lambda x: x, (torch.ones(2),), {})
    assert isinstance(Policy(None).choice(call.names, call.flat), SizeChooser)
    assert isinstance(EachSize(lambda spot: "static"), SizeChooser)
    assert isinstance(SizeSymbols(None, {}), SizeChooser)
    assert isinstance(as_chooser(lambda spot: "backed"), EachSize)
    chooser = EachSize(lambda spot: "static")
    assert as_chooser(chooser) is chooser
