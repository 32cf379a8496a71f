"""Lists whose lengths only the run knows: what is refused, and what a wrong answer would do."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.config import config
from anyshape.errors import AnyshapeError, DataDependentError
from anyshape.export import Dim, export
from anyshape.export.branches import branch_tracer, carried
from anyshape.trace.record import owner
from anyshape.trace.record.builtin import meaning
from anyshape.trace.sequence import list_call, list_meta, sym_list, walker
from anyshape.trace.tracer import Tracer
from tests.unit.export.branches.list_programs import LISTS
from tests.unit.export.branches.test_branching import calls, outcome, same

DYNAMIC = ({0: Dim("n")},)


def differs(name: str) -> bool:
    case = LISTS[name]
    program = case.export()
    return not all(same(outcome(program, a), outcome(case.fn, a)) for a in calls(name))


def in_a_tuple(x: torch.Tensor) -> Any:
    return tuple(x[x > 0].tolist())


def compared(x: torch.Tensor) -> Any:
    out = x[x > 0].tolist()
    return x if out == [1.0] else -x


def shared(x: torch.Tensor) -> Any:
    """One list in two rounds, which a later one changes."""
    rows = x[x > 0].tolist()
    outer = [x[x > 1].tolist()]
    while x.sum() > 0:
        outer.append(rows)
        x = x - 1
    rows.append(2.0)
    return outer, x


def unequal(x: torch.Tensor) -> Any:
    total = x.sum()
    for a, b in zip(x[x > 0], x[x < 0], strict=True):
        total = total + a * b
    return total


def of_another_shape(x: torch.Tensor) -> Any:
    """A tensor that is an item gets another shape under its own name."""
    first = x.clone()
    seen = [first]
    while x.sum() > 0:
        x = x - 1
        seen.append(x)
    first.unsqueeze_(0)
    return seen[0].dim(), seen


def item_of_another_shape(x: torch.Tensor) -> Any:
    """A tensor that is an item gets another shape as an item."""
    seen = [x]
    while x.sum() > 0:
        x = x - 1
        seen.append(x)
    seen[-1].unsqueeze_(0)
    return x.dim()


def identified(x: torch.Tensor) -> Any:
    seen = [x]
    while x.sum() > 0:
        x = x - 1
        seen.append(x)
    return {id(x): 1}.get(id(seen[-1]), 0)


def changed_inside(x: torch.Tensor) -> Any:
    """A list of known length that changes after it was put into another."""
    out = [[1, 1]]
    while x.sum() > 0:
        x = x - 1
        pair = [0, 0]
        out.append(pair)
        pair.append(2)
    return out


def in_every_round(x: torch.Tensor) -> Any:
    """One list in all rounds."""
    pair = [0, 0]
    out = [[1, 1]]
    while x.sum() > 0:
        x = x - 1
        out.append(pair)
    return out


def in_some_rounds(x: torch.Tensor) -> Any:
    pair = [0, 0]
    out = [[1, 1]]
    while x.sum() > 0:
        x = x - 1
        if x.max() > 1:
            out.append(pair)
    return out


def beside(x: torch.Tensor) -> Any:
    """A list that is returned beside the one that it is in."""
    pair = [0]
    out = [[1]]
    while x.sum() > 0:
        x = x - 1
        out.append([2])
    out.append(pair)
    return out, pair


def compared_inside(x: torch.Tensor) -> Any:
    out = [[1]]
    while x.sum() > 0:
        x = x - 1
        out.append([2])
    pair = [0]
    out.append(pair)
    return out[-1] is pair


_SIZES = "other sizes, strides or requires_grad for a tensor that may be an item"


@pytest.mark.parametrize(
    ("fn", "what"),
    [
        (of_another_shape, _SIZES),
        (item_of_another_shape, _SIZES),
        (identified, "the id of a tensor that may be an item"),
        (in_a_tuple, "a list, tuple or call made of all items"),
        (compared, "a comparison or a search"),
        (changed_inside, "a change of a list that is in another list"),
        (in_every_round, "returns a list twice"),
        (beside, "returns a list twice"),
        (compared_inside, "a comparison of an item with `is`"),
        (shared, "a change of a list that is in another list"),
        (unequal, "zip(..., strict=True)"),
    ],
)
def test_what_is_refused_is_named(fn: Any, what: str) -> None:
    with config.patch(segment_limit=12), pytest.raises(AnyshapeError) as found:
        export(fn, (torch.randn(4),), dynamic_shapes=DYNAMIC)
    assert what in str(found.value)
    assert f"in {fn.__name__}" in str(found.value) or "returns a" in what


class Kept:
    """A list that a closure holds, too."""

    def __init__(self) -> None:
        self.items: list[torch.Tensor] = []

    def adder(self) -> Any:
        items = self.items

        def add(x: torch.Tensor) -> None:
            items.append(x)

        return add


def held_by_a_closure(x: torch.Tensor) -> Any:
    kept = Kept()
    add = kept.adder()
    while x.sum() > 0:
        add(x)
        x = x - 1
    return kept.items


def test_a_list_that_cannot_be_replaced_everywhere_stays_one_of_python() -> None:
    with config.patch(segment_limit=16), pytest.raises(DataDependentError) as found:
        export(held_by_a_closure, (torch.randn(4),), dynamic_shapes=DYNAMIC)
    assert "more than 16 segments" in str(found.value)


def test_a_list_that_is_replaced_in_one_place_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def once(self: Any, tracer: Any, x: Any) -> Any:
        made = sym_list.list_of(tracer, x)
        self._set(self.lists[id(x)][0], made)
        return made

    monkeypatch.setattr(carried.Carried, "_listed", once)
    assert differs("sometimes")


def test_a_round_too_many_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walker.Forward, "going", lambda w: w.at <= w.of.length)
    assert differs("recurrent")


def test_memory_that_is_not_shared_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_tracer.BranchTracer, "touch", Tracer.touch)
    assert differs("changed_in_place")


def test_sizes_of_one_item_for_all_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_meta, "_are_equal", lambda *_: True)
    assert differs("of_other_sizes")


def test_the_least_number_for_the_greatest_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "list_greatest", list_call.list_least)
    assert differs("ordered")


def test_gradients_go_through_lists() -> None:
    case = LISTS["stacked"]
    program = case.export()
    x = torch.tensor([2.5, 1.5], requires_grad=True)
    y = x.detach().clone().requires_grad_()
    (program(x)[0] ** 2).sum().backward()
    (case.fn(y)[0] ** 2).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert torch.equal(x.grad, y.grad)


def test_a_list_that_is_returned_is_a_new_one_on_every_call() -> None:
    program = LISTS["sometimes"].export()
    x = torch.tensor([9.0, 1.0])
    first, _ = program(x)
    second, _ = program(x)
    assert type(first) is list
    assert len(first) == len(second) > 0
    assert first is not second


def test_a_tensor_that_is_no_item_may_get_another_shape() -> None:
    def fn(x: torch.Tensor) -> Any:
        table = torch.zeros(3, 4)
        seen = [x]
        while x.sum() > 0:
            x = x - 1
            seen.append(x)
        new = x + 1
        new.unsqueeze_(0)
        table.unsqueeze_(0)
        return new.dim(), table.shape, new, len(seen)

    program = export(fn, (torch.randn(4),), dynamic_shapes=DYNAMIC)
    for n in (0, 1, 2, 5):
        x = torch.ones(n) * n
        assert same(outcome(program, (x,)), outcome(fn, (x,)))


def test_identity_by_the_names_of_the_trace_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "is_same_item", lambda *_: None)
    assert differs("identical")


def test_metadata_under_another_name_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_tracer.BranchTracer, "need_alone", lambda *_: None)
    program = export(of_another_shape, (torch.randn(4),), dynamic_shapes=DYNAMIC)
    x = torch.ones(2)
    assert program(x)[0] != of_another_shape(x)[0]


def test_a_change_of_a_list_inside_another_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_tracer, "need_unchanged", lambda _: None)
    monkeypatch.setattr(sym_list, "need_unchanged", lambda _: None)
    program = export(changed_inside, (torch.randn(4),), dynamic_shapes=DYNAMIC)
    x = torch.ones(2)
    assert program(x) != changed_inside(x)


def test_one_list_in_several_places_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(2) * 5
    with pytest.raises(AnyshapeError):
        export(in_some_rounds, (x,), dynamic_shapes=DYNAMIC)
    monkeypatch.setattr(branch_tracer, "need_unused", lambda *_: None)
    program = export(in_some_rounds, (x,), dynamic_shapes=DYNAMIC)
    given, want = program(x), in_some_rounds(x)
    assert given == want
    assert want[1] is want[2]
    assert given[1] is not given[2]
