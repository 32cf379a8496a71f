"""Drafts: the program with a list of all problems, in place of the first error."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape import ConstraintViolation, Dim, EffectError, export

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
