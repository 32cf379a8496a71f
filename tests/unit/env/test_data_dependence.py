"""What a question that only the data answer advises."""

from __future__ import annotations

import pytest

from anyshape.env import Env
from anyshape.errors import DataDependentError
from anyshape.expr import eq0


def test_a_truth_from_data_needs_no_branch() -> None:
    env = Env()
    with pytest.raises(DataDependentError) as caught:
        env.guard(eq0(env.unbacked(min=0, max=1).shift(-1)))
    assert caught.value.fix.startswith("torch.where(")
    assert "torch.cond(" in caught.value.fix


def test_a_number_with_a_name_can_be_checked() -> None:
    env = Env()
    truth = env.unbacked(min=0, max=1, source="flag.item()")
    with pytest.raises(DataDependentError) as caught:
        env.guard(eq0(truth.shift(-1)))
    assert "add torch._check(" in caught.value.fix
