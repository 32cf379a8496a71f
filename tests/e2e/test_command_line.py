"""`anyshape` as a user starts it: what it prints and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import anyshape
from anyshape.cli import bundled_folder, console
from anyshape.cli.main import COMMANDS, main
from anyshape.cli.schema import ERROR, INTERRUPTED, NEGATIVE, SCHEMAS, STATUSES, SUCCESS, USAGE
from anyshape.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODEL = """
import torch
from torch import nn


class Keep(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), scale))

    def forward(self, x, k=2):
        z = x * self.weight
        y = z[z.sum(1) > 0] if x.size(0) > 1 else z
        torch._check(y.size(0) <= 40)
        return y, k


def keep(scale=2.0):
    print("noise")
    calls = [(torch.randn(n, 3),) for n in (0, 1, 7)]
    spec = {"x": {0: "rows"}}
    model = Keep(scale).eval()
    return {"fn": model, "args": (torch.ones(5, 3),), "dynamic_shapes": spec, "calls": calls}


def other():
    return Keep(-3.0), (torch.ones(5, 3),), ({0: "rows"},)


def named():
    return {"fn": lambda x, *, y: x + y, "args": (torch.ones(2),), "kwargs": {"y": torch.ones(2)}}


def impossible():
    def f(x):
        return x if hash(x.size(0)) else x + 1

    return f, (torch.ones(4),), ({0: "n"},)


def raises():
    return 1 / 0


def interrupts():
    raise KeyboardInterrupt


def waits():
    import waits


def number():
    return 3


def misspelt():
    return {"fn": abs, "argz": ()}


def fails():
    def f(x):
        raise ValueError("mine")

    return f, (torch.ones(4),)


def bare():
    return {"fn": abs, "args": torch.ones(4)}


def called():
    return {"fn": abs, "args": (torch.ones(4),), "calls": 3}


def listed():
    return {"fn": abs, "calls": [[1]]}


value = 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a model of the user and two programs of it, in which the tests run."""
    made = tmp_path_factory.mktemp("user")
    (made / "user_model.py").write_text(MODEL)
    path = sys.path[:]
    with contextlib.chdir(made), contextlib.redirect_stdout(io.StringIO()):
        assert main(["export", "user_model:keep", "--out", "a.any"]) == 0
        assert main(["export", "user_model.py:other", "--out", "b.any"]) == 0
        yield made
    sys.path[:] = path


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command; its exit status, and what it printed on stdout and stderr."""

    def run(line: str) -> tuple[int, str, str]:
        with contextlib.chdir(folder):
            status = main(shlex.split(line))
        return (status, *capsys.readouterr())

    return run


# ---------------------------------------------------------------------- the demo and the program

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
    command = [sys.executable, "-m", "anyshape", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("equal to eager execution: True\n")


def test_help_and_version_load_no_torch() -> None:
    program = f"""
import sys
from anyshape.cli.main import main
assert main(["--version"]) == main(["--help"]) == 0
for name in {list(COMMANDS)}:
    assert main([name, "--help"]) == 0
assert main(["info", "no-such-file"]) == 2
assert "torch" not in sys.modules
assert "rich" not in sys.modules
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert all(f"  {name} " in done.stdout for name in COMMANDS)
    assert "version" in done.stdout.splitlines()[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_has_the_first_line_of_each_command(name: str) -> None:
    command = getattr(import_module(f"anyshape.cli.{name}"), name)
    assert command.help.splitlines()[0] == COMMANDS[name]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no-such-command",
        "demo --no-such-option",
        "export user_model:keep",
        "export user_model --out x",
        "export no_such_module:f --out x",
        "export no_such_file.py:f --out x",
        "export user_model:value --out x",
        "export user_model:keep --out x --control-flow forest",
        "info no-such-file",
        "run a.any --size rows",
        "run a.any --size rows=1,2",
        "run a.any --size columns=1",
        "run a.any --size rows=x",
        "run a.any --size rows=-1",
        "check no-such-script.py",
    ],
)
def test_a_wrong_command_line_is_explained(line: str, call: Any) -> None:
    status, _, err = call(line)
    assert status == USAGE
    assert "Usage: anyshape" in err
    assert "Traceback" not in err


# ---------------------------------------------------------------------- errors


def raising(monkeypatch: pytest.MonkeyPatch, folder: Path, error: str) -> None:
    """Make the example of the demo raise an error."""
    (folder / "experts.py").write_text(f"from anyshape import ConfigError\nraise {error}\n")
    monkeypatch.setattr(bundled_folder, "EXAMPLES", (folder,))


def test_an_error_of_ours_has_no_traceback(
    call: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    raising(monkeypatch, tmp_path, """ConfigError("no setting 'x'", fix="use another")""")
    message = ConfigError("no setting 'x'", fix="use another")
    assert call("demo") == (ERROR, "", f"anyshape: {message}\n")
    assert "Traceback" in call("demo --debug")[2]


def test_an_error_of_anyshape_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: only our messages and errors of the user's code become a message."""
    monkeypatch.setattr(bundled_folder, "EXAMPLES", None)
    with pytest.raises(TypeError):
        main(["demo"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "export user_model:raises --out x",
            "raised ZeroDivisionError\n  why: division by zero, at",
        ),
        ("export user_model:number --out x", "returned a int without a function `fn`"),
        ("export user_model:misspelt --out x", "returned a dict with 'argz'"),
        ("export user_model:listed --out x", "returned a call that is a list"),
        ("export user_model:fails --out x", "the program raised ValueError\n  why: mine, at"),
        ("export user_model:bare --out x", "returned args that is a Tensor"),
        ("export user_model:called --out x", "returned calls that is a int"),
        ("export user_model:impossible --out x", "n is dynamic in the spec"),
        ("export user_model:keep --out no-folder/x", "no-folder"),
        ("info user_model.py", "user_model.py"),
        ("run a.any --inputs user_model.py", "is not a safetensors file"),
        ("infer user_model:other", "no calls to compare it with"),
        ("explain a.any u77", "has no symbol 'u77'"),
    ],
)
def test_an_error_is_one_message(line: str, said: str, call: Any) -> None:
    status, _, err = call(line)
    assert status == ERROR
    assert err.startswith("anyshape: ")
    assert said in err
    assert "Traceback" not in err
    status, out, _ = call(f"{line} --json")
    found = json.loads(out)
    assert status == ERROR
    assert set(found) == {"schema", "version", "error"}
    assert set(found["error"]) == {"type", "what", "why", "fix", "code"}


def test_an_interrupt_is_quiet(call: Any) -> None:
    assert call("export user_model:interrupts --out x") == (
        INTERRUPTED,
        "",
        "\nanyshape: interrupted\n",
    )


@pytest.mark.parametrize(
    "line",
    ["export user_model:waits --out x.any", "check waits.py", "bench user_model:waits",
     "infer user_model:waits"],
)  # fmt: skip
@pytest.mark.usefixtures("interrupts")
def test_a_signal_from_the_terminal_ends_a_command(line: str, folder: Path) -> None:
    """SIGINT in the middle of the work of the user's code: one line, and the status of shells."""
    wait = "import sys, time\nprint('waiting', file=sys.stderr, flush=True)\ntime.sleep(100)\n"
    (folder / "waits.py").write_text(wait)
    command = [sys.executable, "-m", "anyshape", *line.split()]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (INTERRUPTED, "anyshape: interrupted")
    assert INTERRUPTED == 130
    assert "Traceback" not in out


# ---------------------------------------------------------------------- the commands


def test_export_and_info_tell_the_contract(call: Any) -> None:
    status, out, err = call("export user_model:keep --out c.any")
    assert (status, err) == (SUCCESS, "")
    assert re.search(r"Keep: exported in \d+\.\d\d s, \d+ calls, 2 variants\n", out)
    told = call("info a.any --code --full")[1]
    for text in (out, told):
        assert "x: float32[rows, 3]" in text
        assert "  rows <= 1" in text
    assert "weight: parameter float32[3]" in told
    assert "def run(flat):" in told


def test_a_draft_with_problems_is_no_success(call: Any) -> None:
    status, out, _ = call("export user_model:impossible --out d.any --draft --json")
    found = json.loads(out)
    assert status == (NEGATIVE if found["problems"] else SUCCESS)
    assert found["problems"]


def test_run_makes_inputs_or_reads_them(call: Any, folder: Path) -> None:
    x = torch.ones(4, 3)
    save_file({"x": x}, folder / "inputs.safetensors")
    status, out, _ = call("run a.any --size rows=4 --inputs inputs.safetensors --out r.safetensors")
    assert status == SUCCESS
    assert "x: [4, 3]" in out
    assert "result 0: float32 [4, 3]" in out
    assert torch.equal(load_file(folder / "r.safetensors")["result0"], x * 2)
    assert "result 0: float32 [0, 3]" in call("run a.any --size rows=0")[1]
    again = [json.loads(call("run a.any --size rows=9 --seed 4 --json")[1]) for _ in range(2)]
    assert again[0]["outputs"] == again[1]["outputs"]


def test_verify_agrees_with_the_model_and_not_with_another(call: Any) -> None:
    status, out, _ = call("verify a.any user_model:keep --size rows=0,1,2,11")
    assert status == SUCCESS
    assert out.count("equal") == 8
    status, out, _ = call("verify b.any user_model:keep")
    assert status == NEGATIVE
    assert "differs" in out


def test_verify_tells_other_weights(call: Any, folder: Path) -> None:
    (folder / "unseeded.py").write_text(
        "from torch import nn, ones\n\n\ndef make():\n    return nn.Linear(3, 2), (ones(4, 3),)\n"
    )
    call("export unseeded:make --out unseeded.any")
    status, out, _ = call("verify unseeded.any unseeded:make")
    assert status == NEGATIVE
    assert "2 tensors of Linear and unseeded:make differ, such as weight: " in out
    assert "other" not in call("verify a.any user_model:keep")[1]


def test_a_factory_that_exits_is_an_error(call: Any, folder: Path) -> None:
    (folder / "exits.py").write_text("def make():\n    raise SystemExit(0)\n")
    status, _, err = call("export exits:make --out exits.any")
    assert status == ERROR
    assert "exits:make raised SystemExit" in err


def test_verify_takes_keyword_arguments(call: Any) -> None:
    assert call("export user_model:named --out n.any")[0] == SUCCESS
    assert call("verify n.any user_model:named")[0] == SUCCESS


def test_diff_tells_what_differs(call: Any) -> None:
    assert call("diff a.any a.any")[:2] == (SUCCESS, "the programs are the same\n")
    status, out, _ = call("diff a.any b.any")
    assert status == NEGATIVE
    assert out.startswith("state:\n- weight: float32[3] sha256")


def test_report_of_a_program_and_of_trace_files(call: Any, folder: Path) -> None:
    status, out, _ = call("report a.any")
    assert status == SUCCESS
    assert out.startswith("wrote ")
    assert "Keep" in (folder / "a.html").read_text(encoding="utf-8")
    with anyshape.config.patch(trace=str(folder / "traces")):
        anyshape.compile(lambda x: x + 1)(torch.ones(3))
    assert call("report traces --out t.html")[0] == SUCCESS
    assert "flame" in (folder / "t.html").read_text(encoding="utf-8")
    (folder / "bad.jsonl").write_text("{}", encoding="utf-8")
    status, _, said = call("report bad.jsonl")
    assert status == ERROR
    assert "bad.jsonl is not a trace file" in said


def test_infer_prints_the_spec(call: Any) -> None:
    assert call("infer user_model:keep")[1].endswith("dynamic_shapes={'x': {0: Dim.DYNAMIC}}\n")


def test_explain_tells_where_a_symbol_comes_from(call: Any) -> None:
    out = call("explain a.any u0")[1]
    assert "u0: unbacked, variant 0\n  range: 0 to 40\n" in out
    assert "made at: user_model.py:13 in forward" in out
    assert "assert: u0 <= 40" in out
    assert "used by: Tensor.__getitem__ at user_model.py:13" in out
    assert "s0 = rows: backed" in call("explain a.any rows")[1]
    assert call("explain a.any")[1].startswith("Keep: 2 variants")


def on_data(x: torch.Tensor) -> torch.Tensor:
    n = x.int().sum().item()
    torch._check(n >= 0)
    torch._check(n <= 9)
    y = x.new_ones(n)
    return y + n if x.max() > 3 else y - n


def test_explain_tells_a_symbol_that_lives_on_after_a_branch_once(call: Any, folder: Path) -> None:
    anyshape.export(on_data, (torch.ones(2),)).save(folder / "branch.any")
    status, out, _ = call("explain branch.any u0")
    assert status == SUCCESS
    assert out.count("variant 0") == out.count("range: 0 to 9") == 1
    assert out.startswith("u0 = n: unbacked, variant 0\n")
    assert out == call("explain branch.any n")[1]
    assert "used by: Tensor.__add__ at" in out
    assert "used by: Tensor.__sub__ at" in out


def test_bench_measures_every_call(call: Any) -> None:
    status, out, _ = call("bench user_model:keep --seconds 0.01")
    assert status == SUCCESS
    assert [line.split(")")[0] for line in out.splitlines()[3:]] == [
        "(5, 3",
        "(0, 3",
        "(1, 3",
        "(7, 3",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "export user_model:keep --out c.any",
        "info a.any",
        "report a.any",
        "run a.any",
        "verify a.any user_model:keep",
        "diff a.any b.any",
        "infer user_model:keep",
        "explain a.any u0",
        "bench user_model:keep --seconds 0.01",
        "check user_model.py",
    ],
)
def test_an_object_has_the_members_of_the_schema(line: str, call: Any) -> None:
    name, _, rest = line.partition(" ")
    out = call(f"{name} --json {rest}")[1]
    found = json.loads(out)  # what the factory prints is not in it
    assert found["schema"] == f"anyshape-{name}"
    assert set(found) == {"schema", "version", *SCHEMAS[name]}


def test_every_command_with_json_has_a_schema() -> None:
    assert set(SCHEMAS) == set(COMMANDS) - {"demo"}
    assert list(STATUSES) == [SUCCESS, NEGATIVE, USAGE, ERROR, INTERRUPTED]


def test_a_bar_is_shown_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = console.Output()
    assert list(shown.track([1, 2], "work")) == [1, 2]
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(shown.track([1, 2], "work")) == [1, 2]
    assert "work" in capsys.readouterr().err


# ---------------------------------------------------------------------- check

SCRIPT = """
import sys
import torch, anyshape

def f(x):
    if x.size(0) > 5:
        return x + 1
    return x

@anyshape.compile(dynamic="unbacked")
def count(x):
    hits = x[x > 0]
    if hits.numel() > 2:
        return hits
    return hits + 1

g = anyshape.compile(f, dynamic=True)
h = anyshape.compile(lambda x: x * 2)
for n in map(int, sys.argv[1:]):
    g(torch.ones(n))
    h(torch.ones(n))
    count(torch.ones(n))
"""


def check(call: Any, folder: Path, source: str, line: str = "check script.py") -> Any:
    (folder / "script.py").write_text(textwrap.dedent(source))
    return call(line)


def test_check_names_the_lines(call: Any, folder: Path) -> None:
    status, out, err = check(call, folder, SCRIPT, "check script.py 8 3 9")
    assert (status, err) == (NEGATIVE, "")
    assert "script.py:6: recompilation of f: 6 <= x.size(0) does not hold (x.size(0) = 3)" in out
    assert "  called at: script.py:20\n" in out
    assert "script.py:21: recompilation of <lambda>: x.size(0) changed from 8 to 3\n" in out
    assert "  fix: anyshape.mark_dynamic(x, 0), or mark_unbacked\n" in out
    assert "script.py:13: break of count: " in out
    assert out.endswith("script.py: 3 functions, 5 traces, 3 findings\n")


def test_check_allows_what_it_is_told_to(call: Any, folder: Path) -> None:
    line = "check --allow break --allow recompilation script.py 8 3"
    status, out, _ = check(call, folder, SCRIPT, line)
    assert status == SUCCESS
    assert out.endswith("0 findings and 3 allowed\n")


def test_a_good_script_passes(call: Any, folder: Path) -> None:
    """Negative control: nothing is found where nothing is wrong."""
    source = """
    import torch, anyshape
    f = anyshape.compile(lambda x: x * 2, dynamic="unbacked")
    for n in (0, 1, 2, 7):
        f(torch.ones(n))
    """
    status, out, _ = check(call, folder, source)
    assert (status, out) == (SUCCESS, "script.py: 1 function, 1 trace, 0 findings\n")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\nx / 0\n", "script.py:2: error: ZeroDivisionError: division by zero"),
        ("def f(:\n", "script.py:1: error: SyntaxError"),
        ("import sys\nsys.exit(4)\n", "script.py:1: error: SystemExit: 4"),
        (
            "import torch, anyshape\ndef f(x):\n    return x if hash(x.size(0)) else x + 1\n"
            "anyshape.export(f, (torch.ones(4),), dynamic_shapes=({0: 'n'},))\n",
            "script.py:4: error: ConstraintViolation",
        ),
    ],
)
def test_check_tells_what_ends_a_script(source: str, said: str, call: Any, folder: Path) -> None:
    argv = list(sys.argv)
    status, out, err = check(call, folder, source)
    assert status == NEGATIVE
    assert said in out
    assert "Traceback" not in err
    assert sys.argv == argv


def test_a_script_may_exit_well(call: Any, folder: Path) -> None:
    assert check(call, folder, "import sys\nsys.exit()\n")[0] == SUCCESS


def test_a_fallback_is_found(call: Any, folder: Path) -> None:
    source = """
    import torch, anyshape
    f = anyshape.compile(lambda x: x * 2, dynamic=False, recompile_limit=2)
    for n in (2, 3, 4):
        f(torch.ones(n))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        status, out, err = check(call, folder, source)
    assert status == NEGATIVE
    assert err.startswith("anyshape: warning: <lambda> runs eagerly from now on")
    assert "script.py:5: fallback of <lambda>: " in out
    assert "recompilation of <lambda>, 2 times" in out


def test_pieces_of_a_function_are_told_as_the_function(call: Any, folder: Path) -> None:
    source = """
    import torch, anyshape

    @anyshape.compile(dynamic=False)
    def f(x):
        with open("note.txt", "w") as file:
            file.write("x")
        y = x * 2
        return y + 1

    for n in (2, 3):
        f(torch.ones(n))
    """
    status, out, _ = check(call, folder, source, "check --allow break script.py")
    assert status == NEGATIVE
    assert ": recompilation of f" in out
    assert "script.py: 1 function, " in out
    assert "f[" not in out


def test_programs_for_torch_can_be_checked(call: Any, folder: Path) -> None:
    before = torch.compile, torch.export.export
    source = """
    import torch

    @torch.compile(mode="max-autotune")
    def f(x):
        return x * 2 if x.size(0) > 4 else x

    for n in (3, 8):
        f(torch.ones(n))
    torch.export.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),))
    """
    status, out, _ = check(call, folder, source, "check --torch script.py")
    assert status == NEGATIVE
    assert "recompilation of f: x.size(0) changed from 3 to 8" in out
    assert (torch.compile, torch.export.export) == before
