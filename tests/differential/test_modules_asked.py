"""Programs that ask which modules and packages there are: the answer is that of each call."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.errors import EffectError
from anyshape.trace.record.builtin.module_call import is_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "module_of_a_test"
MODES: tuple[dict[str, Any], ...] = ({}, {"dynamic": True}, {"dynamic": "unbacked"})


@pytest.fixture(autouse=True)
def _no_module() -> Iterator[None]:
    sys.modules.pop(NAME, None)
    yield
    sys.modules.pop(NAME, None)


def _add(value: float = 2.0) -> None:
    made = types.ModuleType(NAME)
    made.__spec__ = importlib.util.spec_from_loader(NAME, None)
    made.value = value  # type: ignore[attr-defined]
    sys.modules[NAME] = made


def _found(x: torch.Tensor) -> torch.Tensor:
    return x + (importlib.util.find_spec(NAME) is not None)


def _imported(x: torch.Tensor) -> Any:
    try:
        import module_of_a_test  # type: ignore[import-not-found]
    except ImportError:
        return x
    return x * module_of_a_test.value


def _from(x: torch.Tensor) -> Any:
    try:
        from module_of_a_test import value
    except ImportError:
        return x
    return x * value


def _by_name(x: torch.Tensor) -> Any:
    try:
        return x * importlib.import_module(NAME).value
    except ImportError:
        return x


def _by_builtin(x: torch.Tensor) -> Any:
    try:
        return x * __import__(NAME).value
    except ImportError:
        return x


def _kept(x: torch.Tensor) -> torch.Tensor:
    return x + (NAME in sys.modules)


ASKING = (_found, _imported, _from, _by_name, _by_builtin, _kept)


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("fn", ASKING)
def test_compiled(fn: Any, options: dict[str, Any]) -> None:
    program = anyshape.compile(fn, fullgraph=True, recompile_limit=50, **options)
    for change in (None, _add, lambda: _add(3.0), lambda: sys.modules.pop(NAME)):
        if change is not None:
            change()
        for size in (3, 0, 1):
            assert torch.equal(program(torch.ones(size)), fn(torch.ones(size)))


@pytest.mark.parametrize("is_there_first", [False, True])
@pytest.mark.parametrize("fn", ASKING)
def test_exported(fn: Any, is_there_first: bool) -> None:
    if is_there_first:
        _add()
    program = anyshape.export(fn, (torch.ones(3),))
    assert not any(c.is_stale for c in program.constants)
    if is_there_first:
        del sys.modules[NAME]
    else:
        _add()
    assert any(c.is_stale for c in program.constants)


def test_a_name_that_a_module_lacks() -> None:
    _add()
    del sys.modules[NAME].value
    program = anyshape.compile(_from, fullgraph=True)
    assert torch.equal(program(torch.ones(3)), torch.ones(3))
    sys.modules[NAME].value = 5.0  # type: ignore[attr-defined]
    assert torch.equal(program(torch.ones(3)), torch.full((3,), 5.0))


def test_the_version_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(version: str) -> None:
        home = tmp_path / "package_of_a_test-0.dist-info"
        home.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: package_of_a_test\nVersion: {version}\n"
        (home / "METADATA").write_text(text)
        importlib.invalidate_caches()

    def fn(x: torch.Tensor) -> torch.Tensor:
        try:
            return x * float(importlib.metadata.version("package_of_a_test"))
        except importlib.metadata.PackageNotFoundError:
            return x

    monkeypatch.syspath_prepend(str(tmp_path))
    program, x = anyshape.compile(fn, fullgraph=True), torch.ones(3)
    assert torch.equal(program(x), x)
    for version in ("2.0", "3.0"):
        write(version)
        assert torch.equal(program(x), x * float(version))
    exported = anyshape.export(fn, (x,))
    write("4.0")
    assert any(c.is_stale and "version('package_of_a_test')" in str(c) for c in exported.constants)


def test_what_else_packages_tell_is_refused() -> None:
    with pytest.raises(EffectError, match=r"importlib\.metadata\.entry_points"):
        anyshape.export(
            lambda x: x * len(importlib.metadata.entry_points(group="none")), (torch.ones(3),)
        )


def test_is_there() -> None:
    assert [is_there(n) for n in ("json", NAME, f"{NAME}.inner", "__main__")] == [
        True, False, False, True,
    ]  # fmt: skip
