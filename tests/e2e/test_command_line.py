"""`anyshape` as a user starts it: what it prints and how it ends."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys

import pytest

from anyshape.cli import main as command_line
from anyshape.cli.main import main
from anyshape.errors import ConfigError


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "anyshape", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


DEMO = (
    r"Experts: exported once in \d+ ms, \d+ calls",
    r"tokens: float32\[n, 8\]",
    r"n >= 0",
    r"n == 1\n",
    r"n != 1\n",
    r"checked while running",
    r"\(0, 8\) +equal",
    r"\(1, 8\) +equal",
    r"\(100, 8\) +equal",
    r"tokens\.size\(1\) is 9; the program was traced for 8",
    r"256 sizes from data",
    r"exported in \d+\.\d+ s, \d+ runtime asserts",
    r"equal to eager execution: True",
)


@pytest.fixture(scope="module")
def demo() -> str:
    """What the demo prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["demo"]) == 0
    return printed.getvalue()


@pytest.mark.parametrize("pattern", DEMO)
def test_the_demo_shows(pattern: str, demo: str) -> None:
    assert re.search(pattern, demo)


def test_the_demo_runs_as_a_program() -> None:
    done = run("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("equal to eager execution: True\n")


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    for name, command in command_line.COMMANDS.items():
        assert name in printed
        assert command.HELP in printed


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["demo", "--no-such-option"]])
def test_a_wrong_call_is_explained(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: anyshape" in capsys.readouterr().err


def test_an_error_of_ours_has_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> int:
        raise ConfigError("no setting 'x'", fix="use another")

    monkeypatch.setattr(command_line.COMMANDS["demo"], "run", fail)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == "anyshape: no setting 'x'\n  fix: use another\n"


def test_another_error_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: only our own errors are turned into a message."""

    def fail(_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(command_line.COMMANDS["demo"], "run", fail)
    with pytest.raises(ZeroDivisionError):
        main(["demo"])
