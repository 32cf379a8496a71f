"""All tables in one run, as the page docs/reference/performance.md with its plots.

    python benchmarks/report.py                   everything, at most ten minutes
    python benchmarks/report.py --only tracing,scale
    python benchmarks/report.py --patience 3      three times the limits, on a machine that is slow
    python benchmarks/report.py --draw            the page again from the last figures

Each benchmark runs in a process of its own with a limit; what it printed before the limit is in the
page. The figures go to out/performance. The section on the H200 is kept as it is: it is measured on
another machine and carries its own dates.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/performance.md"
PLOTS = ROOT / "docs/reference/performance"
OUT = ROOT / "out/performance"
KEPT = re.compile(r"<!-- kept: H200 -->\n.*?<!-- end -->\n", re.DOTALL)
NOTHING = "<!-- kept: H200 -->\nNot measured.\n<!-- end -->\n"


class Step(NamedTuple):
    """A section of the page: a benchmark, its arguments, and its limit in seconds."""

    name: str
    title: str
    about: str
    words: tuple[str, ...]
    limit: int
    has_json: bool = True


STEPS: Final = (
    Step(
        "tracing",
        "Tracing",
        "A trace against one eager forward, and against `torch.export`. Tracing happens once, so\n"
        "that a multiple of a forward is the price of the first call.",
        ("capture.py", "--repeats", "15"),
        110,
    ),
    Step(
        "scale",
        "Growth and memory",
        "Traces of longer and longer programs, and what they keep in memory.",
        ("scale.py",),
        45,
    ),
    Step(
        "documents",
        "Thousands of sizes from data",
        "An export with iterations × batch sizes from data, against `torch.export`.",
        ("unbind_split_flip_cat.py", "--brief", "--repeats", "2", "--limit", "20"),
        100,
    ),
    Step(
        "dispatch",
        "Dispatch",
        "What a call of a compiled function costs besides the program, in microseconds.",
        ("dispatch.py",),
        20,
        has_json=False,
    ),
    Step(
        "regions",
        "Lowering: equal blocks once",
        "A GPT of six small blocks by Inductor with empty caches: ours in regions and whole,\n"
        "`torch.compile(dynamic=True)`, and each block compiled by hand. The times of later calls\n"
        "on small inputs are time of the host.",
        ("regions.py", "--layers", "6", "--sides", "eager,ours,whole,regional,torch"),
        110,
    ),
    Step(
        "second",
        "A second process",
        "The first call in a second process that finds torch's caches on disk.",
        ("second_process.py", "--layers", "3", "--sides", "ours,torch"),
        85,
    ),
    Step(
        "lowerings",
        "One lowering for 1 and many",
        "Lowerings that a model needs for twelve pairs of sizes, 1s among them.",
        ("lowerings.py",),
        60,
    ),
    Step(
        "engine",
        "The engine",
        "Questions about symbolic sizes, against other engines; `benchmarks/README.md` explains\n"
        "the rows.",
        ("engine.py", "--quick"),
        70,
    ),
)


def run(step: Step, patience: float) -> None:
    """Run a benchmark; keep what it printed, and its figures."""
    OUT.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, str(ROOT / "benchmarks" / step.words[0]), *step.words[1:]]
    figures = OUT / f"{step.name}.json"
    figures.unlink(missing_ok=True)
    if step.has_json:
        words += ["--json", str(figures)]
    started, limit = time.time(), patience * step.limit
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # what was printed before the limit
    text = OUT / f"{step.name}.txt"
    with (
        text.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            words, stdout=file, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
        ) as child,
    ):
        try:
            status = child.wait(limit)
            end = "" if status == 0 else f"\nstopped with exit status {status}\n"
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # with the processes that it started
            end = f"\nstopped after {limit:.0f} s\n"
    with text.open("a", encoding="utf-8") as file:
        file.write(end)
    print(f"{step.name:10} {time.time() - started:4.0f} s{end.rstrip()}", flush=True)


def machine() -> str:
    """The processor and the versions, without names of a host."""
    name = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        found = re.search(
            r"^model name\s*:\s*(.*)$", cpus.read_text(encoding="utf-8"), re.MULTILINE
        )
        name = found[1] if found else name
    import torch

    return (
        f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"torch {torch.__version__}, load {os.getloadavg()[0]:.1f} at the end"
    )


def figures_of(name: str) -> Any:
    """The figures of a step; None if it did not come to its end."""
    path = OUT / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def draw() -> dict[str, str]:
    """Draw the plots for which there are figures: the file of each, by the name of its step. None
    without the library that draws them: the figures are worth their page all the same.
    """
    if importlib.util.find_spec("matplotlib") is None:
        print("no plots: matplotlib is missing, pip install '.[bench]'")
        return {}
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "anyshape"  # the same figures give the same file
    from matplotlib import pyplot as plt

    PLOTS.mkdir(exist_ok=True)
    drawn: dict[str, str] = {}

    def save(name: str, title: str) -> None:
        plt.title(title)
        plt.tight_layout()
        plt.savefig(PLOTS / f"{name}.svg", metadata={"Date": None})
        plt.close()
        drawn[name] = f"performance/{name}.svg"

    tracing = figures_of("tracing")
    if tracing:
        rows = [r for r in tracing["results"] if r["ops"]]
        plt.figure(figsize=(7, 3))
        plt.bar([r["model"] for r in rows], [r["trace"] / r["eager"] for r in rows])
        plt.axhline(1.5, color="gray", linestyle="--")
        plt.ylabel("times a forward")
        plt.xticks(rotation=30)
        save("tracing", "A trace against one eager forward")
    scale = figures_of("scale")
    if scale:
        plt.figure(figsize=(7, 3))
        for name, rows in scale.items():
            plt.loglog([r["nodes"] for r in rows], [r["seconds"] for r in rows], "o-", label=name)
        plt.xlabel("nodes")
        plt.ylabel("seconds")
        plt.legend()
        save("scale", "Time of a trace")
    regions = figures_of("regions")
    if regions:
        found = {k: v for k, v in regions["found"].items() if "first" in v and k != "eager"}
        plt.figure(figsize=(7, 3))
        plt.bar(list(found), [v["first"] for v in found.values()])
        plt.ylabel("seconds")
        save("regions", "First call, empty caches")
    return drawn


def write(drawn: dict[str, str]) -> None:
    """Write the page from the last figures."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    kept = KEPT.search(before)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        "# Performance",
        "",
        "`make bench` measures all but the section on the H200 in one run, and writes this page.",
        "Ratios are against torch in the same run: trust them more than the times.",
        "",
        f"Measured on {day}: {machine()}.",
        "",
    ]
    for step in STEPS:
        text = OUT / f"{step.name}.txt"
        if not text.exists():
            continue
        command = " ".join(("python", f"benchmarks/{step.words[0]}", *step.words[1:]))
        lines += [f"## {step.title}", "", step.about, "", f"`{command}`", ""]
        body = text.read_text(encoding="utf-8").replace(str(ROOT), ".").strip("\n").rstrip()
        lines += ["```text", body or "no output", "```", ""]
        if step.name in drawn:
            lines += [f"![{step.title}]({drawn[step.name]})", ""]
    lines += ["## On an H200", "", kept[0] if kept else NOTHING]
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    print(PAGE.relative_to(ROOT))


def main() -> None:
    """Measure, draw and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = ",".join(step.name for step in STEPS)
    parser.add_argument("--only", default=names, help=f"of {names}")
    parser.add_argument("--patience", type=float, default=1, help="a factor for all limits")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(names.split(","))
    if unknown:
        parser.error(f"there is no step {', '.join(sorted(unknown))}; the steps are {names}")
    for step in STEPS:
        if not options.draw and step.name in options.only.split(","):
            run(step, options.patience)
    write(draw())


if __name__ == "__main__":
    main()
