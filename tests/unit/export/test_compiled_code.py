"""Exported programs that run the code of a compiler: `program.compile` and `compile(program)`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

import anyshape
from anyshape import AnyshapeWarning, ArgumentError, RecompileLimitError, export, load

if TYPE_CHECKING:
    from pathlib import Path

    from anyshape import ExportedProgram

SIZES = (3, 1, 0, 2, 7)


class Attention(nn.Module):
    """Attention with a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.parts, self.joined = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """The next states."""
        batch, length, width = x.shape
        parts = self.parts(x).view(batch, length, 3, 2, -1).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(*parts, attn_mask=real[:, None, None])
        return x + self.joined(seen.transpose(1, 2).reshape(batch, length, width)).relu()


class Model(nn.Module):
    """Equal blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Attention() for _ in range(4))

    def forward(self, x: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """The states after all blocks."""
        for block in self.blocks:
            x = block(x, real)
        return x


def linear() -> tuple[nn.Module, ExportedProgram]:
    """A layer, and its program for any batch."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh()).eval()
    return model, export(model, (torch.ones(3, 4),), dynamic_shapes=({0: "batch"},))


def rows(n: int) -> torch.Tensor:
    """An input of this size."""
    return torch.arange(n * 4.0).reshape(n, 4) / 7 - 1


def test_one_code_for_every_size() -> None:
    model, program = linear()
    with torch.inference_mode():
        compiled = program.compile(backend="aot_eager")
        assert len(compiled.lowered) == 1
        with anyshape.config.patch(stance="fail_on_recompile"):
            for n in SIZES:
                assert torch.equal(compiled(rows(n)), model(rows(n)))
    assert len(compiled.lowered) == 1
    assert program.lowered == []


def test_the_code_runs() -> None:
    """A planted bug: what the backend returns is what the program returns."""
    model, program = linear()

    def wrong(graph: Any, inputs: Any) -> Any:
        return lambda *args: [out + 1 for out in graph.forward(*args)]

    with torch.no_grad():
        found = program.compile(backend=wrong)(rows(3))
        assert torch.allclose(found, model(rows(3)) + 1)


def test_inductor_after_a_load(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model().eval()
    example = (torch.randn(3, 5, 8), torch.ones(3, 5, dtype=torch.bool))
    sizes = {0: "batch", 1: "length"}
    program = export(model, example, dynamic_shapes=(sizes, sizes))
    program.save(tmp_path / "program")
    torch.save(model.state_dict(), tmp_path / "weights")
    loaded = load(tmp_path / "program", weights=False)
    loaded.load_state_dict(torch.load(tmp_path / "weights", mmap=True), assign=True)
    with torch.inference_mode():
        compiled = loaded.compile()
        assert compiled.lowered[0].regions == (
            "4 calls of Attention with 11 ops each, lowered once",
        )
        with anyshape.config.patch(stance="fail_on_recompile"):
            for batch, length in ((3, 5), (1, 9), (4, 1), (1, 1), (2, 64)):
                x = torch.randn(batch, length, 8)
                real = torch.arange(length) <= torch.arange(batch)[:, None]
                torch.testing.assert_close(compiled(x, real), model(x, real))


def test_compile_of_a_program() -> None:
    model, program = linear()
    with torch.no_grad():
        compiled = anyshape.compile(program, backend="aot_eager")
        assert isinstance(compiled, anyshape.ExportedProgram)
        assert len(compiled.lowered) == 1
        assert torch.equal(compiled(rows(6)), model(rows(6)))
        assert anyshape.compile(program).lowered == []  # generated Python
    with pytest.raises(ArgumentError, match="dynamic=False is not for an exported program"):
        anyshape.compile(program, dynamic=False)


def test_variants_have_code_of_their_own() -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        return x.sum(0) if x.shape[0] > 4 else x.cumsum(0)

    program = export(both, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    with torch.no_grad():
        compiled = program.compile(backend="aot_eager")
        assert len(compiled.lowered) == len(program.variants) == 2
        for n in (0, 1, 4, 5, 9):
            assert torch.equal(compiled(rows(n)), both(rows(n)))
    assert len(compiled.lowered) == 2


def test_branches_on_data() -> None:
    def halved(x: torch.Tensor) -> torch.Tensor:
        while x.sum() > 1:
            x = x / 2
        return x + 1 if x.max() > 0 else x - 1

    program = export(halved, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    with torch.no_grad():
        compiled = program.compile(backend="aot_eager")
        for n in (1, 5, 3, 9):
            assert torch.equal(compiled(rows(n)), halved(rows(n)))
    assert len(compiled.lowered) > 1


def test_gradients() -> None:
    model, program = linear()
    other = copy.deepcopy(model)
    compiled = program.compile(backend="aot_eager")
    for n in SIZES:
        compiled(rows(n)).square().sum().backward()
        other(rows(n)).square().sum().backward()
    for mine, its in zip(model.parameters(), other.parameters(), strict=True):
        assert mine.grad is not None
        assert torch.equal(mine.grad, its.grad)  # type: ignore[arg-type]
    assert len(compiled.lowered) == 1


def test_other_weights() -> None:
    model, program = linear()
    compiled = copy.deepcopy(program).compile(backend="aot_eager")
    other = {name: value + 1 for name, value in model.state_dict().items()}
    expected = torch.func.functional_call(model, other, rows(5))
    for assign in (False, True):
        compiled.load_state_dict({n: v.clone() for n, v in model.state_dict().items()})
        assert torch.equal(compiled(rows(5)), model(rows(5)))
        compiled.load_state_dict(other, assign=assign)
        assert torch.equal(compiled(rows(5)), expected)


def test_another_mode_gets_code_of_its_own() -> None:
    model, program = linear()
    with torch.no_grad():
        compiled = program.compile(backend="aot_eager")
    with anyshape.config.patch(stance="eager_on_recompile"):
        assert compiled(rows(3)).requires_grad
    assert len(compiled.lowered) == 1
    with (
        anyshape.config.patch(stance="fail_on_recompile"),
        pytest.raises(RecompileLimitError, match="would be compiled again"),
    ):
        compiled(rows(3))
    assert torch.equal(compiled(rows(3)), model(rows(3)))
    assert len(compiled.lowered) == 2


def test_the_limit_is_told() -> None:
    model, program = linear()
    with torch.no_grad():
        compiled = program.compile(backend="aot_eager")
    with anyshape.config.patch(recompile_limit=1):
        with pytest.warns(AnyshapeWarning, match="compiled 1 time, which is its limit"):
            found = compiled(rows(3))
        assert torch.equal(found, model(rows(3)))
        assert torch.equal(compiled(rows(4)), model(rows(4)))
    assert len(compiled.lowered) == 1


def test_a_backend_that_fails() -> None:
    def broken(graph: Any, inputs: Any) -> Any:
        raise NotImplementedError

    model, program = linear()
    with torch.no_grad():
        with pytest.warns(AnyshapeWarning, match="runs as plain Python"):
            compiled = program.compile(backend=broken)
        assert torch.equal(compiled(rows(3)), model(rows(3)))


def test_a_function_mode_sees_the_calls() -> None:
    class Seen(TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            Seen.calls += 1
            return func(*args, **(kwargs or {}))

    _, program = linear()
    with torch.no_grad():
        compiled = program.compile(backend="aot_eager")
        with Seen():
            compiled(rows(3))
    assert Seen.calls > 0
