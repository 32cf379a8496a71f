"""Guards of torch on sizes: those that are dropped, those about empty tensors, and premises."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
import torch

from anyshape.interop.size_guards import GuardSorter, KeptGuard, TakenGuard
from anyshape.trace import capture

S, T = sympy.symbols("s0 s1", integer=True)
NAMES = {"s0": "u0", "s1": "u1"}


def program(x: Any) -> Any:
    return (x * 2).flatten()


def kept(condition: Any, known: bool = True) -> KeptGuard | None:
    captured = capture(program, (torch.randn(3, 4),), dynamic="unbacked")
    sorter = GuardSorter(captured, known=known)
    found = sorter.kept([TakenGuard(condition, NAMES, "view in ops.py")])
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("condition", [S >= 0, sympy.Ge(S * T, 0), S + T > -1])
def test_what_the_trace_knows_is_dropped(condition: Any) -> None:
    assert kept(condition) is None


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        (sympy.Ne(S, 1), ((1, 0),)),
        (sympy.Ne(S, 0), ((0, 3), (0, 0))),
        (S >= 2, ((0, 3), (0, 0), (1, 0))),
        (S * T > 1, ((0, 3), (2, 0), (0, 0), (1, 0))),
        (S < S * T, ((0, 3), (2, 0), (0, 0), (1, 0))),
        (96 * S > 96, ((0, 3), (0, 0), (1, 0))),
    ],
)
def test_what_follows_from_sizes_of_two_holds_for_all_that_are_not_empty(
    condition: Any, fails: tuple[Any, ...]
) -> None:
    guard = kept(condition)
    assert guard is not None
    assert not guard.premise
    for u0, u1 in ((1, 1), (1, 7), (7, 1), (2, 2), (5, 3)):
        assert eval(guard.text, {"u0": u0, "u1": u1}), (u0, u1)
    for u0, u1 in ((0, 3), (2, 0), (0, 0), (1, 0)):
        assert bool(eval(guard.text, {"u0": u0, "u1": u1})) is ((u0, u1) not in fails), (u0, u1)


@pytest.mark.parametrize(
    "condition", [sympy.Eq(S, 13), S <= 15, S > T, sympy.Eq(S % 8, 0), S * T < 2**31, S >= 3]
)
def test_the_others_are_premises_with_who_asked(condition: Any) -> None:
    guard = kept(condition)
    assert guard is not None
    assert guard.premise
    assert guard.shown.endswith("(asked by view in ops.py)")


def test_a_compiler_that_is_not_known_may_mean_anything() -> None:
    guard = kept(sympy.Ne(S, 1), known=False)
    assert guard is not None
    assert guard.premise
