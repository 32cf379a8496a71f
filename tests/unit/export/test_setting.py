"""Settings of the process that an exported program has read are conditions on its calls."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.errors import ConstraintError, LoadError
from anyshape.export.files.decode import _Variant

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = torch.ones(2, 3)


def grad(x: torch.Tensor) -> torch.Tensor:
    return x * (2 if torch.is_grad_enabled() else 3)


def inference(x: torch.Tensor) -> torch.Tensor:
    return x * (3 if torch.is_inference_mode_enabled() else 2)


def autocast(x: torch.Tensor) -> torch.Tensor:
    return x * (3 if torch.is_autocast_enabled(device_type="cpu") else 2)


def kernels(x: torch.Tensor) -> torch.Tensor:
    return x * (2 if torch.backends.mkldnn.enabled else 3)


def device(x: torch.Tensor) -> torch.Tensor:
    return x * (2 if torch.get_default_device().type == "cpu" else 3)


def on_one_side(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return grad(x)
    return x * 5


CHANGES: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (grad, torch.no_grad),
    (inference, torch.inference_mode),
    (autocast, lambda: torch.autocast("cpu")),
    (kernels, lambda: torch.backends.mkldnn.flags(enabled=False)),
    (device, lambda: torch.device("meta")),
    (on_one_side, torch.no_grad),
]


def _exported(fn: Callable[..., Any]) -> Any:
    return anyshape.export(fn, (X,), dynamic_shapes=({0: "rows"},))


@pytest.mark.parametrize(("fn", "change"), CHANGES)
def test_a_setting_that_is_another_is_refused(
    fn: Any, change: Callable[[], Any], tmp_path: Path
) -> None:
    program = _exported(fn)
    program.save(tmp_path / "a.any")
    loaded = anyshape.load(tmp_path / "a.any")
    for one in (program, loaded, anyshape.load(_saved(loaded, tmp_path))):
        assert one(torch.ones(4, 3)).sum() == 24
        with change(), pytest.raises(ConstraintError):
            one(X)


def _saved(program: Any, tmp_path: Path) -> Path:
    path = tmp_path / "b.any"
    program.save(path)
    return path


def test_what_the_program_sets_itself_is_no_condition() -> None:
    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), torch.autocast("cpu", enabled=False), torch.inference_mode():
            asked = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
            return x * (2 if asked == (False, True) else 3)

    program = _exported(inside)
    for around in (contextlib.nullcontext(), torch.no_grad()):
        with around:
            assert program(torch.ones(4, 3)).sum() == 24
    assert "is_grad_enabled() = False" not in map(str, program.constants)


def test_a_mode_that_was_read_and_is_put_back_is_the_callers() -> None:
    def aside(x: torch.Tensor) -> torch.Tensor:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        y = x * 2
        torch.set_grad_enabled(before)
        return y + x

    with torch.no_grad():
        program = _exported(aside)
        assert program(X).sum() == 18
    with pytest.raises(ConstraintError, match=r"is_grad_enabled\(\) is True"):
        program(X)


def test_a_mode_that_is_set_without_being_read_is_the_programs() -> None:
    def plainly(x: torch.Tensor) -> torch.Tensor:
        torch.set_grad_enabled(False)
        return x * 2

    with torch.no_grad():
        program = _exported(plainly)
    x = torch.ones(2, 3, requires_grad=True)
    try:
        assert not program(x).requires_grad
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_variants_that_have_read_other_settings_are_not_merged() -> None:
    def at_some(x: torch.Tensor) -> torch.Tensor:
        if x.size(0) > 3:
            return grad(x)
        return x * 2

    program = _exported(at_some)
    with torch.no_grad():
        assert program(torch.ones(1, 3)).sum() == 6
        with pytest.raises(ConstraintError):
            program(torch.ones(4, 3))


@pytest.mark.parametrize(
    "rows",
    [
        5,
        [["is_grad_enabled", []]],
        [["getpid", [], True]],
        [["_get_mkldnn_enabled", [5], True]],
        [["is_grad_enabled", [], {"anything": 1}]],
    ],
)
def test_a_file_names_only_settings(rows: Any) -> None:
    reader = object.__new__(_Variant)
    reader.where = "variant 0"
    with pytest.raises(LoadError):
        reader._settings(rows, "variant 0, settings")
