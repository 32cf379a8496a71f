"""`ANYSHAPE_LOGS` and `config.logs`: which events are told, where, and that silence is free."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.config import LOGS, chosen_logs, config
from anyshape.errors import AnyshapeWarning, ConfigError
from anyshape.events import KINDS, Recompilation, listeners
from anyshape.observe import logs, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(logs.VARIABLE, raising=False)
    wanted.follow_environment()
    assert listeners == {}
    yield
    monkeypatch.delenv(logs.VARIABLE, raising=False)
    wanted.follow_environment()
    assert listeners == {}


def double(x: Any) -> Any:
    return x * 2


def branch(x: Any) -> Any:
    if x.size(0) > 5:
        x = x + 1
    hits = x[x > 0]
    torch._check(hits.numel() <= 100)
    if hits.numel() > 3:
        return hits * 2
    return hits


def recompile() -> None:
    compiled = anyshape.compile(double, dynamic=False)
    compiled(torch.ones(7))
    compiled(torch.ones(3))


def lines_of(names: Any, capsys: pytest.CaptureFixture[str], program: Any = branch) -> list[str]:
    with config.patch(logs=names):
        compiled = anyshape.compile(program, dynamic=True)
        compiled(torch.ones(8))
        compiled(torch.ones(3))
    return capsys.readouterr().err.splitlines()


def test_every_kind_of_event_is_in_a_log() -> None:
    assert set(logs.kinds_of(dict.fromkeys(LOGS, True))) == set(KINDS)
    assert {kind.log for kind in logs._KINDS.values()} == set(LOGS)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("guards", "guard 6 <= x.size(0)"),
        ("dynamic", "backed symbol s0 = x.size(0)"),
        ("recompiles", "branch is recompiled: 6 <= x.size(0) does not hold"),
        ("breaks", "graph break: hits.numel() > 3?"),
        ("graph", "trace of branch: "),
        ("+graph", "__getitem__"),
        ("asserts", "assert u0 <= 100"),
        ("decisions", "guard(6 <= x.size(0)) is True"),
        ("+breaks", "graph break: hits.numel() > 3? It means 4 <= u0"),
        ("+decisions", "decide(6 <= x.size(0)) is unknown"),
    ],
)
def test_a_line_has_the_place_and_what_happened(
    names: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(names, capsys)
    assert all(line.startswith(("tests", "/")) and "test_logs.py:" in line for line in lines)
    assert any(said in line for line in lines), lines


def test_lowering_tells_the_backend(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(": eager: 1 call," in line for line in lines_of("lowering", capsys, double))


def test_a_path_of_an_export_that_ends_has_not_failed(capsys: pytest.CaptureFixture[str]) -> None:
    with config.patch(logs="graph"):
        anyshape.export(branch, (torch.ones(8),), dynamic_shapes=({0: "n"},))
    lines = capsys.readouterr().err.splitlines()
    assert any(": trace of branch: the path ends at a branch, " in line for line in lines), lines
    assert not any("failed" in line for line in lines)


def test_a_plus_tells_the_source_and_more(capsys: pytest.CaptureFixture[str]) -> None:
    plain, more = lines_of("guards", capsys), lines_of("+guards", capsys)
    assert len(plain) == len(more)
    assert any(line.endswith("# branch: if x.size(0) > 5:") for line in more)
    assert not any("#" in line for line in plain)
    assert "program 0: 6 <= x.size(0)" in lines_of("+recompiles", capsys)[0]
    assert len(lines_of("+decisions", capsys)) > len(lines_of("decisions", capsys))


def test_the_environment_counts_in_every_thread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "recompiles")
    recompile()
    other = threading.Thread(target=recompile)
    other.start()
    other.join()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all("double" in line and "x.size(0)" in line for line in lines)
    assert len(listeners[Recompilation]) == 1


def test_the_environment_counts_when_something_happens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recompile()
    assert listeners == {}
    monkeypatch.setenv(logs.VARIABLE, "recompiles")
    compiled = anyshape.compile(double, dynamic=False)
    monkeypatch.setenv(logs.VARIABLE, "graph")
    compiled(torch.ones(7))
    compiled(torch.ones(3))
    assert capsys.readouterr().err == ""


def test_a_setting_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "recompiles")
    with config.patch(logs=""):
        recompile()
    assert capsys.readouterr().err == ""
    with config.patch(logs=None):
        recompile()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_patch_is_heard_in_its_own_thread_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with config.patch(logs="recompiles"):
        other = threading.Thread(target=recompile)
        other.start()
        other.join()
    assert capsys.readouterr().err == ""


def test_an_assignment_counts_until_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    config.logs = ["recompiles"]
    try:
        recompile()
        with config.patch(logs="recompiles"):  # one line, though it is wanted twice
            recompile()
    finally:
        config.logs = None
    recompile()
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_an_unknown_name_is_a_warning_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "gaurds,recompiles")
    with pytest.warns(AnyshapeWarning, match="no log 'gaurds'; the logs are dynamic, guards"):
        recompile()
    assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(ConfigError, match="no log 'gaurds'"), config.patch(logs="gaurds"):
        pass


def test_help_lists_the_logs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "help")
    wanted.follow_environment()
    told = capsys.readouterr().err
    assert all(f"  {name} " in told and about[0] in told for name, about in LOGS.items())


def test_records_have_the_place_of_the_user(caplog: pytest.LogCaptureFixture) -> None:
    with config.patch(logs="+guards,+graph"):
        anyshape.compile(branch, dynamic=True)(torch.ones(8))
    found = [r for r in caplog.records if "6 <= x.size(0)" in r.getMessage()]
    assert [(r.name, r.levelno, r.funcName) for r in found] == [
        ("anyshape.guards", logging.INFO, "branch")
    ]
    assert found[0].pathname == __file__
    assert found[0].lineno == branch.__code__.co_firstlineno + 1
    assert {r.levelno for r in caplog.records if r.name == "anyshape.graph"} == {10, 20}


def test_a_terminal_gets_a_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    handler = logging.StreamHandler(sys.stderr)
    logger = logging.getLogger("anyshape")
    logger.addHandler(handler)
    try:
        assert len(lines_of("recompiles", capsys)) == 1
    finally:
        logger.removeHandler(handler)


def test_a_log_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The programs and their guards are those of a silent run."""
    found = []
    for names in ("", ",".join(f"+{name}" for name in LOGS)):
        with config.patch(logs=names):
            compiled = anyshape.compile(branch, dynamic=True)
            results = [compiled(torch.arange(n) - 2.0) for n in (0, 1, 2, 8)]
        found.append(([r.tolist() for r in results], compiled.explain()))
    assert found[0] == found[1]
    assert capsys.readouterr().err


def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(x: Any) -> Any:
        torch._check(x.size(0) < 3, lambda: "two\nlines")
        return x

    with config.patch(logs=",".join(f"+{name}" for name in LOGS)):
        compiled = anyshape.compile(fails, dynamic=True)
        compiled(torch.ones(2))
        with pytest.raises(RuntimeError):
            compiled(torch.ones(8))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 5
    assert all("test_logs.py:" in line for line in lines)


def test_names_are_split() -> None:
    assert chosen_logs(" guards , +graph,, guards,+guards") == ({"guards": True, "graph": True}, [])
    assert chosen_logs(["+ guards"]) == ({"guards": True}, [])
    assert chosen_logs(None) == ({}, [])
