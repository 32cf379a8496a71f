"""A refusal that a program swallows ends its trace; one that was only made does not."""

from __future__ import annotations

import ast
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError, DataDependentError, UnsupportedError
from anyshape.refusal import forgive, need_none_swallowed, refused
from anyshape.tensor.current import enter, leave
from anyshape.trace import capture

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(anyshape.__file__).parent
TRACED = ("expr", "env", "symbolic", "tensor", "rules", "trace")  # runs below user code
# Raised by the tracer itself, after or outside the program; or where no program runs.
ELSEWHERE = {"z3_bridge.py", "recorder.py"}
REFUSALS = {"UnsupportedError", "DataDependentError", "NoHashError", "MissingNodeError"}


class Trace:
    def __init__(self) -> None:
        self.refusals: list[AnyshapeError] = []


@contextmanager
def traced() -> Iterator[None]:
    trace = Trace()
    before = enter(trace)
    try:
        yield
        need_none_swallowed(trace)
    finally:
        leave(before)


def swallow(error: AnyshapeError) -> None:
    try:
        raise error
    except AnyshapeError:
        pass


def test_making_an_error_changes_nothing() -> None:
    with traced():
        swallow(UnsupportedError("made"))
        swallow(DataDependentError("made"))
        refused(UnsupportedError, "made and not raised")


def swallow_two() -> None:
    with traced():
        swallow(refused(UnsupportedError, "first"))
        swallow(refused(UnsupportedError, "second", why="w", fix="f"))
        refused(UnsupportedError, "made and not raised")


def test_a_swallowed_refusal_is_raised_in_the_end() -> None:
    with pytest.raises(UnsupportedError, match="second"):
        swallow_two()


def test_a_forgiven_refusal_is_forgotten() -> None:
    with traced():
        error = refused(UnsupportedError, "internal")
        swallow(error)
        forgive(error)


def fail_after_an_inner_trace() -> None:
    with traced():
        with pytest.raises(UnsupportedError, match="second"):
            swallow_two()
        raise KeyError


def test_traces_nest_and_errors_pass() -> None:
    with pytest.raises(KeyError):
        fail_after_an_inner_trace()
    swallow(refused(UnsupportedError, "outside of any trace"))
    with traced():
        pass


def test_a_trace_keeps_the_refusals_of_its_thread_alone() -> None:
    with traced():
        other = threading.Thread(target=lambda: swallow(refused(UnsupportedError, "elsewhere")))
        other.start()
        other.join()


def hides_a_branch(x: torch.Tensor) -> Any:
    try:
        big = bool(x.sum() > 0)
    except RuntimeError:
        big = False
    return x + 1 if big else x


def hides_a_key(x: torch.Tensor) -> Any:
    try:
        return x * {x.size(0): 2.0}[x.size(0)]
    except TypeError:
        return x


def hides_a_power(x: torch.Tensor) -> Any:
    try:
        return x + x.size(0) ** 100_000
    except NotImplementedError:
        return x


@pytest.mark.parametrize("fn", [hides_a_branch, hides_a_key, hides_a_power])
def test_programs_that_swallow_a_refusal_are_not_traced(fn: Any) -> None:
    with pytest.raises(AnyshapeError):
        capture(fn, (torch.ones(3),), dynamic="unbacked")


def unrecorded(folder: str) -> list[str]:
    found = []
    for file in sorted((PACKAGE / folder).rglob("*.py")):
        if file.name in ELSEWHERE:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in REFUSALS:
                found.append(f"{file.relative_to(PACKAGE)}:{node.lineno}")
    return found


@pytest.mark.parametrize("folder", TRACED)
def test_all_refusals_below_user_code_are_remembered(folder: str) -> None:
    assert unrecorded(folder) == []
