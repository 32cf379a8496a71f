"""A GPT of equal blocks, lowered by Inductor: ours in regions and whole, against torch.

    python benchmarks/regions.py                              12 blocks on the CPU; some minutes
    python benchmarks/regions.py --layers 24 --sides ours,torch
    python benchmarks/regions.py --train                      with a backward pass
    python benchmarks/regions.py --json out.json              the figures as well

The sides: `eager`; `plain`, ours with the backend eager; `ours`, by
Inductor with `config.regions = "auto"`; `whole`, the same without regions; `torch`,
`torch.compile(dynamic=True)`; `regional`, each block compiled by hand, `block.compile()`;
`replayed`, ours by Inductor with `mode="reduce-overhead"`, which is CUDA graphs on CUDA.
Each runs in a new process with an empty cache of compiled code, after one compilation of another
model, which has the C++ headers compiled and the processor probed too. "first" is the wall time of
the first call in seconds, "Python" the processor time of its thread: all but g++ and Triton. Small
and large are the best times of later calls, in milliseconds. Ratios are against `torch`. Runs on
CUDA, in bfloat16, where there is a device.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

SIDES = ("eager", "plain", "ours", "whole", "torch", "regional")
SMALL, LARGE = (2, 16), (8, 256)
ROUNDS = 20


def make(layers: int, width: int) -> Any:
    import torch
    from torch import nn
    from torch.nn import functional as F  # noqa: N812  as everybody calls it

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            b, t, d = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, 8, d // 8).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(b, t, d))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention()
            layers = [nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)]
            self.mlp = nn.Sequential(*layers)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.before(x))
            return x + self.mlp(self.after(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(512, width), nn.Embedding(1024, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 512)

        def forward(self, i: Any) -> Any:
            x = self.words(i) + self.places(torch.arange(i.shape[1], device=i.device))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    model = GPT()
    return model.cuda().bfloat16() if torch.cuda.is_available() else model


def device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def tokens(size: tuple[int, int]) -> Any:
    import torch

    return torch.randint(0, 512, size, device=device())


def settle() -> None:
    """Wait for the device."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def compiled(model: Any, side: str) -> Any:
    """The model as a side runs it."""
    import torch

    import anyshape

    if side in ("plain", "ours", "whole", "replayed"):
        backend = "eager" if side == "plain" else "inductor"
        mode = "reduce-overhead" if side == "replayed" else None
        return anyshape.compile(
            model, dynamic="unbacked", fullgraph=True, backend=backend, mode=mode
        )
    if side == "torch":
        return torch.compile(model, dynamic=True)
    for block in model.blocks if side == "regional" else ():
        block.compile(dynamic=True)
    return model


def warm_up() -> None:
    """Have the headers compiled and the processor probed."""
    import torch

    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Softmax(-1)).to(device())
    torch.compile(layers, dynamic=True)(torch.randn(64, 4, device=device())).sum()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one side; runs in a process of its own."""
    import torch

    import anyshape

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    side, train = options.measure, options.train

    def call(model: Any, i: Any) -> Any:
        out = model(i)
        if train:
            out.float().square().mean().backward()
        settle()
        return out

    def timed(model: Any, i: Any) -> float:
        start = time.perf_counter()
        call(model, i)
        return time.perf_counter() - start

    plain = make(options.layers, options.width)
    found: dict[str, Any] = {}
    regions = "auto" if side == "ours" else "off"
    with torch.set_grad_enabled(train), anyshape.config.patch(regions=regions):
        warm_up()
        first = tokens(SMALL)
        want = plain(first).detach()
        model = compiled(plain, side)
        settle()
        gc.collect()  # what the imports and the warm-up left behind
        start, thread = time.perf_counter(), time.thread_time()
        out = call(model, first)
        found["first"] = time.perf_counter() - start
        found["python"] = time.thread_time() - thread
        found["difference"] = float((out.detach() - want).abs().max())
        for name, size in (("small", SMALL), ("large", LARGE)):
            i = tokens(size)
            timed(model, i)
            found[name] = min(timed(model, i) for _ in range(ROUNDS)) * 1e3
    return found


def run(side: str, options: argparse.Namespace) -> dict[str, Any]:
    """`measure` in a new process with an empty cache of compiled code."""
    words = [__file__, "--measure", side]
    words += ["--layers", str(options.layers), "--width", str(options.width)]
    return in_process([*words, *["--train"] * options.train])


def in_process(words: list[str]) -> dict[str, Any]:
    """The figures that a new process prints, which starts with an empty cache of compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, *words], env=env, capture_output=True, text=True, check=False
        )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def line(side: str, found: dict[str, Any], base: dict[str, Any] | None) -> str:
    """One row; numbers with their ratio to those of torch."""
    words = [f"{side:9}"]
    for name, value in found.items():
        text = f"{value:.3g}" if isinstance(value, float) else str(value)
        if base and isinstance(value, float) and base.get(name) and name != "difference":
            text += f" ({value / base[name]:.2f}x)"
        words.append(f"{name} {text}")
    return "  ".join(words)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options)))
        return
    found: dict[str, dict[str, Any]] = {}
    for side in options.sides.split(","):
        found[side] = run(side, options)
        print(line(side, found[side], found.get("torch")), flush=True)
    if "torch" in found:
        print("against torch:")
        for side, figures in found.items():
            print(line(side, figures, found["torch"]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({**vars(options), "found": found}, file, indent=1)


if __name__ == "__main__":
    main()
