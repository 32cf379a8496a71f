"""The version that the package is built with is the one that it shows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from anyshape.version import __version__

ROOT = Path(__file__).parents[2]


def test_the_build_reads_the_version() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        source = tomllib.load(file)["tool"]["hatch"]["version"]
    assert set(source) == {"path"}  # the line is found by hatchling's own pattern
    text = (ROOT / source["path"]).read_text()
    found = re.search(r'^__version__ = "(?P<version>.+)"$', text, re.MULTILINE)
    assert found is not None
    assert found["version"] == __version__
