"""Exploration: proofs that all sizes are served, holes that are found, and variants that merge."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

from anyshape import (
    AnyshapeWarning,
    ConstraintViolation,
    Dim,
    RuntimeAssertError,
    UnsupportedError,
    export,
)
from anyshape.export import explore, merge
from anyshape.export.coverage import Coverage, Size, coverage, first_hole
from anyshape.expr import Pool, parse, symbol

X = torch.ones(4, 6)
HW = ({0: "h", 1: "w"},)


def diagonal(x: torch.Tensor) -> Any:
    h, w = x.shape
    return x + 1 if h * w == 196 and h == w else x * 2


def far_cube(x: torch.Tensor) -> Any:
    return x + 1 if x.size(0) ** 3 == 97**3 else x * 2


def congruent(x: torch.Tensor) -> Any:
    h, w = x.shape
    return x + 1 if h % 7 == 3 and w % 5 == 4 and h > 50 else x * 2


def sum_of_squares(x: torch.Tensor) -> Any:
    h, w = x.shape
    return x + 1 if h * h + w * w == 841 and h < w else x * 2


HOLES = [  # a function with sizes in a branch that likely sizes do not reach
    (diagonal, HW, (14, 14)),
    (far_cube, ({0: "h"},), (97, 6)),
    (congruent, HW, (52, 9)),
    (sum_of_squares, HW, (20, 21)),
]


@pytest.mark.parametrize(("fn", "spec", "shape"), HOLES)
@pytest.mark.parametrize("solver", [True, False])
def test_planted_holes_are_found(
    fn: Any, spec: Any, shape: Any, solver: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not solver:
        monkeypatch.setitem(sys.modules, "z3", None)
        monkeypatch.delitem(sys.modules, "anyshape.expr.z3_bridge", raising=False)
    program = export(fn, (X,), dynamic_shapes=spec)
    assert program.verify((torch.ones(shape),), (X,), (torch.ones(1, 6),)).ok
    if not program.is_complete:  # never without the hole that was planted
        assert not solver


def test_a_proof_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a coverage that claims a proof leaves the hole open."""
    monkeypatch.setattr(explore, "coverage", lambda *_: Coverage(True))
    program = export(diagonal, (X,), dynamic_shapes=HW)
    assert program.is_complete
    assert not program.verify((torch.ones(14, 14),)).ok


def test_coverage_answers() -> None:
    pool = Pool()
    symbol(pool, "n", 0)
    symbol(pool, "m", 0)
    sizes = [Size("n", 0, float("inf")), Size("m", 0, float("inf"))]

    def regions(*texts: str) -> Any:
        return [[parse(pool, part) for part in text.split(" and ")] for text in texts]

    assert coverage(sizes, [], regions("n >= 3", "n <= 2")) == Coverage(True)
    assert coverage(sizes, [], regions("n*m != 35", "n*m == 35")) == Coverage(True)
    hole = coverage(sizes, [], regions("n*m != 35", "n >= 6 and n <= 8")).hole
    assert hole is not None
    assert hole["n"] in (1, 5, 35)
    assert hole["n"] * hole["m"] == 35
    assert not coverage(sizes, [], regions("6 // n >= 2", "n <= 2")).is_proved


def test_search_stays_within_bounds() -> None:
    tried: list[int] = []

    def note(values: dict[str, int]) -> bool:
        tried.append(values["n"])
        return values["n"] == 205

    found = first_hole([Size("n", 0, 300)], {"n": 200}, {"n": 201, "m": 3}, note)
    assert found == {"n": 205, "m": 3}
    assert tried == [200, 201, 202, 203, 204, 205]
    assert first_hole([Size("k", -9, 9)], {}, {"k": 0}, lambda v: v["k"] == -3) == {"k": -3}
    assert first_hole([Size(f"n{i}", 0, 9) for i in range(5)], {}, {}, lambda _: True) is None


# ---------------------------------------------------------------------- fewer variants


def test_branches_with_equal_programs_are_one() -> None:
    def f(x: torch.Tensor) -> Any:
        if x.size(0) > 1:
            return x.sum(1)
        return torch.sum(x, 1) if x.size(0) == 7 else x.sum(1)

    program = export(f, (X,), dynamic_shapes=({0: "n"},))
    assert len(program.variants) == 1
    assert program.contract().variants == [[]]
    assert program.contract().ranges == {"n": (0, None)}
    assert program.is_complete
    assert program.verify(*[(torch.ones(n, 6),) for n in (0, 1, 2, 9)]).ok


@pytest.mark.parametrize("n", [1, 3, 5])
def test_a_constant_that_is_the_size_there(n: int) -> None:
    def f(x: torch.Tensor) -> Any:
        rows = 3 if x.size(0) == 3 else x.size(0)
        return x.new_zeros(rows, 2) + rows

    program = export(f, (torch.ones(n, 6),), dynamic_shapes=({0: "n"},))
    assert len(program.variants) == 1
    assert program.verify(*[(torch.ones(n, 6),) for n in (0, 1, 3, 9)]).ok
    assert "specialized" not in program.explain()


def test_sizes_that_broadcast_are_one_variant() -> None:
    with pytest.warns(match="two names"):
        program = export(
            lambda x, y: x + y, (X, torch.ones(4, 6)), dynamic_shapes=({0: "a"}, {0: "b"})
        )
    assert program.contract().variants == [["a == b or b == 1 or a == 1"]]
    shapes = [(3, 3), (1, 4), (4, 1), (0, 1), (2, 3)]
    assert program.verify(*[(torch.ones(a, 6), torch.ones(b, 6)) for a, b in shapes]).ok


def test_neighbours_are_an_interval() -> None:
    def f(x: torch.Tensor) -> Any:
        n = x.size(0)
        if any(n == k for k in (4, 5, 6)):
            return x + n
        return x * 2 if n < 4 else x * 3

    program = export(f, (X,), dynamic_shapes=({0: "n"},))
    guards = program.contract().variants
    assert guards[0] == ["4 <= n", "n <= 6"]
    assert len(guards) == 3
    assert program.verify(*[(torch.ones(n, 6),) for n in (0, 3, 4, 5, 6, 7)]).ok


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x + 1 if x.size(0) > 1 else x + 2,
        lambda x: x * 1.0 if x.size(0) > 1 else x * -1.0,
        lambda x: x.sum(0) if x.size(0) > 1 else x.sum(1),
        lambda x: (x, 1) if x.size(0) > 1 else (x, 1.0),
        lambda x: {"a": x} if x.size(0) > 1 else {"b": x},
        lambda x: x.new_zeros(x.size(0)) if x.size(0) > 1 else x.new_zeros(2 * x.size(0)),
    ],
)
def test_branches_that_differ_stay_apart(fn: Any) -> None:
    program = export(fn, (X,), dynamic_shapes=({0: "n"},))
    assert len(program.variants) == 2
    assert program.verify(*[(torch.ones(n, 6),) for n in (0, 1, 2)]).ok


def test_an_assert_that_only_one_branch_has() -> None:
    def f(x: torch.Tensor, k: torch.Tensor) -> Any:
        n = k.item()
        torch._check(n >= 0)
        if x.size(0) > 1:
            torch._check(n <= 3)
        return x * n

    program = export(f, (X, torch.tensor(2)), dynamic_shapes=({0: "n"}, None))
    calls = [(torch.ones(n, 6), torch.tensor(k)) for n in (1, 2) for k in (2, 5)]
    assert program.verify(*calls).ok


def test_deviations_of_several_variants_can_be_errors() -> None:
    def f(x: torch.Tensor, k: torch.Tensor) -> Any:
        y = x.squeeze(0) + 1
        return y * 2 if k.size(0) > 1 else y * 3

    spec = ({0: Dim.UNBACKED}, {0: "k"})
    program = export(f, (X, torch.ones(3)), dynamic_shapes=spec, on_deviation="raise")
    for k in (0, 1, 3):
        assert program(X, torch.ones(k)).shape == X.shape
        with pytest.raises(RuntimeAssertError, match="squeeze keeps dimension 0"):
            program(torch.ones(1, 6), torch.ones(k))


def test_merging_what_differs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a comparison that finds all variants equal."""
    monkeypatch.setattr(merge._Pairs, "serves", lambda *_: True)
    program = export(lambda x: x + 1 if x.size(0) > 1 else x + 2, (X,), dynamic_shapes=({0: "n"},))
    assert not program.verify((X,), (torch.ones(1, 6),)).ok


# ---------------------------------------------------------------------- what is refused


def small_only(x: torch.Tensor) -> Any:
    if x.size(0) > 6:
        return x + torch.from_numpy(x.numpy() + 1)
    return x * 2


def test_a_branch_that_cannot_be_exported() -> None:
    with pytest.raises(
        ConstraintViolation,
        match=r"(?s)n is dynamic in the spec, and the program refuses n = \d+.*7 <= n .*"
        r"in small_only: .*UnsupportedError",
    ) as caught:
        export(small_only, (X,), dynamic_shapes=({0: "n"},))
    assert isinstance(caught.value.__cause__, UnsupportedError)
    program = export(small_only, (X,), dynamic_shapes=({0: "n"},), allow_partial=True)
    assert not program.is_complete
    assert "not exported where 7 <= n: UnsupportedError" in str(program.contract())
    with pytest.raises(ValueError, match="small_only could not be exported for n = 9"):
        program(torch.ones(9, 6))
    export(small_only, (X,), dynamic_shapes=({0: Dim("n", max=6)},))
    with pytest.warns(match=r"x\.size\(0\) is Dim.AUTO .* it is narrowed by 7 <= x\.size\(0\)"):
        export(small_only, (X,), dynamic_shapes=({0: Dim.AUTO},))


def tied_loop(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
    if x.shape != y.shape or x.shape != z.shape:
        raise ValueError("shapes differ")
    for i in range(x.size(1)):
        x = x + y[:, i : i + 1] * z
    return x


def test_sizes_that_equations_tie_change_together() -> None:
    shapes = ({0: Dim.AUTO, 1: Dim.AUTO},) * 3
    with pytest.warns(AnyshapeWarning, match="is one of 0, 1, 2, 3, 4"):
        program = export(tied_loop, (torch.ones(2, 3),) * 3, dynamic_shapes=shapes)
    for n in (0, 1, 2, 5):
        given = [torch.randn(4, n) for _ in range(3)]
        assert torch.equal(program(*given), tied_loop(*given))
