"""Variants of one export share what they read outside, and nothing that a trace assigned."""

from __future__ import annotations

from typing import Any

import torch

from anyshape import export
from anyshape.trace.capture import capture
from anyshape.trace.options import DONE, REFUSED, TraceOptions
from anyshape.trace.tracer import Tracer

LEVEL = 2


class Scaled(torch.nn.Module):
    scale = 3

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.state = 1

    def forward(self, x: Any) -> Any:
        global LEVEL  # noqa: PLW0603  assigned, and taken back
        before, level = self.state, LEVEL
        self.state = 5
        LEVEL = 7
        y = self.layer(x) * self.scale * self.state * LEVEL
        self.state = before
        LEVEL = level
        return y * self.state * LEVEL if x.size(0) > 2 else y


def test_variants_of_a_program_that_takes_its_assignments_back() -> None:
    model = Scaled()
    program = export(model, (torch.ones(4, 2),), dynamic_shapes=({0: "rows"},))
    assert len(program.variants) > 1
    for n in range(6):
        x = torch.randn(n, 2)
        assert torch.equal(program(x), model(x))


def traces(effects: str, change: Any) -> list[Any]:
    """Two traces of one module, the second of which may follow the first."""
    model = Scaled()
    options = TraceOptions(effects=effects)
    first = capture(model, (torch.ones(4, 2),), tracer=Tracer(options=options))
    change(model)
    second = Tracer(options=options, previous=first.tracer)
    return [first, capture(model, (torch.ones(4, 2),), tracer=second)]


def test_a_trace_follows_one_whose_effects_were_refused() -> None:
    def change(model: Scaled) -> None:
        Scaled.scale = 4

    for effects, scales in ((REFUSED, [3, 3]), (DONE, [3, 4])):
        found = traces(effects, change)
        Scaled.scale = 3
        assert [f"* {n}" in c.code for n, c in zip(scales, found, strict=True)] == [True, True]
    assert LEVEL == 2


def test_reads_of_a_trace_that_follows_are_complete() -> None:
    first, second = traces(REFUSED, lambda _: None)
    watched = [set(c.tracer.recorder.finish().places) for c in (first, second)]
    names = [{(kind, key) for kind, _, key in some} for some in watched]
    assert names[0] == names[1]
