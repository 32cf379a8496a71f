"""Training with a batch of any size: losses and weights as in eager execution, bit for bit."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (16, 3, 1, 16, 7, 5, 2, 11)


def model() -> nn.Module:
    """A small network with dropout."""
    return nn.Sequential(
        nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 1)
    )


def stepper(net: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[Tensor, Tensor], Any]:
    """A whole training step: gradients, clipping and the update."""

    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x).squeeze(1), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step


def train(net: nn.Module, *, compiled: bool) -> tuple[list[Tensor], Any]:
    """The losses of some rounds, and the step."""
    torch.manual_seed(1)
    step = stepper(net, torch.optim.AdamW(net.parameters(), lr=1e-2))
    run: Any = anyshape.compile(step, dynamic="unbacked") if compiled else step
    losses = []
    for _ in range(5):
        for rows in SIZES:
            x = torch.randn(rows, 8)
            losses.append(run(x, x.sum(1)))
    return losses, run


def main() -> None:
    """Train twice from the same start, eagerly and compiled, and compare."""
    torch.manual_seed(0)
    ours = model()
    eager = copy.deepcopy(ours)
    wanted, _ = train(eager, compiled=False)
    losses, step = train(ours, compiled=True)
    print(f"{len(losses)} steps at {len(set(SIZES))} batch sizes")
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
    weights = zip(ours.parameters(), eager.parameters(), strict=True)
    print(f"same losses:  {all(torch.equal(a, b) for a, b in zip(losses, wanted, strict=True))}")
    print(f"same weights: {all(torch.equal(a, b) for a, b in weights)}")
    print(f"the function runs eagerly: {step.eager_because or 'no, in pieces around backward()'}")


if __name__ == "__main__":
    main()
