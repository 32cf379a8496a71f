"""The tables of the reference are those of the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anyshape.config import SETTINGS
from tests.unit.tools.load import ROOT, load

if TYPE_CHECKING:
    from pathlib import Path

TOOL = load("reference")
PAGES = TOOL.PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_page_is_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert TOOL.fill(text) == text


def test_each_table_stands_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(f"<!-- generated: {name} -->" in text for name in TOOL.TABLES)


def test_a_stale_table_is_rewritten_once() -> None:
    page = "before\n<!-- generated: settings -->\n| old |\n<!-- end -->\nafter\n"
    new = TOOL.fill(page)
    assert new.startswith("before\n<!-- generated: settings -->\n")
    assert new.endswith("<!-- end -->\nafter\n")
    assert "| old |" not in new
    assert all(f"| `{name}` |" in new for name in SETTINGS)
    assert TOOL.fill(new) == new


def test_an_error_lists_what_users_catch_it_as() -> None:
    rows = TOOL.errors_().splitlines()
    assert any(row.startswith("| `DimError` | `ShapeError`, `IndexError` |") for row in rows)
    assert any(row.startswith("| `UnsupportedError` | `AnyshapeError`, `Not") for row in rows)
    assert not any("`_" in row for row in rows)
