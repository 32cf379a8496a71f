"""Many inputs of sizes 0, 1 and 2: how often a function is compiled, ours and torch.compile's.

    python benchmarks/sparse.py [--inputs 100] [--calls 12] [--write]

A model of visits: each of many places has a list of visits, often empty or of one; the lists are
scaled, put together, and summed. Every call has other lengths. Both are compiled with the backend
"eager", once with sizes that are made dynamic when they change, and once with unbacked ones.
Results are checked. Times are CPU seconds of the thread for all calls, a minute for the defaults.
`--write` puts the table, with the date, into README.md.
"""

from __future__ import annotations

import argparse
import datetime
import random
import re
import time
import warnings
from pathlib import Path
from typing import Any

import torch

import anyshape

README = Path(__file__).resolve().parents[1] / "README.md"
PLACE = re.compile(r"(<!-- measured: sparse -->\n).*?(<!-- end -->)", re.DOTALL)


def visits(*lists: torch.Tensor) -> Any:
    parts = [x * (i + 1) for i, x in enumerate(lists)]
    sums = torch.stack([p.sum() for p in parts])
    return torch.cat(parts).relu(), sums


def inputs(count: int, seed: int) -> tuple[torch.Tensor, ...]:
    """As many lists, of 0, 1 or 2 numbers each."""
    chance = random.Random(seed)
    return tuple(torch.randn(chance.choice((0, 1, 2))) for _ in range(count))


def unbacked(mark: Any, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """The inputs with every size marked."""
    for x in args:
        mark(x, 0)
    return args


def run(compiled: Any, calls: list[tuple[torch.Tensor, ...]]) -> float:
    """Seconds of all calls, each checked against the plain function."""
    spent = 0.0
    for args in calls:
        start = time.thread_time()
        out = compiled(*args)
        spent += time.thread_time() - start
        torch.testing.assert_close(out, visits(*args))
    return spent


def ours(calls: list[tuple[torch.Tensor, ...]], *, marked: bool) -> tuple[int, float]:
    """Times compiled, and seconds."""
    compiled = anyshape.compile(visits, recompile_limit=len(calls))
    if marked:
        calls = [unbacked(anyshape.mark_unbacked, args) for args in calls]
    spent = run(compiled, calls)
    return compiled.stats.traces, spent


def theirs(calls: list[tuple[torch.Tensor, ...]], *, marked: bool) -> tuple[int, float]:
    """The same of torch.compile."""
    torch._dynamo.reset()
    count = 0

    def backend(graph: Any, example_inputs: Any) -> Any:
        nonlocal count
        count += 1
        return graph.forward

    with torch._dynamo.config.patch(recompile_limit=len(calls)):
        compiled = torch.compile(visits, backend=backend)
        if marked:
            calls = [unbacked(torch._dynamo.decorators.mark_unbacked, args) for args in calls]
        spent = run(compiled, calls)
    return count, spent


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--calls", type=int, default=12)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"{options.calls} calls of {options.inputs} inputs\n{'':38} compiled  seconds")
    rows = []
    for marked in (False, True):
        for who, measure in (("anyshape", ours), ("torch.compile", theirs)):
            calls = [inputs(options.inputs, seed) for seed in range(options.calls)]
            traces, spent = measure(calls, marked=marked)
            kind = "unbacked" if marked else "dynamic once changed"
            print(f"{kind:22} {who:14} {traces:9} {spent:8.2f}", flush=True)
            rows.append(f"| {who}, sizes {kind} | {traces} | {spent:.2f} s |\n")
    if options.write:
        write("".join(rows))


def write(rows: str) -> None:
    """Put the rows into README.md, with the date and the versions."""
    version = torch.__version__.partition("+")[0]
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    made = f"{date}, anyshape {anyshape.__version__}, torch {version}, one core"
    table = f"| {made} | compilations | time of all calls |\n|---|---|---|\n{rows}"
    text = README.read_text(encoding="utf-8")
    new, count = PLACE.subn(lambda found: f"{found[1]}\n{table}\n{found[2]}", text)
    assert count == 1
    README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
