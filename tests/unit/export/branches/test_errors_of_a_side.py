"""Errors on one side of a branch on data: the program's are leaves, faults of ours are not."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch

from anyshape.errors import AnyshapeError
from anyshape.export import export
from anyshape.rules import pointwise
from anyshape.rules.dispatch.table import RULES
from anyshape.trace.record.container.container import Containers
from anyshape.trace.record.syntax import operation

TABLE = {"a": 1}
NUMBERS = [1, 2]


class Strict:
    __slots__ = ("a",)

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)

    def __add__(self, other: Any) -> Any:
        return NotImplemented


def recursive(n: int) -> int:
    return recursive(n + 1) if n < 9 else 1 // 0


def asserted(x: Any) -> None:
    assert x.dim() == 9, "nine"


ERRORS = {
    "raised": lambda x: (_ for _ in ()).throw(ValueError("own")),
    "key": lambda x: TABLE["b"],
    "index": lambda x: NUMBERS[5],
    "attribute": lambda x: x.missing_attribute,
    "own_attribute": lambda x: Strict().b,
    "type": lambda x: "a" + 1,
    "operator": lambda x: Strict() + 1,
    "called": TABLE,  # type: ignore[operator]
    "wrong_arguments": lambda x: recursive(),  # type: ignore[call-arg]
    "unpacked": lambda x: [a for a, b in [(1, 2, 3)]],
    "division": lambda x: 1 // (x.size(0) - x.size(0)),
    "deep": lambda x: recursive(0),
    "converted": lambda x: int("seven"),
    "library": lambda x: json.loads("{"),
    "domain": lambda x: math.sqrt(-1.0),
    "not_iterable": lambda x: list(5),  # type: ignore[call-overload]
    "next": lambda x: next(iter([])),
    "dim": lambda x: x.sum(7),
    "item": lambda x: x[0, 0, 0],
    "shapes": lambda x: x.view(3, 5, 7, 11),
    "dtype": lambda x: torch.nn.functional.softmax(x, dim=9),
    "argument": lambda x: torch.zeros("a"),  # type: ignore[call-overload]
    "unhashable": lambda x: {[]: 1},  # type: ignore[dict-item]
    "asserted": asserted,
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_the_program_is_a_leaf(name: str) -> None:
    error = ERRORS[name]

    def fn(x: Any) -> Any:
        if x.sum() > 0:
            return x + 1
        return x * 1, error(x)

    program = export(fn, (torch.ones(3),), dynamic_shapes=({0: "n"},), allow_partial=True)
    for n in (3, 5):
        assert torch.equal(program(torch.ones(n)), torch.ones(n) + 1)
        want, got = _class(fn, -torch.ones(n)), _class(program, -torch.ones(n))
        assert want is not None
        assert want is got or (issubclass(got, AnyshapeError) and issubclass(got, want))


def _class(fn: Any, x: Any) -> Any:
    try:
        fn(x)
    except Exception as e:
        return type(e)
    return None


def branches(x: Any) -> Any:
    if x.sum() > 0:
        return x + 1
    return (x * 1).cosh(), [1, 2][0]


def missing_attribute(*_: Any, **__: Any) -> Any:
    return TABLE.missing  # type: ignore[attr-defined]


def failed_assert(*_: Any, **__: Any) -> Any:
    assert not TABLE, "ours"


def missing_key(*_: Any, **__: Any) -> Any:
    return TABLE["missing"]


def missing_name(*_: Any, **__: Any) -> Any:
    return not_there  # type: ignore[name-defined]  # noqa: F821


HOOK = operation.__file__
RULE = pointwise.__file__


@pytest.mark.parametrize(
    ("fault", "file"),
    [
        *[(f, RULE) for f in (missing_attribute, failed_assert, missing_key, missing_name)],
        *[(f, HOOK) for f in (missing_attribute, failed_assert, missing_name)],
    ],
)
def test_a_fault_of_ours_is_not_taken_for_the_programs(
    fault: Any, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = type(fault)(fault.__code__.replace(co_filename=file), fault.__globals__)
    if file == RULE:
        monkeypatch.setitem(RULES, "cosh", RULES["cosh"]._replace(function=planted))
    else:
        monkeypatch.setattr(Containers, "item", planted)
    with pytest.raises((AttributeError, AssertionError, KeyError, NameError)) as found:
        export(branches, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    assert not isinstance(found.value, AnyshapeError)
