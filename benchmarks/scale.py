"""How the cost of a trace grows: transformers of up to 200 layers, up to 20,000 sizes from data.

    python benchmarks/scale.py [--json out.json]       about a minute

Times are processor time of the process, the better of two runs. "per doubling" is the factor of the
time when the program doubles: 2 is linear. Bytes per node are what a trace keeps, from another run
under `tracemalloc`.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  after the path is set

from anyshape.trace import capture  # noqa: E402
from benchmarks.capture import Block  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

LAYERS = (25, 50, 100, 200)
SIZES = (2_500, 5_000, 10_000, 20_000)


class Row(NamedTuple):
    """One trace: how large, how many nodes, seconds, bytes per node."""

    count: int
    nodes: int
    seconds: float
    bytes: float


def layers(count: int) -> tuple[Any, tuple[Any, ...]]:
    return torch.nn.Sequential(*[Block() for _ in range(count)]), (torch.randn(3, 7, 32),)


def sizes(count: int) -> tuple[Any, tuple[Any, ...]]:
    """A tensor split by as many numbers of another, each part doubled, and joined again."""

    def split(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return torch.cat([part * 2 for part in torch.split(x, lengths.tolist())])

    return split, (torch.randn(count), torch.ones(count, dtype=torch.int64))


PROGRAMS: dict[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "layers of a transformer": (layers, LAYERS),
    "sizes from data": (sizes, SIZES),
}


def measure(make: Callable[[int], Any], count: int) -> Row:
    program, args = make(count)

    def choose(spot: Any) -> str:
        is_counted = make is sizes and spot.leaf == 1
        return "backed" if spot.dim in (0, 1) and not is_counted else "static"

    times = []
    for _ in range(2):
        gc.collect()
        start = time.process_time()
        made = capture(program, args, dynamic=choose)
        times.append(time.process_time() - start)
    nodes = len(made.graph.nodes)
    del made
    gc.collect()
    tracemalloc.start()
    kept = capture(program, args, dynamic=choose)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] / len(kept.graph.nodes)
    tracemalloc.stop()
    return Row(count, nodes, min(times), size)


def main() -> None:
    """Print a table for each kind of program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    found: dict[str, list[dict[str, Any]]] = {}
    for name, (make, counts) in PROGRAMS.items():
        measure(make, 5)
        print(f"{name:>24}  {'nodes':>7}  {'seconds':>7}  {'per doubling':>12}  {'bytes/node':>10}")
        before = None
        for count in counts:
            row = measure(make, count)
            factor = "" if before is None else f"{row.seconds / before:.2f}"
            before = row.seconds
            print(
                f"{count:24,}  {row.nodes:7,}  {row.seconds:7.2f}  {factor:>12}  {row.bytes:10.0f}",
                flush=True,
            )
            found.setdefault(name, []).append(row._asdict())
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
