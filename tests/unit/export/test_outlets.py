"""What an exported program says: on every run, with the values of that run, also from a file."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.errors import (
    AnyshapeWarning,
    ConstraintViolation,
    EffectError,
    LoadError,
    UnsupportedError,
)
from anyshape.export.files import archive

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOGGER = logging.getLogger("tests.outlets")


def exported(fn: Callable[..., Any], n: int = 3) -> Any:
    return anyshape.export(fn, (torch.ones(n),), dynamic_shapes=({0: "n"},))


def said(act: Callable[[], Any], capsys: Any, caplog: Any) -> Any:
    """All that a call says."""
    capsys.readouterr()
    caplog.clear()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    return (
        tuple(capsys.readouterr()),
        [(r.name, r.levelname, r.getMessage()) for r in caplog.records],
        [(w.category, str(w.message), w.lineno) for w in found],
    )


def sizes(x: torch.Tensor) -> torch.Tensor:
    n = x.shape[0]
    print("n", n, x.shape, [x.shape, n], {"n": (n,)}, sep="|", end="!\n")
    print(f"{n:>5}|{n!r}|{x.shape}|{[n]}|{n / 2:.2f}", file=sys.stderr)
    print("%d rows, %5.1f, %s" % (n, n / 2, n), ",".join([str(n), "a"]))  # noqa: UP031
    print("{} {:03d} {k!r}".format(n, n, k=n))  # noqa: UP032
    sys.stdout.write("raw " + str(n) + "\n")
    return x * 2


def tensors(x: torch.Tensor) -> torch.Tensor:
    before = f"{x.sum()}"
    x = x + 1
    x.add_(1)
    print(before, x, f"{x.sum():.1f}", torch.Tensor, x.dtype)
    return x


def logs(x: torch.Tensor) -> torch.Tensor:
    LOGGER.warning("size %d of %s", x.shape[0], x.shape)
    LOGGER.debug("hidden %s", x)
    logging.error(f"root {x.shape[0]}")
    return x * 2


def warns(x: torch.Tensor) -> torch.Tensor:
    warnings.warn(f"size {x.shape[0]}", stacklevel=1)
    warnings.warn("old", DeprecationWarning, stacklevel=1)
    warnings.warn(RuntimeWarning("made"), stacklevel=1)
    return x * 2


def branches(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 2:
        print("large", x.shape[0])
    return x * 2


@pytest.mark.parametrize("fn", [sizes, tensors, logs, warns, branches])
def test_every_run_says_what_eager_execution_says(
    fn: Any, tmp_path: Path, capsys: Any, caplog: Any
) -> None:
    program = exported(fn)
    assert capsys.readouterr() == ("", "")
    program.save(tmp_path / "p.zip")
    loaded = anyshape.load(tmp_path / "p.zip")
    for n in (3, 5, 0, 1, 3):
        want = said(lambda n=n: fn(torch.ones(n)), capsys, caplog)
        assert any(want)
        assert said(lambda n=n: program(torch.ones(n)), capsys, caplog) == want
        assert said(lambda n=n: loaded(torch.ones(n)), capsys, caplog) == want


def test_another_process_says_it_too(tmp_path: Path) -> None:
    exported(sizes).save(tmp_path / "p.zip")
    code = "import sys, torch, anyshape; anyshape.load(sys.argv[1])(torch.ones(4))"
    command = [sys.executable, "-c", code, str(tmp_path / "p.zip")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "raw 4"
    assert "    4|4|torch.Size([4])|[4]|2.00" in found.stderr


def test_the_code_and_the_program_show_the_outlets() -> None:
    program = exported(branches)
    assert "print_out" in program.code
    assert "prints at test_outlets.py" in str(program)


def test_text_that_nobody_says_is_not_computed() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        text = f"{x * 3} {x.shape[0]}"
        return x * 2 if text is not None else x

    assert "show" not in exported(fn).code


@pytest.mark.parametrize(
    "look",
    [
        lambda text: len(text) + 0,
        lambda text: {"3": 2}.get(text, 1),
        lambda text: int(text) + 0,
        lambda text: 2 if text == "3" else 1,
        lambda text: text < "4",
        lambda text: ord(text[0]),
        lambda text: len(text.split("1")),
        lambda text: sum(map(ord, text)),
        lambda text: int(text.isdigit()),
        lambda text: {text: 2}.get("3", 1),
        lambda text: 2 if "3" in {text} else 1,
        lambda text: 2 if "3" in frozenset((text,)) else 1,
        lambda text: dict(zip((text,), (2,), strict=True)).get("3", 1),
        lambda text: 2 if max(text, "4") == "4" else 1,
        lambda text: 2 if sorted([text, "4"])[0] == "4" else 1,
        lambda text: 2 if [c + "a" for c in text] == ["3a"] else 1,
    ],
)
def test_text_of_a_size_that_the_program_looks_at_specializes(look: Any) -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x * look(str(x.shape[0]))

    with pytest.raises(ConstraintViolation, match=r"test_outlets\.py"):
        exported(fn)
    auto = {0: anyshape.Dim.AUTO}
    with pytest.warns(AnyshapeWarning, match=r"x\.size\(0\) is Dim.AUTO"):
        program = anyshape.export(fn, (torch.ones(3),), dynamic_shapes=(auto,))
    assert program.verify((torch.ones(3),)).ok


def test_text_of_a_tensor_that_the_program_looks_at_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="text of a tensor"):
        exported(lambda x: x * len(f"{x.sum()}"))


def test_text_of_a_size_is_not_returned() -> None:
    with pytest.raises(UnsupportedError, match="symbolic number"):
        exported(lambda x: (x * 2, f"{x.shape[0]}"))


def test_a_module_of_torch_is_silent_and_says_so(capsys: Any) -> None:
    program = exported(sizes)
    with pytest.warns(AnyshapeWarning, match="leaves out what the program says or") as found:
        module = program.to_fx()
    assert len(found) == 1
    assert "test_outlets.py" in str(found[0].message)
    capsys.readouterr()
    assert torch.equal(module(torch.ones(2))[0], torch.full((2,), 2.0))
    assert capsys.readouterr() == ("", "")


class Odd:
    def __repr__(self) -> str:
        return "odd"


class OddWarning(UserWarning):
    pass


ODD = Odd()


def says_an_object(x: torch.Tensor) -> torch.Tensor:
    print(ODD)
    return x


def warns_oddly(x: torch.Tensor) -> torch.Tensor:
    warnings.warn("odd", OddWarning, stacklevel=1)
    return x


def logs_elsewhere(x: torch.Tensor) -> torch.Tensor:
    STRANGER.error("odd")
    return x


STRANGER = logging.Logger("tests.stranger")


@pytest.mark.parametrize("fn", [says_an_object, warns_oddly, logs_elsewhere])
def test_what_a_file_cannot_say_is_refused_with_its_line(fn: Any, tmp_path: Path) -> None:
    program = exported(fn)
    with pytest.raises(UnsupportedError, match=rf"test_outlets\.py:\d+ in {fn.__name__}"):
        program.save(tmp_path / "p.zip")


def test_other_effects_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file, pytest.raises(EffectError, match="into a file"):
        exported(lambda x: (print("a", file=file), x)[1])
    import time

    with pytest.raises(EffectError, match="sleep"):
        exported(lambda x: (time.sleep(0), x)[1])


def _node(data: Any, op: str) -> Any:
    return next(n for n in data["variants"][0]["nodes"] if n["op"] == f"anyshape.{op}")


def everything(x: torch.Tensor) -> torch.Tensor:
    print(x.shape[0], f"{x.shape[0]}")
    LOGGER.warning("a")
    warnings.warn("b", stacklevel=1)
    return x


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: _node(d, "print")["args"][1]["dict"].append(["file", "/etc/passwd"]),
        lambda d: _node(d, "print")["args"][1]["dict"].append(["sep", 3]),
        lambda d: _node(d, "print")["args"][0]["tuple"].append({"made": 99}),
        lambda d: _node(d, "print")["args"][0]["tuple"].append({"logger": "a"}),
        lambda d: _node(d, "print").update(outs={"made": 7}),
        lambda d: _node(d, "print").update(kwargs=[["sep", " "]]),
        lambda d: _node(d, "print").update(args=[]),
        lambda d: _node(d, "log")["args"].__setitem__(0, {"logger": "a." * 1000}),
        lambda d: _node(d, "log")["args"].__setitem__(0, "a"),
        lambda d: _node(d, "log")["args"].__setitem__(2, {"tuple": ["a"]}),
        lambda d: _node(d, "log")["args"].__setitem__(2, "a"),
        lambda d: _node(d, "log")["args"].__setitem__(4, 3),
        lambda d: _node(d, "warn")["args"].__setitem__(1, "SystemExit"),
        lambda d: _node(d, "warn")["args"].__setitem__(0, 3),
        lambda d: _node(d, "warn")["args"].__setitem__(3, "a"),
        lambda d: _node(d, "show").update(outs=None),
        lambda d: _node(d, "show")["args"].__setitem__(1, "eval"),
    ],
)
def test_damaged_outlets_are_not_loaded(damage: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.zip"
    exported(everything).save(path)
    members = archive.read_file(path)
    data = json.loads(members[archive.PROGRAM])
    damage(data)
    members = {archive.PROGRAM: archive.dumps(data), archive.WEIGHTS: members[archive.WEIGHTS]}
    archive.write_file(path, {**members, archive.CHECKSUMS: archive.checksums(members)})
    with pytest.raises(LoadError):
        anyshape.load(path)


def test_a_log_record_without_a_message_is_the_error_of_eager_execution() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        logging.getLogger("anyshape.test").log("start")  # type: ignore[call-arg]
        return x

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        anyshape.export(f, (torch.ones(2),))
