"""Run the corpus: `python -m tests.differential.hostile [--mode M] [--only NAME] [-v] [--write]`.

Prints the outcomes by class and mode, and what differs. `--write` keeps the differences in
`known.json`, where they may only become fewer; `--grow` lets new programs add theirs.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from typing import Any

import torch

from tests.differential.hostile.known import KNOWN, read, write
from tests.differential.hostile.run import MODES, SILENT, Outcome, classes, modes_of, names, run
from tests.differential.hostile.threads import complaints

KINDS = ("same", "eager", "refused", "deviates", *SILENT)


def main(arguments: list[str]) -> int:
    """Run what was asked for; 1 if something differs that is not known to."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.hostile")
    parser.add_argument("--mode", action="append", choices=[*MODES, "threads"])
    parser.add_argument("--only", default="", help="programs whose class/name contains this")
    parser.add_argument("-v", "--verbose", action="store_true", help="every outcome")
    parser.add_argument("--write", action="store_true", help=f"keep them in {KNOWN.name}")
    parser.add_argument("--grow", action="store_true", help="with --write: also new ones")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    modes = asked.mode or [*MODES, "threads"]
    found: dict[tuple[str, str, str], Outcome] = {}
    spent: collections.Counter[str] = collections.Counter()
    for kind in classes():
        for name in names(kind):
            if asked.only not in f"{kind}/{name}":
                continue
            for mode in [m for m in modes_of(kind) if m in modes]:
                start = time.perf_counter()
                found[kind, name, mode] = outcome = run(kind, name, mode)
                spent[mode] += time.perf_counter() - start
                if asked.verbose or (asked.only and outcome.kind in SILENT):
                    print(
                        f"{kind}/{name} [{mode}]: {outcome.kind} {outcome.about}"[:600], flush=True
                    )
    if "threads" in modes and asked.only in "threads/":
        for name, wrong in complaints().items():
            found["threads", name, "threads"] = Outcome("crash" if wrong else "same", str(wrong))
    print(table(found))
    print("seconds:", {mode: round(s, 1) for mode, s in spent.items()})
    return report(found, asked)


def report(found: dict[tuple[str, str, str], Outcome], asked: Any) -> int:
    """Print the differences against the known ones."""
    known = read()
    differ: dict[str, list[str]] = collections.defaultdict(list)
    for (kind, name, mode), outcome in found.items():
        if outcome.kind in SILENT:
            differ[f"{kind}/{name}"].append(mode)
    if asked.write:
        write(found, grow=asked.grow)
        known = read()
    news = {k: [m for m in v if m not in known.get(k, ())] for k, v in differ.items()}
    news = {k: v for k, v in news.items() if v}
    ran = {(f"{kind}/{name}", mode) for kind, name, mode in found}
    right = {
        k: [m for m in v if (k, m) in ran and m not in differ.get(k, ())] for k, v in known.items()
    }
    right = {k: v for k, v in right.items() if v}
    print(f"{sum(map(len, differ.values()))} runs of {len(differ)} programs differ")
    for program, where in differ.items():
        kind, _, name = program.partition("/")
        print(f"  {program} {','.join(where)}: {found[kind, name, where[0]].about}"[:240])
    print("new differences:", json.dumps(news))
    print("known differences that are gone:", json.dumps(right))
    return 1 if news or right else 0


def table(found: dict[tuple[str, str, str], Outcome]) -> str:
    """How often each outcome came, by class and by mode."""
    lines = [f"{'':26}" + "".join(f"{kind:>11}" for kind in KINDS)]
    for place, title in ((0, "by class"), (2, "by mode")):
        counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for key, outcome in found.items():
            counts[key[place]][outcome.kind] += 1
        lines.append(title)
        rows = [*counts.items(), ("total", sum(counts.values(), collections.Counter()))]
        lines += [f"  {row:24}" + "".join(f"{n[kind]:>11}" for kind in KINDS) for row, n in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
