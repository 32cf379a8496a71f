"""What tracing and compiling tell those who listen."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

import anyshape
from anyshape import AnyshapeWarning, BackendError, DataDependentError
from anyshape.events import (
    Answer,
    Assert,
    Deviation,
    Fallback,
    GraphBreak,
    Guard,
    Lowering,
    OpCall,
    Recompilation,
    SymbolCreation,
    TraceEnd,
    TraceStart,
    subscribe,
)
from anyshape.expr import ge0
from anyshape.trace import capture


def heard(run: Any, *kinds: type) -> list[Any]:
    found: list[Any] = []
    with subscribe(found.append, *kinds):
        run()
    return found


# ---------------------------------------------------------------------- tracing


def positive(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.softplus(x[x > 0])


def test_a_trace_begins_and_ends_around_what_it_does() -> None:
    found = heard(lambda: capture(positive, (torch.randn(5),)))
    assert type(found[0]) is TraceStart
    assert type(found[-1]) is TraceEnd
    assert found[0].function == found[-1].function == "positive"
    assert found[0].tracer is found[-1].tracer
    assert found[-1].error is None
    assert str(found[0]) == "trace of positive"
    assert str(found[-1]).startswith("trace of positive: ")
    assert {SymbolCreation, Guard, OpCall, Answer} <= {type(event) for event in found}


def test_every_op_is_an_event_on_its_line() -> None:
    ops = heard(lambda: capture(positive, (torch.randn(5),)), OpCall)
    assert [e.op.__name__ for e in ops] == ["__gt__", "__getitem__", "softplus"]
    assert {e.site.text for e in ops} == {"return torch.nn.functional.softplus(x[x > 0])"}
    assert all(e.nanoseconds > 0 for e in ops)
    assert all(callable(e.handler) for e in ops)


def test_the_calls_of_a_body_end_before_it() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, 16, window=torch.ones(16), return_complex=True)

    *_, inner, outer = heard(lambda: capture(program, (torch.randn(64),)), OpCall)
    assert outer.op is torch.stft
    assert outer.start < inner.start
    assert inner.start + inner.nanoseconds <= outer.start + outer.nanoseconds


def test_a_trace_that_fails_says_so() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("the user's own")

    found: list[Any] = []
    with subscribe(found.append, TraceEnd), pytest.raises(ValueError, match="own"):
        capture(program, (torch.randn(3),))
    (end,) = found
    assert isinstance(end.error, ValueError)
    assert "failed: ValueError" in str(end)


def test_a_deviation_is_the_record_of_the_program() -> None:
    programs = []

    def run() -> None:
        programs.append(capture(torch.Tensor.squeeze, (torch.randn(3, 4),), dynamic="unbacked"))

    found = heard(run, Deviation)
    assert found == programs[0].deviations
    assert len(found) == 2
    assert str(found[0]).startswith("squeeze where ")


def test_a_trace_on_another_thread_is_not_heard() -> None:
    def run() -> None:
        thread = threading.Thread(target=capture, args=(positive, (torch.randn(5),)))
        thread.start()
        thread.join()

    assert heard(run) == []


def test_a_listener_changes_no_program() -> None:
    programs = []

    def run() -> None:
        programs.append(capture(positive, (torch.randn(5),)))

    run()
    heard(run)
    plain, observed = programs
    assert str(plain.graph) == str(observed.graph)
    assert plain.code == observed.code
    assert [str(g) for g in plain.guards] == [str(g) for g in observed.guards]


def test_a_listener_that_branches_on_a_size_does_not_break_the_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def branches(event: SymbolCreation) -> None:
        if event.name == "u1":  # which the program makes
            event.env.guard(ge0(event.env.symbols[event.name].expr.shift(-3)))

    with subscribe(branches, SymbolCreation):
        program = capture(positive, (torch.randn(5),), dynamic="unbacked")
    assert program(torch.ones(3)).shape == (3,)
    (report,) = caplog.records
    assert report.exc_info is not None
    assert isinstance(report.exc_info[1], DataDependentError)


# ---------------------------------------------------------------------- compiling


def branch(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x * 2
    return x - 1


def test_a_graph_break_has_its_question_and_line() -> None:
    compiled = anyshape.compile(branch)
    found = heard(lambda: compiled(torch.ones(3)), GraphBreak, Answer)
    (broken,) = [e for e in found if type(e) is GraphBreak]
    assert broken.site.text == "if x.sum() > 0:"
    assert (broken.written, broken.question) == ("x.sum() > 0", "u0 == 1")
    assert str(broken).startswith("graph break: x.sum() > 0? at ")
    assert (found[-1].verb, found[-1].value, found[-1].site) == ("guard", True, broken.site)
    assert heard(lambda: compiled(torch.ones(3))) == []


def test_what_is_asserted_behind_a_break_is_an_event() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            torch._check(x.size(0) >= 3, lambda: "too few")
        return x

    compiled = anyshape.compile(program, dynamic=True)
    found = heard(lambda: compiled(torch.ones(4)), Assert, GraphBreak)
    assert [type(e) for e in found] == [GraphBreak, Assert]
    assert found[1].text == "3 <= x.size(0)"


def test_a_lowering_is_an_event_also_if_it_fails() -> None:
    def refuses(module: Any, inputs: Any) -> Any:
        raise RuntimeError("not today")

    def run(backend: Any) -> list[Any]:
        compiled = anyshape.compile(positive, backend=backend, fullgraph=True)
        return heard(lambda: compiled(torch.ones(3)), Lowering)

    (eager,) = run("eager")
    assert (eager.backend, eager.error) == ("eager", None)
    assert str(eager).startswith("eager: ")
    found: list[Any] = []
    with subscribe(found.append, Lowering), pytest.raises(BackendError, match="not today"):
        anyshape.compile(positive, backend=refuses, fullgraph=True)(torch.ones(3))
    (failed,) = found
    assert failed.backend == "refuses"
    assert isinstance(failed.error, BackendError)
    assert "failed" in str(failed)


def test_a_recompilation_is_the_record_of_the_function() -> None:
    compiled = anyshape.compile(positive, dynamic=False)
    found = heard(lambda: [compiled(torch.ones(n)) for n in (3, 4, 5, 3)], Recompilation)
    assert found == compiled.recompilations
    assert [len(e.reasons) for e in found] == [1, 2]
    assert all("x.size(0)" in str(e) for e in found)


def test_a_function_that_falls_back_says_why() -> None:
    compiled = anyshape.compile(positive, dynamic=False, recompile_limit=1)

    def run() -> None:
        compiled(torch.ones(3))
        with pytest.warns(AnyshapeWarning, match="limit"):
            compiled(torch.ones(4))

    (event,) = heard(run, Fallback)
    assert event.function == "positive"
    assert "limit" in event.why
    assert "eagerly" in str(event)
