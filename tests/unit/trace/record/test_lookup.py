"""Symbolic integers as keys: compared with the keys, and pinned only where Python needs a value."""

from __future__ import annotations

import collections
import enum
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape import Dim

if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[torch.Tensor], torch.Tensor]

SIZES = ((6, 4), (4, 4), (5, 7), (4, 5), (9, 3), (1, 1), (0, 2), (8, 8))
TABLE: dict[Any, int] = {4: 2, "a": 7, None: 1}
ALLOWED = {1, 3, 4}
SQUARES = {i: i * i for i in range(40)}


class Kind(enum.IntEnum):
    FOUR = 4


def in_a_display(x: torch.Tensor) -> torch.Tensor:
    return x * (2 if x.shape[0] in {1, 3, 4} else 3)


def in_a_set(x: torch.Tensor) -> torch.Tensor:
    return x * (2 if x.shape[0] not in ALLOWED else 3)


def of_a_table(x: torch.Tensor) -> torch.Tensor:
    return x * TABLE.get(x.shape[0], 5)


def of_a_new_table(x: torch.Tensor) -> torch.Tensor:
    table = {4: 2, 5.0: 3}
    return x * table.get(x.shape[0], 7) + (1 if table.__contains__(x.shape[0] + 1) else 0)


def item_or_not(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] in TABLE:
        x = x + 1
    return x * (TABLE[x.shape[0]] if x.shape[0] == 4 else 9)


def place(x: torch.Tensor) -> torch.Tensor:
    return x * [4, 6, 5].count(x.shape[0])


def many_keys(x: torch.Tensor) -> torch.Tensor:
    return x * SQUARES.get(x.shape[0], 5)


def key_of_a_class(x: torch.Tensor) -> torch.Tensor:
    return x * {Kind.FOUR: 9}.get(x.shape[0], 5)  # type: ignore[call-overload]  # equal to 4


def missing(x: torch.Tensor) -> torch.Tensor:
    try:
        return x * TABLE[x.shape[0]]
    except KeyError as e:
        return x * e.args[0]


def counted(x: torch.Tensor) -> torch.Tensor:
    return x * collections.Counter(x.shape).most_common(1)[0][1]


def assigned(x: torch.Tensor) -> torch.Tensor:
    table = collections.defaultdict(int, {4: 1})
    table[x.shape[0]] += 1
    return x * sum(table.values())


FEW = (in_a_display, in_a_set, of_a_table, of_a_new_table, item_or_not, place)
BY_VALUE = (many_keys, key_of_a_class, missing, counted, assigned)


@pytest.mark.parametrize("fn", FEW, ids=lambda f: f.__name__)
def test_one_program_serves_what_equals_no_key(fn: Program) -> None:
    compiled = anyshape.compile(fn, dynamic=True)
    for n in (5000, 6000, 7000):
        assert torch.equal(compiled(torch.ones(n, 2)), fn(torch.ones(n, 2)))
    assert compiled.stats.traces == 1


@pytest.mark.parametrize("dynamic", [True, None, "unbacked"])
@pytest.mark.parametrize("fn", [*FEW, *BY_VALUE], ids=lambda f: f.__name__)
def test_lookups_are_those_of_eager_execution(fn: Program, dynamic: Any) -> None:
    compiled = anyshape.compile(fn, dynamic=dynamic)
    for size in SIZES:
        x = torch.ones(size)
        assert torch.equal(compiled(x), fn(x))


@pytest.mark.parametrize("fn", FEW, ids=lambda f: f.__name__)
def test_exported_lookups_are_complete(fn: Program) -> None:
    spec = ({0: Dim("n"), 1: Dim("m")},)
    program = anyshape.export(fn, (torch.ones(6, 4),), dynamic_shapes=spec)
    assert program.is_complete
    for size in SIZES:
        assert torch.equal(program(torch.ones(size)), fn(torch.ones(size)))


@pytest.mark.parametrize("fn", BY_VALUE, ids=lambda f: f.__name__)
def test_an_exported_value_is_reported_with_its_line(fn: Program) -> None:
    with pytest.raises(
        anyshape.ConstraintViolation, match=f"guard, test_lookup.py:.*{fn.__name__}"
    ):
        anyshape.export(fn, (torch.ones(6, 4),), dynamic_shapes=({0: Dim("n")},))


def test_the_keys_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = anyshape.compile(of_a_table, dynamic=True)
    x = torch.ones(7, 2)
    assert torch.equal(compiled(x), x * 5)
    monkeypatch.setitem(TABLE, 7, 12)
    assert torch.equal(compiled(x), x * 12)
