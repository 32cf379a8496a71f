"""The first call and later calls of compiled models: ours against torch.compile.

    python benchmarks/compile.py                         all rows; some minutes, most of it g++
    python benchmarks/compile.py --backends eager        without Inductor, some seconds
    python benchmarks/compile.py --models mlp --train    with a backward pass
    python benchmarks/compile.py --json out.json         the figures as well

Both sides compile with all sizes of the inputs dynamic and the same backend, each in a new process
with an empty cache of compiled code. "first" is the wall time of the first call in seconds, with a
backward pass under --train; one compilation of another model, which has the C++ headers compiled
too, warms the process up before. "Python" is the processor time of its thread: all but g++ and
Triton, which take as long for both sides and depend on how busy the machine is. "later" is the time
of a call in microseconds at five other sizes, the best of many rounds. Runs on CUDA where there is
a device.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

SIDES = ("anyshape", "torch")
GOAL_FIRST, GOAL_LATER = 0.6, 1.05
ROUNDS, CALLS = 30, 20


class Subject(NamedTuple):
    """A model, and its inputs at a size."""

    model: Any
    inputs: Callable[[int], tuple[Any, ...]]


def device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def mlp() -> Subject:
    import torch
    from torch import nn

    layers = [nn.Linear(256, 512), nn.LayerNorm(512), nn.GELU(), nn.Linear(512, 256)]
    model = nn.Sequential(*layers).to(device())
    return Subject(model, lambda n: (torch.randn(4 * n, 256, device=device()),))


def encoder() -> Subject:
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(device())
    return Subject(model, lambda n: (torch.randn(n, 5 * n, 128, device=device()),))


def experts() -> Subject:
    """Tokens sent to the two best of four experts: as many as the data says."""
    import torch
    from torch import nn

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(32, 4)
            self.experts = nn.ModuleList(nn.Linear(32, 32) for _ in range(4))

        def forward(self, x: Any) -> Any:
            share, chosen = torch.softmax(self.gate(x), -1).topk(2, dim=-1)
            flat = chosen.reshape(-1)
            order = flat.argsort(stable=True)
            counts = torch.nn.functional.one_hot(flat, 4).sum(0).tolist()
            parts = torch.split(x[order // 2], counts)
            y = torch.cat([torch.relu(f(p)) for f, p in zip(self.experts, parts, strict=True)])
            y = torch.zeros_like(y).index_copy(0, order, y)
            return (y.view(-1, 2, 32) * share.unsqueeze(-1)).sum(1)

    model = Experts().to(device())
    return Subject(model, lambda n: (torch.randn(16 * n, 32, device=device()),))


MODELS = {"mlp": mlp, "encoder": encoder, "experts": experts}


def measure(name: str, side: str, backend: str, train: bool) -> dict[str, Any]:
    """The figures of one side; runs in a process of its own."""
    import torch

    import anyshape

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)

    def compiled(model: Any) -> Any:
        if side == "anyshape":
            return anyshape.compile(model, dynamic=True, fullgraph=True, backend=backend)
        return torch.compile(model, dynamic=True, fullgraph=True, backend=backend)

    def call(model: Any, args: tuple[Any, ...]) -> Any:
        if not train:
            return model(*args)
        out = model(*args)
        out.sum().backward()
        return out

    def settle() -> None:
        if device() == "cuda":
            torch.cuda.synchronize()

    with torch.set_grad_enabled(train):
        warm = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.GELU()).to(device())
        call(compiled(warm), (torch.randn(5, 3, device=device()),))
        subject = MODELS[name]()
        model = compiled(subject.model)
        args = subject.inputs(4)
        settle()
        start, thread = time.perf_counter(), time.thread_time()
        out = call(model, args)
        settle()
        first, python = time.perf_counter() - start, time.thread_time() - thread
        wrong = float((out - subject.model(*args)).abs().max())
        sizes = [subject.inputs(n) for n in (3, 5, 6, 7, 9)]
        for args in sizes:
            wrong = max(wrong, float((call(model, args) - subject.model(*args)).abs().max()))
        best = float("inf")
        for _ in range(ROUNDS):
            settle()
            start = time.perf_counter()
            for _ in range(CALLS // len(sizes)):
                for args in sizes:
                    call(model, args)
            settle()
            best = min(best, time.perf_counter() - start)
    later = best / (CALLS // len(sizes) * len(sizes)) * 1e6
    return {"first": first, "python": python, "later": later, "difference": wrong}


def run(name: str, side: str, backend: str, train: bool) -> dict[str, Any]:
    """`measure` in a new process with an empty cache of compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": folder,
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        }
        words = [sys.executable, __file__, "--measure", name, side, backend, str(int(train))]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def row(name: str, backend: str, train: bool) -> dict[str, Any]:
    """Both sides of one row."""
    found = {side: run(name, side, backend, train) for side in SIDES}
    print(line(name, backend, found), flush=True)
    return {"model": name, "backend": backend, "train": train, **found}


def line(name: str, backend: str, found: dict[str, dict[str, Any]]) -> str:
    ours, theirs = (found[side] for side in SIDES)
    start = f"{name:8} {backend:9}"
    for side, figures in found.items():
        if "error" in figures:
            start += f" {side}: {figures['error'][:100]}"
    if "error" in ours or "error" in theirs:
        return start
    first, later = ours["first"] / theirs["first"], ours["later"] / theirs["later"]
    python = ours["python"] / theirs["python"]
    missed = " MISSED" if first > GOAL_FIRST or later > GOAL_LATER else ""
    return (
        f"{start} {ours['first']:8.2f} {theirs['first']:8.2f} {first:6.2f}"
        f"  {ours['python']:8.2f} {theirs['python']:8.2f} {python:6.2f}"
        f"  {ours['later']:9.1f} {theirs['later']:9.1f} {later:6.2f}"
        f"  {ours['difference']:.0e}{missed}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--backends", default="eager,inductor")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, side, backend, train = options.measure
        print(json.dumps(measure(name, side, backend, train == "1")))
        return
    print(f"on {device()}; goals: first {GOAL_FIRST}, later {GOAL_LATER} of torch's")
    titles = [f"{title:>8} {'torch':>8} {'ratio':>6} " for title in ("first s", "Python s")]
    print(f"{'':18} {' '.join(titles)} {'later us':>9} {'torch':>9}  ratio  difference")
    rows = []
    for backend in options.backends.split(","):
        for name in options.models.split(","):
            rows.append(row(name, backend, options.train))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
