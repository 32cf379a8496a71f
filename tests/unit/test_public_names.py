"""The names of the package: written once, as imports, and found by Python, `dir` and `*`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import anyshape
from anyshape import errors


def test_every_name_is_found_and_listed() -> None:
    assert anyshape.__all__ == dir(anyshape) == sorted(set(anyshape.__all__))
    assert {"compile", "export", "check", "mark_dynamic", "config"} <= set(anyshape.__all__)
    for name in anyshape.__all__:
        assert getattr(anyshape, name) is not None


def test_a_star_import_gives_all_names() -> None:
    namespace: dict[str, object] = {}
    exec("from anyshape import *", namespace)
    assert set(namespace) == {*anyshape.__all__, "__builtins__"}


def test_every_error_is_public() -> None:
    own = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, (errors.AnyshapeError, Warning))
    }
    assert {name for name in own if not name.startswith("_")} <= set(anyshape.__all__)


@pytest.mark.parametrize("name", ["nothing", "__wrapped__", "TYPE_CHECKED"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(anyshape, name)


def test_torch_is_imported_by_the_names_that_need_it_alone() -> None:
    program = """
import sys
import anyshape, anyshape.env, anyshape.expr, anyshape.domain
anyshape.config, anyshape.ShapeError, dir(anyshape), anyshape.__all__
assert "torch" not in sys.modules
anyshape.SymInt
assert "torch" in sys.modules
assert "anyshape.export" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
