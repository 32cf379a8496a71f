"""The page for users of torch has a row for every argument of torch's functions."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
import torch

from tests.e2e.test_documents import ROOT

PAGE = (ROOT / "docs/how-to/come-from-torch.md").read_text()


def left_out(function: Any, section: str) -> set[str]:
    """The arguments of a function that a section does not list."""
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    return set(inspect.signature(function).parameters) - set(listed)


@pytest.mark.parametrize(
    ("title", "function"),
    [("torch.compile", torch.compile), ("torch.export.export", torch.export.export)],
)
def test_every_argument_has_a_row(title: str, function: Any) -> None:
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    assert left_out(function, section) == set()
    assert left_out(function, section.replace("| `mod", "| `cod"))  # a row less is found
