"""What anyshape, torch, JAX and TVM decide and export: tables of docs/explanation/comparison.md.

    pip install -e '.[engines]'                JAX and TVM
    python benchmarks/comparison.py            all tables, two minutes
    python benchmarks/comparison.py --write    the same, into the page, with the date

Three tables: what each engine answers to the questions of `patterns.py`; small programs that each
system exports with symbolic sizes, run at several sizes and compared with eager execution; and the
times of `engine.py --quick`. A system that is not installed has no column.
"""

from __future__ import annotations

import argparse
import datetime
import json
import logging
import re
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from time import thread_time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.adapters import Session, Unsupported  # noqa: E402  after the path is set
from benchmarks.patterns import MUST_STAY_OPEN, PATTERNS, Pattern  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = ROOT / "docs/explanation/comparison.md"
ENGINES: Final = ("ours", "torch_env", "jax_", "tvm_")
YES, NO, OPEN, CANNOT = "yes", "no", "open", "cannot state it"
REPEATS = 5


# ---------------------------------------------------------------------- decisions


def sessions() -> list[type[Session]]:
    """The engines that are installed; TVM twice, without and with z3."""
    found = []
    for name in ENGINES:
        try:
            module = import_module(f"benchmarks.adapters.{name}")
        except ModuleNotFoundError:
            continue
        found += [module.Adapter, *([module.Strong] if hasattr(module, "Strong") else [])]
    return found


def answer(engine: type[Session], pattern: Pattern) -> tuple[str, float | None]:
    """What an engine says to one question, each time in a new environment; its best time."""
    best, said = None, OPEN
    for _ in range(REPEATS):
        try:
            session = engine()
            numbers = session.world(pattern.kinds, pattern.facts)
            build = session.compiled(pattern.question, " ".join(numbers))
        except Unsupported:
            return CANNOT, None
        start = thread_time()
        condition = build(*numbers.values())
        holds = session.holds(condition)
        seconds = thread_time() - start
        said = YES if holds else NO if session.fails(condition) else OPEN
        best = seconds if best is None else min(best, seconds)
    return said, best


def decisions() -> str:
    """A row for each question, and how many each engine proves."""
    engines = sessions()
    rows, times = [], {engine: [] for engine in engines}
    proved = dict.fromkeys(engines, 0)
    for pattern in (*PATTERNS, *MUST_STAY_OPEN):
        known = f", if `{' and '.join(pattern.facts)}`" if pattern.facts else ""
        known += f", `{pattern.u[:-2]} <= u`" if pattern.u != "size" else ""
        is_open = pattern in MUST_STAY_OPEN
        cells = []
        for engine in engines:
            said, seconds = answer(engine, pattern)
            if not is_open:
                proved[engine] += said == YES
                times[engine] += [] if seconds is None else [seconds]
            is_wrong = said == NO or (said == YES and is_open)
            cells.append(f"**{said}**" if is_wrong else said)
        about = " (neither)" if is_open else ""
        rows.append(f"| `{pattern.question}`{known}{about} | {' | '.join(cells)} |")
    ends = [f"**{proved[e]} of {len(PATTERNS)}**" for e in engines]
    middle = [f"{1e6 * median(times[e]):.0f} us" for e in engines]
    rows += [f"| proved | {' | '.join(ends)} |", f"| median time | {' | '.join(middle)} |"]
    return _table(["question", *(e.title for e in engines)], rows)


# ---------------------------------------------------------------------- programs


class Program(NamedTuple):
    """A function of arrays that runs in each system, and the sizes of its inputs, call by call."""

    text: str
    function: Callable[..., Any]
    calls: tuple[tuple[int, ...], ...] = ((0,), (1,), (2,), (5,))

    @property
    def dims(self) -> tuple[str, ...]:
        """A name for the size of each input."""
        return ("n", "m")[: len(self.calls[0])]


PROGRAMS: Final = (
    Program("x * 2 + x.sum()", lambda x: x * 2 + x.sum()),
    Program("x[:3]", lambda x: x[:3]),
    Program("x[: x.shape[0] // 2]", lambda x: x[: x.shape[0] // 2]),
    Program("x * 10 if x.shape[0] == 1 else x + 1", lambda x: x * 10 if x.shape[0] == 1 else x + 1),
    Program("x * 2 if x.shape[0] > 4 else x - 1", lambda x: x * 2 if x.shape[0] > 4 else x - 1),
    Program("x.reshape(-1, 2).sum(1)", lambda x: x.reshape(-1, 2).sum(1), ((0,), (2,), (4,))),
    Program("x + y", lambda x, y: x + y, ((0, 0), (1, 1), (3, 3), (1, 3))),
    Program("x[x > 0]", lambda x: x[x > 0]),
    Program("x * 2 if x.sum() > 0 else -x", lambda x: x * 2 if x.sum() > 0 else -x),
)


def by_anyshape(program: Program, example: tuple[Any, ...]) -> Callable[..., Any]:
    import anyshape

    spec = tuple({0: name} for name in program.dims)
    return anyshape.export(program.function, example, dynamic_shapes=spec)


def by_torch(
    program: Program, example: tuple[Any, ...], *, auto: bool = False
) -> Callable[..., Any]:
    import torch
    from torch.export import Dim

    class Module(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return program.function(*args)

    spec = (tuple({0: Dim.AUTO if auto else Dim(name)} for name in program.dims),)
    return torch.export.export(Module(), example, dynamic_shapes=spec).module()


def by_jax(program: Program, example: tuple[Any, ...]) -> Callable[..., Any]:
    import jax
    import torch
    from jax import export
    from jax import numpy as jnp

    scope = export.SymbolicScope()
    dims = [export.symbolic_shape(name, scope=scope) for name in program.dims]
    shapes = [jax.ShapeDtypeStruct(dim, jnp.float32) for dim in dims]
    exported = export.export(jax.jit(program.function))(*shapes)

    def call(*args: Any) -> Any:
        result = exported.call(*(jnp.asarray(x.numpy()) for x in args))
        return torch.tensor(result.tolist(), dtype=torch.float32)

    return call


def outcome(
    export: Callable[[Program, tuple[Any, ...]], Callable[..., Any]], program: Program
) -> str:
    """What a system makes of a program: nothing, or its results at each of the sizes."""
    import torch

    def inputs(sizes: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(torch.arange(n) - 1.0 for n in sizes)

    try:
        exported = export(program, inputs((6,) * len(program.dims)))
    except Exception as error:
        return f"no program: {type(error).__name__}"
    found: dict[str, list[str]] = {}
    for sizes in program.calls:
        args = inputs(sizes)
        try:
            same = torch.equal(exported(*args), program.function(*args))
            said = "right" if same else "**wrong**"
        except Exception:
            said = "refused"
        found.setdefault(said, []).append("×".join(map(str, sizes)))
    if list(found) == ["right"]:
        return "right"
    return "; ".join(f"{said} at {', '.join(sizes)}" for said, sizes in found.items())


def programs() -> str:
    """A row for each program."""
    import torch

    import anyshape

    theirs = f"torch.export {torch.__version__.partition('+')[0]}"
    systems: dict[str, Callable[..., Any]] = {
        f"anyshape {anyshape.__version__}": by_anyshape,
        f'{theirs}, `Dim("n")`': by_torch,
        f"{theirs}, `Dim.AUTO`": partial(by_torch, auto=True),
    }
    with suppress(ModuleNotFoundError):
        systems[f"jax.export {import_module('jax').__version__}"] = by_jax
    rows = []
    for program in PROGRAMS:
        sizes = ", ".join("×".join(map(str, call)) for call in program.calls)
        cells = " | ".join(outcome(export, program) for export in systems.values())
        rows.append(f"| `{program.text}` | {sizes} | {cells} |")
    return _table(["program", "sizes", *systems], rows)


# ---------------------------------------------------------------------- times

ROWS: Final = {  # of engine.py, and what the page calls them
    "create": "make a symbol",
    "learn u >= 0": "learn `u >= 0`",
    "query u >= 0": "ask `u >= 0`",
    "s = s + u, N=32": "`s + u`, a sum of 32",
    "s = s + u, N=256": "`s + u`, a sum of 256",
    "sum >= -k, N=256": "a sum of 256 `>= -k`",
    "same sum in another order, N=256": "the same sum of 256 in another order",
    "prefix <= total, N=256": "a prefix of 256 `<=` the total",
}


def times() -> str:
    """The times of `engine.py --quick`, ours in microseconds and the others as multiples."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "engine.json")
        command = [sys.executable, str(ROOT / "benchmarks/engine.py"), "--quick", "--json", file]
        command += ["--engines", ",".join(ENGINES), "--workloads", "abcdg"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        results = json.loads(file.read_text(encoding="utf-8"))["results"]
    found = {(r["engine"], r["row"]): r["seconds"] for r in results}
    titles = {r["engine"]: r["title"] for r in results if r["note"] != "not installed"}
    rows = []
    for row, name in ROWS.items():
        ours = found["ours", row]
        others = [found.get((engine, row)) for engine in titles if engine != "ours"]
        cells = ["–" if s is None else _multiple(s / ours) for s in others]
        rows.append(f"| {name} | {1e6 * ours:.2g} us | {' | '.join(cells)} |")
    return _table(["operation", *titles.values()], rows)


def _multiple(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def _table(titles: list[str], rows: list[str]) -> str:
    return "\n".join((f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *rows))


# ---------------------------------------------------------------------- the page

TABLES: Final = {"decisions": decisions, "programs": programs, "times": times}


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default=",".join(TABLES), help=f"of {', '.join(TABLES)}")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()  # torch prints the graphs of exports that fail
    for name in options.only.split(","):
        table = TABLES[name]()
        print(f"{table}\n", flush=True)
        if options.write:
            write(name, table)


def write(name: str, table: str) -> None:
    """Put a table into its place in the page, with the date."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    said = f"Measured on {date} with `python benchmarks/comparison.py --only {name}`."
    place = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    text = PAGE.read_text(encoding="utf-8")
    new, count = place.subn(lambda found: f"{found[1]}\n{said}\n\n{table}\n\n{found[2]}", text)
    assert count == 1, name
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
