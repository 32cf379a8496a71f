"""Sixty requests at sixty random sizes to a GPT of equal blocks, 1s among the sizes.

    python benchmarks/serve.py [--layers 6] [--width 32] [--sides eager,ours,torch]
    python benchmarks/serve.py --layers 24 --width 768 --json out.json
    python benchmarks/serve.py --draw out.json --plot out.svg

The sides are those of regions.py, each in a new process with an empty cache of compiled code. "all"
is the wall time of all requests in seconds, "slow" the calls that took more than ten times the
median, and "steady" the sum of the best of five later calls at each size, in milliseconds. The plot
shows the time of all requests so far.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.regions import compiled, in_process, line, make, settle, tokens, warm_up

SIDES = ("eager", "plain", "ours", "regional", "torch")
SERVED = 5  # rounds of later calls


def sizes() -> list[tuple[int, int]]:
    """The batch and the length of each request."""
    draw = random.Random(0)
    found = [(draw.randint(1, 12), draw.randint(1, 700)) for _ in range(56)]
    return [*found, (1, 1), (1, 350), (7, 1), (12, 700)]


def measure(side: str, layers: int, width: int) -> dict[str, Any]:
    """The figures of one side; runs in a process of its own."""
    import torch

    import anyshape

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)

    def timed(i: Any) -> float:
        start = time.perf_counter()
        model(i)
        settle()
        return time.perf_counter() - start

    regions = "auto" if side == "ours" else "off"
    with torch.no_grad(), anyshape.config.patch(regions=regions):
        warm_up()
        model = compiled(make(layers, width), side)
        requests = [tokens(size) for size in sizes()]
        settle()
        times = [timed(i) for i in requests]
        steady = sum(min(timed(i) for _ in range(SERVED)) for i in requests)
    usual = sorted(times)[len(times) // 2]
    slow = [round(t, 2) for t in times if t > max(10 * usual, 0.3)]
    return {"all": sum(times), "slow": slow, "steady": steady * 1e3, "times": times}


def draw(figures: dict[str, Any], path: str) -> None:
    """Draw the time of all requests so far, for each side."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "anyshape"  # the same figures give the same file
    from matplotlib import pyplot as plt

    plt.figure(figsize=(7, 3.5))
    for side, found in figures["found"].items():
        if "times" in found:
            plt.semilogy([*itertools.accumulate(found["times"])], label=side)
    plt.xlabel("requests")
    plt.ylabel("seconds since the start")
    plt.legend()
    plt.title(f"{figures['layers']} blocks, {figures['width']} wide, on {figures['device']}")
    plt.tight_layout()
    plt.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    parser.add_argument("--plot", metavar="PATH", help="also draw them here")
    parser.add_argument("--draw", metavar="PATH", help="take the figures from here")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.layers, options.width)))
        return
    if options.draw:
        figures = json.loads(Path(options.draw).read_text(encoding="utf-8"))
    else:
        figures = measured(options)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        draw(figures, options.plot)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of all sides, which are printed as they come."""
    import torch

    place = torch.cuda.get_device_name() if torch.cuda.is_available() else "the CPU"
    figures: dict[str, Any] = {"layers": options.layers, "width": options.width, "device": place}
    found: dict[str, dict[str, Any]] = {}
    for side in options.sides.split(","):
        words = ["--layers", str(options.layers), "--width", str(options.width)]
        found[side] = in_process([__file__, "--measure", side, *words])
        told = {name: value for name, value in found[side].items() if name != "times"}
        print(line(side, told, found.get("torch")), flush=True)
    return {**figures, "found": found}


if __name__ == "__main__":
    main()
