"""Files that are small and declare much: large numbers, repeated references, deep nesting.

    python -m tests.unit.export.files.hostile_sizes FOLDER

loads every file of a folder in a process of its own and prints the growth of its memory as JSON.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import anyshape
from anyshape.errors import LoadError
from tests.unit.export.files.test_hostile_files import content, with_content

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = ((1 << 31) - 1, (1 << 62))
MAX_GROWTH = 3 << 30  # a load that takes more is killed


def _paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all numbers, each kind of path once."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, part in pairs:
        if type(part) is int:
            found.append((*path, key))
        elif isinstance(part, dict | list):
            found += _paths(part, (*path, key))
    return found


def _with(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return data


def each_number(name: str, value: int) -> dict[str, Any]:
    """A file for each kind of number in a program, with a large one there."""
    data = content(name)
    kinds: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for path in _paths(data):
        kinds.setdefault(tuple("#" if type(k) is int else k for k in path), path)
    return {
        f"{name}-{value}-{'.'.join(kind)}": _with(data, path, value) for kind, path in kinds.items()
    }


def many_variants() -> Any:
    """50 variants whose symbols claim to be the last of a million parts."""
    data = content("branch")
    for term in data["variants"][0]["terms"]:
        term["place"] = (1 << 20) - 1
    data["variants"] = data["variants"][:1] * 50
    return data


def _terms(entries: list[dict[str, Any]]) -> Any:
    """A program with more parts of expressions, the last of which is a guard."""
    data = content("branch")
    variant = data["variants"][0]
    variant["terms"] += entries
    last = entries[-1]["place"]
    variant["guards"].append(
        {"at": None, "condition": f"a{last} >= -5", "message": None, "origin": "guard"}
    )
    return data


def laughs(count: int, guards: int) -> Any:
    """Parts that mention the one before them twice, and guards about the last one."""
    entries = [{"place": 1000, "text": "s0 // 3"}]
    for i in range(1, count):
        before = f"a{999 + i}"
        entries.append({"place": 3000 + i, "powers": [[before, 1], ["s0", 1]]})
        entries.append({"place": 1000 + i, "text": f"(a{3000 + i} + 3*{before}) // 7"})
    data = _terms(entries)
    guard = data["variants"][0]["guards"][-1]
    for i in range(1, guards):
        condition = guard["condition"].replace("-5", str(-5 - i))
        data["variants"][0]["guards"].append({**guard, "condition": condition})
    return data


def powers(count: int) -> Any:
    """Powers of powers of powers."""
    entries: list[dict[str, Any]] = [{"place": 1000, "text": "s0 // 3"}]
    for i in range(1, count):
        entries.append({"place": 2000 + i, "text": f"(s0 + a{999 + i}) // 2"})
        entries.append({"place": 1000 + i, "powers": [[f"a{2000 + i}", 4]]})
    return _terms(entries)


def _nested(depth: int) -> Any:
    data = content("nested")
    tree: Any = 0
    for _ in range(depth):
        tree = {"list": [tree]}
    data["variants"][0]["in_tree"] = tree
    return data


def _argument(arg: Any) -> Any:
    data = content("branch")
    data["variants"][0]["nodes"][0]["args"].append(arg)
    return data


def _repeated(key: str, entry: Callable[[int], Any], count: int) -> Any:
    """A program with many entries more in one of its lists."""
    data = content("branch")
    data["variants"][0][key] += [entry(i) for i in range(count)]
    return data


def _constants(record: dict[str, Any]) -> Any:
    """Every constant with other fields."""
    data = content("sequential")
    for r in data["constants"]:
        r.update(record)
    return data


def _long_lists() -> dict[str, Any]:
    """Lists of many entries, as small as each entry can be."""
    first = content("branch")["variants"][0]["inputs"][0]
    symbol = {"aim": None, "at": None, "hint": 5, "kind": "backed", "size": True, "source": ""}
    guard = {"at": None, "message": None, "origin": "guard"}
    call = {"args": [2], "at": None, "kwargs": [], "op": "torch.eye", "outs": None}
    made = {"device": "cpu", "dtype": "bool", "grad": False, "shape": [2, 2]}
    branch, sequential = content("branch"), content("sequential")
    return {
        "many leaves": _with(branch, ("variants", 0, "in_tree"), {"list": [0] * 200_000}),
        "many containers": _with(
            branch, ("variants", 0, "in_tree"), {"list": [{"list": []}] * 50_000}
        ),
        "many symbols": _repeated(
            "terms", lambda i: {**symbol, "name": f"s{9 + i}", "range": [0, None]}, 4000
        ),
        "many parts": _repeated(
            "terms", lambda i: {"place": 1000 + i, "text": f"s0 // {i + 2}"}, 20_000
        ),
        "many guards": _repeated("guards", lambda i: {**guard, "condition": f"s0 >= {-i}"}, 10_000),
        "many inputs": _repeated("inputs", lambda i: first, 5000),
        "many calls": _repeated("nodes", lambda i: call, 20_000),
        "many results": _repeated(
            "nodes", lambda i: {**call, "outs": {**made, "value": 1000 + i}}, 10_000
        ),
        "many outputs": _with(branch, ("variants", 0, "outputs"), [0] * 200_000),
        "many sites": _with(branch, ("sites",), [["", 0, "", ""]] * 50_000),
        "many names of state": _with(
            sequential, ("state", "entries"), [[str(i), "buffer", 0] for i in range(50_000)]
        ),
        "deep names of state": _with(
            sequential,
            ("state", "entries"),
            [[".".join([str(i), *"a" * 60]), "buffer", 0] for i in range(5_000)],
        ),
        "many calls of modules": _with(
            sequential, ("modules", "calls"), [["", "", 0, i or None] for i in range(50_000)]
        ),
        "many binds": _repeated("binds", lambda i: ["s0", 0, 0, 1, 0], 50_000),
        "many relations": _repeated("relations", lambda i: [0, 0, {"int": "s0 + 1"}], 50_000),
        "many records": _with(sequential, ("constants",), sequential["constants"][:1] * 3000),
    }


def hostile() -> dict[str, bytes]:
    """The files by name."""
    found: dict[str, Any] = {"places of 50 variants": many_variants()}
    for value in LARGE:
        for name in ("sizes", "sequential", "nested", "split"):
            found |= each_number(name, value)
    found |= {
        "laughs": laughs(17, 100),
        "laughs in one guard": laughs(60, 1),
        "powers": powers(20),
        "a large power": _terms([{"place": 7, "text": "(s0 + 1)**64 // 3"}]),
        "a large number": _terms([{"place": 7, "text": f"({'9' * 99}*s0) // 3"}]),
        "deep containers": _nested(60),
        "too deep containers": _nested(300),
        "long lists": _argument([[]] * 200_000),
        "long text": _argument("x" * (1 << 20)),
        "a long deque": _with(
            content("branch"), ("variants", 0, "in_tree"), {"deque": [1 << 62, [0, 0]]}
        ),
        "large slices": _argument({"slice": [0, 1 << 63, 1]}),
        "large sizes": _argument({"size": [(1 << 62)] * 1000}),
        "views of nothing": _constants({"strides": [0] * 2, "shape": [1 << 31, 1 << 31]}),
        "many references": _with(
            content("sequential"), ("variants", 0, "constants"), [0] * 100_000
        ),
        **_long_lists(),
        "many variants": _with(
            content("branch"), ("variants",), content("branch")["variants"] * 64
        ),
    }
    return {name: with_content(_victim(name), data) for name, data in found.items()}


def _victim(name: str) -> str:
    first = name.split("-", maxsplit=1)[0]
    known = ("sizes", "sequential", "nested", "split")
    if first in known:
        return first
    return {
        "deep containers": "nested",
        "too deep containers": "nested",
        "views of nothing": "sequential",
        "many references": "sequential",
        "many names of state": "sequential",
        "many records": "sequential",
    }.get(name, "branch")


def _peak() -> int:
    """The largest size of this process since it was forked, in bytes. It is the virtual size: pages
    that the system takes away and brings back do not count.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmPeak"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmPeak")


def grown_by(load: Callable[[], object]) -> tuple[int, str]:
    """The memory that a call takes at most, and what came of it, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (limit + MAX_GROWTH,) * 2)
        before = _peak()
        try:
            load()
            text = "program"
        except LoadError as e:
            text = f"LoadError: {e}"[:200]
        except BaseException as e:
            text = f"{type(e).__name__}: {e}"[:200]
        os.write(write, json.dumps([_peak() - before, text]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    grown, text = json.loads(data or b'[0, "killed"]')
    return grown, text


def main(folder: Path) -> dict[str, Any]:
    """The growth and the outcome for each file of a folder; "planted" takes 64 MiB."""
    torch.set_num_threads(1)
    for name in ("branch", "sequential"):  # what the first load takes, and no other
        anyshape.load(folder / name)
    found = {p.name: grown_by(lambda p=p: anyshape.load(p)) for p in sorted(folder.iterdir())}
    return {**found, "planted": grown_by(lambda: bytearray(64 << 20))}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
