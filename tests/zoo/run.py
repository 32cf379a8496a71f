"""`python -m tests.zoo`: all programs in all modes, one process per library with a time limit.

A step that takes too long is the outcome "hangs", one that ends the process is "crashes"; the
library goes on after it in a new process. `--write` keeps the outcomes in `outcomes.json` and the
table in the documentation.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.zoo.case import libraries
from tests.zoo.measure import MODES, Outcome
from tests.zoo.report import OUTCOMES, write

LIMIT = 120.0  # seconds for one program in one mode, and for the import of a library

Found = dict[str, dict[str, Any]]  # program, mode, outcome


class Worker:
    """A process that measures programs of one library, one at a time."""

    def __init__(self, library: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.zoo.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # `select` sees what is not read yet, not what is in a buffer
        )
        first = self.read(LIMIT)
        self.programs: list[str] = first.get("programs", [])

    def read(self, limit: float) -> dict[str, Any]:
        """The next line, or why there is none: `{"lost": ...}`."""
        out = self.process.stdout
        assert out is not None
        end, line = time.monotonic() + limit, b""
        while not line.endswith(b"\n"):
            if not select.select([out], [], [], max(0.0, end - time.monotonic()))[0]:
                self.close()
                return {"lost": "hangs"}
            byte = out.read(1)
            if not byte:
                return {"lost": "crashes"}
            line += byte
        return json.loads(line)

    def measure(self, name: str, mode: str, limit: float) -> dict[str, Any] | None:
        """The outcome of a program in a mode."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{name} {mode}\n".encode())
        except BrokenPipeError:  # it died while it imported the library
            return Outcome("crashes")._asdict()
        started = self.read(LIMIT)
        answer = self.read(limit) if "lost" not in started else started
        if "lost" in answer:
            return Outcome(answer["lost"])._asdict()
        return answer["outcome"]

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self.process.poll() is None


def run_library(library: str, only: str, modes: list[str], limit: float) -> Found:
    """The outcomes of a library's programs whose names contain `only`."""
    worker = Worker(library)
    if not worker.programs:
        print(f"{library}: cannot be imported")
        return {}
    found: Found = {}
    for name in [p for p in worker.programs if only in p]:
        found[name] = {}
        for mode in modes:
            if not worker.is_alive:
                worker = Worker(library)
            outcome = worker.measure(name, mode, limit)
            found[name][mode] = outcome
            if outcome is not None:
                detail = f": {outcome['detail']}" if outcome["detail"] else ""
                print(f"{library} {name} {mode}: {outcome['status']}{detail}", flush=True)
            if outcome is not None and outcome["status"] in ("hangs", "crashes"):
                worker.close()
    worker.close()
    return found


def installed(library: str) -> bool:
    """Whether the library of a file of programs is installed."""
    return importlib.util.find_spec(library) is not None


def main() -> int:
    """Run what the arguments select; 1 if a result was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__)
    parser.add_argument("--library", action="append", help="only this one (repeat for more)")
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("--mode", action="append", choices=list(MODES))
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one step")
    parser.add_argument("--write", action="store_true", help="keep outcomes and the table")
    options = parser.parse_args()
    known: dict[str, Found] = {}
    if Path(OUTCOMES).exists():
        known = json.loads(Path(OUTCOMES).read_text(encoding="utf-8"))["libraries"]
    wrong = 0
    for library in options.library or libraries():
        if not installed(library):
            print(f"{library}: not installed")
            continue
        found = run_library(library, options.only, options.mode or list(MODES), options.limit)
        wrong += sum(
            o is not None and o["status"] == "wrong" for f in found.values() for o in f.values()
        )
        for name, outcomes in found.items():
            known.setdefault(library, {}).setdefault(name, {}).update(outcomes)
        if options.write:
            write(known)
    return 1 if wrong else 0
