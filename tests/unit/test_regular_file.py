"""Files at predictable paths, with something else in their place."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
import torch

import anyshape
from anyshape import export, load, regular_file
from anyshape.compile.dynamism.store import Store
from anyshape.errors import AnyshapeError, AnyshapeWarning, LoadError
from anyshape.regular_file import make_folder

pytestmark = pytest.mark.timeout(20)  # a pipe that is opened blindly waits for ever

VICTIM = b"not to be touched"
PLACES = {("x", 0)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "file"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    made = tmp_path / "victim"
    made.write_bytes(VICTIM)
    return made


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        os.chdir(path.parent)  # the names of sockets are short
        s.bind(path.name)


OTHERS: dict[str, Any] = {"pipe": os.mkfifo, "folder": Path.mkdir}


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_lock_is_never_truncated(link: Any, path: Path, victim: Path) -> None:
    link(victim, f"{path}.lock")
    if link is os.symlink:
        with pytest.warns(AnyshapeWarning, match="is a symbolic link, not a regular file"):
            Store(str(path)).add("f", PLACES)
        assert not path.exists()
    else:
        Store(str(path)).add("f", PLACES)
        assert Store(str(path)).load("f") == PLACES
    assert victim.read_bytes() == VICTIM


def test_a_link_that_leads_nowhere_creates_nothing(path: Path, tmp_path: Path) -> None:
    os.symlink(tmp_path / "new", f"{path}.lock")
    with pytest.warns(AnyshapeWarning, match="symbolic link"):
        Store(str(path)).add("f", PLACES)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("ending", ["", ".lock"])
def test_a_store_never_waits(kind: str, ending: str, path: Path) -> None:
    OTHERS[kind](Path(f"{path}{ending}"))
    with pytest.warns(AnyshapeWarning, match="cannot be written"):
        Store(str(path)).add("f", PLACES)
    if not ending:
        with pytest.warns(AnyshapeWarning, match=f"is a {kind}, not a regular file"):
            assert Store(str(path)).load("f") == set()
    else:
        assert Store(str(path)).load("f") == set()


def test_a_store_writes_through_no_link(path: Path, victim: Path) -> None:
    """A link at the path is read and replaced; what it leads to stays as it is."""
    os.symlink(victim, path)
    with pytest.warns(AnyshapeWarning, match="put aside"):
        Store(str(path)).add("f", PLACES)
    assert Store(str(path)).load("f") == PLACES
    assert victim.read_bytes() == VICTIM


def test_a_compiled_function_goes_on_without_its_store(path: Path, victim: Path) -> None:
    os.symlink(victim, f"{path}.lock")
    with anyshape.config.patch(profile_store=str(path)):
        f = anyshape.compile(lambda x: x + 1)
        f(torch.ones(2))
        with pytest.warns(AnyshapeWarning, match="symbolic link"):
            assert f(torch.ones(3)).tolist() == [2.0] * 3
    assert victim.read_bytes() == VICTIM


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_is_replaced(link: Any, path: Path, victim: Path) -> None:
    link(victim, path)
    program = export(lambda x: x + 1, (torch.ones(3),))
    program.save(path)
    assert not path.is_symlink()
    assert load(path)(torch.ones(3)).tolist() == [2.0] * 3
    assert victim.read_bytes() == VICTIM


@pytest.mark.parametrize("kind", OTHERS)
def test_no_program_in_a_pipe_or_a_folder(kind: str, path: Path) -> None:
    OTHERS[kind](path)
    before = path.stat()
    with pytest.raises(LoadError, match="cannot read"):
        load(path)
    with pytest.raises(AnyshapeError, match=f"is a {kind}, not a regular file"):
        export(lambda x: x + 1, (torch.ones(3),)).save(path)
    assert (path.stat().st_ino, path.stat().st_mode) == (before.st_ino, before.st_mode)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_profile_replaces_links(tmp_path: Path, victim: Path) -> None:
    folder = tmp_path / "profile"
    folder.mkdir()
    for name in ("profile.txt", "profile.json", "profile.speedscope.json"):
        os.symlink(victim, folder / name)
    export(lambda x: x + 1, (torch.ones(3),), profile=folder)
    assert victim.read_bytes() == VICTIM
    assert all(not p.is_symlink() for p in folder.iterdir())


def test_a_socket_is_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    _socket(path)
    for use in (regular_file.open_to_read, regular_file.open_to_lock):
        with pytest.raises(OSError, match="file"):
            use(path)
    with pytest.raises(OSError, match="is a socket"):
        regular_file.replace_text(path, "new")


def test_devices_are_not_replaced() -> None:
    with pytest.raises(OSError, match="is a device"):
        regular_file.replace_text("/dev/null", "new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match="is a device"):
        regular_file.open_to_read("/dev/zero")


def test_permissions(path: Path) -> None:
    regular_file.replace_text(path, "old")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    regular_file.replace_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_failed_write_leaves_the_old_file(path: Path) -> None:
    regular_file.replace_text(path, "old")

    def fail(stream: Any) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        regular_file.replace_file(path, fail)
    assert path.read_text() == "old"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_text_does_not_wait_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    regular_file.replace_text(path, "text")
    assert not synced
    regular_file.replace_file(path, lambda stream: stream.write(b"bytes"))
    assert len(synced) == 1
    assert path.read_bytes() == b"bytes"


def test_a_folder_is_made_and_a_file_is_none(tmp_path: Path) -> None:
    for _ in range(2):
        make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="Not a directory"):
        make_folder(tmp_path / "file")
