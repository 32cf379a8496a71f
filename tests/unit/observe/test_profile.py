"""Profiles of exports, and the line that a long export shows on a terminal."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.errors import ArgumentError, SaveError
from anyshape.events import Answer, OpCall, emit, listeners
from anyshape.export import export
from anyshape.observe.profile import Profiled, Recorder
from anyshape.observe.profile_report import OP, QUESTION, Node, Part, Report
from anyshape.observe.progress import Progress
from anyshape.tensor.sym_tensor import ROWS
from anyshape.trace import capture
from tests.unit.export.files.saved_programs import CASES, Case

if TYPE_CHECKING:
    from pathlib import Path

SPEC = ({0: "batch"}, None)


def program(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    size = n.item()
    torch._check(size >= 2)
    y = torch.nn.functional.softplus(x @ x.T)
    return torch.cat([y.sum(1), torch.zeros(size)])


def inputs() -> tuple[Any, ...]:
    return torch.randn(4, 3), torch.tensor(5)


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_the_files_and_their_totals(tmp_path: Path) -> None:
    made = export(program, inputs(), dynamic_shapes=SPEC, profile=tmp_path / "a" / "b")
    folder = tmp_path / "a" / "b"
    data = read(folder, "profile.json")
    assert data["name"] == "program"
    ops = {row["name"]: row for row in data["ops"]}
    assert ops["Tensor.item"]["calls"] == 1
    assert {row["name"] for row in data["rungs"]} == {"table"}
    assert "data_dependent.py item" in {row["name"] for row in data["rules"]}
    lines = {row["text"]: row for row in data["lines"]}
    assert lines["size = n.item()"]["file"] == __file__
    assert lines["torch._check(size >= 2)"]["calls"] == 1
    assert "assume" in {row["name"] for row in data["questions"]}
    assert [row["name"] for row in data["phases"]] != []
    for table in ("ops", "rules", "rungs"):
        total = sum(row["seconds"] for row in data[table])
        assert total == pytest.approx(sum(row["seconds"] for row in data["ops"]))
    outermost = sum(row["seconds"] for table in ("lines", "phases") for row in data[table])
    assert outermost + data["elsewhere"] == pytest.approx(data["seconds"])
    assert 0 < data["elsewhere"] < data["seconds"]
    text = (folder / "profile.txt").read_text(encoding="utf-8")
    assert "size = n.item()" in text
    torch.testing.assert_close(made(*inputs()).shape, program(*inputs()).shape)


def test_speedscope_events_nest(tmp_path: Path) -> None:
    export(program, inputs(), dynamic_shapes=SPEC, profile=str(tmp_path))
    document = read(tmp_path, "profile.speedscope.json")
    frames = document["shared"]["frames"]
    (profile,) = document["profiles"]
    assert profile["type"] == "evented"
    opened: list[int] = []
    last = profile["startValue"]
    for event in profile["events"]:
        assert last <= event["at"] <= profile["endValue"]
        last = event["at"]
        if event["type"] == "O":
            opened.append(event["frame"])
            assert frames[event["frame"]]["name"]
        else:
            assert opened.pop() == event["frame"]
    assert not opened
    assert frames[0]["name"] == "export of program"
    assert any(f.get("line") and f["name"] == "size = n.item()" for f in frames)


def test_an_op_does_not_count_the_ops_inside_it() -> None:
    root = Node(Part("phase", "f"), None)
    outer, inner, asked = (
        Part(OP, "outer", "r", "t"),
        Part(OP, "inner", "r", "t"),
        Part(QUESTION, "q"),
    )
    root.time = 100
    a = root.inner[outer] = Node(outer, None)
    b = a.inner[inner] = Node(inner, None)
    c = b.inner[asked] = Node(asked, None)
    for node, spent in ((a, 60), (b, 25), (c, 5)):
        node.count, node.time = 1, spent
    report = Report(root)
    assert report.ops.found == {"outer": [1, 35], "inner": [1, 25]}
    assert report.rules.found == {"r": [2, 60]}
    assert report.questions.found == {"q": [1, 5]}
    assert report.elsewhere == pytest.approx(40e-9)


def test_an_event_holds_those_that_ended_since_it_started() -> None:
    """At 0 outer: at 1 inner, with a question at 2; at 5 a question. At 20 a question."""
    recorder = Recorder("f")
    recorder.start()
    for event in (
        Answer(None, "decide", None, True, None, 2, 1),
        OpCall(None, len, len, None, 1, 3),
        Answer(None, "decide", None, True, None, 5, 2),
        OpCall(None, max, max, None, 0, 10),
        Answer(None, "guard", None, True, None, 20, 4),
    ):
        emit(event)
    recorder.stop()
    tree = {node.part.name: node for node in recorder.root.inner.values()}
    assert list(tree) == ["max", "guard"]
    inner = {node.part.name: node for node in tree["max"].inner.values()}
    assert {name: node.time for name, node in inner.items()} == {"len": 3, "decide": 2}
    (asked,) = inner["len"].inner.values()
    assert (asked.part.kind, asked.time, asked.count) == (QUESTION, 1, 1)


def test_equal_parts_are_summed_up_at_every_depth() -> None:
    recorder = Recorder("f")
    recorder.start()
    for start in (0, 100, 200):
        emit(Answer(None, "decide", None, True, None, start + 1, 5))
        emit(OpCall(None, len, len, None, start, 10))
    recorder.stop()
    (op,) = recorder.root.inner.values()
    (asked,) = op.inner.values()
    assert (op.count, op.time, asked.count, asked.time) == (3, 30, 3, 15)


def test_nobody_listens_after_an_exception(tmp_path: Path) -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        x.relu()
        raise ValueError("the user's own")

    with pytest.raises(ValueError, match="the user's own"):
        export(fails, (torch.randn(3),), profile=tmp_path)
    assert listeners == {}
    assert list(tmp_path.iterdir()) == []
    export(program, inputs(), dynamic_shapes=SPEC, profile=tmp_path)
    assert listeners == {}


def test_ops_that_are_met_for_the_first_time(tmp_path: Path) -> None:
    known = dict(ROWS)
    ROWS.clear()
    try:
        export(program, inputs(), dynamic_shapes=SPEC, profile=tmp_path)
    finally:
        ROWS.update(known)
    assert sum(row["calls"] for row in read(tmp_path, "profile.json")["ops"]) > 4


def test_other_threads_are_left_alone() -> None:
    recorder = Recorder("none")
    recorder.start()
    try:
        other = threading.Thread(target=export, args=(program, inputs()))
        other.start()
        other.join()
    finally:
        recorder.stop()
    assert recorder.root.inner == {}


def test_a_profile_inside_another(tmp_path: Path) -> None:
    with Profiled(tmp_path / "outer", "outer"):
        export(program, inputs(), profile=tmp_path / "inner")
    outer, inner = [read(tmp_path / name, "profile.json") for name in ("outer", "inner")]
    for table in ("lines", "ops", "questions", "phases"):
        calls = [{row.get("name"): row["calls"] for row in data[table]} for data in (outer, inner)]
        assert calls[0] == calls[1]


def test_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SaveError, match="folder"):
        export(program, inputs(), profile=tmp_path / "file")
    with pytest.raises(ArgumentError, match="folder"):
        export(program, inputs(), profile=3)  # type: ignore[arg-type]


def test_without_stack_traces_lines_are_still_known(tmp_path: Path) -> None:
    from anyshape import config

    with config.patch(do_not_emit_stack_traces=True):
        export(program, inputs(), dynamic_shapes=SPEC, profile=tmp_path)
    texts = {row["text"] for row in read(tmp_path, "profile.json")["lines"]}
    assert "size = n.item()" in texts


def test_the_folder_in_the_settings(tmp_path: Path) -> None:
    from anyshape import config

    with config.patch(profile=str(tmp_path / "all")):
        export(program, inputs(), dynamic_shapes=SPEC)
        export(program, inputs(), dynamic_shapes=SPEC, profile=tmp_path / "own")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all", "own"]
    assert (tmp_path / "all" / "profile.json").exists()
    export(program, inputs(), dynamic_shapes=SPEC)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all", "own"]


# ---------------------------------------------------------------------- lines


def lines(made: Any) -> list[str]:
    """Everything that an export says of the user's lines."""
    found = [*[str(v.graph) for v in made.variants], made.explain()]
    for variant in made.variants:
        found += [str(o.site) for o in [*variant.guards, *variant.runtime_asserts]]
        found += [str(s.site) for s in variant.tracer.env.symbols.values()]
    return found


class Nested(torch.nn.Module):
    """Functions of the user's inside those of torch, inside those of the user's."""

    def forward(self, x: torch.Tensor) -> Any:
        with torch.library._scoped_library("profiled", "FRAGMENT") as library:
            library.define("some(Tensor x) -> Tensor")
            library.impl("some", lambda x: x[x > 0], "CompositeExplicitAutograd")
            torch.library.register_fake("profiled::some", self._fake, lib=library)
            y = torch.ops.profiled.some(x)
        z = torch.utils.checkpoint.checkpoint(self._inner, x, use_reentrant=False)
        return y, z, torch.nn.functional.softplus(self._inner(x))

    def _fake(self, x: torch.Tensor) -> torch.Tensor:
        n = torch.library.get_ctx().new_dynamic_size()
        torch._check(n <= x.numel())
        return x.new_empty(n)

    def _inner(self, x: torch.Tensor) -> torch.Tensor:
        n = x.long().sum().item()
        torch._check(n != 77)
        return x.relu() + n


def exported(name: str, folder: Path | None) -> Any:
    case = CASES.get(name) or Case(Nested(), lambda n: (torch.ones(n),), ({0: "n"},))
    torch.manual_seed(0)
    return export(case.fn, case.inputs(4), dynamic_shapes=case.dynamic, profile=folder)


@pytest.mark.parametrize("name", [*CASES, "Nested"])
def test_lines_are_those_of_an_export_without_a_profile(name: str, tmp_path: Path) -> None:
    plain, made = [lines(exported(name, folder)) for folder in (None, tmp_path)]
    assert made == plain


# ---------------------------------------------------------------------- a terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_table_is_shown_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    export(program, inputs(), dynamic_shapes=SPEC, profile=tmp_path)
    assert terminal.getvalue() == (tmp_path / "profile.txt").read_text(encoding="utf-8")


def test_a_long_export_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    def slow(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        y = x.relu().sigmoid()
        torch._check(n.item() >= 2)
        _wait_for(terminal, "3 ops, 1 asserts")
        return y

    with Progress("slow", delay=0, period=0.001):
        capture(slow, inputs())
        _wait_for(terminal, "slow: 0")
    assert listeners == {}
    assert terminal.getvalue().endswith("\r\x1b[K")


def _wait_for(terminal: Terminal, text: str) -> None:
    for _ in range(2000):
        if text in terminal.getvalue():
            return
        time.sleep(0.005)
    raise AssertionError(terminal.getvalue()[-500:])


def test_a_short_export_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (Terminal(), io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        export(program, inputs(), dynamic_shapes=SPEC)
        assert stream is None or stream.getvalue() == ""
    assert not any(t.name == "anyshape progress" for t in threading.enumerate())
