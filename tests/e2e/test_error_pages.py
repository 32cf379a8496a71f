"""Every error code has a page: a program that fails with it, and one that works.

That the programs print what the pages say is tested with all documents.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from anyshape.cli.errors import page_of
from anyshape.cli.main import main
from anyshape.cli.schema import ERROR, SUCCESS
from anyshape.error_codes import CODES
from tests.e2e.test_documents import ROOT, programs

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "docs/reference/errors"


def problems(code: str, page: str) -> list[str]:
    """What a page of a code lacks."""
    found = programs(page)
    head = f"# {code}: {CODES[code].title}\n\n`{CODES[code].error}`."
    wanted = {
        "its head": page.startswith(head),
        "two programs": len(found) == 2,
        "the message": bool(found) and (found[0][1] or "").endswith(f"anyshape errors {code}\n"),
        "its sections": page.count("\n## A program that ") == 2,
    }
    return [what for what, is_there in wanted.items() if not is_there]


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_page(code: str) -> None:
    assert problems(code, page_of(code)) == []


def test_a_page_has_a_code() -> None:
    assert {file.stem for file in FOLDER.glob("*.md")} == {*CODES, "index"}


def test_a_page_without_its_message_is_found() -> None:
    page = page_of("AS101")
    assert problems("AS101", page.replace("errors AS101", "errors AS102")) == ["the message"]
    assert "its head" in problems("AS102", page)


def test_the_command_prints_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "as101"]) == SUCCESS
    shown = capsys.readouterr().out
    assert shown.startswith("# AS101: ")
    assert "\n    import torch\n" in shown
    assert "```" not in shown
    assert main(["errors", "AS101", "--json"]) == SUCCESS
    found = json.loads(capsys.readouterr().out)
    assert found["page"] == (FOLDER / "AS101.md").read_text()
    assert set(found["codes"]) == {"AS101"}


def test_the_command_lists_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors"]) == SUCCESS
    shown = capsys.readouterr().out
    assert all(code in shown and row.title in shown for code, row in CODES.items())
    assert main(["errors", "--json"]) == SUCCESS
    assert set(json.loads(capsys.readouterr().out)["codes"]) == set(CODES)


def test_an_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "AS000"]) == ERROR
    assert "there is no error code 'AS000'" in capsys.readouterr().err


def test_a_page_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("anyshape.cli.bundled_folder.PAGES", (tmp_path,))
    assert main(["errors", "AS101"]) == ERROR
