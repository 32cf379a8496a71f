"""Decisions behind a URL: each writer has an object of its own, and readers merge them.

The object store is a server of this machine that speaks the protocol of S3.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from anyshape.compile.dynamism import remote_folder, store
from anyshape.compile.dynamism.history import Place
from anyshape.compile.dynamism.store import FORMAT, VERSION, Store
from anyshape.errors import AnyshapeWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "my.module:f"
ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of a server on the loopback interface; other processes find it too."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**ACCOUNT, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3").mkdir("decisions")
        yield "s3://decisions"
        fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


@pytest.fixture(params=["memory", "s3"])
def url(request: Any, tmp_path: Path) -> str:
    if request.param == "memory":
        return f"memory://{tmp_path.name}/decisions.json"
    return f"{request.getfixturevalue('bucket')}/{tmp_path.name}/decisions.json"


def as_writer(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(remote_folder, "writer", lambda: name)


def objects(url: str) -> dict[str, bytes]:
    fs, path = fsspec.core.url_to_fs(url)
    fs.invalidate_cache()
    found = fs.cat(fs.find(path + ".d"))
    return {name.rpartition("/")[2]: data for name, data in found.items()}


def test_every_writer_has_an_object_of_its_own(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Store(url).load(KEY) == set()
    for writer, places in (("a", [("x", 0)]), ("b", [("x", 1)]), ("a", [("y", None)])):
        as_writer(monkeypatch, writer)
        Store(url).add(KEY, places)
    Store(url).add("other", [("z", 2)])
    assert sorted(objects(url)) == ["a.json", "b.json"]
    for writer in ("a", "b", "new"):
        as_writer(monkeypatch, writer)
        assert Store(url).load(KEY) == {("x", 0), ("x", 1), ("y", None)}
        assert Store(url).load("other") == {("z", 2)}


def test_what_others_know_is_not_written_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    as_writer(monkeypatch, "a")
    Store(url).add(KEY, [("x", 0), ("x", 1)])
    as_writer(monkeypatch, "b")
    Store(url).add(KEY, [("x", 1)])
    assert sorted(objects(url)) == ["a.json"]


def test_the_object_at_the_url_itself_is_read(url: str) -> None:
    fs, path = fsspec.core.url_to_fs(url)
    fs.pipe_file(path, store._encoded({KEY: {Place("x", 0)}}))
    Store(url).add(KEY, [("x", 1)])
    assert Store(url).load(KEY) == {("x", 0), ("x", 1)}
    assert store._decoded(fs.cat_file(path)) == {KEY: {("x", 0)}}


@pytest.mark.parametrize("name", ["decisions.json", "decisions.json.d/other.json"])
def test_a_damaged_object_is_ignored(url: str, name: str) -> None:
    fs, path = fsspec.core.url_to_fs(url)
    Store(url).add(KEY, [("x", 0)])
    damaged = path.rpartition("/")[0] + "/" + name
    fs.pipe_file(damaged, b"?")
    with pytest.warns(AnyshapeWarning, match=name + " is ignored"):
        assert Store(url).load(KEY) == {("x", 0)}
    with pytest.warns(AnyshapeWarning, match=name + " is ignored"):
        Store(url).add(KEY, [("x", 1)])
    assert fs.cat_file(damaged) == b"?"
    fs.pipe_file(damaged, json.dumps({"format": FORMAT, "version": VERSION + 1}).encode())
    with pytest.warns(AnyshapeWarning, match="it has version 2"):
        assert Store(url).load(KEY) == {("x", 0), ("x", 1)}


def test_an_own_object_that_is_damaged_is_replaced(url: str) -> None:
    Store(url).add(KEY, [("x", 0)])
    fs, path = fsspec.core.url_to_fs(url)
    fs.pipe_file(f"{path}.d/{remote_folder.writer()}.json", b"?")
    with pytest.warns(AnyshapeWarning, match="is put aside"):
        Store(url).add(KEY, [("x", 1)])
    assert Store(url).load(KEY) == {("x", 1)}


@pytest.mark.parametrize("method", ["ls", "cat", "cat_file", "pipe_file"])
def test_a_store_that_does_not_answer_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ConnectionRefusedError("nobody is there")

    url = f"memory://silent/{method}.json"
    Store(url).add(KEY, [("y", 0)])
    monkeypatch.setattr(type(fsspec.filesystem("memory")), method, fails)
    with pytest.warns(AnyshapeWarning, match="nobody is there"):
        Store(url).add(KEY, [("x", 0)])


def test_objects_that_cannot_be_read_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(fsspec.filesystem("memory"))
    denied = {"/a": PermissionError("no entry")}
    monkeypatch.setattr(kind, "cat", lambda *_, **__: denied)
    with pytest.warns(AnyshapeWarning, match="no entry"):
        assert Store("memory://closed.json").load(KEY) == set()


def test_nothing_of_an_own_object_that_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    Store("memory://kept.json").add(KEY, [("x", 0)])
    fs = fsspec.filesystem("memory")
    fs.pipe_file(f"/kept.json.d/{remote_folder.writer()}.json", b"?")

    def fails(*_: Any) -> None:
        raise PermissionError("no entry")

    monkeypatch.setattr(type(fs), "rm_file", fails)
    outer = pytest.warns(AnyshapeWarning, match="cannot be written: no entry")
    with outer, pytest.warns(AnyshapeWarning, match="is put aside"):
        Store("memory://kept.json").add(KEY, [("x", 1)])


# ---------------------------------------------------------------------- processes

WRITE = """
import sys
from anyshape.compile.dynamism.store import Store
for i in range(5):
    Store(sys.argv[1]).add("f", [(sys.argv[2], i)])
"""
JOB = """
import sys, torch, anyshape
anyshape.config.profile_store = sys.argv[1]
@anyshape.compile
def step(x):
    return x * 2
for n in map(int, sys.argv[2:]):
    step(torch.ones(n, 3))
print(step.stats.traces)
"""


def python(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-W", "error", "-c", *args], text=True)


def lost(url: str) -> set[Any]:
    """What is not there after two processes have written at the same time."""
    writers = [python(WRITE, url, name) for name in "ab"]
    assert [writer.wait(100) for writer in writers] == [0, 0]
    return {(name, i) for name in "ab" for i in range(5)} - Store(url).load("f")


def test_processes_lose_nothing(bucket: str) -> None:
    assert lost(f"{bucket}/many.json") == set()


def test_a_job_that_starts_elsewhere_knows_what_is_dynamic(bucket: str, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(JOB)
    traces = []
    for sizes in (["4", "6", "7"], ["4", "6", "7"]):
        ran = subprocess.run([sys.executable, str(script), f"{bucket}/job.json", *sizes],
                             capture_output=True, text=True, timeout=100, check=True)  # fmt: skip
        traces.append(int(ran.stdout))
    assert traces == [2, 1]


def write_in_a_fork(results: Any) -> None:
    results.put(remote_folder.writer())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_another_writer() -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    here = remote_folder.writer()
    process = context.Process(target=write_in_a_fork, args=(results,))
    process.start()
    assert results.get(timeout=60) != here == remote_folder.writer()
    process.join(60)


def test_writers_that_share_an_object_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: writers that do not know of each other replace one object."""
    url = "memory://shared.json"
    as_writer(monkeypatch, "one")
    first, second = Store(url), Store(url)
    monkeypatch.setattr(first._document, "read", lambda: None)
    monkeypatch.setattr(Store, "_merge", lambda self, key, new: self._document.write(
        store._encoded({**self._own(), key: new})
    ))  # fmt: skip
    second.add("f", [("x", 0)])
    first.add("g", [("y", 0)])
    assert Store(url).load("f") == set()
