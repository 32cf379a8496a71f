"""The distributions hold what they must, and the check of them finds what is missing."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.unit.tools.load import ROOT, load

if TYPE_CHECKING:
    from pathlib import Path

problems = load("wheel_content").problems


def test_the_distributions_are_complete(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the build backend, of the extra `dev`")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    assert problems(tmp_path) == []
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel, "a") as file:
        file.writestr("tests/extra.py", "")
    assert problems(tmp_path) == ["the wheel holds tests/extra.py"]


def test_an_empty_folder_is_a_problem(tmp_path: Path) -> None:
    assert problems(tmp_path) == [f"{tmp_path} has 0 wheels and 0 sdists, not one of each"]
