"""Specs from several calls: `infer_dynamic_shapes`, and the collections of torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape import AnyshapeWarning, ArgumentError, Dim, export, infer_dynamic_shapes

X = torch.ones


def f(x: torch.Tensor, y: dict[str, torch.Tensor], k: int = 2, *rest: torch.Tensor) -> Any:
    return x.sum() * k + y["a"].sum() + sum(r.sum() for r in rest)


def test_what_differs_is_dynamic() -> None:
    calls = [
        (X(3, 4), {"a": X(2), "b": X(5, 5)}, 1, X(2)),
        (X(5, 4), {"a": X(7), "b": X(5, 5)}, 4, X(2)),
        (X(1, 4), {"a": X(7), "b": X(5, 6)}, 4, X(3)),
    ]
    spec = infer_dynamic_shapes(f, *calls)
    dynamic = Dim.DYNAMIC
    assert spec == {
        "x": {0: dynamic},
        "y": {"a": {0: dynamic}, "b": {1: dynamic}},
        "k": dynamic,
        "rest": [{0: dynamic}],
    }
    program = export(f, calls[0], dynamic_shapes=spec)
    assert program.verify(*calls).ok


def test_calls_by_keyword() -> None:
    spec = infer_dynamic_shapes(
        lambda x, y: x.sum() + y.sum(), {"x": X(3), "y": X(2, 2)}, (X(4), X(2, 2))
    )
    assert spec == {"x": {0: Dim.DYNAMIC}, "y": None}


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        ([(X(2),)], "needs two calls or more"),
        ([(X(2),), X(2)], "call 1 is a Tensor"),
        ([(X(2),), (X(2), 3)], "call 1 has the arguments x, k, and call 0 x"),
        ([(X(2),), (X(2, 2),)], r"x has the ranks \[1, 2\]"),
        ([(X(2), "a"), (X(2), "b")], "k is 'a', 'b' in the calls"),
        ([(X(2), 1), (X(2), None)], "k is 1, None in the calls"),
        ([(X(2), [1]), (X(2), [1, 2])], "k is a list of 1, a list of 2 in the calls"),
        ([(X(2), [1]), (X(2), 1)], "k is a list of 1, 1 in the calls"),
    ],
)
def test_calls_that_do_not_fit(calls: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        infer_dynamic_shapes(lambda x, k=1: x, *calls)


def add(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x.sum(1) * 2 + y.sum()


@pytest.mark.parametrize("by_name", [True, False])
def test_shapes_collection(by_name: bool) -> None:
    x, y = X(4, 3), X(5)
    collection = torch.export.ShapesCollection()
    collection[x] = {0: torch.export.Dim("batch")}
    collection[y] = (Dim.DYNAMIC,)
    args, kwargs = ((x,), {"y": y}) if by_name else ((x, y), {})
    program = export(add, args, kwargs, dynamic_shapes=collection)
    assert [i.shape for i in program.contract().inputs] == [("batch", "3"), ("y.size(0)",)]
    assert program.verify((X(0, 3), X(9))).ok


def test_additional_inputs() -> None:
    more = torch.export.AdditionalInputs()
    more.add((X(7, 3), X(5)))
    program = export(add, (X(4, 3), X(5)), dynamic_shapes=more)
    assert [i.shape for i in program.contract().inputs] == [("x.size(0)", "3"), ("5",)]
    more.add((X(7, 3, 3), X(5)))
    with pytest.raises(ArgumentError, match="the AdditionalInputs does not fit the arguments"):
        export(add, (X(4, 3), X(5)), dynamic_shapes=more)


def test_names_that_differ_by_a_typo_and_meet() -> None:
    args = (X(4, 3), X(4, 3))
    with pytest.warns(AnyshapeWarning, match="(?s)batch and bacth are two.*it raises"):
        export(lambda x, y: torch.stack([x, y]), args, dynamic_shapes=({0: "batch"}, {0: "bacth"}))
    export(lambda x, y: torch.stack([x, y]), args, dynamic_shapes=({0: "left"}, {0: "other"}))
