"""The programs in README and docs run and print what the page says."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import shlex
import sys
from pathlib import Path

import pytest

from anyshape.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text: str) -> list[tuple[str, str | None]]:
    """The Python blocks of a page, each with the text block that follows it at once, if any."""
    found: list[tuple[str, str | None]] = []
    blocks = list(BLOCK.finditer(text))
    for i, block in enumerate(blocks):
        if block[1] != "python":
            continue
        after = blocks[i + 1] if i + 1 < len(blocks) else None
        follows = (
            after is not None
            and after[1] == "text"
            and not text[block.end() : after.start()].strip()
        )
        found.append((block[2], after[2] if follows and after is not None else None))
    return found


def run_page(name: str, text: str) -> int:
    """Run the programs of a page in one namespace; return how many outputs were compared."""
    namespace: dict[str, object] = {"__name__": "page"}
    compared = 0
    for number, (source, expected) in enumerate(programs(text)):
        printed = io.StringIO()
        file = f"<{name}, {number}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        with contextlib.redirect_stdout(printed):
            exec(compile(source, file, "exec"), namespace)
        if expected is not None:
            assert printed.getvalue() == expected
            compared += 1
    return compared


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_programs_print_what_the_page_says(page: Path) -> None:
    run_page(page.name, page.read_text())


CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"This is `([\w.]+)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+ (s|kB)")


def sessions(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Run the commands of a page in a folder with its files; return how many were compared."""
    count = 0
    for name, content in FILE.findall(text):
        (folder / name).write_text(content)
    path = sys.path[:]
    with contextlib.chdir(folder):
        for session in CONSOLE.findall(text):
            for part in session.split("$ anyshape ")[1:]:
                line, _, expected = part.partition("\n")
                capsys.readouterr()
                main(shlex.split(line))
                printed = capsys.readouterr().out
                assert NUMBER.sub(r"0.0 \1", printed) == NUMBER.sub(r"0.0 \1", expected), line
                count += 1
    sys.path[:] = path
    return count


def test_the_commands_print_what_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/reference/command-line.md").read_text()
    assert sessions(page, tmp_path, capsys) == page.count("$ anyshape ") > 3


def test_a_wrong_session_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        sessions("```console\n$ anyshape --version\n0\n```\n", tmp_path, capsys)


def test_readme_has_a_program_with_output() -> None:
    assert run_page("README.md", (ROOT / "README.md").read_text()) >= 1


def test_a_wrong_output_is_caught() -> None:
    page = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
    with pytest.raises(AssertionError):
        run_page("page.md", page)


def unlisted(page: str) -> set[str]:
    """The deviations that some line of the package notes, and a page does not have in its table."""
    noted = r'(?:\bdeviate\(|Deviation\([\w.]+, )"(\w+)"'
    sources = (ROOT / "src").rglob("*.py")
    found = {op for source in sources for op in re.findall(noted, source.read_text())}
    return {op for op in found if f"| `{op}` |" not in page and f"`{op}`, of a" not in page}


def test_the_page_of_sizes_0_and_1_lists_every_deviation() -> None:
    page = (ROOT / "docs/explanation/zero-and-one.md").read_text()
    assert unlisted(page) == set()
    assert unlisted("") == {"squeeze", "is_contiguous", "bincount", "assignment"}


def test_the_small_system_has_fewer_than_300_lines() -> None:
    page = (ROOT / "docs/explanation/in-300-lines.md").read_text()
    assert 150 < sum(source.count("\n") for source, _ in programs(page)) < 300


def test_the_picture_shows_the_program_of_the_readme() -> None:
    """`make figures` draws it from the first program, which the home page has too."""
    first = [programs((ROOT / name).read_text())[0][0] for name in ("README.md", "docs/index.md")]
    assert first[0].startswith(first[1])
    assert (ROOT / "docs/report.png").stat().st_size < 100_000
