"""The example programs run by name, and print that they agree with eager execution."""

from __future__ import annotations

import re

import pytest

from anyshape.cli import bundled_folder
from anyshape.cli.main import main
from anyshape.cli.schema import ERROR, SUCCESS

# What an example must print. `experts` is tested with the command line.
PRINTED = {
    "sparse": (r"30 programs\n", r"1 program\n", r"1 variant, complete: True", r"execution: True$"),
    "decode": (r"60 steps, 1 program", r"float32\[batch, 4, past, 8\]", r"execution: True$"),
    "detect": (
        r"if keep\[i\]",
        r"\(60, 8\) +equal",
        r"\b0 places: 0 boxes",
        r"60 places: \d+ boxes",
    ),
    "jagged": (r"total == u0 \+ u1 \+ u2 \+ u3", r"\(4, 50\) +equal", r"do not add up to total"),
    "train": (
        r"40 steps at 7 batch",
        r"same losses:  True",
        r"same weights: True",
        r"no, in pieces",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", name]) == SUCCESS
    shown, errors = capsys.readouterr()
    assert [p for p in PRINTED[name] if not re.search(p, shown.rstrip(), re.MULTILINE)] == []
    assert "False" not in shown
    assert "DIFFERENT" not in shown
    assert errors == ""


def test_the_examples_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--list"]) == SUCCESS
    shown = capsys.readouterr().out
    there = bundled_folder.names(bundled_folder.EXAMPLES, ".py")
    assert {"experts", *PRINTED} <= set(there)
    assert all(re.search(rf"^{name} +\w", shown, re.MULTILINE) for name in there)


def test_every_example_is_in_the_readme() -> None:
    readme = bundled_folder.find(bundled_folder.EXAMPLES, "README.md")
    assert readme is not None
    listed = re.findall(r"^\| `(\w+)\.py` \|", readme.read_text(), re.MULTILINE)
    assert set(bundled_folder.names(bundled_folder.EXAMPLES, ".py")) <= set(listed)


@pytest.mark.parametrize("name", ["sparce", "../setup", "README"])
def test_an_unknown_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", name]) == ERROR
    shown = capsys.readouterr().err
    assert f"there is no example {name!r}" in shown
    assert ("did you mean 'sparse'?" in shown) == (name == "sparce")
