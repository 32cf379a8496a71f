"""`ANYSHAPE_TRACE` and `config.trace`: the files, and that their lines follow the schema."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.config import config
from anyshape.errors import AnyshapeWarning, ConfigError
from anyshape.events import KINDS, Fallback, GraphBreak, Lowering, Phase, emit, listeners
from anyshape.observe import trace_schema, wanted
from anyshape.observe.trace_schema import COMMON, FIELDS, HEADER, members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
BY_NAME = {kind.__name__: kind for kind in KINDS}


@pytest.fixture(autouse=True)
def nobody_listens() -> Iterator[None]:
    assert listeners == {}
    yield
    assert listeners == {}


def branch(x: Any) -> Any:
    if x.size(0) > 5:
        x = x + 1
    hits = x[x > 0]
    torch._check(hits.numel() <= 100)
    return hits * 2 if hits.numel() > 3 else hits


def work() -> None:
    compiled = anyshape.compile(branch, dynamic=True)
    for n in (8, 3, 1):
        compiled(torch.ones(n))
    anyshape.export(branch, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    emit(Phase("step", 1, 2))
    emit(Fallback("f", "why"))
    emit(GraphBreak(None, "why", None))


def is_of(value: Any, kind: str) -> bool:
    kinds = [TYPES[k.strip()] for k in kind.replace(" or ", ", ").split(",")]
    return any(type(value) in types for types in kinds)


def need_valid(line: dict[str, Any]) -> None:
    """Raise for a line that is not of the schema."""
    rest = {f.name: f.kind for f in members(BY_NAME[line["event"]])}
    kinds = {name: about.split(":")[0] for name, about in COMMON.items()} | rest
    assert set(line) == set(kinds), line
    for name, kind in kinds.items():
        assert is_of(line[name], kind), (name, line)


def read(folder: Path) -> list[list[dict[str, Any]]]:
    files = sorted(folder.glob("anyshape-*.jsonl"))
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def test_every_line_follows_the_schema(tmp_path: Path) -> None:
    with config.patch(trace=str(tmp_path)):
        work()
    ((header, *lines),) = read(tmp_path)
    assert set(header) == set(HEADER)
    assert (header["schema"], header["version"]) == ("anyshape-trace", trace_schema.VERSION)
    for line in lines:
        need_valid(line)
    never = {"Replacement", "Specialization", "Deviation", "Lowering"}
    assert {line["event"] for line in lines} >= set(BY_NAME) - never
    guards = [line for line in lines if line["event"] == "Guard"]
    assert "6 <= x.size(0)" in {line["condition"] for line in guards}
    (place,) = {g["site"]["line"] for g in guards if g["condition"] == "6 <= x.size(0)"}
    assert place == branch.__code__.co_firstlineno + 1
    again = next(line for line in lines if line["event"] == "Recompilation")
    assert set(again["reasons"][0]) == {"place", "text", "fix", "site"}
    assert again["site"]["function"] == "work"


def test_a_path_that_ends_is_no_error(tmp_path: Path) -> None:
    with config.patch(trace=str(tmp_path)):
        anyshape.export(branch, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    (lines,) = read(tmp_path)
    ends = [line for line in lines if line.get("event") == "TraceEnd"]
    breaks = [line for line in lines if line.get("event") == "GraphBreak"]
    assert len(ends) > 2
    assert {line["error"] for line in ends} == {None}
    assert {line["written"] for line in breaks} == {"hits.numel() > 3"}


def test_a_wrong_line_is_caught() -> None:
    """Negative control: the check of the schema rejects a missing member and a wrong type."""
    good = {"event": "Phase", "time": 1, "thread": 1, "site": None, "name": "x", "start": 1}
    need_valid({**good, "nanoseconds": 1})
    for bad in (good, {**good, "nanoseconds": "1"}):
        with pytest.raises(AssertionError):
            need_valid(bad)


def test_every_field_of_every_kind_is_written() -> None:
    fields = {name for kind in KINDS for name in vars(kind)["_fields"]} - {"site"}
    assert fields == set(FIELDS)


def test_errors_and_long_texts_are_bounded(tmp_path: Path) -> None:
    class Graph:
        nodes = (1, 2)

    with config.patch(trace=str(tmp_path)):
        emit(Lowering("mine", Graph(), ValueError("x" * 5000 + "\ud800"), 1, 2))
    ((_, line),) = read(tmp_path)
    need_valid(line)
    assert line["error"]["type"] == "ValueError"
    assert len(line["error"]["text"]) == 2000


def test_threads_share_a_file_and_a_child_has_its_own(tmp_path: Path) -> None:
    config.trace = str(tmp_path)
    try:
        threads = [threading.Thread(target=lambda: emit(Phase("t", 1, 2))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        child = os.fork() if hasattr(os, "fork") else None
        if child == 0:
            emit(Phase("child", 1, 2))
            os._exit(0)
        if child is not None:
            os.waitpid(child, 0)
    finally:
        config.trace = None
    files = read(tmp_path)
    assert [len(lines) for lines in files] == [9, 2]
    assert files[0][0]["process"] == os.getpid()
    assert files[1][0]["process"] == child
    emit(Phase("late", 1, 2))
    assert [len(lines) for lines in read(tmp_path)] == [9, 2]


def test_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "file" / "folder"
    wrong.parent.write_text("")
    with pytest.raises(ConfigError, match=r"config\.trace cannot be"):
        config.trace = str(wrong)
    assert config.trace is None
    for place in (wrong, wrong.parent):
        monkeypatch.setenv("ANYSHAPE_TRACE", str(place))
        with pytest.warns(AnyshapeWarning, match="ANYSHAPE_TRACE is ignored: Not a directory"):
            wanted.follow_environment()
    monkeypatch.setenv("ANYSHAPE_TRACE", str(tmp_path / "new"))
    wanted.follow_environment()
    emit(Phase("x", 1, 2))
    monkeypatch.delenv("ANYSHAPE_TRACE")
    wanted.follow_environment()
    assert [len(lines) for lines in read(tmp_path / "new")] == [2]
