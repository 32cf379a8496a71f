"""Every error has a code of the catalogue, and its message ends with it."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import anyshape
from anyshape import errors
from anyshape.error_codes import CODES
from anyshape.errors import AnyshapeError, AnyshapeWarning, LoadError, RuntimeAssertError, text_of
from anyshape.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(anyshape.__file__).parent


def classes(base: type) -> list[type]:
    """The classes of the module below a base, and itself."""
    return [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, base)]


CLASSES = classes(AnyshapeError)
WARNINGS = classes(AnyshapeWarning)
BY_NAME = {c.__name__: c for c in (*CLASSES, *WARNINGS)}


def own_code(name: str) -> str:
    """The code that a class gives itself."""
    return str(vars(BY_NAME[name])["code"])


def coded_calls(source: str) -> Iterator[tuple[str, str]]:
    """The class and the code of each error that is made with a code of its own."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called == "refused" and node.args:
            called = getattr(node.args[0], "id", "")
        for keyword in node.keywords:
            if keyword.arg == "code" and called in BY_NAME:
                for part in ast.walk(keyword.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield called, part.value


@pytest.mark.parametrize("kind", BY_NAME.values())
def test_every_class_has_a_code_of_its_own(kind: type) -> None:
    assert CODES[own_code(kind.__name__)].error == kind.__name__


@pytest.mark.parametrize("kind", CLASSES)
def test_a_message_ends_with_the_code(kind: type[AnyshapeError]) -> None:
    for error in (kind("what"), kind("what", why="why", fix="fix"), refused(kind, "what")):
        assert str(error).startswith("what\n")
        assert str(error).endswith(error.code)
        assert error.code == kind.code
        assert error.text == text_of(error)
        assert error.code not in error.text


@pytest.mark.parametrize("kind", WARNINGS)
def test_a_warning_ends_with_the_code(kind: type[AnyshapeWarning]) -> None:
    for warning in (kind("what"), kind("what", why="why", fix="fix")):
        assert str(warning).startswith("what\n")
        assert str(warning).endswith(kind.code)
        assert kind.code not in warning.text == text_of(warning)


@pytest.mark.parametrize("kind", BY_NAME.values())
def test_it_is_pickled_and_copied_with_its_code(kind: type[AnyshapeError]) -> None:
    other = next(code for code in CODES if code != kind.code)
    for error in (kind("what", why="why"), kind("what", fix="fix", code=other)):
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(twin) is kind
            assert (str(twin), vars(twin)) == (str(error), vars(error))


def wrong_codes(sources: Iterator[str]) -> tuple[list[tuple[str, str]], set[str]]:
    """The codes that belong to another class, and all that some line uses."""
    found = [pair for source in sources for pair in coded_calls(source)]
    wrong = [(c, code) for c, code in found if code not in CODES or CODES[code].error != c]
    return wrong, {code for _, code in found}


def test_every_line_that_raises_gives_a_code_of_its_class() -> None:
    sources = (path.read_text() for path in PACKAGE.rglob("*.py"))
    wrong, used = wrong_codes(sources)
    assert not wrong
    assert used | {own_code(c) for c in BY_NAME} == set(CODES)  # no code is without a use


def uncoded(source: str) -> list[int]:
    """The lines that give a warning of ours in another way than by `warn`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        text = ast.unparse(node) if isinstance(node, ast.Call) else ""
        if text.startswith("warnings.warn(") and re.search("AnyshapeW|RuleSignature", text):
            found.append(node.lineno)
    return found


def test_every_warning_is_given_at_a_line_of_the_user() -> None:
    assert {p: n for p in PACKAGE.rglob("*.py") if (n := uncoded(p.read_text()))} == {}
    assert uncoded('warnings.warn("x", AnyshapeWarning, stacklevel=2)') == [1]


def test_a_code_of_another_class_is_found() -> None:
    planted = 'raise refused(UnsupportedError, "x", code="AS501")\nShapeError("x", code="AS000")'
    assert wrong_codes(iter([planted]))[0] == [
        ("UnsupportedError", "AS501"),
        ("ShapeError", "AS000"),
    ]


def test_the_codes_are_in_order_and_have_titles() -> None:
    assert list(CODES) == sorted(CODES)
    assert all(len(code) == 5 and code[:2] == "AS" and code[2:].isdigit() for code in CODES)
    assert len({row.title for row in CODES.values()}) == len(CODES)


def test_an_unknown_code_is_a_mistake() -> None:
    with pytest.raises(AssertionError):
        LoadError("what", code="AS999")


def test_errors_of_others_are_left_as_they_are() -> None:
    assert text_of(ValueError("theirs")) == "theirs"

    @anyshape.compile(dynamic="unbacked")
    def refuse(x: torch.Tensor) -> torch.Tensor:
        if x.size(0) > 2:
            raise ValueError(f"{x.size(0)} rows")
        return x

    refuse(torch.ones(1))
    for rows in (3, 5):
        with pytest.raises(ValueError, match=f"^{rows} rows$") as caught:
            refuse(torch.ones(rows))
        assert type(caught.value) is ValueError


def test_an_assert_by_the_user_ends_with_the_code_too() -> None:
    program = anyshape.export(_checked, (torch.ones(4),), dynamic_shapes=({0: "n"},))
    with pytest.raises(RuntimeAssertError) as caught:
        program(-torch.ones(3))
    lines = str(caught.value).splitlines()
    assert (lines[0], lines[-1]) == ("no hits", "  more: anyshape errors AS311")


def _checked(x: torch.Tensor) -> torch.Tensor:
    n = (x > 0).sum().item()
    torch._check(n > 0, lambda: "no hits")
    return x / n
