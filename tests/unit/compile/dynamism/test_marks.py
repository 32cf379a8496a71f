"""Marks on tensors: what is kept, what counts when there are several, what is refused."""

from __future__ import annotations

import copy
import inspect
import io
import itertools
import pickle
from typing import Any

import pytest
import torch
from torch._dynamo import decorators as theirs

import anyshape
from anyshape.errors import ArgumentError, DataDependentError, DimError, UnsupportedError
from anyshape.trace import capture
from anyshape.trace.argument import marks
from anyshape.trace.argument.marks import (
    Mark,
    mark_dynamic,
    mark_static,
    mark_unbacked,
    marks_of,
    maybe_mark_dynamic,
)
from anyshape.trace.argument.size_chooser import BACKED, STATIC, UNBACKED

DYNAMIC = Mark(BACKED, strict=True)
MAYBE = Mark(BACKED)
OPEN = Mark(UNBACKED)
FIXED = Mark(STATIC)


def tensor(*shape: int) -> torch.Tensor:
    return torch.zeros(shape or (4, 5, 6))


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (mark_dynamic, DYNAMIC),
        (maybe_mark_dynamic, MAYBE),
        (mark_unbacked, OPEN),
        (mark_static, FIXED),
    ],
)
@pytest.mark.parametrize(
    ("dim", "dims"),
    [(0, [0]), (-1, [2]), ([0, 2], [0, 2]), ((-3, 1), [0, 1]), ([], []), (range(0), None)],
)
def test_ways_to_name_dims(mark: Any, expected: Mark, dim: Any, dims: Any) -> None:
    t = tensor()
    if dims is None:
        with pytest.raises(ArgumentError, match="must be an int, not range"):
            mark(t, dim)
        assert marks_of(t) == {}
    else:
        mark(t, dim)
        assert marks_of(t) == dict.fromkeys(dims, expected)


def test_static_alone_is_every_dim() -> None:
    t = tensor()
    mark_static(t)
    assert marks_of(t) == dict.fromkeys(range(3), FIXED)
    assert marks_of(tensor()) == {}


def test_the_public_names() -> None:
    assert anyshape.mark_dynamic is mark_dynamic
    assert {"mark_dynamic", "maybe_mark_dynamic", "mark_unbacked", "mark_static"} <= set(
        anyshape.__all__
    )


def test_lists_keep_all_arguments() -> None:
    t = tensor()
    mark_unbacked(t, [0, 1], min=1, max=9, hint=7, shape_id="batch")
    expected = Mark(UNBACKED, min=1, max=9, hint=7, shape_id="batch")
    assert marks_of(t) == {0: expected, 1: expected}
    mark_unbacked(t, (1, 2), hint=0)
    assert marks_of(t) == {0: expected, 1: OPEN._replace(hint=0), 2: OPEN._replace(hint=0)}


@pytest.mark.parametrize("bounds", [{"min": 3}, {"max": 9}, {"min": 4, "max": 4}, {"min": 0}])
@pytest.mark.parametrize("mark", [mark_dynamic, mark_unbacked])
def test_one_bound_is_enough(mark: Any, bounds: dict[str, int]) -> None:
    t = tensor(4)
    mark(t, 0, **bounds)
    found = marks_of(t)[0]
    assert (found.min, found.max) == (bounds.get("min"), bounds.get("max"))


def test_marking_again_replaces_the_range() -> None:
    t = tensor()
    mark_dynamic(t, 0, min=2, max=8)
    mark_dynamic(t, [0, 1], max=64)
    assert marks_of(t) == dict.fromkeys((0, 1), DYNAMIC._replace(max=64))
    maybe_mark_dynamic(t, 0)
    assert marks_of(t)[0] == DYNAMIC._replace(max=64)


OURS = {"dynamic": mark_dynamic, "maybe": maybe_mark_dynamic, "unbacked": mark_unbacked}
OURS["static"] = mark_static
THEIRS = {
    "dynamic": theirs.mark_dynamic,
    "maybe": theirs.maybe_mark_dynamic,
    "unbacked": theirs.mark_unbacked,
    "strict": lambda t, d: theirs.mark_unbacked(t, d, strict=True),
    "static": theirs.mark_static,
}
ORDER = ["static", "maybe", "dynamic", "unbacked", "strict"]
WINNER = {
    "static": FIXED,
    "maybe": MAYBE,
    "dynamic": DYNAMIC,
    "unbacked": OPEN,
    "strict": OPEN._replace(strict=True),
}


@pytest.mark.parametrize("first", [OURS, THEIRS], ids=["ours", "theirs"])
@pytest.mark.parametrize("second", [OURS, THEIRS], ids=["ours", "theirs"])
def test_the_strongest_kind_counts_whatever_the_order(first: Any, second: Any) -> None:
    for a, b in itertools.product(first, second):
        t = tensor()
        first[a](t, 1)
        second[b](t, 1)
        assert marks_of(t) == {1: WINNER[max(a, b, key=ORDER.index)]}, (a, b)


def test_three_marks() -> None:
    for kinds in itertools.permutations(["static", "dynamic", "unbacked"]):
        t = tensor()
        for kind, table in zip(kinds, (OURS, THEIRS, OURS), strict=True):
            table[kind](t, 0)
        assert marks_of(t) == {0: OPEN}


# ---------------------------------------------------------------------- torch's own


def test_what_torch_keeps_is_read() -> None:
    t = tensor()
    theirs.mark_dynamic(t, 0, min=2, max=8)
    takes_bounds = "min" in inspect.signature(theirs.mark_unbacked).parameters  # since torch 2.12
    least = {"min": 1} if takes_bounds else {}
    theirs.mark_unbacked(t, 1, hint_override=7, shape_id="b", **least)
    assert marks_of(t) == {
        0: DYNAMIC._replace(min=2, max=8),
        1: Mark(UNBACKED, hint=7, shape_id="b", **least),
    }


def test_both_ranges_count() -> None:
    t = tensor()
    theirs.mark_dynamic(t, 0, min=2, max=8)
    theirs.mark_dynamic(t, 0, min=3)
    mark_dynamic(t, 0, max=6)
    assert marks_of(t) == {0: DYNAMIC._replace(min=3, max=6)}


def test_what_torch_does_not_check() -> None:
    t = tensor()
    theirs.mark_dynamic(t, -1)
    theirs.mark_dynamic(t, 7)
    theirs.mark_unbacked(t, -9)
    assert marks_of(t) == {2: DYNAMIC}


def test_a_hint_of_torch_for_a_dynamic_size_is_not_ours_to_follow() -> None:
    t = tensor()
    theirs.mark_dynamic(t, 0, hint_override=100)
    assert marks_of(t) == {0: DYNAMIC}


def test_marks_leave_torchs_attributes_alone() -> None:
    t = tensor()
    mark_dynamic(t, 0, min=3)
    mark_unbacked(t, 1)
    mark_static(t)
    assert [name for name in t.__dict__ if "dynamo" in name] == []


def test_a_copy_of_a_parameter_keeps_its_marks_apart() -> None:
    t = torch.nn.Parameter(tensor())
    mark_dynamic(t, 0)
    other = t.detach()
    assert marks_of(other) == {}
    assert marks_of(t) == {0: DYNAMIC}


def test_a_saved_tensor_takes_its_marks_along() -> None:
    t = tensor()
    mark_dynamic(t, 0, min=3)
    mark_unbacked(t, 1, hint=7, shape_id="batch")
    for copied in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert marks_of(copied) == marks_of(t)
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)  # refuses classes, ours among them
    assert marks_of(loaded) == marks_of(t)


# ---------------------------------------------------------------------- what is refused

REFUSED = [
    (mark_dynamic, (0.0,), {}, ArgumentError, "must be an int, not 0.0"),
    (mark_dynamic, (True,), {}, ArgumentError, "must be an int, not True"),
    (mark_dynamic, ("0",), {}, ArgumentError, "must be an int, not '0'"),
    (mark_dynamic, (None,), {}, ArgumentError, "must be an int, not None"),
    (maybe_mark_dynamic, ([0, None],), {}, ArgumentError, "must be an int, not None"),
    (mark_dynamic, (3,), {}, DimError, "dimension 3 of a tensor with 3"),
    (mark_unbacked, ([1, -4],), {}, DimError, "dimension -4 of a tensor with 3"),
    (mark_static, (5,), {}, DimError, "use -3 to 2"),
    (mark_static, ([0, -3],), {}, DimError, "dimension 0 twice"),
    (maybe_mark_dynamic, ((1, 2, 1),), {}, DimError, "dimension 1 twice"),
    (mark_dynamic, (0,), {"min": 9, "max": 3}, ArgumentError, "min=9 is more than max=3"),
    (mark_dynamic, (0,), {"min": -1}, ArgumentError, "min of mark_dynamic is -1"),
    (mark_unbacked, (0,), {"max": -1}, ArgumentError, "max of mark_unbacked is -1"),
    (
        mark_dynamic,
        (0,),
        {"min": 2.0},
        ArgumentError,
        "min of mark_dynamic must be an int, not 2.0",
    ),
    (mark_dynamic, (0,), {"max": True}, ArgumentError, "must be an int, not True"),
    (mark_dynamic, ([1, 0],), {"min": 5}, ArgumentError, "the size 4 of dimension 0 is outside"),
    (mark_unbacked, (2,), {"max": 5}, ArgumentError, "the size 6 of dimension 2 is outside"),
    (mark_unbacked, (0,), {"hint": -1}, ArgumentError, "hint of mark_unbacked is -1"),
    (mark_unbacked, (0,), {"hint": 1.5}, ArgumentError, "hint of mark_unbacked must be an int"),
    (mark_unbacked, (0,), {"hint": 99, "max": 9}, ArgumentError, "hint=99 .* outside of max=9"),
    (mark_unbacked, (0,), {"shape_id": 3}, ArgumentError, "shape_id .* must be a str, not int"),
]


@pytest.mark.parametrize(("mark", "args", "kwargs", "error", "text"), REFUSED)
def test_a_wrong_mark_is_one_error_and_marks_nothing(
    mark: Any, args: Any, kwargs: Any, error: type[Exception], text: str
) -> None:
    t = tensor()
    mark_static(t, 1)
    with pytest.raises(error, match=text):
        mark(t, *args, **kwargs)
    assert marks_of(t) == {1: FIXED}


@pytest.mark.parametrize("mark", OURS.values())
def test_only_tensors_are_marked(mark: Any) -> None:
    with pytest.raises(ArgumentError, match="takes a tensor, not list"):
        mark([1], 0)
    with pytest.raises(DimError, match="it has no dimension to mark"):
        mark(torch.tensor(1.0), 0)


# ---------------------------------------------------------------------- inside a trace


@pytest.mark.parametrize("mark", [mark_dynamic, maybe_mark_dynamic, mark_unbacked])
def test_marks_inside_a_trace_are_refused(mark: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        mark(x, 0)
        return x

    with pytest.raises(UnsupportedError, match=f"{mark.__name__} inside a traced function"):
        capture(f, (tensor(),))


def test_static_inside_a_trace_makes_a_constant() -> None:
    def f(x: torch.Tensor) -> Any:
        mark_static(x, -3)
        return x * 2

    captured = capture(f, (tensor(),))
    assert "x.size(0) == 4" in [g.text for g in captured.guards]
    assert not any("x.size(1) ==" in g.text for g in captured.guards)
    with pytest.raises(DataDependentError):
        capture(f, (tensor(),), dynamic=UNBACKED)


# ---------------------------------------------------------------------- export reads them


def test_export_reads_our_marks() -> None:
    x, y = tensor(4, 5), tensor(4, 5)
    mark_dynamic(x, 0, min=2, max=8)
    maybe_mark_dynamic(y, 0)
    mark_unbacked(y, 1)
    mark_static(x, 1)
    program = anyshape.export(lambda x, y: (x + 1, y * 2), (x, y))
    shapes = [i.shape for i in program.contract().inputs]
    assert shapes == [("x.size(0)", "5"), ("y.size(0)", "y.size(1)")]
    program(tensor(8, 5), tensor(1, 0))
    with pytest.raises(anyshape.ConstraintError):
        program(tensor(9, 5), tensor(1, 0))


# ---------------------------------------------------------------------- a planted bug


def test_a_wrong_order_of_kinds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_STRENGTH", {STATIC: 2, BACKED: 1, UNBACKED: 0})
    with pytest.raises(AssertionError):
        test_the_strongest_kind_counts_whatever_the_order(OURS, THEIRS)
