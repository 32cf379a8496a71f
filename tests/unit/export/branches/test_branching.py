"""Programs that branch on data: exported, saved, loaded elsewhere, and as eager execution."""

from __future__ import annotations

import copy
import functools
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.config import config
from anyshape.errors import (
    ArgumentError,
    ConstraintViolation,
    DataDependentError,
    EffectError,
    LoadError,
    UnsupportedError,
)
from anyshape.events import GraphBreak, subscribe
from anyshape.export import Dim, export, load
from anyshape.export.branches import branching, waypoint, witness
from anyshape.export.files import archive
from anyshape.trace import tree
from tests.unit.export.branches import branch_programs
from tests.unit.export.branches.branch_programs import one_if, while_changed
from tests.unit.export.branches.join_programs import JOINS
from tests.unit.export.branches.list_programs import LISTS
from tests.unit.export.branches.loop_programs import LOOPS

if TYPE_CHECKING:
    from pathlib import Path

CASES = {**branch_programs.CASES, **JOINS, **LOOPS, **LISTS}
SIZES = (0, 1, 2, 3, 4, 7)


def outcome(f: Any, args: Any) -> Any:
    """The leaves of the result as plain data, or the error."""
    torch.manual_seed(0)
    try:
        result = f(*copy.deepcopy(args))
    except Exception as e:
        return (type(e).__name__, str(e))
    leaves, spec = tree.flatten(result)
    return [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves], str(spec)


def same(a: Any, b: Any) -> bool:
    if type(a[0]) is not list or type(b[0]) is not list:
        return bool(a == b)
    return a[1] == b[1] and all(
        _equal(x, y) if isinstance(y, torch.Tensor) else x == y
        for x, y in zip(a[0], b[0], strict=True)
    )


def _equal(x: Any, y: torch.Tensor) -> bool:
    is_same = x.dtype is y.dtype and x.shape == y.shape
    return is_same and torch.allclose(x, y, rtol=0, atol=0, equal_nan=True)


def calls(name: str) -> list[Any]:
    case = CASES[name]
    found = []
    for n in [n for n in SIZES if n >= case.least]:
        for seed in range(4):
            torch.manual_seed(seed)
            found.append(case.inputs(n))
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_side_is_as_in_eager_execution(name: str) -> None:
    case = CASES[name]
    program = case.export()
    made = [len(v.parts) for v in program.variants]
    if sys.version_info < (3, 12):
        assert made == case.segments
    else:  # the bytecode of newer Pythons keeps fewer variables alive, and more sides join
        assert len(made) == len(case.segments)
        assert all(a <= b for a, b in zip(made, case.segments, strict=True)), made
    eager = copy.deepcopy(case.fn)
    for args in calls(name):
        want, got = outcome(eager, args), outcome(program, args)
        assert same(got, want), (args, got, want)
    assert program.verify(*calls(name), eager=eager)


@functools.cache
def exported(name: str) -> Any:
    """A program that no test calls: calls may change what it owns."""
    return CASES[name].export()


RUN = """
import sys, torch
from anyshape.export import load
from anyshape.trace import tree
for name in sys.argv[2:]:
    calls, program = torch.load(f"{sys.argv[1]}/{name}.pt"), load(f"{sys.argv[1]}/{name}.anyshape")
    found = []
    for args in calls:
        torch.manual_seed(0)
        try:
            leaves, spec = tree.flatten(program(*args))
            leaves = [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves]
            found.append((leaves, str(spec)))
        except Exception as e:
            found.append((type(e).__name__, str(e)))
    torch.save(found, f"{sys.argv[1]}/{name}.out")
"""


def test_another_process(tmp_path: Path) -> None:
    wanted = {}
    for name, case in CASES.items():
        exported(name).save(tmp_path / f"{name}.anyshape")
        torch.save(calls(name), tmp_path / f"{name}.pt")
        eager = copy.deepcopy(case.fn)
        wanted[name] = [outcome(eager, args) for args in calls(name)]
    subprocess.run([sys.executable, "-c", RUN, str(tmp_path), *CASES], check=True, timeout=200)
    for name, want in wanted.items():
        got = torch.load(tmp_path / f"{name}.out")
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            assert same(a, b), (name, a, b)


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_program_says_the_same(name: str, tmp_path: Path) -> None:
    program = exported(name)
    program.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert loaded.code == program.code
    assert loaded.explain() == program.explain()
    assert str(loaded.contract()) == str(program.contract())
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def ifs_in_sequence(n: int, folder: Path) -> Any:
    """A function of `n` branches, from a file, so that it has a source."""
    lines = ["def fn(x):", "    x = x * 1"]
    for i in range(n):
        lines += [f"    if (x > {i}.5).any():", f"        t = x * {i + 2}", "        x = t - 1"]
        lines += ["    else:", f"        x = x + {i}"]
    path = folder / f"ifs_{n}.py"
    path.write_text("\n".join([*lines, "    return x", ""]), encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    return scope["fn"]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 8, 11, 15, 20])
def test_branches_in_sequence_are_two_segments_each(n: int, tmp_path: Path) -> None:
    fn = ifs_in_sequence(n, tmp_path)
    program = export(fn, (torch.ones(4),), dynamic_shapes=({0: Dim("n")},))
    assert [len(v.parts) for v in program.variants] == [2 * n + 1]
    for size in (0, 1, 3):
        for seed in range(6):
            torch.manual_seed(seed)
            x = torch.randn(size) * 8
            assert torch.equal(program(x), fn(x))


def test_what_is_not_needed_is_in_no_frame() -> None:
    code = exported("five_ifs").code
    frames = [line for line in code.splitlines() if line.strip().startswith("return [")]
    assert len(frames) == 11
    assert not any(re.search(r"\bu[0-9]|None", line.rpartition(",")[0]) for line in frames)


def test_sides_with_other_python_values_that_meet_are_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = waypoint._match

    def blind(a: Any, b: Any, names: Any) -> bool:
        return (type(a) is int and type(b) is int) or right(a, b, names)

    monkeypatch.setattr(waypoint, "_match", blind)
    case = CASES["other_number"]
    program = case.export()
    assert not all(same(outcome(program, a), outcome(case.fn, a)) for a in calls("other_number"))


def test_the_contract_names_the_lines() -> None:
    contract = str(exported("if_in_loop").contract())
    assert "branches on data: 2\n" in contract
    assert "while (x.abs() > 1).any():" in contract
    assert "if (x > 1).any():" in contract
    assert "branches" not in str(exported("asserts").contract())


def test_explain_shows_how_segments_follow() -> None:
    text = exported("while_changed").explain()
    assert "segment 2: 0 calls" in text
    assert "; True: segment 1, False: segment 2; at branch_programs.py:" in text


def test_an_assert_is_no_branch() -> None:
    program = CASES["asserts"].export()
    assert "raise_unless" in program.code
    checked = program.contract().asserts
    assert any("AssertionError at branch_programs.py" in line for line in checked)
    with pytest.raises(AssertionError, match="no NaN"):
        program(torch.tensor([float("nan"), 5.0]))
    with pytest.raises(ValueError, match="an element is too large") as found:
        program(torch.tensor([5.0]))
    assert type(found.value).__name__ == "TooLarge"


def test_one_graph_or_the_segment_that_is_asked_for() -> None:
    program = CASES["one_if"].export()
    assert program.guards == []
    for name in ("graph", "runtime_asserts"):
        with pytest.raises(ArgumentError, match="branches on data: it has 3 segments") as found:
            getattr(program, name)
        assert "if x.sum() > 0:" in str(found.value)
    with pytest.raises(ArgumentError, match="to_fx\\(segment=0\\)"):
        program.to_fx()
    x = torch.ones(3)
    *frame, answer = program.to_fx(segment=0)(x)
    assert answer is True
    assert torch.equal(program.to_fx(segment=1)(*frame)[0], x + 1)
    assert torch.equal(program.to_fx(segment=2)(*frame)[0], x * 2)


def test_gradients_go_through_the_branches() -> None:
    program = CASES["if_in_loop"].export()
    x = torch.tensor([5.0, -3.0, 0.5], requires_grad=True)
    y = x.detach().clone().requires_grad_()
    program(x)[0].sum().backward()
    CASES["if_in_loop"].fn(y)[0].sum().backward()
    assert torch.equal(x.grad, y.grad)  # type: ignore[arg-type]


def test_branches_as_errors() -> None:
    with pytest.raises(DataDependentError, match=r"if x.sum\(\) > 0:"):
        export(one_if, (torch.ones(3),), control_flow="raise")
    with pytest.raises(ArgumentError, match="control_flow cannot be 'both'"):
        export(one_if, (torch.ones(3),), control_flow="both")


def growing(x: torch.Tensor) -> Any:
    parts = []
    while x.sum() > 0:
        parts.append((x, 1))
        x = x - 1
    return parts


def counted(x: torch.Tensor) -> Any:
    return {i: x * i for i in range(int(x.max()))}


def half(x: torch.Tensor) -> Any:
    return x * float(x.mean())


def test_too_many_segments_name_the_line() -> None:
    with pytest.raises(DataDependentError, match="more than 64 segments") as found:
        export(growing, (torch.ones(3),))
    assert "while x.sum() > 0:" in str(found.value)
    assert "another state is in parts; with the numbers that change" in str(found.value)
    assert "an item of class tuple, of a list whose length" in str(found.value)
    assert "config.segment_limit" in str(found.value)
    with config.patch(segment_limit=2), pytest.raises(DataDependentError, match="more than 2"):
        export(while_changed, (torch.ones(3),))
    with config.patch(segment_limit=3):
        assert len(export(while_changed, (torch.ones(3),)).variants[0].parts) == 3


def test_a_count_that_only_data_knows_names_the_line() -> None:
    with pytest.raises(UnsupportedError, match="a comprehension, of a list whose length") as found:
        export(counted, (torch.ones(3),))
    assert "return {i: x * i for i in range(int(x.max()))}" in str(found.value)
    assert "write a for statement that appends to a list" in str(found.value)


def always(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        y = x + 1
        raise ValueError(f"positive {y.shape[0]}")
    raise KeyError("negative")


def test_a_program_that_always_raises_is_not_exported() -> None:
    with pytest.raises((ValueError, KeyError)):
        export(always, (torch.ones(3),))


def unsupported(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        return x.numpy()
    return x


def test_a_side_that_cannot_be_traced_is_an_error() -> None:
    with pytest.raises(anyshape.AnyshapeError, match="numpy"):
        export(unsupported, (torch.ones(3),))


def static(x: torch.Tensor) -> Any:
    if x.sum() > 0:
        return x.view(3, 1)
    return x


def test_a_size_that_one_side_needs() -> None:
    with pytest.raises(ConstraintViolation):
        export(lambda x: x.view(3, 1), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    program = export(static, (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    assert len(program.variants) == 2
    for x in (torch.ones(3), -torch.ones(3), -torch.ones(5)):
        assert torch.equal(program(x), static(x))
    with pytest.raises(RuntimeError):
        program(torch.ones(5))


class Remembers(torch.nn.Module):
    """What one side leaves in the module, the other reads in the next call."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(3)

    def forward(self, x: torch.Tensor) -> Any:
        if x.sum() > 0:
            self.last = x * 2
            return x
        return x + self.last


class Leaves(torch.nn.Module):
    """What both sides leave in the module, none reads."""

    def forward(self, x: torch.Tensor) -> Any:
        if x.sum() > 0:
            self.seen = x * 2
            return x
        self.seen = x
        return x + 1


def test_what_one_side_assigns_and_another_reads_is_refused() -> None:
    with pytest.raises(EffectError, match="assigns last of a Remembers"):
        export(Remembers(), (torch.ones(3),))
    module = Leaves()
    program = export(module, (torch.ones(3),))
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(program(x), copy.deepcopy(module)(x))
        assert torch.equal(module.seen, x * 2 if x[0] > 0 else x)


def test_events_tell_where_a_graph_breaks() -> None:
    found: list[Any] = []
    with subscribe(found.append, GraphBreak):
        CASES["nested_ifs"].export()
    lines = {str(event.site).partition(": ")[2] for event in found}
    assert lines == {
        "if x.sum() > 0:",
        "y = x * 3 if x[:1].sum() > 1 else x - 1",
        "elif (x < -1).any():",
    }


def test_a_segment_that_follows_the_wrong_answer_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = CASES["nested_ifs"]
    monkeypatch.setattr(branching, "key_of", lambda answer: not answer)
    program = case.export()
    assert not all(same(outcome(program, a), outcome(case.fn, a)) for a in calls("nested_ifs"))


def test_a_loop_that_keeps_the_sizes_of_an_earlier_round_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = CASES["known_before"]
    monkeypatch.setattr(witness.Witness, "_holds", lambda *_: True)
    program = case.export()
    assert not all(same(outcome(program, a), outcome(case.fn, a)) for a in calls("known_before"))


def test_a_frame_of_other_kinds_is_refused(tmp_path: Path) -> None:
    CASES["one_if"].export().save(tmp_path / "a")
    members = archive.read_file(tmp_path / "a")
    content = json.loads(members[archive.PROGRAM])
    frame = content["variants"][0]["segments"][0]["frame"]
    frame[0], frame[-1] = frame[-1], frame[0]
    members[archive.PROGRAM] = archive.dumps(content)
    members[archive.CHECKSUMS] = archive.checksums(members)
    archive.write_file(tmp_path / "b", members)
    with pytest.raises(LoadError, match="another frame"):
        load(tmp_path / "b")
