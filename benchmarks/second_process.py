"""The first call in a second process, which starts from torch's caches on disk.

    python benchmarks/second_process.py [--layers 6] [--json out.json]

The GPT of regions.py is lowered by Inductor in one process, and again in another one with the same
cache; ours in regions, ours whole, and torch.compile. Wall time of the first call, in seconds, and
the second as a part of the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SIDES = ("ours", "whole", "torch")


def first_call(side: str, layers: int, folder: str) -> float:
    """The first call of one side in a new process, with the caches in a folder."""
    words = [sys.executable, str(Path(__file__).with_name("regions.py")), "--measure", side]
    words += ["--layers", str(layers)]
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": folder}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return float(found["first"])


def main() -> None:
    """Print a line for each side."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    options = parser.parse_args()
    found = {}
    for side in options.sides.split(","):
        with tempfile.TemporaryDirectory() as folder:
            first, second = (first_call(side, options.layers, folder) for _ in range(2))
        found[side] = {"first": first, "second": second}
        print(f"{side:6} first {first:6.2f} s  second {second:6.2f} s  {second / first:.2f}x",
              flush=True)  # fmt: skip
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
