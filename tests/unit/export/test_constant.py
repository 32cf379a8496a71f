"""What an exported program holds from outside, and what its contract checks because of it."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.errors import ConstraintError, EffectError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path


STEPS = [1, 2]


class Options:
    def __init__(self) -> None:
        self.scale = 3.0
        self.steps = [1, 2]


def both(program: Any, path: Path) -> list[Any]:
    """A program, and the one that is loaded from its file."""
    program.save(path)
    return [program, anyshape.load(path)]


def test_values_that_were_read_are_listed_and_tell_that_they_changed(tmp_path: Path) -> None:
    options = Options()

    def fn(x: torch.Tensor) -> torch.Tensor:
        if hasattr(options, "extra"):
            x = x + 1
        return x * options.scale + sum(options.steps) * torch.is_grad_enabled()

    program = anyshape.export(fn, (torch.ones(3),))
    texts = [str(c) for c in program.constants if not c.is_code]
    for text in ("scale = 3.0", "steps = [1, 2]", "extra = (absent)", "is_grad_enabled() = True"):
        assert any(t.endswith(text) for t in texts), texts
    assert not any(c.is_stale for c in program.constants)
    options.scale = 4.0
    options.steps.append(3)
    options.extra = 1  # type: ignore[attr-defined]
    stale = [c.name.rpartition(".")[2] for c in program.constants if c.is_stale]
    assert set(stale) == {"scale", "steps", "extra"}
    assert torch.equal(program(torch.ones(3)), torch.full((3,), 6.0))
    program, loaded = both(program, tmp_path / "p")
    assert [str(c) for c in loaded.constants] == texts
    assert not any(c.is_stale for c in loaded.constants)


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (lambda: len(sys.argv), "len(argv) = "),
        (lambda: torch.__version__ >= (2, 5), "__version__ = "),
        (lambda: sys.version_info >= (3, 11), "version_info = (3, "),
        (torch.cuda.device_count, "device_count() = "),
        (torch.get_num_threads, "get_num_threads() = "),
        (lambda: os.environ.get("ANYSHAPE_NOT_THERE", "a") == "a", "(absent)"),
        (lambda: hash("a") % 2, "hash('a') = "),
        (lambda: id(STEPS) % 7, "id("),
        (lambda: len(STEPS), "len(STEPS) = 2"),
    ],
)
def test_facts_of_the_machine_are_listed_in_a_file_too(
    read: Any, name: str, tmp_path: Path
) -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x * int(read())

    _, loaded = both(anyshape.export(fn, (torch.ones(3),)), tmp_path / "p")
    assert any(name in str(c) for c in loaded.constants), [str(c) for c in loaded.constants]


@pytest.mark.parametrize("ask", [os.path.exists, os.path.isfile, os.path.getmtime])
def test_what_files_tell_is_refused(ask: Any, tmp_path: Path) -> None:
    with pytest.raises(EffectError, match="stat"):
        anyshape.export(lambda x: x * ask(tmp_path), (torch.ones(3),))


def test_a_write_of_what_was_there_is_listed() -> None:
    table = {"k": 2.0}

    def fn(x: torch.Tensor) -> torch.Tensor:
        table["k"] = 2.0
        return x

    program = anyshape.export(fn, (torch.ones(3),))
    assert not any(c.is_stale for c in program.constants)
    table["k"] = 3.0
    assert any(c.is_stale for c in program.constants)


class _Slotted:
    __slots__ = ("k",)
    k: int


class _WithClassAttribute:
    k = 1


def _holder(kind: str) -> Any:
    found: dict[str, Any] = {
        "object": types.SimpleNamespace,
        "slots": _Slotted,
        "module": torch.nn.Module,
        "class": lambda: _WithClassAttribute,
        "function": lambda: lambda: None,
        "python module": lambda: types.ModuleType("held"),
    }
    o = found[kind]()
    o.k = 1
    return o


@pytest.mark.parametrize(
    "kind", ["object", "slots", "module", "class", "function", "python module"]
)
def test_an_attribute_that_is_set_to_what_it_was_is_listed(kind: str) -> None:
    o = _holder(kind)

    def fn(x: torch.Tensor) -> torch.Tensor:
        o.k = 1
        return x

    program = anyshape.export(fn, (torch.ones(3),))
    assert not any(c.is_stale for c in program.constants)
    o.k = 2
    try:
        assert any(c.is_stale for c in program.constants)
    finally:
        o.k = 1


def test_a_global_variable_that_is_set_to_what_it_was_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_with_count.py").write_text(
        "count = 3\n\n\ndef fn(x):\n    global count\n    count = 3\n    return x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = importlib.import_module("module_with_count")
    program = anyshape.export(module.fn, (torch.ones(3),))
    assert not any(c.is_stale for c in program.constants)
    module.count = 4
    assert any(c.is_stale for c in program.constants)


def test_a_cell_that_is_set_to_what_it_was_is_listed() -> None:
    count = 3

    def fn(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count = 3
        return x

    program = anyshape.export(fn, (torch.ones(3),))
    assert not any(c.is_stale for c in program.constants)
    count = 4
    assert any(c.is_stale for c in program.constants)


def test_layers_of_a_module_are_named_by_their_place() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    program = anyshape.export(module, (torch.ones(2, 3),))
    assert "_modules['1'].eps = 1e-05" in [str(c) for c in program.constants]


W = torch.ones(3, requires_grad=True)


def blocks(x: torch.Tensor) -> Any:
    with torch.no_grad():
        a = x * W
    b = x * W
    with torch.enable_grad():
        c = x * W
    with torch.autocast("cpu", enabled=False):
        d = torch.outer(x, x) @ torch.outer(x, x)
    return a, b, c, d, torch.outer(x, x) @ torch.outer(x, x)


@torch.no_grad()
def without(x: torch.Tensor) -> torch.Tensor:
    return x * W


@pytest.mark.parametrize("fn", [blocks, lambda x: (without(x), x * W)])
@pytest.mark.parametrize("at_export", [torch.enable_grad, torch.no_grad])
def test_a_program_runs_in_the_modes_of_its_caller(fn: Any, at_export: Any, tmp_path: Path) -> None:
    with at_export():
        program = anyshape.export(fn, (torch.ones(3),))
    for call in both(program, tmp_path / "p"):
        for mode in (
            torch.enable_grad,
            torch.no_grad,
            torch.inference_mode,
            functools.partial(torch.autocast, "cpu", dtype=torch.bfloat16),
        ):
            with mode():
                want, got = fn(torch.ones(3)), call(torch.ones(3))
            assert [(t.requires_grad, t.dtype) for t in got] == [
                (t.requires_grad, t.dtype) for t in want
            ]


def test_the_default_device_is_checked_where_tensors_are_made_on_it(tmp_path: Path) -> None:
    made = anyshape.export(lambda x: x.sum() + torch.ones(2), (torch.ones(3),))
    for program in both(made, tmp_path / "p"):
        program(torch.ones(3))
        with torch.device("meta"), pytest.raises(ConstraintError, match="default device"):
            program(torch.ones(3, device="cpu"))
    other = anyshape.export(lambda x: x * 2, (torch.ones(3),))
    with torch.device("meta"):
        other(torch.ones(3, device="cpu"))


def test_inputs_that_were_compared_are_distinct(tmp_path: Path) -> None:
    def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * 3 if x is y else x + y

    compared = anyshape.export(fn, (torch.ones(3), torch.ones(3)))
    x = torch.ones(3)
    for program in both(compared, tmp_path / "p"):
        program(x, torch.ones(3))
        with pytest.raises(ConstraintError, match="the same tensor"):
            program(x, x)
    anyshape.export(torch.add, (torch.ones(3), torch.ones(3)))(x, x)


def test_an_error_that_the_function_may_handle_is_refused(tmp_path: Path) -> None:
    def fn(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        try:
            return x[i]
        except IndexError:
            return -x

    program = anyshape.export(fn, (torch.ones(3), torch.tensor([0])))
    for call in both(program, tmp_path / "p"):
        call(torch.ones(3), torch.tensor([2]))
        with pytest.raises(UnsupportedError, match="IndexError, which the function may handle"):
            call(torch.ones(3), torch.tensor([9]))
    plain = anyshape.export(lambda x, i: x[i], (torch.ones(3), torch.tensor([0])))
    with pytest.raises(IndexError):
        plain(torch.ones(3), torch.tensor([9]))


KEPT = [1]


@pytest.mark.parametrize(
    ("fn", "about"),
    [
        (lambda x, rows: (x, KEPT), "a list from outside"),
        (lambda x, rows: (x, rows), "a list of the caller"),
        (lambda x, rows: (x, *[[1]] * 2), "a list twice"),
        (lambda x, rows: (x, {1, 2}), "a set that it made"),
        (lambda x, rows: torch.nn.Buffer(x * 2), "a tensor with attributes"),
    ],
)
def test_results_that_are_not_new_on_every_call_are_refused(fn: Any, about: str) -> None:
    with pytest.raises(UnsupportedError, match=about):
        anyshape.export(fn, (torch.ones(3), [1]))


def test_a_cache_that_forgets_is_refused() -> None:
    @functools.lru_cache(maxsize=1)
    def small(n: int) -> float:
        return n * 2.0

    assert anyshape.export(lambda x: x * small(1), (torch.ones(3),))(torch.ones(3))[0] == 2
    with pytest.raises(EffectError, match="cache that is too small"):
        anyshape.export(lambda x: x * small(1) + small(2), (torch.ones(3),))


def test_a_tensor_that_a_cache_keeps_is_not_made_anew() -> None:
    @functools.lru_cache
    def kept() -> torch.Tensor:
        return torch.ones(1)

    def fn(x: torch.Tensor) -> torch.Tensor:
        return x * kept().add_(1)

    program = anyshape.export(fn, (torch.ones(1),))
    assert [program(torch.ones(1)).item(), fn(torch.ones(1)).item()] == [2, 3]


def test_loops_over_a_size_are_explored_at_few_sizes() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        for i in range(x.shape[0]):
            x = x + i
        return x

    with pytest.warns(anyshape.AnyshapeWarning, match="is one of 0, 1, 2"):
        program = anyshape.export(fn, (torch.ones(3),), dynamic_shapes=({0: anyshape.Dim.AUTO},))
    assert max(len(v.graph.nodes) for v in program.variants) <= 18


def test_a_mapping_of_no_dict_becomes_a_dict() -> None:
    import os

    program = anyshape.export(lambda x: x * len(dict(os.environ)), (torch.ones(1),))
    assert program(torch.ones(1)).item() == len(os.environ)


def test_narrow_beyond_the_end_is_an_error_of_an_index() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        try:
            return x.narrow(0, 1, 2)
        except IndexError:
            return -x

    program = anyshape.export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    assert program.verify((torch.ones(3),), (torch.ones(0),)).ok
