"""Tables that a library fills in the first call: export fills them as that call does."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape import EffectError, export
from anyshape.trace.record.read import lazy_table

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
import torch

TABLE = {}
LOG = {}
made = None


class Scale:
    def __init__(self, by):
        self.by, self.torch = by, torch

    def __call__(self, x):
        return x * self.by


class Lazy:
    def __init__(self):
        self.scale = None

    def __call__(self, x):
        if self.scale is None:
            self.scale = Scale(5)
        return self.scale(x)


LAZY = Lazy()


def by(k):
    if k not in TABLE:
        TABLE[k] = Scale(k)
    return TABLE[k]


def table(x):
    return by(3)(x)


def variable(x):
    global made
    if made is None:
        made = Scale(2)
    return made(x)


def attribute(x):
    return LAZY(x)


def on_data(x):
    return by(7)(x) if x.sum() > 0 else by(8)(x)


def counts(x):
    LOG[len(LOG)] = 1
    return x + 1


def keeps(x):
    LOG["x"] = x
    return x + 1


def keeps_size(x):
    LOG["n"] = x.size(0)
    return x + 1


def replaces(x):
    LOG["old"] = 2
    return x + 1
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package that counts as installed."""
    (tmp_path / "memo_library.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(lazy_table, "_INSTALLED", (str(tmp_path),))
    module = importlib.import_module("memo_library")
    return importlib.reload(module)


@pytest.mark.parametrize("name", ["table", "variable", "attribute", "on_data"])
def test_filled(library: Any, name: str) -> None:
    fn = getattr(library, name)
    program = export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    for n in (0, 1, 2, 5):
        for x in (torch.rand(n), -torch.rand(n)):
            assert torch.equal(program(x), fn(x))


@pytest.mark.parametrize("name", ["counts", "keeps", "keeps_size", "replaces"])
def test_no_memo(library: Any, name: str) -> None:
    library.LOG["old"] = 1
    with pytest.raises(EffectError, match="changes a dict"):
        export(getattr(library, name), (torch.ones(3),), dynamic_shapes=({0: "n"},))
    assert library.LOG == {"old": 1}


def test_of_the_user(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_table, "_INSTALLED", ("/nowhere",))
    with pytest.raises(EffectError, match="changes a dict"):
        export(library.table, (torch.ones(3),))
    assert library.TABLE == {}


def test_planted_write_that_is_not_undone_is_seen(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_table.Fill, "undo", lambda _: None)
    with pytest.raises(EffectError, match="changes a dict"):
        export(library.counts, (torch.ones(3),))
    assert library.LOG != {}
