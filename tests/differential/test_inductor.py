"""Programs lowered with Inductor against eager execution, at sizes that it gets wrong by itself.

Each program is compiled once with unbacked sizes and called at many. A call either gives what eager
execution gives, or an error where eager execution gives one, or breaks a guard of the lowering.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import anyshape
from anyshape.errors import RuntimeAssertError
from anyshape.interop.backend import Lowered, find_backend, lower
from anyshape.interop.runtime_wrapper import RuntimeWrapper
from anyshape.trace import capture

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, device=DEVICE)


def whole(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, device=DEVICE)


def lowered(fn: Any, *args: Any) -> Lowered:
    with torch.no_grad():
        return lower(capture(fn, args, dynamic="unbacked"), find_backend("inductor"), list(args))


def agree(fn: Any, program: Lowered, *args: Any) -> None:
    """The program must take the inputs and give what the function gives."""
    assert program.holds is not None
    with torch.no_grad():
        assert program.holds(list(args)) is None
        got = list(program.run(list(args)))
        want = pytree.tree_leaves(fn(*args))
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def fails(fn: Any, program: Lowered, *args: Any, match: str) -> None:
    """The function and the program must fail, the latter with our error and the user's line."""
    assert program.holds is not None
    with torch.no_grad():
        with pytest.raises((IndexError, RuntimeError)):
            fn(*args)
        assert program.holds(list(args)) is None
        with pytest.raises(RuntimeAssertError, match=match) as e:
            program.run(list(args))
    assert "test_inductor.py" in str(e.value)


# ---------------------------------------------------------------------- indices


def picks(x: Any, i: Any) -> Any:
    return x[i.sum().item()] * 2, x.select(0, 5) * 2


def test_an_index_is_checked() -> None:
    program = lowered(picks, randn(10), whole(3))
    agree(picks, program, randn(12), whole(2, 2))
    agree(picks, program, randn(6), whole(-6))
    for n in (10, 500, -11):
        fails(picks, program, randn(10), whole(n), match="out of bounds for dimension 0")
    fails(picks, program, randn(2), whole(0), match="index 5 is out of bounds")
    fails(picks, program, randn(0), whole(0), match="index u2 is out of bounds")  # comes first


def test_the_suite_finds_an_index_that_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    module = RuntimeWrapper.module

    def forgetful(self: RuntimeWrapper, fakes: Any) -> Any:
        self.inner.clear()
        return module(self, fakes)

    monkeypatch.setattr(RuntimeWrapper, "module", forgetful)
    program = lowered(picks, randn(10), whole(3))
    agree(picks, program, randn(12), whole(2, 2))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        fails(picks, program, randn(10), whole(10), match="out of bounds for dimension 0")


def reaches(x: Any, n: Any, y: Any, i: Any, v: Any) -> Any:
    z = y.clone()
    z[i] = v
    return x.as_strided((n.item(),), (1,)) * 2, z


def test_memory_is_not_left_and_values_fit() -> None:
    def inputs(n: int, values: int = 4, start: int = 0) -> tuple[Any, ...]:
        x = randn(6 + start)[start:]
        return x, whole(n)[0], randn(8, 3), whole(0, 1, 2, 3), randn(values, 3)

    program = lowered(reaches, *inputs(3))
    agree(reaches, program, *inputs(6))
    agree(reaches, program, *inputs(0))
    fails(reaches, program, *inputs(600), match="exceeds the storage")
    fails(reaches, program, *inputs(-1), match="negative")
    fails(reaches, program, *inputs(3, values=5), match="do not broadcast")
    assert program.holds is not None
    with torch.no_grad():
        assert program.holds(list(inputs(3, start=2))) == "x does not cover its whole storage"


# ---------------------------------------------------------------------- sizes


def sizes(x: Any) -> Any:
    n = x.size(0)
    return x * 2, torch.softmax(x, 1).sum(0), torch.zeros(1) + (n // 4) // (-3), n * x.size(1)


def test_empty_and_single_and_long() -> None:
    program = lowered(sizes, randn(5, 7))
    assert program.guards == () or DEVICE == "cuda"
    for shape in ((5, 0), (1, 1), (0, 3), (2, 3), (13, 1), (3, 5000), (5000, 3)):
        x = randn(*shape)
        if DEVICE == "cpu" or program.holds is None or program.holds([x]) is None:
            agree(sizes, program, x)


def test_convolution_of_images_of_any_size() -> None:
    conv = nn.Conv2d(3, 4, 3, padding=1, device=DEVICE)
    program = lowered(conv, randn(2, 3, 8, 9))
    for shape in ((2, 3, 8, 9), (3, 3, 5, 7), (5, 3, 2, 30)):
        agree(conv, program, randn(*shape))


# ---------------------------------------------------------------------- sizes from data


def counts(x: Any, lengths: Any) -> Any:
    kept = x[x > 0]
    first, second = lengths.tolist()
    torch._check(first != 4, lambda: "four is not for us")
    parts = torch.split(x, [first, second])
    return (
        [part * 2 for part in parts],
        kept * 3,
        torch.unique(x.round()),
        x.nonzero().sum(0),
        kept.size(0) + x.size(0),
    )


def test_sizes_from_data() -> None:
    x = torch.randn(7, device=DEVICE)
    with torch.no_grad():
        captured = capture(
            counts,
            (x, whole(3, 4)),
            dynamic=lambda spot: "unbacked" if spot.leaf == 0 else "static",
        )
        program = lower(captured, find_backend("inductor"), [x, whole(3, 4)])
    agree(counts, program, randn(9), whole(0, 9))
    agree(counts, program, -torch.ones(5, device=DEVICE), whole(5, 0))
    fails(counts, program, randn(9), whole(1, 9), match="add up")
    fails(counts, program, randn(9), whole(-1, 10), match="negative")
    fails(counts, program, randn(9), whole(4, 5), match="four is not for us")


# ---------------------------------------------------------------------- state and views


def test_state_and_views() -> None:
    norm, twin = (nn.BatchNorm1d(3, device=DEVICE) for _ in range(2))

    def program_of(module: Any) -> Any:
        def f(x: Any) -> Any:
            y = module(x)
            x.mul_(2)
            return y, x.t(), x[1:], x

        return f

    program = lowered(program_of(norm), randn(5, 3))
    for x in (randn(4, 3), randn(9, 3)[2:], randn(2, 3)):
        other = x.clone()
        y, turned, rest, same = program.run([x])
        for a, b in zip((y, turned, rest, same), program_of(twin)(other), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        assert same is x
        assert turned.data_ptr() == x.data_ptr()
        assert rest.data_ptr() == x[1:].data_ptr()
    assert norm.num_batches_tracked == 3
    torch.testing.assert_close(norm.running_var, twin.running_var)


def test_a_call_that_breaks_a_guard_of_the_lowering_is_compiled_anew() -> None:
    def f(x: Any) -> Any:
        return (x * 2).sum(0)

    compiled = anyshape.compile(f, dynamic=True, fullgraph=True, backend="inductor")
    for x in (randn(4, 5), randn(7, 5), randn(3, 6).t()):
        torch.testing.assert_close(compiled(x), f(x))
    assert compiled.stats.traces == 2


def test_tensors_with_a_negation_pending_are_not_for_kernels() -> None:
    """The memory of such a tensor lacks the sign."""
    z = torch.complex(randn(8), randn(8))
    compiled = anyshape.compile(lambda x: x * 3 + 1, backend="inductor", dynamic="unbacked")
    for x in (z.imag, z.conj().imag, z.conj().imag.clone(), z.conj().imag):
        assert torch.allclose(compiled(x), x * 3 + 1)
