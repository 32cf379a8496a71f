"""A mixture of experts with sizes from data, exported once and run at many sizes."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape import ConstraintError, check, export

SIZES = (0, 1, 2, 7, 100)
ITEMS = 256


class Experts(nn.Module):
    """A layer that sends each token to two of four experts; how many each gets is in the data."""

    def __init__(self, width: int = 8, count: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(count))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The tokens after their experts."""
        weights, chosen = self.gate(tokens).softmax(-1).topk(2, dim=-1)
        order = chosen.reshape(-1).argsort(stable=True)
        counts = F.one_hot(chosen.reshape(-1), len(self.experts)).sum(0).tolist()
        parts = torch.split(tokens[order // 2], counts)
        done = torch.cat([expert(part) for expert, part in zip(self.experts, parts, strict=True)])
        back = torch.zeros_like(done).index_copy(0, order, done)
        pairs = back.view(-1, 2, tokens.size(1))
        mixed: torch.Tensor = (pairs * weights.unsqueeze(-1)).sum(1)
        return mixed if tokens.size(0) == 1 else mixed - mixed.mean(0)


def main() -> None:
    """Export, show what was assumed, compare with eager execution, and show a refusal."""
    torch.manual_seed(0)
    model = Experts().eval()
    with torch.no_grad():
        _export(model)
    _scale()


def _export(model: nn.Module) -> None:
    start = time.perf_counter()
    program = export(model, (torch.randn(5, 8),), dynamic_shapes={"tokens": {0: "n"}})
    elapsed = 1000 * (time.perf_counter() - start)
    calls = sum(len(v.graph.nodes) for v in program.variants)
    print(f"{program.name}: exported once in {elapsed:.0f} ms, {calls} calls.")
    print("It branches on n, so it has a variant for each side; it accepts:")
    print(_indented(str(program.contract())))
    print("The same as eager execution at every size:")
    print(_indented(str(program.verify(*[(torch.randn(n, 8),) for n in SIZES]))))
    print("Other inputs are refused at the door:")
    try:
        program(torch.randn(3, 9))
    except ConstraintError as error:
        print(_indented(str(error)))
    print()


def _scale() -> None:
    def flip_parts(values: torch.Tensor, sizes: torch.Tensor) -> Any:
        counts: list[Any] = [t.item() for t in sizes.unbind()]
        for n in counts:
            check(n >= 0)
        return torch.cat([part.flip(0) for part in torch.split(values, counts)])

    sizes = torch.randint(0, 4, (ITEMS,))
    example = (torch.randn(int(sizes.sum())), sizes)
    start = time.perf_counter()
    program = export(flip_parts, example, dynamic_shapes=({0: "total"}, None))
    elapsed = time.perf_counter() - start
    print(f"{ITEMS} sizes from data, unbound, checked, split, flipped and joined:")
    print(f"  exported in {elapsed:.2f} s, {len(program.runtime_asserts)} runtime asserts")
    print(f"  equal to eager execution: {bool(program.verify(example))}")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


if __name__ == "__main__":
    main()
