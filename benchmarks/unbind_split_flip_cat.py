"""Export of a model with thousands of data-dependent sizes: torch.export and ours in one run.

    python benchmarks/unbind_split_flip_cat.py              everything, about five minutes
    python benchmarks/unbind_split_flip_cat.py --quick      without torch.export, some seconds
    python benchmarks/unbind_split_flip_cat.py --brief      this model alone, about a minute
    python benchmarks/unbind_split_flip_cat.py --plot       the times over the number of sizes, as
                                                            out/unbind_split_flip_cat.svg
    python benchmarks/unbind_split_flip_cat.py --json a.json
    python benchmarks/unbind_split_flip_cat.py --ablation   the eight optimizations and the settings
    python benchmarks/unbind_split_flip_cat.py --profile 10x32  where the time of an export goes

Each iteration casts a tensor of sizes to int64, unbinds it, takes each `item()` with a check that
it is not negative and a running total, splits by the items, flips each part and joins them again.
Every iteration has a sizes tensor of its own: of one tensor, the second iteration's items would be
known to be those of the first. So there really are iterations x batch unbacked sizes.

Ours includes everything: the user's line of every op, all runtime asserts, the generated code.
Times are processor time of the process, the best of several runs (torch.export: of one, after a
small one to warm up, in a process of its own with a time limit). Memory is what an exported program
keeps.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import logging
import os
import platform
import pstats
import subprocess
import sys
import time
import timeit
import tracemalloc
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  after the path is set

from anyshape import config  # noqa: E402
from anyshape.export import export  # noqa: E402
from benchmarks import export_ablation  # noqa: E402
from tests.differential.workload_programs import JaggedFeatures, PackedAttention  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

BOTH = ((2, 8), (5, 16), (10, 16), (10, 32))
OURS = ((10, 64), (20, 66), (20, 132), (40, 132), (40, 264))
ABLATION = (("10x32", 15), ("20x132", 5))
PLOT = "out/unbind_split_flip_cat.svg"
GOAL_RATIO, GOAL_GROWTH, GOAL_SECONDS, GOAL_BYTES = 300, 1.1, 1.0, 2000


class Model(torch.nn.Module):
    """The model of the report: split by sizes from data, flip the parts, join them, again."""

    def forward(self, x: torch.Tensor, sizes: list[torch.Tensor]) -> torch.Tensor:
        """A tensor whose first size is the sum of each tensor of sizes."""
        for row in sizes:
            items = []
            total = 0
            for one in row.to(torch.int64).unbind():
                n = one.item()
                torch._check(n >= 0)
                items.append(n)
                total = total + n
            torch._check(total == x.size(0))
            x = torch.cat([part.flip(0) for part in torch.split(x, items)])
        return x


def model_inputs(iterations: int, batch: int) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(0)
    first = torch.randint(0, 4, (batch,), dtype=torch.int32, generator=generator)
    sizes = [first[torch.randperm(batch, generator=generator)] for _ in range(iterations)]
    return torch.randn(int(first.sum()), 4, generator=generator), sizes


class Case(NamedTuple):
    """A program to export, its inputs, and the specs of their sizes; `small` is to warm up."""

    name: str
    program: Any
    args: tuple[Any, ...]
    shapes: Any
    small: str = ""


def case(name: str) -> Case:
    """The case with a name such as `10x32`, `jagged 1024` or `attention 64`."""
    kind, _, count = name.rpartition(" ")
    if kind == "jagged":
        jagged = JaggedFeatures(features=int(count))
        return Case(name, jagged, jagged.inputs(0, 3), jagged.dynamic, "jagged 4")
    if kind == "attention":
        attention = PackedAttention(sequences=int(count))
        return Case(name, attention, attention.inputs(0, 5), attention.dynamic, "attention 2")
    iterations, batch = map(int, name.split("x"))
    shapes = ({0: "n"}, [{}] * iterations)
    return Case(name, Model(), model_inputs(iterations, batch), shapes, "2x4")


class Row(NamedTuple):
    """The figures of one case: seconds of the parts of ours, and of torch.export."""

    name: str
    sizes: int
    nodes: int
    asserts: int
    trace: float
    obligations: float
    code: float
    bytes: float | None
    torch: float | None
    note: str

    @property
    def seconds(self) -> float:
        """Ours, all parts."""
        return self.trace + self.obligations + self.code


# ---------------------------------------------------------------------- ours


def timed(c: Case) -> tuple[float, float, float, Any]:
    """Seconds for the trace, the asserts and the code, and the program."""
    start = time.process_time()
    program = export(c.program, c.args, dynamic_shapes=c.shapes)
    traced = time.process_time()
    _ = program.runtime_asserts
    asserted = time.process_time()
    _ = program.code
    return traced - start, asserted - traced, time.process_time() - asserted, program


def best(c: Case, repeats: int) -> tuple[float, float, float, Any]:
    """The best of several runs, each from a clean start."""
    found: tuple[float, float, float, Any] | None = None
    for _ in range(repeats):
        gc.collect()
        now = timed(c)
        if found is None or sum(now[:3]) < sum(found[:3]):
            found = now
    assert found is not None
    return found


def growth(small: str, large: str, repeats: int) -> float:
    """How much more a node costs in a large case than in a small one; the two run in turns, the
    small one as often as makes the same number of nodes, so that the machine's moods are shared.
    """
    a, b = case(small), case(large)
    nodes = [len(timed(c)[3].graph.nodes) for c in (a, b)]
    times = round(nodes[1] / nodes[0])
    best_of = [float("inf"), float("inf")]
    for _ in range(repeats):
        gc.collect()
        few = sum(sum(timed(a)[:3]) for _ in range(times)) / (times * nodes[0])
        gc.collect()
        many = sum(timed(b)[:3]) / nodes[1]
        best_of = [min(best_of[0], few), min(best_of[1], many)]
    return best_of[1] / best_of[0]


def kept_bytes(c: Case) -> int:
    """The memory that an exported program keeps, with its asserts and its code."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    program = timed(c)[3]
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del program
    return after - before


def measure(name: str, options: argparse.Namespace, *, with_torch: bool) -> Row:
    print(f"... {name}", file=sys.stderr, flush=True)
    c = case(name)
    timed(case(c.small))
    trace, obligations, code, program = best(c, options.repeats)
    nodes, asserts = len(program.graph.nodes), len(program.runtime_asserts)
    symbols = len(program.symbols)
    small = sum(t.numel() for t in c.args if isinstance(t, torch.Tensor)) < 100_000
    if small and not torch.equal(_first(program(*c.args)), _first(c.program(*c.args))):
        raise SystemExit(f"{name}: the exported program is wrong")
    del program
    size = kept_bytes(c) if options.memory else None
    seconds, note = torch_export(name, options.limit) if with_torch else (None, "")
    per_node = None if size is None else size / nodes
    return Row(name, symbols, nodes, asserts, trace, obligations, code, per_node, seconds, note)


def _first(result: Any) -> torch.Tensor:
    found: torch.Tensor = result[0] if isinstance(result, tuple) else result
    return found


# ---------------------------------------------------------------------- torch.export


def torch_export(name: str, limit: float) -> tuple[float | None, str]:
    """Seconds of torch.export in a process of its own, or why there is no figure."""
    command = [sys.executable, __file__, "--child", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit + 30, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"> {limit:.0f} s"
    lines = done.stdout.split()
    if done.returncode or not lines:
        return None, (done.stderr.strip().splitlines() or ["failed"])[-1][:60]
    return float(lines[-1]), ""


def child(name: str) -> None:
    c = case(name)
    for one in (case(c.small), c):
        shapes = _for_torch(one.shapes)
        module = one.program
        if not isinstance(module, torch.nn.Module):
            module = _Wrapped(module)
            shapes = (shapes,)
        start = time.process_time()
        torch.export.export(module, one.args, dynamic_shapes=shapes, strict=False)
        seconds = time.process_time() - start
    print(seconds)


class _Wrapped(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def _for_torch(specs: Any) -> Any:
    """The same specs with every named size dynamic."""
    if isinstance(specs, str):
        return torch.export.Dim.DYNAMIC
    if isinstance(specs, dict):
        return {k: _for_torch(v) for k, v in specs.items()}
    return type(specs)(map(_for_torch, specs))


# ---------------------------------------------------------------------- output

_HEADS = (
    "case",
    "sizes",
    "nodes",
    "asserts",
    "trace s",
    "asserts s",
    "code s",
    "ours s",
    "us/node",
    "B/node",
    "torch s",
    "ratio",
)


def render(rows: list[Row]) -> str:
    cells = [_HEADS]
    for r in rows:
        cells.append(
            (
                r.name,
                str(r.sizes),
                str(r.nodes),
                str(r.asserts),
                f"{r.trace:.3f}",
                f"{r.obligations:.3f}",
                f"{r.code:.3f}",
                f"{r.seconds:.3f}",
                f"{1e6 * r.seconds / r.nodes:.1f}",
                "" if r.bytes is None else f"{r.bytes:.0f}",
                r.note if r.torch is None else f"{r.torch:.2f}",
                "" if r.torch is None else f"{r.torch / r.seconds:.0f}x",
            )
        )
    return _aligned(cells)


def _aligned(cells: list[Any]) -> str:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def goals(rows: list[Row], grown: float) -> str:
    """Which goals this run met."""
    by_name = {r.name: r for r in rows}
    start, end = by_name["10x32"], by_name["40x264"]
    found = [
        (f"growth 10x32 to 40x264: {grown:.2f} times linear", "at most", GOAL_GROWTH, grown),
        (f"40x264: {end.seconds:.2f} s", "at most", GOAL_SECONDS, end.seconds),
    ]
    if end.bytes is not None:
        found.append((f"40x264: {end.bytes:.0f} bytes a node", "at most", GOAL_BYTES, end.bytes))
    if start.torch is not None:
        ratio = start.torch / start.seconds
        text = f"10x32: {ratio:.0f} times faster than torch.export"
        found.append((text, "at least", GOAL_RATIO, ratio))
    lines = []
    for text, kind, goal, value in found:
        met = value <= goal if kind == "at most" else value >= goal
        lines.append(f"{text} (goal: {kind} {goal}; {'met' if met else 'MISSED'})")
    return "\n".join(lines)


def settings_table(name: str, repeats: int) -> str:
    """The levels of effort for questions with a fallback, with and without the user's lines."""
    c = case(name)
    cells: list[Any] = [("aggressive_guard_free_semantics", "stack traces", "seconds", "us/node")]
    for level in (0, 1, 2):
        for silent in (False, True):
            with config.patch(
                aggressive_guard_free_semantics=level, do_not_emit_stack_traces=silent
            ):
                *parts, program = best(c, repeats)
            seconds = sum(parts)
            cells.append(
                (
                    str(level),
                    "off" if silent else "on",
                    f"{seconds:.3f}",
                    f"{1e6 * seconds / len(program.graph.nodes):.1f}",
                )
            )
    return _aligned(cells)


def ablation(repeats: int) -> str:
    """What each of the eight optimizations is worth here, and the settings."""

    def run(name: str) -> float:
        gc.collect()
        return sum(timed(cases[name])[:3])

    cases = {name: case(name) for name, _ in ABLATION}
    for name in cases:
        run(name)
    cells = export_ablation.table(run, ABLATION)
    return f"{_aligned(cells)}\n\n20x132 by settings\n{settings_table('20x132', repeats)}"


def plot(rows: list[Row], path: str) -> None:
    """Seconds over the number of unbacked sizes, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    _, axes = plt.subplots(figsize=(7, 4.5))
    own = sorted((r.sizes, r.seconds) for r in rows)
    axes.loglog(*zip(*own, strict=True), "o-", label="anyshape")
    theirs = sorted((r.sizes, r.torch) for r in rows if r.torch is not None)
    if theirs:
        axes.loglog(*zip(*theirs, strict=True), "s-", label=f"torch.export {torch.__version__}")
    axes.set_xlabel("unbacked sizes (iterations x batch)")
    axes.set_ylabel("seconds of processor time")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    plt.tight_layout()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(path, dpi=150)


def profile(name: str) -> None:
    c = case(name)
    for _ in range(2):
        timed(c)
    profiler = cProfile.Profile()
    profiler.enable()
    program = timed(c)[3]
    profiler.disable()
    print(f"one export of {name}, {len(program.graph.nodes)} nodes")
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(30)


# ---------------------------------------------------------------------- command


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave torch.export out")
    parser.add_argument("--brief", action="store_true", help="this model alone, at one setting")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one torch.export")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    parser.add_argument("--plot", metavar="PATH", nargs="?", const=PLOT, help="also draw the times")
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    parser.add_argument("--profile", metavar="CASE", help="such as 10x32 or 'jagged 1024'")
    parser.add_argument("--ablation", action="store_true", help="switch off one thing at a time")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure the cases one after another and print the tables."""
    options = _options()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if options.child:
        child(options.child)
        return 0
    if options.profile:
        profile(options.profile)
        return 0
    if options.ablation:
        print(ablation(options.repeats))
        return 0
    started = time.time()
    rows: list[Row] = []
    for i, b in (*BOTH, *OURS):
        # What is larger than a case that was too much for torch.export is too much, too.
        with_torch = (i, b) in BOTH and not options.quick and not any(r.note for r in rows)
        rows.append(measure(f"{i}x{b}", options, with_torch=with_torch))
    print(render(rows), flush=True)
    print("... growth", file=sys.stderr, flush=True)
    grown = growth("10x32", "40x264", options.repeats)
    print(f"\n{goals(rows, grown)}\n", flush=True)
    scale = []
    if not options.brief:
        scale = [
            measure(name, options, with_torch=not options.quick and name != "jagged 10000")
            for name in ("jagged 64", "jagged 1024", "jagged 10000", "attention 16", "attention 64")
        ]
        print(f"{render(scale)}\n", flush=True)
        print(f"20x132 by settings\n{settings_table('20x132', options.repeats)}\n")
    call = min(timeit.repeat("f(1)", "f = lambda x: x", number=100_000, repeat=5)) / 100_000
    machine = (
        f"Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores;"
        f" one call of a Python function takes {1e9 * call:.0f} ns here and now"
    )
    print(f"{machine}; whole run {time.time() - started:.0f} s")
    if options.plot:
        plot(rows, options.plot)
    if options.json:
        figures = [r._asdict() for r in [*rows, *scale]]
        document = {"machine": machine, "results": figures}
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
