"""Of several checks that fail, the first of the program is reported, as in eager execution."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

import anyshape
from anyshape import Dim, RuntimeAssertError, check, export
from anyshape.env import Env, Fact, Obligation
from anyshape.expr import parse


def tightening(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Two checks on one size, of which the second implies the first."""
    n = x.size(0)
    check(n <= 10, "a")
    check(n <= 5, "b")
    return x + 1


def in_order(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """Each check is on what became known last."""
    n = x.size(0)
    check(n <= 10, "a")
    check(n <= 5, "b")
    k = m.sum().item()
    check(k <= 8, "d")
    check(k <= 4, "e")
    return x + k


def out_of_order(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """Checks on what is known early come after checks on what is known late."""
    n = x.size(0)
    k = m.sum().item()
    j = (m * 2).sum().item()
    check(n <= 10, "a")
    check(j >= 3, "c")
    check(k <= 8, "d")
    check(n <= 5, "b")
    check(k <= 4, "e")
    return x + k + j


def by_an_op(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    """An op needs what an earlier check on data does not say."""
    k = m.sum().item()
    check(k <= 4, "e")
    check(x.size(0) <= 7, "a")
    return x.view(2, -1)


PROGRAMS = [tightening, in_order, out_of_order]
CALLS = list(itertools.product((3, 7, 20), (1, 2, 6, 20)))


def outcome(program: Any, n: int, k: int) -> str:
    """The message of the check that a call fails with; empty if it fails with none."""
    try:
        program(torch.ones(n), torch.tensor([k]))
    except RuntimeAssertError as error:
        return error.what
    return ""


def exported(f: Any) -> Any:
    example = (torch.ones(3), torch.tensor([2]))
    return export(f, example, dynamic_shapes=({0: Dim.UNBACKED}, None))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_report_the_check_that_eager_execution_reports(f: Any) -> None:
    eager = [outcome(f, *call) for call in CALLS]
    assert len(set(eager)) > 2
    assert [outcome(exported(f), *call) for call in CALLS] == eager
    compiled = anyshape.compile(f, dynamic="unbacked")
    compiled(torch.ones(3), torch.tensor([2]))
    assert [outcome(compiled, *call) for call in CALLS] == eager


def test_the_short_list_is_what_a_run_tests() -> None:
    program = exported(tightening)
    assert [o.message for o in program.runtime_asserts] == ["b"]
    assert program.code.count("fail(") == 1
    assert "failed" not in exported(in_order).code
    assert exported(out_of_order).code.count("if not") == 3


def test_the_line_is_that_of_the_first_check() -> None:
    with pytest.raises(RuntimeAssertError, match=r"^a") as caught:
        exported(tightening)(torch.ones(20), torch.tensor([1]))
    assert 'check(n <= 10, "a")' in caught.value.why


def test_a_need_of_an_op_waits_for_the_checks_before_it() -> None:
    example = (torch.ones(4), torch.tensor([2]))
    program = export(by_an_op, example, dynamic_shapes=({0: Dim.UNBACKED}, None))
    assert outcome(program, 3, 6) == "e"
    assert outcome(program, 3, 2).startswith("shape [2, -1]")
    assert outcome(program, 9, 6) == "e"
    assert outcome(program, 9, 2) == "a"


def test_a_condition_without_a_value_fails() -> None:
    env = Env()
    env.unbacked(), env.unbacked()
    facts = [Fact(parse(env.pool, text), "check") for text in ("u0 // u1 >= 2", "u0 >= 1")]
    last = Obligation(facts[1], env.knowledge, facts)
    first, is_open = last.first_failing({"u0": 0, "u1": 0})
    assert (first.text, is_open) == ("2 <= u0 // u1", False)
    first, is_open = last.first_failing({"u0": 0})
    assert (first.text, is_open) == ("1 <= u0", True)
    alone = Obligation(facts[1], env.knowledge)
    assert alone.first_failing({"u0": 0}) == (alone, False)
