"""Compare symbolic-integer engines: one run, one table, as ratios to the bare engine.

    python benchmarks/engine.py                  everything, under six minutes
    python benchmarks/engine.py --quick          under a minute
    python benchmarks/engine.py --engines ours,symint --workloads bcd
    python benchmarks/engine.py --json out.json  the figures as well
    python benchmarks/engine.py --growth         only how the cost of N facts grows with N

Each engine runs in a process of its own; each of its workloads has a time limit, after which the
rest of that workload is given up and shown as `> limit`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import signal
import subprocess
import sys
import time
import timeit
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import growth  # noqa: E402  after the path is set
from benchmarks.adapters import ENGINES, Unsupported, load  # noqa: E402
from benchmarks.table import Result, render  # noqa: E402
from benchmarks.workload import Plan  # noqa: E402
from benchmarks.workloads_engine import OWN, WORKLOADS  # noqa: E402

OURS = ("ours", "symint")
SIZES = (32, 256, 1024, 10_000)


class Limits(NamedTuple):
    """Seconds of processor time for one workload, and of real time for one engine."""

    workload: float
    engine: float


FULL = Limits(workload=12.0, engine=100.0)
QUICK = Limits(workload=3.0, engine=15.0)


class OutOfTimeError(BaseException):
    """The workload's time is up; not an `Exception`, so that no engine swallows it."""


def main() -> int:
    """Measure the engines one after another and print the table."""
    options = _options()
    if options.child:
        _child(options)
        return 0
    if options.growth:
        print(growth.table(growth.MOST))
        return 0
    started = time.time()
    results: list[Result] = []
    for name in options.engines.split(","):
        results += _measure(name, options)
    seconds = time.time() - started
    machine = _machine()
    print(render(results, quick=options.quick))
    print(f"\n{machine}; whole run {seconds:.0f} s")
    if not options.quick:
        print("\nN facts of one kind told, and one question about each asked:\n")
        print(growth.table(growth.MOST))
    if options.json:
        document = {
            "machine": machine,
            "quick": options.quick,
            "results": [r._asdict() for r in results],
        }
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repeats")
    parser.add_argument("--engines", default=",".join(ENGINES), help="of " + ", ".join(ENGINES))
    parser.add_argument("--workloads", default="abcdefghijk", help="letters, all by default")
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    parser.add_argument("--growth", action="store_true", help="only the table of growth.py")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [n for n in options.engines.split(",") if n not in ENGINES]
    if unknown:
        parser.error(f"no engine {', '.join(unknown)}; there are {', '.join(ENGINES)}")
    return options


def _measure(name: str, options: argparse.Namespace) -> list[Result]:
    """Run one engine in its own process; what it printed before its limit counts."""
    command = [sys.executable, __file__, "--child", name, "--workloads", options.workloads]
    command += ["--quick"] if options.quick else []
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    limit = (QUICK if options.quick else FULL).engine
    print(f"... {name}", file=sys.stderr, flush=True)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as child:
        try:
            out, err = child.communicate(timeout=limit + 20)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
    results = [Result(**json.loads(line)) for line in out.splitlines() if line.startswith("{")]
    if child.returncode and not results:
        print(f"{name} failed: {' '.join(err.strip().splitlines()[-1:])}", file=sys.stderr)
    return results


# ---------------------------------------------------------------------- in the child


def _child(options: argparse.Namespace) -> None:
    name = options.child
    limits = QUICK if options.quick else FULL
    try:
        engine = load(name)
    except ModuleNotFoundError as error:
        if error.name != name.rstrip("_"):
            raise
        _emit(Result(name, name, "", "", None, "not installed", None))
        return
    plan = _plan(name, quick=options.quick)
    gc.collect()
    gc.freeze()  # what an engine's library keeps in memory is no cost of the workload
    signal.signal(signal.SIGPROF, _out_of_time)
    end = time.monotonic() + limits.engine
    for workload in WORKLOADS + ((OWN,) if name == "ours" else ()):
        if workload.letter not in options.workloads:
            continue
        limit = min(limits.workload, end - time.monotonic())
        if limit <= 0:
            break
        try:
            signal.setitimer(signal.ITIMER_PROF, limit, 0.5)  # processor time
            for figure in workload.measure(engine, plan):
                _emit(Result(name, engine.title, workload.letter, *figure))
        except Unsupported:
            pass
        except OutOfTimeError:
            note = f"> {limits.workload:.0f} s"
            _emit(Result(name, engine.title, workload.letter, "", None, note, None))
        except Exception as error:  # one engine's failure is a cell of the table
            note = f"{type(error).__name__}: {error}".partition("\n")[0][:60]
            _emit(Result(name, engine.title, workload.letter, "", None, note, None))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def _plan(name: str, *, quick: bool) -> Plan:
    """The sizes; what explodes elsewhere is smaller there, as the table says."""
    ours = name in OURS
    return Plan(
        quick=quick,
        sizes=SIZES[: 4 - quick - (quick and not ours)],
        repeats=(3 if ours else 2) if quick else 7 if ours else 3,
        limits={
            "symbols": 1000 if ours else 100 if quick else 300,
            "batch": 20 if ours else 1,
            "prefixes": 1000 if ours else 50 if quick else 100,
            "ands": 8 if ours else 3,
            "sums": 12 if ours else 5 if quick else 6,
            "seeds": (60 if quick else 400) if ours else 12 if quick else 60,
        },
    )


def _out_of_time(*_: object) -> NoReturn:
    raise OutOfTimeError


def _emit(result: Result) -> None:
    print(json.dumps(result._asdict()), flush=True)


def _machine() -> str:
    """The machine, and its present speed: its neighbours make it vary."""
    call = min(timeit.repeat("f(1)", "f = lambda x: x", number=100_000, repeat=5)) / 100_000
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()};"
        f" one call of a Python function takes {1e9 * call:.0f} ns here and now"
    )


if __name__ == "__main__":
    sys.exit(main())
