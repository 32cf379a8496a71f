"""Reports of programs, compiled functions and trace files: what they hold, and that it is safe."""

from __future__ import annotations

import html.parser
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.compile.report import report_data as of_compiled
from anyshape.errors import LoadError, SaveError
from anyshape.export.report import report_data as of_exported
from anyshape.observe.report import page
from anyshape.observe.report.flame import Span, tree
from anyshape.observe.report.of_trace import trace_report
from anyshape.observe.report.report_data import Place, ReportData

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>&"\u2028\udc80'


class Page(html.parser.HTMLParser):
    """The elements of a page, and the data in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.found = ""
        self._reads = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._reads = ("id", "data") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._reads = False

    def handle_data(self, data: str) -> None:
        if self._reads:
            self.found += data

    @property
    def data(self) -> Any:
        return json.loads(self.found)


TAGS = ["html", "head", "meta", "meta", "meta", "meta", "title", "style", "body"]
TAGS += ["noscript", "script", "script"]


def is_safe(text: str) -> bool:
    """No element and no address beyond those of the page itself."""
    shown = Page(text)
    addresses = [v for k, v in shown.attributes if k in ("src", "href", "action", "onerror")]
    own = text.replace(shown.found, "")
    return shown.tags == TAGS and not addresses and not re.search("https?:|//[a-z]", own)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner(x)
        anyshape.check(y.size(0) <= 100, "at most a hundred")
        if y.size(0) > 5:
            return y[y > 0]
        return torch.relu(y)


@pytest.fixture(scope="module")
def program() -> Any:
    return anyshape.export(Net(), (torch.ones(3, 4),), dynamic_shapes=({0: "rows"},))


def test_report_of_an_exported_program(program: Any, tmp_path: Path) -> None:
    program.report(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert is_safe(text)
    data = Page(text).data
    assert data["title"] == "Net"
    assert "  x: float32[rows, 4]" in data["accepts"]
    assert [p["title"] for p in data["programs"]] == ["variant 0", "variant 1"]
    symbol = data["programs"][0]["symbols"][0]
    assert (symbol["label"], symbol["range"]) == ("rows", "0 to 5")
    guard = next(c for c in data["conditions"] if c["text"] == "rows <= 5")
    file, line, function = data["places"][guard["place"]]
    assert function == "forward"
    shown = dict(map(tuple, data["files"][file]["lines"]))
    assert shown[line].strip() == "if y.size(0) > 5:"
    graph = data["programs"][0]["graphs"][0]
    assert graph["inputs"][0] == ["i0", "input x", "float32[s0, 4]"]
    module, op, text, metas, _ = graph["nodes"][0]
    assert op == "linear"
    assert "linear" in text
    assert metas == "float32[rows, 4]" or "4]" in metas
    modules = data["programs"][0]["modules"]
    assert modules[module]["path"] == "inner"
    assert modules[modules[module]["outer"]]["path"] == ""
    assert any("inner" in line for line in data["held"]), data["held"]


def test_a_loaded_program_has_a_report(program: Any, tmp_path: Path) -> None:
    program.save(tmp_path / "p")
    loaded = anyshape.load(tmp_path / "p")
    mine, its = of_exported(program).data(), of_exported(loaded).data()
    for key in ("accepts", "conditions"):
        assert its[key] == mine[key], key
    assert [p["symbols"] for p in its["programs"]] == [p["symbols"] for p in mine["programs"]]


def branching(x: torch.Tensor, k: int) -> Any:
    y = x * k
    if y.sum() > 0:
        return y.nonzero()
    return y


def test_report_of_a_compiled_function(tmp_path: Path) -> None:
    compiled = anyshape.compile(branching)
    for args in [(torch.ones(3), 2), (torch.ones(4), 2), (-torch.ones(4), 2), (torch.ones(4), 3)]:
        compiled(*args)
    compiled.report(tmp_path / "a.html")
    data = Page((tmp_path / "a.html").read_text(encoding="utf-8")).data
    reasons = [reason for event in data["events"] for reason in event["reasons"]]
    assert any("x.size(0) changed from 3 to 4" in r["text"] for r in reasons)
    assert any("mark_dynamic(x, 0)" in r["fix"] for r in reasons)
    breaks = [c for c in data["conditions"] if c["what"] == "break"]
    assert breaks
    file, line, _ = data["places"][breaks[0]["place"]]
    assert "y.sum() > 0" in dict(map(tuple, data["files"][file]["lines"]))[line]
    titles = [g["title"] for p in data["programs"] for g in p["graphs"]]
    assert "segment 0" in titles


def test_a_function_in_pieces_shows_its_parts(tmp_path: Path) -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch.save(y, tmp_path / "y")
        return y * 2

    compiled = anyshape.compile(fn)
    compiled(torch.ones(3))
    data = of_compiled(compiled).data()
    assert any(c["what"] == "break" and c["place"] is not None for c in data["conditions"])
    assert len(data["programs"]) >= 2


def test_report_of_trace_files(tmp_path: Path) -> None:
    with anyshape.config.patch(trace=str(tmp_path)):
        compiled = anyshape.compile(branching)
        for n in (3, 4):
            compiled(torch.ones(n), 2)
    (file,) = tmp_path.iterdir()
    for path in (tmp_path, file):
        data = trace_report(path).data()
        whats = [event["what"] for event in data["events"]]
        assert {"trace", "recompilation"} <= {*whats}
        assert any("size(0)" in c["text"] for c in data["conditions"])
        assert data["flame"]["inner"]
        assert data["flame"]["time"] > 0
    text = file.read_text(encoding="utf-8")
    file.write_text(text + text.splitlines()[-1][:9], encoding="utf-8")  # a process was killed
    assert len(trace_report(file).data()["events"]) == len(data["events"])
    file.write_text(text[: len(text) // 2] + "\nfoo\n{}\n", encoding="utf-8")
    with pytest.raises(LoadError, match="not a line of a trace file"):
        trace_report(file)


@pytest.mark.parametrize("content", ["", "{}\n", "[]\n", "no\n", '{"schema": "other"}\n'])
def test_what_is_not_a_trace_file(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(LoadError, match=r"a\.jsonl"):
        trace_report(path)
    with pytest.raises(LoadError, match="no trace file"):
        trace_report(_empty(tmp_path))
    with pytest.raises(LoadError, match="cannot be read"):
        trace_report(tmp_path / "absent.jsonl")


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def hostile_report() -> ReportData:
    report = ReportData(HOSTILE, "program")
    report.overview = [(HOSTILE, HOSTILE)]
    report.accepts = report.held = [HOSTILE]
    place = Place(HOSTILE, 3, HOSTILE, HOSTILE)
    report.condition("guard", HOSTILE, place, origin=HOSTILE, note=HOSTILE, program=0)
    symbol = {"name": HOSTILE, "label": HOSTILE, "kind": "backed", "range": HOSTILE, "hint": "3"}
    module = {"path": HOSTILE, "class": HOSTILE, "call": 0, "outer": -1}
    node = [0, HOSTILE, HOSTILE, HOSTILE, report.place(place)]
    graph = {"title": HOSTILE, "inputs": [[HOSTILE] * 3], "nodes": [node], "outputs": HOSTILE}
    row = {"title": HOSTILE, "symbols": [symbol | {"place": 0}], "graphs": [graph]}
    report.programs.append(row | {"modules": [module]})
    reason = {"text": HOSTILE, "fix": HOSTILE, "place": 0}
    event = {"what": "recompilation", "text": HOSTILE, "place": 0, "time": 1.5}
    report.events.append(event | {"reasons": [reason]})
    report.flame = tree(HOSTILE, [[Span(HOSTILE, 0, 10), Span(HOSTILE, 1, 5)]])
    return report


def test_texts_of_others_are_escaped() -> None:
    text = page.render(hostile_report())
    assert is_safe(text)
    text.encode("utf-8")
    data = Page(text).data
    assert data["title"] == HOSTILE
    assert data["files"][0]["name"] == HOSTILE


def test_text_that_is_not_escaped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: JSON as it is."""
    monkeypatch.setattr(page, "as_json", json.dumps)
    assert not is_safe(page.render(hostile_report()))


def test_a_path_that_cannot_be_written(program: Any, tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="cannot be written"):
        program.report(tmp_path / "absent" / "a.html")
    with pytest.raises(SaveError, match="cannot be written"):
        program.report(tmp_path)


def test_spans_are_nested_by_time() -> None:
    spans = [Span("a", 0, 100), Span("b", 10, 20), Span("b", 40, 20), Span("c", 45, 5)]
    found = tree("all", [spans, [Span("a", 0, 50)]])
    assert [(row["name"], row["count"]) for row in found["inner"]] == [("a", 2)]
    (a,) = found["inner"]
    assert a["time"] == pytest.approx(150e-9)
    (b,) = a["inner"]
    assert (b["name"], b["count"], b["inner"][0]["name"]) == ("b", 2, "c")


def test_notebooks(program: Any) -> None:
    compiled = anyshape.compile(branching)
    compiled(torch.ones(3), 2)
    for shown in (program, program.contract(), compiled):
        text = shown._repr_html_()
        assert text.startswith("<pre>")
        assert "<compiled" not in text
        assert text.count("<") == 2
    entry = anyshape.compile(lambda x: x.squeeze(0) if x.size(1) > 2 else x, dynamic="unbacked")
    entry(torch.ones(4, 3))
    shown = entry.entries[0]._repr_html_()
    assert shown.startswith("<div><b>&lt;entry for (x)")
    assert "squeeze: keeps dimension 0" in shown


def test_an_entry_tells_its_inputs() -> None:
    compiled = anyshape.compile(lambda x, k, flag=None: x * k, dynamic=False)
    compiled(torch.ones(3), 2)
    (entry,) = compiled.entries
    told = [("x", "float32[3]"), ("k", "int = 2"), ("flag", "None")]
    assert [*entry.input_texts()] == told
    assert "float32[3]" in entry._repr_html_()
    assert repr(entry) == "<entry for (x, k, flag): 1 call>"
    assert "\nentry 0: one program\n  x: float32[3]\n  k: int = 2\n" in compiled.explain()
    assert of_compiled(compiled).accepts[1:] == [f"  {name}: {text}" for name, text in told]
    compiled = anyshape.compile(lambda x: x if x.size(0) > 3 else -x, dynamic=True)
    compiled(torch.ones(5))
    assert "  where 4 <= x.size(0)" in of_compiled(compiled).accepts


def test_a_row_has_one_line() -> None:
    made = ReportData("f", "program")
    made.condition("break", "it has an effect\n  why: it\n  fix: no", note="and\nmore")
    (row,) = made.conditions
    assert row["text"] == "it has an effect"
    assert row["note"] == "and more; why: it; fix: no"
    made.held = ["a = 'b\nc'"]
    assert made.data()["held"] == ["a = 'b c'"]


def on_data(x: torch.Tensor) -> Any:
    if x.sum() > 3:
        return x * 2
    return x


def test_a_branch_on_data_is_told_in_the_words_of_the_source(tmp_path: Path) -> None:
    compiled = anyshape.compile(on_data)
    compiled(torch.ones(2))
    exported = anyshape.export(on_data, (torch.ones(2),))
    exported.save(tmp_path / "program.any")
    loaded = anyshape.load(tmp_path / "program.any")
    for made in (of_compiled(compiled), of_exported(exported), of_exported(loaded)):
        (text,) = {row["text"] for row in made.conditions if row["what"] == "break"}
        assert text == "a branch on data: x.sum() > 3"


def test_a_function_that_was_not_called_says_so() -> None:
    assert of_compiled(anyshape.compile(on_data)).accepts == ["it has not been called"]
