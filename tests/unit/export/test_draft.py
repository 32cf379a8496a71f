"""Drafts: the program with a list of all problems, in place of the first error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from anyshape import (
    ConstraintError,
    ConstraintViolation,
    DataDependentError,
    Dim,
    EffectError,
    MissingRuleError,
    RuntimeAssertError,
    UnsupportedError,
    export,
)
from anyshape.export.example_env import ExampleEnv, ExampleTracer
from anyshape.trace.options import REFUSED, TraceOptions
from anyshape.trace.tracer import Tracer

SEEN: list[Any] = []


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
        self.calls = self.calls + 1
        SEEN.append(2)
        out = x.view(3, 2) * self.calls + z.squeeze(0).sum()
        if y.size(0) > 5:
            out = out + torch.from_numpy(y.numpy() + 1).sum()
        return out


ARGS = (torch.ones(3, 2), torch.ones(4), torch.ones(3, 2))
SPEC = ({0: "rows"}, {0: "n"}, {0: Dim.UNBACKED})


def test_all_problems_at_once() -> None:
    with pytest.raises((EffectError, ConstraintViolation)):
        export(Net(), ARGS, dynamic_shapes=SPEC)
    net = Net()
    program = export(net, ARGS, dynamic_shapes=SPEC, draft=True)
    texts = [str(p) for p in program.problems]
    for wanted in (
        "changes Net.calls",
        "changes a list",
        "rows is dynamic in the spec and always 3",
        "n, rows are dynamic in the spec, and the program refuses rows = 3, n = 6",
        "may differ from eager execution: squeeze",
    ):
        (found,) = [text for text in texts if wanted in text]
        assert "test_draft.py" in found
        assert "fix: " in found
    assert len(texts) == 5
    assert torch.equal(program(*ARGS), torch.ones(3, 2) + 6)
    assert net.calls == 0
    assert not SEEN


def test_a_draft_without_problems() -> None:
    program = export(lambda x: x * 2, (torch.ones(3),), dynamic_shapes=({0: "n"},), draft=True)
    assert program.problems == []
    assert export(lambda x: x * 2, (torch.ones(3),)).problems == []


def test_auto() -> None:
    program = export(
        lambda x: x.view(3), (torch.ones(3),), dynamic_shapes=({0: Dim.AUTO},), draft=True
    )
    (problem,) = program.problems
    assert problem.what.endswith("in the program it is 3")
    assert "test_draft.py" in problem.why


def counted(x: torch.Tensor) -> Any:
    n = x[0].item()
    y = torch.zeros(n)
    if n > 2:
        y = y + 1
    y = y * sum([2.0] * n)
    return y, 2.0 if x.sum().float().item() > 1.5 else 3.0


def test_questions_that_only_data_answers_are_those_of_the_example() -> None:
    with pytest.raises(DataDependentError):
        export(counted, (torch.tensor([3, 5]),))
    state = torch.get_rng_state()
    program = export(counted, (torch.tensor([3, 5]),), draft=True)
    assert torch.equal(torch.get_rng_state(), state)
    branch, loop = program.problems[:2]
    for problem in program.problems:
        assert "test_draft.py" in problem.what
        assert problem.fix
    assert "if n > 2" in branch.what
    assert "it is True for the example" in branch.why
    assert "it is 3 for the example" in loop.why
    torch.testing.assert_close(program(torch.tensor([3, 7])), counted(torch.tensor([3, 7])))
    with pytest.raises(RuntimeAssertError, match="for the example of the draft"):
        program(torch.tensor([4, 7]))


def test_a_draft_changes_neither_the_example_nor_the_module() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> Any:
            self.count.add_(1)
            x.mul_(2)
            return tuple({i: x + i for i in range(int(self.count.item()) + 1)}.values())

    net, x = Counter(), torch.ones(2)
    program = export(net, (x,), draft=True)
    assert program.problems
    assert net.count.item() == 0
    assert x.tolist() == [1, 1]
    assert len(program(torch.ones(2))) == 2
    assert net.count.item() == 1


@torch.library.custom_op("draft_tests::halves", mutates_args=())
def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[: len(x) // 2].clone(), x[len(x) // 2 :].clone()


def test_an_op_without_a_fake_kernel_is_run_on_the_example() -> None:
    def f(x: torch.Tensor) -> Any:
        first, second = halves(x * 2)
        return first.sum() + second, first.shape[0]

    x = torch.arange(5.0)
    with pytest.raises(UnsupportedError):
        export(f, (x,), dynamic_shapes=({0: "n"},))
    program = export(f, (x,), dynamic_shapes=({0: "n"},), draft=True)
    (problem,) = program.problems
    assert "no shape rule for halves" in problem.what
    assert "test_draft.py" in problem.what
    assert "register_rule" in problem.fix
    for n in (5, 2, 1, 0, 9):
        torch.testing.assert_close(program(torch.arange(n * 1.0)), f(torch.arange(n * 1.0)))


@torch.library.custom_op("draft_tests::bump", mutates_args={"y"})
def bump(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y.add_(1)
    return x.clone()


def test_an_op_that_writes_needs_a_fake_kernel() -> None:
    def f(x: torch.Tensor) -> Any:
        y = x * 2
        return bump(x, y) + y

    with pytest.raises(MissingRuleError, match="no shape rule for bump"):
        export(f, (torch.ones(3),), draft=True)


def test_only_a_missing_rule_is_taken_from_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise UnsupportedError("no shape rule of mine takes this")

    monkeypatch.setattr(Tracer, "call", refuse)
    with pytest.raises(UnsupportedError, match="of mine"):
        ExampleTracer(ExampleEnv(), TraceOptions(REFUSED)).call(halves, (torch.ones(3),), {})


def test_what_a_draft_cannot_assume_is_an_error() -> None:
    def f(x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1 if x.max() > 3 else x, lambda x: x, (x,))

    with pytest.raises(DataDependentError):
        export(f, (torch.ones(3),), draft=True)


def test_sizes_that_are_refused_one_by_one_are_one_problem() -> None:
    def f(x: torch.Tensor) -> Any:
        return x * len(str(x.shape[0]))

    program = export(f, (torch.ones(3),), dynamic_shapes=({0: "n"},), draft=True)
    (problem,) = program.problems
    assert "refuses n = " in problem.what


def test_asserts_about_unbacked_sizes_are_problems() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    spec = ({0: Dim.UNBACKED}, {0: Dim.UNBACKED})
    program = export(f, (torch.ones(3), torch.ones(3)), dynamic_shapes=spec, draft=True)
    (problem,) = program.problems
    assert "refuses x.size(0) = 0, y.size(0) = 1" in problem.what
    assert "test_draft.py" in problem.why
    assert not program.is_complete


def of_array(x: torch.Tensor) -> Any:
    return x + float(x.numpy().sum())


def of_computed_array(x: torch.Tensor) -> Any:
    return torch.from_numpy(np.array((x + 1) * 2) * 2) + x


@pytest.mark.parametrize("fn", [of_array, of_computed_array])
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_goes_on_past_arrays(fn: Any) -> None:
    x = torch.arange(3.0)
    with pytest.raises(UnsupportedError, match="needs the data"):
        export(fn, (x,), dynamic_shapes=({0: "n"},))
    program = export(fn, (x,), dynamic_shapes=({0: "n"},), draft=True)
    (found,) = [str(p) for p in program.problems if "needs the data" in str(p)]
    assert "test_draft.py" in found
    assert "fix: " in found
    assert torch.equal(program(x), fn(x))
    for other in (x + 1, torch.arange(4.0), torch.arange(0.0), torch.arange(1.0)):
        with pytest.raises((RuntimeAssertError, ConstraintError)):
            program(other)
