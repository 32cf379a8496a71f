"""Random programs of tensor ops, traced once and compared with eager execution at many sizes.

    python -m tests.differential.fuzz [--seeds 0:500] [--length 6] [--kind both]

A program is a list of steps on a pool of tensors. Where eager raises, the traced program must raise
too; where eager has a result, the traced program has the same one or refuses (guard or assert).
"""

from __future__ import annotations

import argparse
import collections
import random
import warnings
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape import config
from anyshape.errors import (
    AnyshapeError,
    ConstraintError,
    DataDependentError,
    UnsupportedError,
)
from anyshape.trace import capture
from tests.differential.op_db import copies, difference
from tests.differential.replay import Replay

EXAMPLE = (3, 5, 4)
SIZES = (
    (3, 5, 4),
    (2, 7, 3),
    (6, 2, 2),
    (1, 5, 4),
    (3, 1, 4),
    (1, 1, 1),
    (0, 5, 4),
    (3, 0, 2),
    (5, 5, 5),
)


def dim(t: Any, k: int) -> int:
    return k % t.dim() if t.dim() else 0


def other_dims(t: Any, k: int, j: int) -> tuple[int, int]:
    a, b = dim(t, k), dim(t, j)
    return a, b


# Each step: two tensors of the pool, two small numbers, to a tensor (or several, or None).
STEPS: dict[str, Any] = {
    "add": lambda a, b, i, j: a + b,
    "mul": lambda a, b, i, j: a * b,
    "scalar": lambda a, b, i, j: a * (i + 1) - j,
    "size": lambda a, b, i, j: a + a.numel() + b.dim(),
    "div size": lambda a, b, i, j: a / (a.shape[0] + 1) if a.dim() else a,
    "relu": lambda a, b, i, j: a.relu(),
    "exp": lambda a, b, i, j: torch.tanh(a),
    "where": lambda a, b, i, j: torch.where(a > 0, a, b),
    "compare": lambda a, b, i, j: (a < b).to(a.dtype),
    "t": lambda a, b, i, j: a.transpose(dim(a, i), dim(a, j)) if a.dim() else a,
    "permute": lambda a, b, i, j: a.permute(*[(k + i) % a.dim() for k in range(a.dim())]),
    "unsqueeze": lambda a, b, i, j: a.unsqueeze(dim(a, i)),
    "squeeze": lambda a, b, i, j: a.unsqueeze(dim(a, i)).squeeze(dim(a, i)),
    "flatten": lambda a, b, i, j: a.flatten(),
    "flatten2": lambda a, b, i, j: a.flatten(0, 1) if a.dim() > 1 else a,
    "reshape": lambda a, b, i, j: a.reshape(a.shape[0], -1) if a.dim() else a,
    "view": lambda a, b, i, j: a.view(-1, a.shape[-1]) if a.dim() else a,
    "contiguous": lambda a, b, i, j: a.contiguous(),
    "narrow": lambda a, b, i, j: a.narrow(dim(a, i), 0, 1) if a.dim() else a,
    "slice": lambda a, b, i, j: a[i:] if a.dim() else a,
    "slice end": lambda a, b, i, j: a[..., : -i - 1] if a.dim() else a,
    "slice step": lambda a, b, i, j: a[:: i + 1] if a.dim() else a,
    "slice size": lambda a, b, i, j: a[: a.shape[0] // 2 + i] if a.dim() else a,
    "select": lambda a, b, i, j: a[-1] if a.dim() else a,
    "select last": lambda a, b, i, j: a[..., 0] if a.dim() else a,
    "sum": lambda a, b, i, j: a.sum(dim(a, i)) if a.dim() else a.sum(),
    "mean": lambda a, b, i, j: a.mean(dim(a, i), keepdim=True) if a.dim() else a,
    "amax": lambda a, b, i, j: a.amax(dim(a, i)) if a.dim() else a,
    "cumsum": lambda a, b, i, j: a.cumsum(dim(a, i)) if a.dim() else a,
    "softmax": lambda a, b, i, j: a.softmax(dim(a, i)) if a.dim() else a,
    "sort": lambda a, b, i, j: a.sort(dim(a, i))[0] if a.dim() else a,
    "argmax": lambda a, b, i, j: a.argmax(dim(a, i)).to(a.dtype) if a.dim() else a,
    "cat": lambda a, b, i, j: torch.cat([a, b], dim(a, i)) if a.dim() else a,
    "cat self": lambda a, b, i, j: torch.cat([a, a * 2], dim(a, i)) if a.dim() else a,
    "stack": lambda a, b, i, j: torch.stack([a, a + 1], dim(a, i)),
    "matmul": lambda a, b, i, j: a @ b,
    "matmul t": lambda a, b, i, j: a @ a.mT if a.dim() > 1 else a,
    "linear": lambda a, b, i, j: F.linear(a, a.new_ones(2, a.shape[-1])) if a.dim() else a,
    "expand": lambda a, b, i, j: a.unsqueeze(0).expand(i + 1, *a.shape),
    "expand as": lambda a, b, i, j: a.expand_as(b),
    "repeat": lambda a, b, i, j: a.repeat(i + 1, *[1] * (a.dim() - 1)) if a.dim() else a,
    "pad": lambda a, b, i, j: F.pad(a, (i, j)) if a.dim() else a,
    "roll": lambda a, b, i, j: a.roll(i, dim(a, j)) if a.dim() else a,
    "flip": lambda a, b, i, j: a.flip(dim(a, i)) if a.dim() else a,
    "index": lambda a, b, i, j: a[torch.arange(a.shape[0])] if a.dim() else a,
    "index list": lambda a, b, i, j: a[[0, -1]] if a.dim() else a,
    "index two": lambda a, b, i, j: a[torch.arange(a.shape[0]), 0] if a.dim() > 1 else a,
    "mask": lambda a, b, i, j: a[a > 0],
    "masked fill": lambda a, b, i, j: a.masked_fill(a > 0, 1.0),
    "nonzero": lambda a, b, i, j: (a > 0).nonzero().to(a.dtype),
    "chunk": lambda a, b, i, j: a.chunk(2, dim(a, i))[0] if a.dim() else a,
    "split": lambda a, b, i, j: a.split([1, a.shape[0] - 1])[j % 2] if a.dim() else a,
    "diagonal": lambda a, b, i, j: a.diagonal(0, dim(a, 0), dim(a, 1)) if a.dim() > 1 else a,
    "tril": lambda a, b, i, j: a.tril(i - 1) if a.dim() > 1 else a,
    "arange": lambda a, b, i, j: torch.arange(a.shape[0], dtype=a.dtype) if a.dim() else a,
    "zeros": lambda a, b, i, j: torch.zeros(a.shape) + b.new_ones(b.shape[:1]).sum(),
    "in place": lambda a, b, i, j: a.mul_(2),
    "in place row": lambda a, b, i, j: a[0].add_(1) if a.dim() else a,
    "setitem": lambda a, b, i, j: a.__setitem__(0, 1.5) if a.dim() else a,
    "setitem last": lambda a, b, i, j: a.__setitem__((..., -1), 0.5) if a.dim() else a,
    "copy": lambda a, b, i, j: a.copy_(b),
    "unfold": lambda a, b, i, j: a.unfold(dim(a, i), 2, 1) if a.dim() else a,
    "topk": lambda a, b, i, j: a.topk(1, dim(a, i))[0] if a.dim() else a,
    "gather": lambda a, b, i, j: a.gather(dim(a, i), a.argsort(dim(a, i))) if a.dim() else a,
    "std": lambda a, b, i, j: a.std(dim(a, i), unbiased=False) if a.dim() else a,
    "layer norm": lambda a, b, i, j: F.layer_norm(a, a.shape[-1:]) if a.dim() else a,
    "einsum": lambda a, b, i, j: torch.einsum("...i,...i->...", a, a) if a.dim() else a,
    "unbind": lambda a, b, i, j: torch.stack([a, a * 2]).unbind(0)[1] + 1,
    "as strided": lambda a, b, i, j: a.flatten().as_strided((1, a.numel()), (1, 1)),
    "mask mean": lambda a, b, i, j: (a * (a > 0)).sum() / (a > 0).sum().clamp(min=1),
    "item": lambda a, b, i, j: a + (a > 0).sum().item(),
    "item slice": lambda a, b, i, j: a[: (a > 0).sum().item()] if a.dim() else a,
    "outer": lambda a, b, i, j: torch.outer(a.flatten(), a.flatten()[:2]),
    "meshgrid": lambda a, b, i, j: torch.meshgrid(a.flatten(), b.flatten(), indexing="ij")[0][:3],
    "interleave": lambda a, b, i, j: a.repeat_interleave(2, dim(a, i)) if a.dim() else a,
    "movedim": lambda a, b, i, j: a.movedim(dim(a, i), dim(a, j)) if a.dim() else a,
    "unflatten": lambda a, b, i, j: torch.cat([a, a]).unflatten(0, (2, -1)) if a.dim() else a,
    "bmm": lambda a, b, i, j: torch.bmm(a, a.transpose(1, 2)) if a.dim() == 3 else a,
    "conv": lambda a, b, i, j: F.conv1d(a, a.new_ones(2, a.shape[1], 1)) if a.dim() == 3 else a,
    "pool": lambda a, b, i, j: F.max_pool1d(a, 2) if a.dim() == 3 else a,
    "clone view": lambda a, b, i, j: a.clone()[..., None],
}  # fmt: skip


class RandomProgram:
    """A function of two tensors made of random steps."""

    def __init__(self, seed: int, length: int) -> None:
        r = random.Random(seed)
        names = list(STEPS)
        self.steps = [
            (r.choice(names), r.randrange(8), r.randrange(8), r.randrange(3), r.randrange(3))
            for _ in range(length)
        ]
        self.results = r.randrange(1, 4)

    def __call__(self, x: Any, y: Any) -> Any:
        pool = [x, y]
        for name, a, b, i, j in self.steps:
            out = STEPS[name](pool[-1 - a % len(pool)], pool[-1 - b % len(pool)], i, j)
            if out is not None:
                pool.append(out)
        return pool[-self.results :]

    def __str__(self) -> str:
        return "; ".join(f"{name}({a},{b},{i},{j})" for name, a, b, i, j in self.steps)


def inputs(seed: int, sizes: tuple[int, ...]) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    a, b, c = sizes
    if seed % 3 == 0:
        return [torch.randn(a, b), torch.randn(b, c)]
    if seed % 3 == 1:
        return [torch.randn(a, b, c), torch.randn(b, c)]
    return [torch.randn(a, b), torch.randn(a, b)]


def call(fn: Any, tensors: list[torch.Tensor]) -> Any:
    """The result and the inputs afterwards, or the error."""
    mine = copies(tensors)
    try:
        return fn(*mine), mine
    except Exception as e:
        return e


def check(seed: int, length: int, kind: str, counts: Any) -> str:
    """What is wrong; empty for nothing."""
    program = RandomProgram(seed, length)
    example = inputs(seed, EXAMPLE)
    if isinstance(call(program, example), Exception):
        counts["eager raises"] += 1
        return ""
    try:
        with config.patch(specialize_zero_one=False):
            captured = capture(program, tuple(copies(example)), dynamic=kind)
    except (UnsupportedError, DataDependentError) as e:
        counts[f"refused: {str(e).splitlines()[0][:60]}"] += 1
        return ""
    except Exception as e:
        return f"trace: {type(e).__name__}: {str(e).splitlines()[0]}"
    for sizes in SIZES:
        outcome, wrong = compare(captured, program, inputs(seed, sizes))
        counts[outcome] += 1
        if sizes == EXAMPLE and outcome == "refused at the door":
            return outcome
        if wrong:
            return f"{sizes}: {wrong}"
    return ""


def compare(captured: Any, program: Any, tensors: list[torch.Tensor]) -> tuple[str, str]:
    """What became of one run, and what is wrong with it."""
    expected, actual = call(program, tensors), call(captured, tensors)
    if isinstance(expected, Exception):
        if not isinstance(actual, Exception):
            return "wrong", f"eager raises {str(expected).splitlines()[0]}"
        return "both raise", ""
    if isinstance(actual, ConstraintError):
        return "refused at the door", ""
    if isinstance(actual, AnyshapeError):
        return "refused by an assert", ""
    if isinstance(actual, Exception):
        return "wrong", f"{type(actual).__name__}: {str(actual).splitlines()[0]}"
    wrong = difference("", actual, expected)
    small = any(n < 2 for t in tensors for n in t.shape)
    if wrong and small and captured.deviations:
        return "deviates", ""
    return ("wrong", wrong) if wrong else ("right", mispredicted(captured, tensors))


def mispredicted(captured: Any, tensors: list[torch.Tensor]) -> str:
    """A value that is not as predicted.

    Strides count where no size at all is 0 or 1, and no question about them was left open.
    """
    replay = Replay(captured, copies(tensors))
    wrong = replay.run(strides=False)
    if not wrong and all(n >= 2 for t in replay.values.values() for n in t.shape):
        guards = len(captured.tracer.env.guards)
        wrong = Replay(captured, copies(tensors)).run()
        if len(captured.tracer.env.guards) > guards:
            return ""
    return f"prediction: {wrong[0]}" if wrong else ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0:300")
    parser.add_argument("--length", type=int, default=6)
    parser.add_argument("--kind", default="both")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    first, last = map(int, options.seeds.split(":"))
    counts: Any = collections.Counter()
    found = 0
    for seed in range(first, last):
        for kind in ("backed", "unbacked") if options.kind == "both" else (options.kind,):
            wrong = check(seed, options.length, kind, counts)
            if wrong:
                found += 1
                print(f"{seed} [{kind}] {wrong[:200]}\n      {RandomProgram(seed, options.length)}")
    for what, n in counts.most_common(40):
        print(f"{n:6d} {what}")
    print(f"{found} wrong")


if __name__ == "__main__":
    main()
