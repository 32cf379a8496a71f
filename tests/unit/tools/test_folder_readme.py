"""The check of READMEs: of folders, and of the map of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.tools.load import load

if TYPE_CHECKING:
    from pathlib import Path

TOOL = load("folder_readme")


def make(package: Path, readme: str | None) -> None:
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "top.py", "inner/__init__.py", "inner/one.py", "inner/two.py"):
        (package / name).write_text("", encoding="utf-8")
    if readme is not None:
        (package / "inner" / "README.md").write_text(readme, encoding="utf-8")


def test_a_readme_that_names_all_files_is_fine(tmp_path: Path) -> None:
    make(tmp_path / "p", "`one.py`, `two`\n")
    assert TOOL.find_problems(tmp_path / "p") == []


def test_a_folder_without_readme_a_long_one_and_a_missing_file(tmp_path: Path) -> None:
    make(tmp_path / "p", None)
    make(tmp_path / "q", "`one.py`\n" * 41)
    assert TOOL.find_problems(tmp_path / "p") == ["p/inner: has no README.md"]
    assert TOOL.find_problems(tmp_path / "q") == [
        "q/inner: README.md has 41 lines, at most 40 are allowed",
        "q/inner: README.md does not name two.py",
    ]


def test_the_map_names_every_folder_and_module(tmp_path: Path) -> None:
    make(tmp_path / "p", "")
    assert TOOL.find_missing(tmp_path / "p", "| `src/p/inner/` | `top.py` |") == []
    assert TOOL.find_missing(tmp_path / "p", "| `src/p/outer/` |") == [
        "CONTRIBUTING.md: the map does not name inner/",
        "CONTRIBUTING.md: the map does not name top.py",
    ]
