"""Files of every version of the format: loaded, run, saved again."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

import anyshape
from anyshape.export.files.encode import FORMAT
from tests.unit.export.files.formats.programs import PROGRAMS

FOLDER = Path(__file__).parent / "formats"
FILES = sorted(path.name for path in FOLDER.iterdir() if re.fullmatch(r"\w+\.\d", path.name))
SIZES = (0, 1, 2, 3, 4, 7, 30)


def outcome(call: Any, args: Any) -> Any:
    try:
        return call(*args)
    except (RuntimeError, ValueError) as e:
        return e


def agree(program: Any, name: str) -> None:
    kept = PROGRAMS[name]
    for n in SIZES:
        want, got = (outcome(call, kept.inputs(n)) for call in (_eager(kept.fn, name), program))
        assert isinstance(want, Exception) == isinstance(got, Exception), (n, want, got)
        if isinstance(want, Exception):
            assert str(want).splitlines()[0] in str(got)
        else:
            torch.testing.assert_close(got, want)


def _eager(fn: Any, name: str) -> Any:
    """The function itself; for `with_bodies`, what its calls mean, without torch's compiler."""
    if name != "with_bodies":
        return fn

    def meant(x: torch.Tensor) -> Any:
        y = x.cos() if x.sum() > 0 else x - 1
        return y.cos() * 2, 3 * x**2

    return meant


def test_every_version_has_files() -> None:
    wanted = {
        f"{name}.{version}"
        for name, kept in PROGRAMS.items()
        for version in range(kept.since, FORMAT + 1)
    }
    assert set(FILES) == wanted


@pytest.mark.parametrize("file", FILES)
def test_it_is_of_its_version(file: str) -> None:
    with zipfile.ZipFile(FOLDER / file) as archive:
        assert json.loads(archive.read("program.json"))["format"] == int(file[-1])


@pytest.mark.parametrize("file", FILES)
def test_loaded_run_and_saved_again(file: str, tmp_path: Path) -> None:
    name = file.partition(".")[0]
    program = anyshape.load(FOLDER / file)
    agree(program, name)
    assert program.contract()
    program.save(tmp_path / "again")
    again = anyshape.load(tmp_path / "again")
    agree(again, name)
    assert again.contract() == program.contract()
    assert again.code == program.code


@pytest.mark.parametrize("file", FILES)
def test_a_kept_file_names_no_folder_of_a_machine(file: str) -> None:
    with zipfile.ZipFile(FOLDER / file) as kept:
        text = kept.read("program.json").decode()
    assert re.findall(r'"[^"]*/programs\.py"', text) == []


def test_signatures_came_with_version_7() -> None:
    def kept(file: str) -> list[str | None]:
        graphs = [v.graph for v in anyshape.load(FOLDER / file).variants]
        return [s.call.path for graph in graphs for s in graph.signatures]

    assert set(kept("signed.7")) == {"0"}
    assert kept("layer.6") == []
