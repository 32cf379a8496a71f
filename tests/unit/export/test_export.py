"""Exported programs: variants, the contract, violations with fixes that work, verify, explain."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape import (
    AnyshapeWarning,
    ConstraintError,
    ConstraintViolation,
    Dim,
    RuntimeAssertError,
    export,
)


def branches(x: torch.Tensor) -> Any:
    if x.size(0) == 0:
        return x.sum(1), 0
    if x.size(0) == 1:
        return x.sum(1) + 100, 1
    return (x.sum(1) * 2, 2) if x.size(0) > 6 else (x.sum(1), 3)


@pytest.mark.parametrize("n", [0, 1, 3, 9])
def test_every_branch_on_a_size_has_its_variant(n: int) -> None:
    program = export(branches, (torch.randn(n, 4),), dynamic_shapes=({0: "batch"},))
    assert len(program.variants) == 4
    assert program.is_complete
    report = program.verify(*[(torch.randn(m, 4),) for m in (0, 1, 2, 5, 6, 7, 20)])
    assert report.ok, str(report)


def test_the_contract_says_it() -> None:
    program = export(branches, (torch.randn(3, 4),), dynamic_shapes=({0: "batch"},))
    text = str(program.contract())
    assert "x: float32[batch, 4]" in text
    assert "one of:" in text
    assert "batch == 0" in text
    assert "7 <= batch" in text


def test_what_the_program_refuses_is_refused_with_its_reason() -> None:
    def f(x: torch.Tensor) -> Any:
        if x.size(0) > 4:
            raise ValueError("too many rows")
        return x * 2

    program = export(f, (torch.randn(3, 2),), dynamic_shapes=({0: "rows"},))
    assert program(torch.randn(2, 2)).shape == (2, 2)
    with pytest.raises(ConstraintError, match=r"(?s)f raises for rows = 7.*too many rows"):
        program(torch.randn(7, 2))
    assert "raises where 5 <= rows: ValueError: too many rows" in str(program.contract())


def pinned_by_view(x: torch.Tensor) -> Any:
    return x.view(3, 2)


def pinned_by_branches(x: torch.Tensor) -> Any:
    torch._check(x.size(0) > 2)
    torch._check(x.size(0) < 4)
    return x + 1


def pinned_by_constant(x: torch.Tensor) -> Any:
    return x.sum(1) + torch.ones(3)


@pytest.mark.parametrize("fn", [pinned_by_view, pinned_by_branches])
@pytest.mark.parametrize("entry", [Dim.DYNAMIC, "rows", Dim("rows")])
def test_a_size_that_cannot_vary_is_a_violation_whose_fix_works(fn: Any, entry: Any) -> None:
    x = torch.randn(3, 2)
    with pytest.raises(ConstraintViolation) as caught:
        export(fn, (x,), dynamic_shapes=({0: entry},))
    text = str(caught.value)
    assert "always 3" in text
    assert f"in {fn.__name__}" in text
    assert "9223372036854775807" not in text
    assert torch.equal(export(fn, (x,), dynamic_shapes=({0: 3},))(x), fn(x))


def test_auto_may_be_pinned_and_says_so() -> None:
    x = torch.randn(3, 2)
    text = r"(?s)x\.size\(0\) is Dim.AUTO .* it is 3.*view\(3, 2\)"
    with pytest.warns(AnyshapeWarning, match=text):
        program = export(pinned_by_view, (x,), dynamic_shapes=({0: Dim.AUTO},))
    assert "specialized: x.size(0) is always 3" in program.explain()
    with pytest.raises(ConstraintError):
        program(torch.randn(4, 2))


def test_all_violations_come_together() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x.view(3), y.view(5)

    with pytest.raises(ConstraintViolation, match=r"rows is dynamic.*columns is dynamic"):
        export(f, (torch.randn(3), torch.randn(5)), dynamic_shapes=({0: "rows"}, {0: "columns"}))


def test_unbacked_sizes_make_one_variant_for_all() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.cat([x, y]).relu().sum(0)

    spec = ({0: Dim.UNBACKED}, {0: Dim.UNBACKED(min=1)})
    program = export(f, (torch.randn(3, 2), torch.randn(2, 2)), dynamic_shapes=spec)
    assert len(program.variants) == 1
    assert program.verify(*[(torch.randn(n, 2), torch.randn(n + 1, 2)) for n in (0, 1, 4)])
    with pytest.raises(RuntimeAssertError, match=r"y\.size\(0\)"):
        program(torch.randn(3, 2), torch.randn(0, 2))


def test_messages_of_checks_and_names_of_sizes() -> None:
    def f(x: torch.Tensor) -> Any:
        n = x.sum().item()
        torch._check(n <= x.size(0), lambda: "not enough rows")
        torch._check(n >= 0)
        return x[:n]

    program = export(f, (torch.tensor([1, 1, 1]),), dynamic_shapes=({0: "rows"},))
    assert program(torch.tensor([1, 0, 1, 0])).tolist() == [1, 0]
    with pytest.raises(RuntimeAssertError, match="not enough rows"):
        program(torch.tensor([9, 0]))


def test_a_module_with_state() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).eval()
    program = export(module, (torch.randn(5, 4),), dynamic_shapes=({0: "batch"},))
    assert set(program.state) == {
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
        "1.num_batches_tracked",
    }  # fmt: skip
    assert program.verify(*[torch.randn(n, 4) for n in (0, 1, 7)])
    assert program.name == "Sequential"


def test_verify_shows_what_differs() -> None:
    program = export(lambda x: x + 1, (torch.randn(3),), dynamic_shapes=({0: "n"},))
    report = program.verify((torch.randn(2),), (torch.randn(4, 4),), eager=lambda x: x + 2)
    assert not report
    assert [r.outcome for r in report.rows] == ["differs", "refused"]
    assert "result 0 by up to 1" in str(report)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.complex64])
def test_verify_compares_results_of_any_dtype(dtype: torch.dtype) -> None:
    program = export(lambda x: x.to(dtype), (torch.ones(3),), dynamic_shapes=({0: "n"},))
    assert program.verify((torch.ones(2),))
    report = program.verify((torch.ones(2),), eager=lambda x: (x - 1).to(dtype))
    assert "result 0 by up to 1" in str(report)


def test_explain_names_lines_and_deviations() -> None:
    def f(x: torch.Tensor) -> Any:
        return x.squeeze(0) + 1

    program = export(f, (torch.randn(3, 2),), dynamic_shapes=({0: Dim.UNBACKED},))
    text = program.explain()
    assert "deviation: squeeze where x.size(0) == 1" in text
    assert "test_export.py" in text
    assert [d.op for d in program.deviations] == ["squeeze"]


def test_ranges_symbols_code_and_fx() -> None:
    program = export(
        lambda x: x * 2, (torch.randn(3),), dynamic_shapes=({0: Dim("n", min=2, max=9)},)
    )
    assert {k: (v.lo, v.hi) for k, v in program.range_constraints.items()} == {"n": (2, 9)}
    assert "v0 = i0 * 2" in program.code
    assert [s.label for s in program.symbols.values()] == ["n"]
    assert torch.equal(program.to_fx()(torch.ones(4))[0], torch.full((4,), 2.0))
    with pytest.raises(ConstraintError, match="n <= 9"):
        program(torch.randn(10))


def test_deviations_can_be_errors() -> None:
    def f(x: torch.Tensor) -> Any:
        return x.squeeze(0) + 1

    spec = ({0: Dim.UNBACKED},)
    program = export(f, (torch.randn(3, 2),), dynamic_shapes=spec, on_deviation="raise")
    assert program(torch.randn(4, 2)).shape == (4, 2)
    with pytest.raises(RuntimeAssertError, match="squeeze keeps dimension 0"):
        program(torch.randn(1, 2))


def test_dynamic_numbers() -> None:
    def f(x: torch.Tensor, k: int, scale: float, flip: bool) -> Any:
        y = x[:k] * scale if scale > 0 else x[:k] - scale
        return y.flip(0) if flip else y

    args = (torch.randn(6), 3, 0.5, False)
    program = export(f, args, dynamic_shapes=({0: "n"}, Dim.DYNAMIC, Dim.DYNAMIC, Dim.DYNAMIC))
    calls = [
        (torch.randn(n), k, s, b)
        for n in (1, 6)
        for k in (2, -1, 9)
        for s in (2.0, -1.5)
        for b in (True, False)
    ]
    report = program.verify(*calls)
    assert report.ok, str(report)
    text = str(program.contract())
    assert "  k: int\n  scale: float\n  flip: bool\n" in text
    assert [i.varies for i in program.contract().inputs] == [False, True, True, True]


def test_a_branch_at_a_far_constant_is_found() -> None:
    def f(x: torch.Tensor) -> Any:
        return x + 1 if x.size(0) == 123 else x

    program = export(f, (torch.randn(5),), dynamic_shapes=({0: "n"},))
    assert program.verify(*[(torch.randn(n),) for n in (0, 1, 123, 124)])


def test_a_view_that_is_the_input_itself_without_gradients() -> None:
    with torch.no_grad():
        program = export(lambda x: x.flatten() + 1, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    for n in (0, 1, 3):
        assert torch.equal(program(torch.ones(n)), torch.full((n,), 2.0))
