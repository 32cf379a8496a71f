"""Saved programs come back as they were, and saving is all or nothing."""

from __future__ import annotations

import copy
import functools
import json
import os
import stat
import zipfile
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.errors import AnyshapeError, ConstraintError, LoadError, UnsupportedError
from anyshape.export import Dim, ExportedProgram, export, load
from anyshape.export.explore import Exploration
from anyshape.export.files import archive
from anyshape.export.state.state import State
from anyshape.trace import capture, tree
from tests.unit.export.files.saved_programs import CASES, Pair, branch, nested

if TYPE_CHECKING:
    from pathlib import Path


def saved(program: Any, path: Path) -> Any:
    program.save(path)
    return load(path)


def outcome(f: Any, args: Any) -> Any:
    torch.manual_seed(0)
    try:
        return f(*args)
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def same(a: Any, b: Any) -> None:
    a, b = tree.flatten(a)[0], tree.flatten(b)[0]
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        if isinstance(y, torch.Tensor):
            torch.testing.assert_close(x, y, rtol=0, atol=0, equal_nan=True)
            assert x.stride() == y.stride()
            assert x.requires_grad is y.requires_grad
        else:
            assert type(x) is type(y)
            assert x == y


# A loaded program calls it through a check of its arguments.
GUARDED = ("f_scaled_dot", "torch.nn.functional.scaled_dot")
GUARDED_FX = ("anyshape.export.files.guarded_op", "torch._C._nn")


@pytest.mark.parametrize("name", CASES)
def test_round_trip(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    program = case.export()
    loaded = saved(program, tmp_path / "a")
    assert loaded.code.replace(*GUARDED) == program.code
    assert loaded.explain() == program.explain()
    assert str(loaded.contract()) == str(program.contract())
    assert len(loaded.variants) == len(program.variants)
    for i, (ours, theirs) in enumerate(zip(loaded.variants, program.variants, strict=True)):
        assert str(ours.graph) == str(theirs.graph)
        assert [o.describe() for o in ours.guards] == [o.describe() for o in theirs.guards]
        ours_fx, theirs_fx = loaded.to_fx(variant=i), program.to_fx(variant=i)
        assert str(ours_fx.graph).replace(*GUARDED_FX) == str(theirs_fx.graph)
    assert loaded.range_constraints == program.range_constraints
    loaded.save(tmp_path / "b")
    program.save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()
    for n in (0, 1, 2, 4, 7, 12):
        torch.manual_seed(n)
        args = case.inputs(n)
        same(outcome(loaded, copy.deepcopy(args)), outcome(program, copy.deepcopy(args)))


def test_variants_and_refusals(tmp_path: Path) -> None:
    program = CASES["branch"].export()
    loaded = saved(program, tmp_path / "a")
    assert len(loaded.variants) == 2
    assert loaded.is_complete
    with pytest.raises(ConstraintError, match="nothing to do"):
        loaded(torch.randn(0))
    assert loaded.verify((torch.randn(3),), (torch.randn(9),), (torch.randn(0),), eager=branch)


def test_messages_at_the_door_and_while_running(tmp_path: Path) -> None:
    loaded = saved(CASES["split"].export(), tmp_path / "a")
    with pytest.raises(AnyshapeError, match="a size below zero") as found:
        loaded(torch.randn(1), torch.tensor([2, -1, 0]))
    assert "saved_programs.py" in str(found.value)
    for bad in (
        (torch.randn(1),),
        (torch.randn(2, 2), torch.tensor([1, 1, 0])),
        (torch.randn(2).double(), torch.tensor([1, 1, 0])),
        ([torch.randn(2)], torch.tensor([1, 1, 0])),
    ):
        program = CASES["split"].export()
        assert str(outcome(loaded, bad)) == str(outcome(program, bad))


def test_constants_keep_their_memory_and_strides(tmp_path: Path) -> None:
    program = CASES["tied"].export()
    before = {id(t): i for i, t in enumerate(program.state.values())}
    loaded = saved(program, tmp_path / "a")
    assert list(loaded.state) == list(program.state)
    for name, t in program.state.items():
        own = loaded.state[name]
        assert torch.equal(own, t)
        assert own.stride() == t.stride()
        assert own.dtype is t.dtype
        assert type(own) is type(t)
        assert own.requires_grad is t.requires_grad
    assert len({id(t) for t in loaded.state.values()}) == len(before)
    loaded.state["base"].fill_(5.0)
    assert loaded.state["even"].eq(5.0).all()
    assert loaded.state["even"].data_ptr() == loaded.state["base"].data_ptr()


def test_buffers_that_a_program_changes_are_its_own(tmp_path: Path) -> None:
    loaded = saved(CASES["tied"].export(), tmp_path / "a")
    start = int(loaded.state["seen"])
    for i in range(3):
        assert int(loaded(torch.tensor([1, 2]))[3]) == start + i + 1


def test_gradients_flow_through_a_loaded_program(tmp_path: Path) -> None:
    loaded = saved(CASES["sequential"].export(), tmp_path / "a")
    loaded(torch.randn(6, 3)).sum().backward()
    assert all(t.grad is not None for t in loaded.state.values())


def test_named_tuples_are_known_by_their_fields(tmp_path: Path) -> None:
    program = CASES["nested"].export()
    loaded = saved(program, tmp_path / "a")
    args = ({"x": torch.randn(5, 2), "k": 3}, Pair(torch.ones(2), "tag"))
    result = loaded(*args)
    assert result["pair"]._fields == ("first", "second")
    assert torch.equal(result["pair"].first, args[0]["x"].sum(0))
    assert result["max"].indices.shape == (5,)
    assert result["shape"] == torch.Size([5, 2])
    assert result["rows"] == 16
    assert result["half"] == 2.5
    assert loaded.verify(args, eager=nested)
    assert type(result["pair"]) is not Pair
    assert type(load(tmp_path / "a", classes=(Pair,))(*args)["pair"]) is Pair
    other = namedtuple("Pair", "first last")
    assert type(load(tmp_path / "a", classes=(other,))(*args)["pair"]) is type(result["pair"])
    with pytest.raises(TypeError, match="another structure"):
        loaded({"x": torch.randn(5, 2), "k": 3}, (torch.ones(2), "tag"))


def test_one_tensor_given_twice(tmp_path: Path) -> None:
    x = torch.randn(3)
    found = Exploration()
    found.variants.append(capture(lambda a, b: a.add_(1) + b, (x, x)))
    loaded = saved(ExportedProgram("twins", found, State([]), "follow"), tmp_path / "a")
    y = torch.ones(5)
    assert torch.equal(loaded(y, y), torch.full((5,), 4.0))
    with pytest.raises(ConstraintError, match="the same tensor"):
        loaded(torch.ones(5), torch.ones(5))


def test_layouts_and_gradients_at_the_door(tmp_path: Path) -> None:
    def f(x: torch.Tensor) -> Any:
        return x * x.stride(0), x.requires_grad

    example = torch.randn(4, 3).t().requires_grad_()
    program = export(f, (example,), dynamic_shapes=({1: "n"},))
    loaded = saved(program, tmp_path / "a")
    good = torch.randn(6, 3).t().requires_grad_()
    same(loaded(good), program(good))
    for bad in (torch.randn(3, 6, requires_grad=True), torch.randn(6, 3).t()):
        text = outcome(program, (bad,))
        assert "the program was traced for" in text
        assert outcome(loaded, (bad,)) == text


def test_a_custom_op_must_be_registered(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with torch.library._scoped_library("saving", "FRAGMENT") as library:
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: x * 2, "CompositeExplicitAutograd")
        fake = torch.library.register_fake("saving::double", torch.empty_like, lib=library)
        assert fake is not None
        program = export(
            lambda x: torch.ops.saving.double(x) + 0, (torch.ones(2),), dynamic_shapes=({0: "n"},)
        )
        same(saved(program, path)(torch.ones(5)), torch.full((5,), 2.0))
    from anyshape.export.files import callable_ops

    callable_ops._registered.cache_clear()
    with pytest.raises(LoadError, match="saving::double is not registered"):
        load(path)


def test_any_zip_tool_reads_it(tmp_path: Path) -> None:
    CASES["sequential"].export().save(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a") as z:
        assert z.testzip() is None
        assert tuple(z.namelist()) == archive.MEMBERS
        content = json.loads(z.read(archive.PROGRAM))
    assert content["format"] == 7
    assert content["torch"] == str(torch.__version__)


def test_a_crash_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    first, second = CASES["branch"].export(), CASES["split"].export()
    first.save(path)
    path.chmod(0o640)
    before = path.read_bytes()

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(os, "fsync", crash)
        with pytest.raises(KeyboardInterrupt):
            second.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    second.save(path)
    assert path.read_bytes() != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    program = CASES["branch"].export()
    with pytest.raises(AnyshapeError, match="cannot save"):
        program.save(tmp_path / "no" / "such" / "folder")
    with pytest.raises(AnyshapeError, match="cannot save"):
        program.save(tmp_path)
    with pytest.raises(LoadError, match="cannot read"):
        load(tmp_path / "absent")
    with pytest.raises(LoadError, match="cannot read"):
        load(tmp_path)


def test_what_has_no_form_in_a_file(tmp_path: Path) -> None:
    class Mode:
        pass

    program = export(lambda x, mode: x + 1, (torch.ones(2), Mode()))
    with pytest.raises(UnsupportedError, match=r"the input mode.*Mode"):
        program.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_no_function_of_the_user_is_needed(tmp_path: Path) -> None:
    """Another process, which has none of the classes, loads and runs it."""
    import subprocess
    import sys

    program = export(
        lambda p: Pair(p.first * 2, p.second), (Pair(torch.ones(3), 1),),
        dynamic_shapes=(({0: Dim("n")}, None),),
    )  # fmt: skip
    program.save(tmp_path / "a")
    code = (
        "import torch, collections; from anyshape.export import load\n"
        f"p = load({str(tmp_path / 'a')!r})\n"
        "Pair = collections.namedtuple('Pair', 'first second')\n"
        "r = p(Pair(torch.ones(7), 1)); print(tuple(r.first.shape), r.second)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(7,) 1"


def test_a_seed_is_saved_after_torch_has_replaced_its_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing some parts of torch puts other functions in the place of `torch.manual_seed`."""
    original = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", functools.partial(original))
    case = CASES["noise"]
    assert saved(case.export(), tmp_path / "a").verify(case.inputs(4), eager=case.fn).ok
