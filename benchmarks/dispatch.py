"""What a call of a compiled function costs besides the program: ours and torch.compile's.

    python benchmarks/dispatch.py

One op on the first of 1, 5 and 20 inputs, and a module with 24 parameters: both compiled with the
backend "eager" and all sizes dynamic, and the plain function. Microseconds of one call, best of
many rounds, taken in turns in one process.
"""

from __future__ import annotations

import time
from typing import Any

import torch

import anyshape


def one(x: Any) -> Any:
    return x + 1


def five(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    return a + 1


def twenty(*xs: Any) -> Any:
    return xs[0] + 1


class Layers(torch.nn.Module):
    """Twelve linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(12))

    def forward(self, x: Any) -> Any:
        """One after the other."""
        for layer in self.layers:
            x = layer(x)
        return x


def cost(call: Any, args: tuple[Any, ...], rounds: int = 40, calls: int = 200) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(calls):
            call(*args)
        best = min(best, time.thread_time() - start)
    return best / calls * 1e6


def main() -> None:
    """Print the table."""
    rows = [
        ("1 input", one, 1),
        ("5 inputs", five, 5),
        ("20 inputs", twenty, 20),
        ("module, 24 parameters", Layers(), 1),
    ]
    print(f"{'':22} {'plain':>8} {'anyshape':>9} {'torch':>8}   dispatch: ours / torch's")
    with torch.no_grad():
        for name, fn, count in rows:
            args = tuple(torch.randn(i + 2, 4) for i in range(count))
            torch._dynamo.reset()
            ours = anyshape.compile(fn, dynamic=True)
            theirs = torch.compile(fn, dynamic=True, backend="eager")
            for call in (ours, theirs):
                call(*args)
                call(*args)
            plain, mine, other = (cost(f, args) for f in (fn, ours, theirs))
            ratio = max(mine - plain, 0.01) / max(other - plain, 0.01)
            print(f"{name:22} {plain:8.2f} {mine:9.2f} {other:8.2f}   {ratio:.2f}")


if __name__ == "__main__":
    main()
