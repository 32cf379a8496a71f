"""Source lists: every way to spell a name, dimensions, and what is said of names that are not."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anyshape.compile.dynamism import sources
from anyshape.compile.dynamism.sources import current, warn_unmatched
from anyshape.config import config
from anyshape.errors import AnyshapeWarning, ConfigError
from anyshape.trace.argument.arguments import Arguments
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED

NAMES = [
    "x",
    "x2",
    "batch[0]",
    "batch[0].weights",
    "batch['k']",
    "batch['a, b']",
    "a, b",
    "a.b",
    "args[1]",
    "self.k",
    "self.layer.k",
    "self.layers[0].weight",
]


def named(entry: Any) -> list[str]:
    """The names that a list with one entry makes dynamic."""
    with config.patch(dynamic_sources=[entry]):
        lists = current()
    return [name for name in NAMES if lists.kind(name) == BACKED]


TABLE = [
    ("x", ["x"]),
    ("L['x']", ["x"]),
    ('L["x"]', ["x"]),
    ("y", []),
    ("L", []),
    ("_modules", []),
    ("L['']", []),
    ("batch", []),
    ("batch[0]", ["batch[0]"]),
    ("L['batch'][0]", ["batch[0]"]),
    ("L['batch'][0].weights", ["batch[0].weights"]),
    ("L['batch']['k']", ["batch['k']"]),
    ('batch["k"]', ["batch['k']"]),
    ("batch['a, b']", ["batch['a, b']"]),
    ("L['a, b']", ["a, b"]),
    ("a, b", ["a, b"]),
    ("L['a.b']", ["a.b"]),
    ("L['a'].b", ["a.b"]),
    ("L['args'][1]", ["args[1]"]),
    ("self.k", ["self.k"]),
    ("L['self'].k", ["self.k"]),
    ("L['self'].layer.k", ["self.layer.k"]),
    ("L['self']._modules['layer'].k", ["self.layer.k"]),
    ("self._modules['layer'].k", ["self.layer.k"]),
    ("L['self'].layers[0].weight", ["self.layers[0].weight"]),
    ("L['self'].layers.0.weight", ["self.layers[0].weight"]),
    ("L['self']._modules['layers']._modules['0']._parameters['weight']", [NAMES[-1]]),
    # patterns, matched from the start of any spelling
    (".*", NAMES),
    (r"x\d", ["x2"]),
    ("x.*", ["x", "x2"]),
    (r"L\['x.*'\]", ["x", "x2"]),
    (r"L\['x", ["x", "x2"]),
    (r"L\['x'\]", ["x"]),
    (r"batch\[\d\]", ["batch[0]", "batch[0].weights"]),
    (r"batch\[\d\]$", ["batch[0]"]),
    (r"L\['self'\]._modules\['layer'\]\.\w+", ["self.layer.k"]),
    (r"L\['self'\]\._modules\['layers'\].*_parameters", [NAMES[-1]]),
    (r"self\.(\w+\.)?k", ["self.k", "self.layer.k"]),
    (r"weights", []),
    (r".*weight.?$", ["batch[0].weights", NAMES[-1]]),
]


@pytest.mark.parametrize(("entry", "expected"), TABLE)
def test_what_an_entry_names(entry: str, expected: list[str]) -> None:
    assert named(entry) == expected


def test_the_names_are_those_of_a_trace() -> None:
    def f(x: Any, batch: Any, *args: Any, **kwargs: Any) -> None: ...

    t = torch.zeros(2)
    inputs = Arguments.of(f, (t, [t, {"a, b": t}], 3), {"c d": t})
    assert inputs.names == ["x", "batch[0]", "batch[1]['a, b']", "args[0]", "c d"]
    lists = ["L['x']", "L['batch'][1]['a, b']", "L['args'][0]", "L['c d']"]
    with config.patch(unbacked_sources=lists):
        found = [current().kind(name) for name in inputs.names]
    assert found == [UNBACKED, None, UNBACKED, UNBACKED, UNBACKED]
    with config.patch(unbacked_sources=",".join(lists)):
        assert [current().kind(name) for name in inputs.names] == found


def test_dimensions() -> None:
    with config.patch(dynamic_sources=r"x:0, y:-1, L\['z.*'\]:1, w:2, w:0, k:0"):
        lists = current()
    table = {
        name: [d for d in range(3) if lists.kind(name, d, 3)]
        for name in ("x", "y", "z", "zz", "w", "v")
    }
    assert table == {"x": [0], "y": [2], "z": [1], "zz": [1], "w": [0, 2], "v": []}
    assert lists.kind("k") == BACKED  # a number has no dimensions to choose from


@pytest.mark.parametrize("in_unbacked", [False, True])
@pytest.mark.parametrize("in_dynamic", [False, True])
@pytest.mark.parametrize("in_static", [False, True])
def test_the_order_of_the_lists(in_unbacked: bool, in_dynamic: bool, in_static: bool) -> None:
    expected = UNBACKED if in_unbacked else BACKED if in_dynamic else STATIC if in_static else None
    with config.patch(
        unbacked_sources="x" if in_unbacked else None,
        dynamic_sources="x" if in_dynamic else None,
        static_sources="x" if in_static else None,
    ):
        assert current().kind("x", 0, 1) == expected
        assert bool(current()) is (expected is not None)
        assert current().names("x") is (expected is not None)
        assert not current().names("y")


# ---------------------------------------------------------------------- the environment


def test_the_environment_is_read_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_COMPILE_UNBACKED_SOURCES", "L['x']:0,L['y']")
    assert current().kind("x", 0, 2) == UNBACKED
    assert current().kind("x", 1, 2) is None
    monkeypatch.setenv("ANYSHAPE_UNBACKED_SOURCES", "L['y']")
    assert current().kind("x", 0, 2) is None
    monkeypatch.setenv("TORCH_COMPILE_STATIC_SOURCES", "x")
    assert current().kind("x", 0, 2) == STATIC


def test_a_bad_pattern_in_the_environment_is_an_error_at_the_first_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCH_COMPILE_DYNAMIC_SOURCES", "L['x'],y(")
    with pytest.raises(ConfigError, match=r"'y\(' is neither a name nor a pattern") as e:
        current()
    assert "TORCH_COMPILE_DYNAMIC_SOURCES" in e.value.fix


# ---------------------------------------------------------------------- names that are not


def test_entries_that_name_nothing() -> None:
    names, flat = ["x", "k"], [torch.zeros(2, 3), 4]
    with config.patch(dynamic_sources="x:0,x:2,x:-2,x:-3,k:5,y", static_sources="z.*"):
        assert current().unmatched(names, flat) == ["x:2", "x:-3", "y", "z.*"]


def test_the_warning_lists_the_names_there_are() -> None:
    with pytest.warns(AnyshapeWarning, match=r"y, z\.\* in .* matched nothing; .* are: x, k\n"):
        warn_unmatched(["y", "z.*"], ["x", "k"])
    with pytest.warns(AnyshapeWarning, match="x39 and 60 more"):
        warn_unmatched(["y"], [f"x{i}" for i in range(100)])


# ---------------------------------------------------------------------- any name can be written

KEYS = st.text(alphabet='ab,. {}()*\\:"0-', min_size=1, max_size=6)


@given(KEYS, st.lists(KEYS, max_size=2))
def test_any_key_can_be_written(head: str, keys: list[str]) -> None:
    """`L[...]` and brackets name any key without a quote, in a list, in text, and in no other."""
    quote = "'" if '"' in head + "".join(keys) else '"'
    entry = f"L[{quote}{head}{quote}]" + "".join(f"[{quote}{k}{quote}]" for k in keys)
    name = head + "".join(f"[{k!r}]" for k in keys)
    if re.search(r"[.\[]", head) and keys:
        return  # which dots are in the head cannot be told from the name
    if "\\" in "".join(keys):
        return  # Python writes a backslash in a key as two
    for value in ([entry], entry):
        with config.patch(dynamic_sources=value):
            assert current().kind(name) == BACKED
            assert current().kind(name + "z") is None


# ---------------------------------------------------------------------- a planted bug


def test_a_search_instead_of_a_match_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(entry: Any, name: str) -> bool:
        return re.search(entry.name, name) is not None

    monkeypatch.setattr(sources, "_matches", search)
    wrong = [entry for entry, expected in TABLE if named(entry) != expected]
    assert {"weights", r"x\d"} & set(wrong)
    assert len(wrong) > 10
