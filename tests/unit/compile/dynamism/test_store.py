"""Decisions in a file: what is read is what was written, by whomever, and damage costs nothing."""

from __future__ import annotations

import fcntl
import functools
import json
import multiprocessing
import runpy
import sys
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anyshape.compile.dynamism import locked_file, store
from anyshape.compile.dynamism.history import History, Place
from anyshape.compile.dynamism.policy import Policy
from anyshape.compile.dynamism.store import FORMAT, VERSION, Store, StoredHistory, key_of
from anyshape.config import config
from anyshape.errors import AnyshapeWarning, ConfigError
from anyshape.trace.argument.size_chooser import BACKED, STATIC, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "my.module:f"
PLACES = {("x", 0), ("x", 1), ("batch['a, b'][0]", 2), ("k", None)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.json"


@pytest.fixture(params=["file", "local", "memory"])
def where(request: Any, tmp_path: Path) -> Iterator[str]:
    if request.param != "memory":
        path = tmp_path / "new folder" / "decisions.json"
        yield str(path) if request.param == "file" else f"file://{path}"
        return
    yield "memory://folder/decisions.json"
    fsspec.filesystem("memory").store.clear()


def test_what_is_added_is_there(where: str) -> None:
    assert Store(where).load(KEY) == set()
    Store(where).add(KEY, [("x", 0)])
    Store(where).add(KEY, PLACES)
    Store(where).add("other", [("y", 3)])
    Store(where).add("nothing", [])
    assert Store(where).load(KEY) == PLACES
    assert Store(where).load("other") == {("y", 3)}
    assert Store(where).load("nothing") == set()


def test_the_document(path: Path) -> None:
    Store(str(path)).add(KEY, PLACES)
    assert json.loads(path.read_text()) == {
        "format": FORMAT,
        "version": VERSION,
        "functions": {KEY: [["batch['a, b'][0]", 2], ["k", None], ["x", 0], ["x", 1]]},
    }
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name, path.name + ".lock"]


def test_nothing_new_is_not_written(path: Path) -> None:
    Store(str(path)).add(KEY, PLACES)
    before = path.stat().st_mtime_ns, path.stat().st_ino
    Store(str(path)).add(KEY, [("x", 0)])
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.sets(st.tuples(st.text(max_size=8), st.none() | st.integers(0, 99)), min_size=1),
        max_size=3,
    )
)
def test_any_names_come_back(functions: dict[str, set[Any]]) -> None:
    places = {key: {Place(*place) for place in value} for key, value in functions.items()}
    assert store._decoded(store._encoded(places)) == functions


# ---------------------------------------------------------------------- many writers


def write_in_a_process(path: str, me: int, start: Any) -> None:
    start.wait()
    for i in range(20):
        Store(path).add(f"f{i % 3}", [(f"x{me}", i)])
        Store(path).add(f"own{me}", [("k", None), ("x", i)])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_four_processes_lose_nothing(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(4)
    processes = [
        context.Process(target=write_in_a_process, args=(str(path), i, start)) for i in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    for i in range(4):
        assert Store(str(path)).load(f"own{i}") == {("k", None), *(("x", n) for n in range(20))}
    found = set().union(*(Store(str(path)).load(f"f{n}") for n in range(3)))
    assert found == {(f"x{i}", n) for i in range(4) for n in range(20)}
    assert not list(path.parent.glob("*.new"))


def write_at_once(where: str) -> set[Any]:
    barrier = threading.Barrier(8)

    def work(i: int) -> None:
        barrier.wait()
        for n in range(10):
            Store(where).add(KEY, [(f"x{i}", n)])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return set(Store(where).load(KEY))


def test_eight_threads_lose_nothing(where: str) -> None:
    assert write_at_once(where) == {(f"x{i}", n) for i in range(8) for n in range(10)}


def test_a_reader_sees_the_old_document_or_the_new_one(path: Path) -> None:
    Store(str(path)).add(KEY, [("x", 0)])
    stop = threading.Event()

    def write() -> None:
        for n in range(60):
            Store(str(path)).add(KEY, [("x", n), ("long name " * 500, n)])
        stop.set()

    writer = threading.Thread(target=write)
    writer.start()
    before: set[Any] = set()
    while not stop.is_set():
        now = set(Store(str(path)).load(KEY))  # a warning is an error here
        assert before <= now
        before = now
    writer.join()


def test_a_writer_that_is_overwritten_writes_again(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    """As on systems without locks between processes."""
    written: list[bytes] = []
    original = locked_file.LockedFile.write

    def lost_at_first(self: Any, data: bytes) -> None:
        others = store._encoded({"other": {Place("y", 0)}})
        original(self, data if len(written) >= 2 else others)
        written.append(data)

    monkeypatch.setattr(locked_file.LockedFile, "write", lost_at_first)
    where = str(path)
    Store(where).add(KEY, [("x", 0)])
    assert len(written) == 3
    assert Store(where).load(KEY) == {("x", 0)}
    assert Store(where).load("other") == {("y", 0)}
    monkeypatch.setattr(locked_file.LockedFile, "write", lambda self, data: None)
    with pytest.warns(AnyshapeWarning, match="others write to it all the time"):
        Store(where).add(KEY, [("x", 1)])


# ---------------------------------------------------------------------- damage

GOOD = {"format": FORMAT, "version": VERSION, "functions": {KEY: [["x", 0]]}}
DAMAGED = [
    b"",
    b"not json",
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b"null",
    b"[]",
    json.dumps(GOOD).encode()[:-4],
    json.dumps({"weights": [1, 2]}).encode(),
    *(
        json.dumps({**GOOD, **change}).encode()
        for change in (
            {"format": "other"},
            {"version": 0},
            {"version": "1"},
            {"version": None},
            {"functions": [1]},
            {"functions": {KEY: "x"}},
            {"functions": {KEY: [["x"]]}},
            {"functions": {KEY: [["x", 0, 1]]}},
            {"functions": {KEY: [[0, "x"]]}},
            {"functions": {KEY: [["x", -1]]}},
            {"functions": {KEY: [["x", True]]}},
            {"functions": {KEY: [["x", 1.0]]}},
        )
    ),
]


@pytest.mark.parametrize("data", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_document_is_ignored_and_put_aside(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.warns(AnyshapeWarning, match=r"decisions\.json is ignored: "):
        assert Store(str(path)).load(KEY) == set()
    assert path.read_bytes() == data
    with pytest.warns(AnyshapeWarning, match="is put aside"):
        Store(str(path)).add(KEY, [("x", 0)])
    assert Store(str(path)).load(KEY) == {("x", 0)}
    assert path.with_name(path.name + ".damaged").read_bytes() == data


def test_a_later_version_is_left_alone(path: Path) -> None:
    data = json.dumps({**GOOD, "version": VERSION + 1})
    path.write_text(data)
    with pytest.warns(AnyshapeWarning, match="is ignored: it has version 2"):
        assert Store(str(path)).load(KEY) == set()
    with pytest.warns(AnyshapeWarning, match="cannot be written: it has version 2"):
        Store(str(path)).add(KEY, [("x", 1)])
    assert path.read_text() == data


def test_what_cannot_be_read_or_written_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(AnyshapeWarning, match="is ignored"):
        assert Store(str(tmp_path)).load(KEY) == set()
    (tmp_path / "file").write_text("")
    with pytest.warns(AnyshapeWarning, match="cannot be written"):
        Store(str(tmp_path / "file" / "below")).add(KEY, [("x", 0)])


def test_a_lock_that_nobody_gives_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked_file, "_PATIENCE", 0.05)
    with path.with_name(path.name + ".lock").open("wb") as f:
        fcntl.flock(f.fileno(), fcntl.LOCK_EX)
        with pytest.warns(AnyshapeWarning, match="cannot be written"):
            Store(str(path)).add(KEY, [("x", 0)])
    Store(str(path)).add(KEY, [("x", 0)])
    assert Store(str(path)).load(KEY) == {("x", 0)}


def test_a_url_that_is_of_no_use() -> None:
    with pytest.raises(ConfigError, match=r"config\.profile_store cannot be 'nosuch://x' here"):
        Store("nosuch://x")


def test_without_fsspec_a_url_is_an_error(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ConfigError, match="cannot be 's3://bucket/x' here") as e:
        Store("s3://bucket/x")
    assert "install fsspec" in e.value.fix
    Store(str(path)).add(KEY, [("x", 0)])


# ---------------------------------------------------------------------- keys


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def other(self, x: torch.Tensor) -> torch.Tensor:
        return x


def function(x: torch.Tensor) -> torch.Tensor:
    return x


def test_keys() -> None:
    here = __name__
    assert key_of(function) == f"{here}:function"
    assert key_of(functools.partial(function)) == f"{here}:function"
    assert key_of(Model()) == f"{here}:Model"
    assert key_of(Model().other) == f"{here}:Model.other"
    first = lambda x: x  # noqa: E731
    second = lambda x: x  # noqa: E731
    assert key_of(first) != key_of(second)
    assert key_of(first).startswith(f"{here}:test_keys.<locals>.<lambda>:")
    assert key_of(torch.nn.functional.relu) == "torch.nn.functional:relu"


SCRIPT = """
from anyshape.compile.dynamism.store import key_of
def f(x): return x
found = [key_of(f), key_of(print)]
"""


def test_a_function_of_a_script_is_known_by_the_script(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    found = runpy.run_path(str(script), run_name="__main__")["found"]
    assert found == ["__main__(train.py):f", "builtins:print"]


# ---------------------------------------------------------------------- a later process


def kinds(history: History, x: torch.Tensor) -> list[str]:
    choice = Policy(None, history).choice(["x"], [x])
    return [choice(Spot(0, "x", d, n)) for d, n in enumerate(x.shape)]


def test_a_later_process_starts_with_what_was_found(path: Path) -> None:
    with config.patch(profile_store=str(path)):
        first = StoredHistory(function)
        assert kinds(first, torch.zeros(4, 5)) == [STATIC, STATIC]
        assert not path.exists()
        assert kinds(first, torch.zeros(6, 5)) == [BACKED, STATIC]
        assert kinds(StoredHistory(function), torch.zeros(9, 5)) == [BACKED, STATIC]
        assert kinds(StoredHistory(Model()), torch.zeros(9, 5)) == [STATIC, STATIC]
    assert kinds(StoredHistory(function), torch.zeros(9, 5)) == [STATIC, STATIC]
    assert Store(str(path)).load(key_of(function)) == {("x", 0)}


def test_a_store_that_is_named_later_counts_from_then_on(tmp_path: Path) -> None:
    Store(str(tmp_path / "a")).add(key_of(function), [("x", 0)])
    Store(str(tmp_path / "b")).add(key_of(function), [("x", 1)])
    history = StoredHistory(function)
    assert kinds(history, torch.zeros(4, 5)) == [STATIC, STATIC]
    with config.patch(profile_store=str(tmp_path / "a")):
        assert kinds(history, torch.zeros(4, 5)) == [BACKED, STATIC]
    with config.patch(profile_store=str(tmp_path / "b")):
        assert kinds(history, torch.zeros(4, 5)) == [BACKED, BACKED]


def test_a_damaged_store_changes_nothing_but_a_warning(path: Path) -> None:
    path.write_text("?")
    with config.patch(profile_store=str(path)), pytest.warns(AnyshapeWarning, match="is ignored"):
        assert kinds(StoredHistory(function), torch.zeros(4, 5)) == [STATIC, STATIC]


# ---------------------------------------------------------------------- a planted bug


def test_writers_that_do_not_merge_are_found(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    def without_reading(self: Any, key: str, new: Any) -> None:
        self._document.write(store._encoded({key: new}))

    monkeypatch.setattr(Store, "_merge", without_reading)
    with pytest.raises(AssertionError):
        test_eight_threads_lose_nothing(str(path))


def test_writers_without_a_lock_are_found(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    def once(self: Any, key: str, new: Any) -> None:
        known = self._own()
        pause.wait(0.002)
        known[key] = known.get(key, set()) | new
        self._document.write(store._encoded(known))

    pause = threading.Event()
    monkeypatch.setattr(Store, "_merge", once)
    monkeypatch.setattr(locked_file.LockedFile, "locked", lambda self: nullcontext())
    with pytest.raises(AssertionError):
        test_eight_threads_lose_nothing(str(path))
