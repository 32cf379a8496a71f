"""The memory of a load is bounded by the size of the file, whatever numbers the file declares."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch

from anyshape import export, load
from anyshape.errors import UnsupportedError
from anyshape.export.files import written_out
from anyshape.export.files.written_out import WrittenOut
from anyshape.expr import evaluate
from anyshape.expr.text.python import source
from tests.unit.export.files.hostile_sizes import content, hostile, laughs, with_content
from tests.unit.export.files.test_hostile_files import refusal, whole

if TYPE_CHECKING:
    from pathlib import Path

FACTOR = 128
ALLOWANCE = 16 << 20


def test_every_hostile_file(tmp_path: Path) -> None:
    files = {f"{i:03}": (name, data) for i, (name, data) in enumerate(hostile().items())}
    for number, (_, data) in files.items():
        (tmp_path / number).write_bytes(data)
    for name in ("branch", "sequential"):
        (tmp_path / name).write_bytes(whole(name))
    command = [sys.executable, "-m", "tests.unit.export.files.hostile_sizes", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("planted")[0] > 60 << 20
    too_much = {}
    for number, (grown, outcome) in found.items():
        name, data = files.get(number, (number, whole("branch")))
        assert outcome.startswith(("program", "LoadError")), (name, outcome)
        if grown > FACTOR * len(data) + ALLOWANCE:
            too_much[name] = f"{grown >> 20} MiB for {len(data)} bytes: {outcome}"
    assert not too_much
    assert len(found) > 150


def test_expressions_that_double_are_refused(tmp_path: Path) -> None:
    text = refusal(with_content("branch", laughs(60, 1)), tmp_path / "a")
    assert "too long for a file of this size" in text


def test_the_length_is_that_of_the_text() -> None:
    """Within a constant factor of the generated source, for every condition of some programs."""

    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        n = (x.size(0) * 3 + y.size(0)) // 4
        for _ in range(6):
            n = (n * x.size(0) + n % 5 + n) // 7
        return x.sum() if n > 4 else y.sum()

    x, y = torch.ones(6), torch.ones(7)
    program = export(f, (x, y), dynamic_shapes=({0: "a"}, {0: "b"}))
    conditions = [o.condition for v in program.variants for o in v.guards]
    assert conditions
    for condition in conditions:
        written = WrittenOut()
        written.add(condition)
        text = source(condition, {"s0": "s0", "s1": "s1"})
        assert len(text) / 8 <= written.total <= 8 * len(text)
        evaluate(condition, {"s0": 6, "s1": 7})


def test_what_could_not_be_loaded_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = export(lambda x: x.view(-1, 2), (torch.ones(4),), dynamic_shapes=({0: "n"},))
    program.save(tmp_path / "a")
    load(tmp_path / "a")
    monkeypatch.setattr(written_out, "ALLOWANCE", -(1 << 20))
    with pytest.raises(UnsupportedError, match="when written out"):
        program.save(tmp_path / "b")


def test_a_constant_is_listed_once(tmp_path: Path) -> None:
    data = content("sequential")
    data["variants"][0]["constants"] *= 2
    assert "twice" in refusal(with_content("sequential", data), tmp_path / "a")


def test_numbers_of_parts_are_labels(tmp_path: Path) -> None:
    """Files of older formats number the parts with gaps; a saved program has none."""
    data = content("sizes")
    variant = data["variants"][0]
    numbers = [term["place"] for term in variant["terms"] if "place" in term]
    assert sorted(numbers) == list(range(len(numbers)))
    text = json.dumps(data)
    for i in reversed(numbers):
        text = text.replace(f'"place": {i}, ', f'"place": {i + 10**15}, ')
        for after in (" ", '"', ")", ","):
            text = text.replace(f"a{i}{after}", f"a{i + 10**15}{after}")
    (tmp_path / "a").write_bytes(with_content("sizes", text.encode()))
    loaded = load(tmp_path / "a")
    loaded.save(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == whole("sizes")
