"""Places in the user's program: found cheaply, shown only when asked for."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import anyshape
from anyshape import ShapeEnv, check, config
from anyshape.env import site
from anyshape.env.site import Site, capture, is_framework, warn

PACKAGE = Path(anyshape.__file__).parent


def test_the_innermost_line_of_the_user() -> None:
    def inner() -> Site | None:
        return capture()

    place = inner()
    assert place is not None
    assert place.file == __file__
    assert place.text == "return capture()"
    assert str(place) == f"test_site.py:{place.line} in inner: return capture()"


def test_frames_of_the_framework_are_skipped() -> None:
    env = ShapeEnv()
    u = env.unbacked()
    check(max([u + 1, u], key=lambda n: 0) >= u)
    check(sum([u, u]) >= 4)
    (only,) = env.runtime_asserts
    assert only.site is not None
    assert only.site.text == "check(sum([u, u]) >= 4)"


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        (str(PACKAGE / "env" / "env.py"), True),
        (str(PACKAGE / "__init__.py"), True),
        (str(PACKAGE / "cli" / "demo.py"), True),
        (str(PACKAGE / "cli" / "examples" / "experts.py"), False),
        (f"{PACKAGE}_extra/module.py", False),
        (f"{PACKAGE}.py", False),
        (torch.__file__, True),
        (f"{os.path.dirname(torch.__file__)}vision/ops.py", False),
        ("project/site-packages/torch/model.py", False),
        ("<frozen importlib._bootstrap>", True),
        ("<stdin>", False),
        ("project/model.py", False),
    ],
)
def test_what_belongs_to_the_framework(name: str, framework: bool) -> None:
    for _ in range(2):
        assert is_framework(name) is framework


def test_the_folder_of_a_package() -> None:
    assert torch.__file__ == site.home_of("torch") + "__init__.py"
    assert not torch.__file__.startswith(site.home_of("no_such_package"))


@pytest.mark.parametrize(
    ("module", "inside"),
    [
        ("torch", True),
        ("torch.nn", True),
        ("torchvision.ops", False),
        ("torch_x", False),
        (None, False),
    ],
)
def test_modules_of_a_package(module: str | None, inside: bool) -> None:
    assert site.in_package(module, "torch") is inside


def test_no_user_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_framework", _Everything())
    assert capture() is None


class _Everything(dict[str, bool]):
    def get(self, key: str, default: object = None) -> bool:  # type: ignore[override]
        return True


def test_switched_off() -> None:
    with config.patch(do_not_emit_stack_traces=True):
        assert capture() is None


def test_source_that_is_not_at_hand() -> None:
    code = compile("def f():\n    return capture()", "<nowhere>", "exec")
    names = {"capture": capture}
    exec(code, names)
    place = names["f"]()
    assert isinstance(place, Site)
    assert place.text == ""
    assert str(place) == "<nowhere>:2 in f"


def test_an_instruction_without_a_line() -> None:
    code = sys._getframe().f_code
    assert Site(code, 10**6).line == code.co_firstlineno


def test_a_place_is_one_object_and_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [capture() for _ in range(3)]
    assert found[0] is found[1] is found[2]
    monkeypatch.setattr(site, "_MOST", 0)
    assert capture() is not None
    assert len(site._sites) == 1


def line_by_search(place: Site) -> int:
    for start, end, line in place.code.co_lines():
        if start <= place.instruction < end and line is not None:
            return line
    return place.code.co_firstlineno


def test_the_line_of_every_instruction() -> None:
    codes = [f.__code__ for f in vars(site).values() if hasattr(f, "__code__")]
    for code in (*codes, test_switched_off.__code__, compile("", "<nothing>", "exec")):
        for instruction in range(-1, len(code.co_code)):
            place = Site(code, instruction)
            assert place.line == line_by_search(place)


def test_lines_are_memoized_for_few_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[int, object] = {}
    monkeypatch.setattr(site, "_lines", known)
    codes = [compile(f"\n\nx = {i}", "<code>", "exec") for i in range(site._MOST_CODES + 1)]
    for code in codes:
        for _ in range(2):
            assert Site(code, len(code.co_code) - 2).line == 3
    assert list(known) == [id(codes[-1])]


def test_generated_code_is_shown_by_the_line_that_it_was_made_from() -> None:
    scope: dict[str, Any] = {"capture": capture}
    exec(compile("def made():\n    return capture()\n", "<generated 1>", "exec"), scope)
    place = scope["made"]()
    assert str(place) == "<generated 1>:2 in made"
    site.origins["<generated 1>"] = {2: site.Origin("model.py", 7, "forward", "x = y + 1")}
    try:
        assert str(place) == "model.py:7 in forward: x = y + 1"
        assert (place.own_line, place.line, place.file) == (2, 7, "model.py")
    finally:
        del site.origins["<generated 1>"]


def test_a_place_shows_its_text() -> None:
    here = capture()
    assert here is not None
    assert repr(here) == f"<{here}>"
    assert "here = capture()" in repr(here)


class _Asked:
    def __copy__(self) -> bool:
        return site.is_asked_by_user(1)


def test_who_asks() -> None:
    asked = _Asked()
    assert asked.__copy__()
    assert copy.copy(asked) is False


def test_a_warning_is_at_the_line_of_the_user() -> None:
    with pytest.warns(UserWarning, match="look") as found:
        warn(UserWarning("look"))
    here = sys._getframe().f_lineno - 1
    assert [(w.filename, w.lineno) for w in found] == [(__file__, here)]


def test_a_warning_without_a_line_of_the_user() -> None:
    with pytest.warns(UserWarning, match="alone") as found, ThreadPoolExecutor() as pool:
        pool.submit(warn, UserWarning("alone")).result()
    assert found[0].filename == "<no line of the user>"


def test_a_warning_is_given_once_for_a_line() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            warn(UserWarning("once"))
    assert len(found) == 1


def test_nobody_above_a_command_of_ours_is_the_user() -> None:
    def found_in(file: str) -> Any:
        names: dict[str, Any] = {"capture": capture}
        exec(compile("found = capture()", file, "exec"), names)
        return names["found"]

    assert found_in(str(PACKAGE / "cli" / "command.py")) is None
    assert found_in(str(PACKAGE / "cli" / "check.py")).file == __file__
