"""The tracer: data-dependent values, value numbering, deviations, escapes, rules of users."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

import anyshape
from anyshape.errors import (
    ArgumentError,
    DataDependentError,
    RuntimeAssertError,
    UnsupportedError,
)
from anyshape.tensor import observed
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace import capture


def test_the_same_mask_gives_the_same_symbol() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        a = x[x > 0]
        b = y[x > 0]
        return a + b

    captured = capture(f, (torch.randn(5), torch.randn(5)), dynamic="unbacked")
    assert [o.text for o in captured.runtime_asserts] == ["x.size(0) == y.size(0)"]
    x, y = torch.randn(9), torch.randn(9)
    assert torch.equal(captured(x, y), f(x, y))


def test_a_mask_that_changed_gives_another_symbol() -> None:
    def f(x: torch.Tensor) -> Any:
        mask = x > 0
        a = x[mask]
        mask[0] = False
        return a, x[mask]

    captured = capture(f, (torch.randn(5),), dynamic="unbacked")
    sizes = [v.meta.shape for v in captured.graph.outputs]
    assert str(sizes[0]) != str(sizes[1])
    x = torch.ones(4)
    assert [t.shape[0] for t in captured(x)] == [4, 3]


def test_random_values_are_never_equal() -> None:
    def f(x: torch.Tensor) -> Any:
        a = (torch.rand(x.shape) > 0.5).sum().item()
        b = (torch.rand(x.shape) > 0.5).sum().item()
        return a - b

    captured = capture(f, (torch.randn(50),), dynamic="unbacked")
    torch.manual_seed(1)
    want = f(torch.randn(50))
    torch.manual_seed(1)
    assert captured(torch.randn(50)) == want
    assert want != 0


def test_items_know_the_range_of_their_dtype() -> None:
    def f(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
        n, flag, m = a.item(), b.item(), c.item()
        return n >= 0, n <= 255, flag, m

    captured = capture(
        f,
        (torch.tensor(3, dtype=torch.uint8), torch.tensor(True), torch.tensor(5)),
    )
    first, second, flag, _ = captured.graph.outputs
    assert first.known() is True
    assert second.known() is True
    assert flag.known() is None
    args = (torch.tensor(9, dtype=torch.uint8), torch.tensor(False), torch.tensor(-4))
    assert captured(*args) == (True, True, False, -4)


def test_a_branch_on_data_names_the_line_and_the_fix() -> None:
    def f(x: torch.Tensor) -> Any:
        n = x.sum().item()
        if n > 3:
            return x
        return -x

    with pytest.raises(DataDependentError, match=r"test_tracer.py:\d+ in f: if n > 3") as info:
        capture(f, (torch.tensor([1, 2]),))
    assert "check(" in str(info.value)


def test_broadcasting_asserts_and_says_so() -> None:
    captured = capture(lambda x: x + torch.ones(5), (torch.randn(5),), dynamic="unbacked")
    assert [o.text for o in captured.runtime_asserts] == ["x.size(0) == 5"]
    with pytest.raises(RuntimeAssertError, match=r"do not broadcast: x\.size\(0\) is not 5"):
        captured(torch.randn(1))


def test_squeeze_keeps_what_only_the_run_knows_and_lists_it() -> None:
    def f(x: torch.Tensor) -> Any:
        return torch.squeeze(x)

    captured = capture(
        f, (torch.randn(3, 20, 1),), dynamic=lambda s: "unbacked" if s.dim == 0 else "static"
    )
    (deviation,) = captured.deviations
    assert deviation.op == "squeeze"
    assert str(deviation.condition) == "u0 == 1"
    assert deviation.site.text == "return torch.squeeze(x)"
    for n in (0, 1, 2, 7):
        assert captured(torch.randn(n, 20, 1)).shape == (n, 20)


def test_a_rank_8_permute_of_unbacked_sizes_and_its_layout() -> None:
    def f(x: torch.Tensor) -> Any:
        y = x.permute(7, 6, 5, 4, 3, 2, 1, 0) + 1
        return y, y.is_contiguous(), y.stride(), y.contiguous().is_contiguous()

    captured = capture(f, (torch.randn(*[2] * 8),), dynamic="unbacked")
    x = torch.randn(2, 3, 2, 3, 2, 3, 2, 3)
    got, want = captured(x), f(x)
    assert torch.equal(got[0], want[0])
    assert (got[1], got[3]) == (False, True)
    assert tuple(got[2]) == tuple(want[2])
    assert {d.op for d in captured.deviations} == {"is_contiguous"}


def test_an_escape_names_the_op_and_the_line() -> None:
    def f(x: torch.Tensor) -> Any:
        with torch._C.DisableTorchFunction():
            return torch.add(x, 1)

    with pytest.raises(UnsupportedError, match=r"aten.add.* at test_tracer.py:\d+ in f"):
        capture(f, (torch.randn(3),))


def test_a_tensor_that_left_its_trace_says_so() -> None:
    kept: list[Any] = []

    def f(x: torch.Tensor) -> Any:
        kept.append(x)
        return x

    capture(f, (torch.randn(3),))
    assert isinstance(kept[0], SymTensor)
    with pytest.raises(UnsupportedError, match="outside the trace"):
        torch.add(kept[0], 1)
    with pytest.raises(UnsupportedError, match="outside the trace"):
        kept[0] + 1
    with pytest.raises(UnsupportedError, match="outside the trace"):
        capture(lambda x: x + kept[0], (torch.randn(3),))


def test_ops_without_a_rule_go_through_torchs_meta_kernel() -> None:
    captured = capture(
        lambda x: torch.ops.aten.special_bessel_j0.default(x) + torch.trapezoid(x, dim=0),
        (torch.rand(4, 3),),
        dynamic="unbacked",
    )
    x = torch.rand(6, 3)
    want = torch.special.bessel_j0(x) + torch.trapezoid(x, dim=0)
    torch.testing.assert_close(captured(x), want)


def test_an_op_without_rule_and_kernel_says_how_to_add_one() -> None:
    @torch.library.custom_op("anyshape_test::no_rule", mutates_args=())
    def no_rule(x: torch.Tensor) -> torch.Tensor:
        return x.repeat(2)

    with pytest.raises(UnsupportedError, match=r"(?s)no_rule.*register_rule"):
        capture(no_rule, (torch.randn(3),))

    @anyshape.register_rule(torch.ops.anyshape_test.no_rule.default)
    def _(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(2 * x.shape[0])

    captured = capture(lambda x: no_rule(x) + 1, (torch.randn(3),), dynamic="unbacked")
    assert str(captured.graph.outputs[0].meta) == "float32[2*u0]"
    assert torch.equal(captured(torch.ones(4)), torch.full((8,), 2.0))


def test_bad_rules_are_refused() -> None:
    with pytest.raises(ArgumentError, match="takes an op"):
        anyshape.register_rule(3)

    @torch.library.custom_op("anyshape_test::bad_rule", mutates_args=())
    def bad_rule(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    anyshape.register_rule(torch.ops.anyshape_test.bad_rule.default)(lambda _: 3)
    with pytest.raises(ArgumentError, match="a rule returns a tensor"):
        capture(bad_rule, (torch.randn(3),))


def test_messages_of_checks_are_the_users() -> None:
    def f(x: torch.Tensor) -> Any:
        n = x.sum().item()
        torch._check(n > 3, lambda: "not enough of it")
        return x * n

    captured = capture(f, (torch.tensor([1, 5]),))
    with pytest.raises(RuntimeAssertError, match="not enough of it"):
        captured(torch.tensor([1, 1]))


def test_threads_trace_at_once() -> None:
    def f(x: torch.Tensor) -> Any:
        for i in range(20):
            x = (x + i).relu()
        return x[x > 3], max(x.size(0), 2)

    wrong: list[Any] = []

    def work(n: int) -> None:
        try:
            captured = capture(f, (torch.randn(n + 2, 3),), dynamic="unbacked")
            x = torch.randn(5, 3)
            got, want = captured(x), f(x)
            if not torch.equal(got[0], want[0]) or got[1] != want[1]:
                wrong.append(n)
        except Exception as e:
            wrong.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    assert "max" not in globals()


def test_a_message_speaks_of_operands_after_the_trace() -> None:
    def f(m: torch.Tensor, v: torch.Tensor) -> Any:
        return torch.addmv(v, m, v)

    captured = capture(f, (torch.ones(3, 3), torch.ones(3)), dynamic="unbacked")
    assert all(o.message for o in captured.runtime_asserts)
    with pytest.raises(RuntimeAssertError):
        captured(torch.ones(3, 2), torch.ones(3))


def test_a_layout_on_the_word_of_a_meta_kernel_is_checked_at_run_time() -> None:
    def f(x: torch.Tensor) -> Any:
        y = torch.ops.aten.special_bessel_j0.default(torch.trapezoid(x, dim=0))
        return y, y.is_contiguous()

    captured = capture(f, (torch.rand(4, 3),), dynamic="unbacked")
    checks = [n for n in captured.graph.nodes if n.func is observed.expect_contiguity]
    assert len(checks) == 1
    assert captured(torch.rand(5, 3))[1] is True


@pytest.mark.parametrize("size", [0, 1, 4])
def test_requires_grad_that_was_shown_is_checked(size: int) -> None:
    weight = torch.ones(2, requires_grad=True)

    def f(x: torch.Tensor) -> Any:
        y = x * weight
        return y + 1 if y.requires_grad else y - 1

    captured = capture(f, (torch.ones(3, 2),), dynamic="unbacked")
    assert torch.equal(captured(torch.ones(size, 2)), f(torch.ones(size, 2)))
    with torch.no_grad(), pytest.raises(RuntimeAssertError, match="requires_grad"):
        captured(torch.ones(size, 2))


def test_a_rule_cannot_use_what_only_the_run_knows() -> None:
    @torch.library.custom_op("anyshape_test::counted", mutates_args=())
    def counted(x: torch.Tensor) -> torch.Tensor:
        return x[x > 0]

    anyshape.register_rule(torch.ops.anyshape_test.counted.default)(lambda x: x[x > 0])
    with pytest.raises(UnsupportedError, match="only the run knows"):
        capture(counted, (torch.randn(3),), dynamic="unbacked")


@pytest.mark.parametrize("kind", ["static", "backed", "unbacked"])
def test_a_shape_that_is_returned_is_one_of_torch(kind: str) -> None:
    captured = capture(lambda x: (x.shape, {"part": x[:1].shape}), (torch.ones(4),), dynamic=kind)
    shape, part = captured(torch.ones(4))
    assert type(shape) is torch.Size
    assert type(part["part"]) is torch.Size
    assert (shape, part["part"]) == ((4,), (1,))


GENERATOR = torch.Generator()


def test_a_generator_of_the_users_is_seeded_on_every_run() -> None:
    def f(x: torch.Tensor) -> Any:
        GENERATOR.manual_seed(3)
        return x + torch.rand(2, generator=GENERATOR)

    state = GENERATOR.get_state()
    captured = capture(f, (torch.ones(2),))
    assert torch.equal(GENERATOR.get_state(), state)
    want = f(torch.ones(2))
    for _ in range(2):
        torch.rand(3, generator=GENERATOR)
        assert torch.equal(captured(torch.ones(2)), want)
