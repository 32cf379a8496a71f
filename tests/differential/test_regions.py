"""Programs lowered in regions against eager execution.

Each program has equal blocks, is traced once with unbacked sizes, lowered with `regions="auto"`,
and called at many sizes, with and without gradients. Whatever cannot be cut must not be cut.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape
from anyshape.config import config
from anyshape.interop.backend import Lowered, find_backend, lower
from anyshape.interop.regions import part as parts
from anyshape.trace import capture

WIDTH = 8


class Block(nn.Module):
    """Attention and a projection; what the other blocks here change."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.scale = 1.0

    def forward(self, x: Any) -> Any:
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, WIDTH)
        return x + self.scale * torch.tanh(self.out(y))


class Stack(nn.Module):
    """Blocks after each other."""

    def __init__(self, *blocks: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Any) -> Any:
        x = x * 2
        for block in self.blocks:
            x = block(x)
        return x.sin() + 1


class Twice(nn.Module):
    """The same module called four times."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Any) -> Any:
        for _ in range(4):
            x = self.block(x)
        return x


class Batched(Block):
    def __init__(self) -> None:
        super().__init__()
        self.batch = nn.BatchNorm1d(WIDTH)

    def forward(self, x: Any) -> Any:
        return super().forward(self.batch(x.reshape(-1, WIDTH)).view_as(x))


class Dropped(Block):
    def forward(self, x: Any) -> Any:
        return super().forward(F.dropout(x, 0.3, training=True))


class InPlace(Block):
    """Writes to what it is given, which the next stretch reads too."""

    def forward(self, x: Any) -> Any:
        x.mul_(0.5)
        return super().forward(x)


class Flipped(Block):
    """Returns a view of its result, laid out in another order."""

    def forward(self, x: Any) -> Any:
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


class Counted(Block):
    """Adds to a buffer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.zeros(WIDTH))

    def forward(self, x: Any) -> Any:
        self.seen.add_(x.detach().sum((0, 1)))
        return super().forward(x) + self.seen


class Quiet(Block):
    """Part of it without gradients."""

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            level = x.abs().mean(-1, keepdim=True)
        return super().forward(x * level)


class Numbered(Block):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.scale = 1.0 + number


class Sizes(nn.Module):
    """Numbers go from block to block, and out; each block computes with another expression."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(_Sized() for _ in range(3))

    def forward(self, x: Any) -> Any:
        n = x.size(1)
        for block in self.blocks:
            x, n = block(x, n)
        return x, n


class _Sized(Block):
    def forward(self, x: Any, n: Any) -> Any:
        x = super().forward(x) / (n + 1)
        return x, n + x.size(0)


class Picks(Block):
    """A size that only the data says, inside each block."""

    def forward(self, x: Any) -> Any:
        y = super().forward(x)
        kept = y[y > 0]
        return y + (kept * 2).sum() + kept.size(0)


class Halves(Block):
    """Two results that share memory."""

    def forward(self, x: Any) -> Any:
        a, b = super().forward(x).chunk(2, -1)
        return torch.cat((b, a), -1)


class Split(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(_SplitBlock() for _ in range(3))

    def forward(self, x: Any) -> Any:
        a, b = x.chunk(2, -1)
        for block in self.blocks:
            a, b = block(a, b)
        return a * b, b


class _SplitBlock(Block):
    def forward(self, a: Any, b: Any) -> Any:
        return super().forward(torch.cat((b, a), -1)).chunk(2, -1)


def tied() -> Stack:
    """Weights that two blocks share, and that are one inside of each."""
    made = Stack(Block(), Block(), Block())
    made.blocks[1].out.weight = made.blocks[0].out.weight
    return made


def frozen() -> Stack:
    """The parameters of one block get no gradients."""
    made = Stack(*[Block() for _ in range(5)])
    made.blocks[1].requires_grad_(False)
    return made


def hooked() -> Stack:
    made = Stack(Block(), Block(), Block())
    for block in made.blocks:
        block.register_forward_hook(lambda _m, _args, out: out * 1.5)
    return made


class Case(NamedTuple):
    """A program, how many regions it has, how many of them with gradients."""

    make: Any
    regions: int
    training: int | None = None  # as many


CASES = {
    "equal": Case(lambda: Stack(Block(), Block(), Block()), 1),
    "repeated": Case(Twice, 1),
    "tied": Case(tied, 1),
    "frozen": Case(frozen, 1),
    "hooked": Case(hooked, 1),
    "batch norm": Case(lambda: Stack(Batched(), Batched(), Batched()), 1),
    "dropout": Case(lambda: Stack(Dropped(), Dropped(), Dropped()), 1),
    "in place": Case(lambda: Stack(InPlace(), InPlace(), InPlace()), 1, 0),
    "flipped": Case(lambda: Stack(Flipped(), Flipped(), Flipped()), 1),
    "counted": Case(lambda: Stack(Counted(), Counted(), Counted()), 1, 0),
    "quiet": Case(lambda: Stack(Quiet(), Quiet(), Quiet()), 1),
    "numbered": Case(lambda: Stack(Numbered(0), Numbered(1), Numbered(2)), 0),
    "sizes": Case(Sizes, 0),
    "picks": Case(lambda: Stack(Picks(), Picks(), Picks()), 1),
    "halves": Case(lambda: Stack(Halves(), Halves(), Halves()), 1),
    "split": Case(Split, 1),
}
SIZES = ((2, 3), (1, 5), (4, 1), (1, 1), (5, 5), (0, 3), (3, 0))


def lowered(model: nn.Module, x: torch.Tensor, backend: str = "aot_eager") -> Lowered:
    with config.patch(regions="auto"):
        captured = capture(model, (x,), dynamic="unbacked")
        return lower(captured, find_backend(backend), [x])


def count(program: Lowered) -> int:
    return sum("calls of" in line for line in program.regions)


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def gradients(model: nn.Module, x: torch.Tensor, results: list[Any]) -> list[Any]:
    """Those of the parameters and the input."""
    total: Any = sum((r * r).sum() for r in results if isinstance(r, torch.Tensor))
    total.backward()
    found = [x.grad, *[p.grad for p in model.parameters()]]
    for p in model.parameters():
        p.grad = None
    return found


def agree(model: nn.Module, twin: nn.Module, program: Lowered, b: int, t: int, train: bool) -> None:
    """One call of the lowered program of `model` against one of its copy `twin`."""
    given = torch.randn(b, t, WIDTH)
    x, y = (given.clone().requires_grad_(train) for _ in range(2))
    assert program.holds is not None
    torch.manual_seed(b * 10 + t)
    want = wanted = None
    try:
        want = flat(twin(y))
    except (RuntimeError, ValueError) as e:
        wanted = e
    torch.manual_seed(b * 10 + t)
    assert program.holds([x]) is None
    if want is None:
        with pytest.raises((type(wanted), RuntimeError)):
            program.run([x])
        twin.load_state_dict(model.state_dict())  # eager execution counts a batch that it refuses
        return
    got = list(program.run([x]))
    torch.testing.assert_close(got, want)
    if train:
        ours, theirs = gradients(model, x, got), gradients(twin, y, want)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dict(model.named_buffers()), dict(twin.named_buffers()))


@pytest.mark.parametrize("train", [False, True], ids=["plain", "train"])
@pytest.mark.parametrize("name", CASES)
def test_regions_compute_what_eager_execution_does(name: str, train: bool) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    model = case.make()
    twin = copy.deepcopy(model)
    with torch.set_grad_enabled(train):
        program = lowered(model, torch.randn(2, 3, WIDTH, requires_grad=train))
        wanted = case.regions if not train or case.training is None else case.training
        assert count(program) == wanted, program.regions
        for b, t in SIZES:
            agree(model, twin, program, b, t, train)


@pytest.mark.parametrize("train", [False, True], ids=["plain", "train"])
def test_inductor_compiles_equal_blocks_once(train: bool) -> None:
    torch.manual_seed(0)
    model = CASES["equal"].make()
    twin = copy.deepcopy(model)
    with torch.set_grad_enabled(train):
        for _ in range(2):  # the second finds the first in AOTAutograd's cache on disk
            counters.clear()
            program = lowered(model, torch.randn(2, 3, WIDTH, requires_grad=train), "inductor")
            assert program.regions == ("3 calls of Block with 12 ops each, lowered once",)
            for b, t in SIZES:
                agree(model, twin, program, b, t, train)
    assert counters["aot_autograd"]["autograd_cache_hit"] == 1


def test_regions_under_autocast() -> None:
    model = CASES["equal"].make()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        program = lowered(model, torch.randn(2, 3, WIDTH))
        for b, t in ((2, 3), (1, 5), (4, 1)):
            x = torch.randn(b, t, WIDTH)
            torch.testing.assert_close(list(program.run([x])), [model(x)])


def test_explain_shows_the_regions() -> None:
    model = CASES["equal"].make()
    compiled = anyshape.compile(model, dynamic="unbacked", backend="aot_eager")
    with torch.no_grad():
        compiled(torch.randn(2, 3, WIDTH))
    assert "region: 3 calls of Block with 12 ops each, lowered once" in compiled.explain()
    whole = anyshape.compile(CASES["numbered"].make(), dynamic="unbacked", backend="aot_eager")
    with torch.no_grad():
        whole(torch.randn(2, 3, WIDTH))
    assert "region: none: no two modules are called alike" in whole.explain()


def test_the_suite_finds_constants_that_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    text = parts.Part._text

    def forgetful(self: parts.Part, x: Any) -> str:
        return "number" if type(x) is float else text(self, x)

    monkeypatch.setattr(parts.Part, "_text", forgetful)
    model = CASES["numbered"].make()
    with torch.no_grad():
        program = lowered(model, torch.randn(2, 3, WIDTH))
        assert count(program) == 1
        with pytest.raises(AssertionError, match="not close"):
            agree(model, copy.deepcopy(model), program, 2, 3, False)
