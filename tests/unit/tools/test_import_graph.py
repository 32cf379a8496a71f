"""The pictures of the imports: every file once, below all that import it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grimp

from tests.unit.tools.load import ROOT, load

if TYPE_CHECKING:
    import pytest

TOOL = load("import_graph")
IMPORTS = {"a": {"b", "c"}, "b": {"s.d"}, "c": set(), "s.d": set(), "s.e": {"s.d"}}


def test_a_file_is_below_all_that_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for widest in (1, 2, 5):
        monkeypatch.setattr(TOOL, "WIDEST", widest)
        found = TOOL.rows(IMPORTS)
        row_of = {file: i for i, row in enumerate(found) for file in row}
        assert sorted(row_of) == sorted(IMPORTS)
        assert all(len(row) <= widest for row in found)
        assert all(row_of[f] < row_of[target] for f in IMPORTS for target in IMPORTS[f])


def test_the_text_has_each_box_frame_and_arrow() -> None:
    text = TOOL.describe("folder", IMPORTS)
    assert text.count(" [label=") == 5
    assert 'label="folder/s/"' in text
    assert text.count('" -> "') - text.count('-> "row ') == 4


def test_the_picture_holds_its_text() -> None:
    text = TOOL.describe("folder", IMPORTS)
    assert TOOL.source_of(f"<!-- drawn from\n{text}-->\n<svg></svg>") == text
    assert TOOL.source_of("<svg></svg>") == ""


def test_every_file_of_a_folder_is_drawn() -> None:
    graph = grimp.build_graph("anyshape", cache_dir=None, exclude_type_checking_imports=True)
    for folder in TOOL.FOLDERS:
        files = (ROOT / "src/anyshape" / folder).rglob("*.py")
        assert len(TOOL.imports_in(graph, folder)) == len(
            [file for file in files if file.name != "__init__.py"]
        )
