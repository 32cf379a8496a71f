"""Effects wait while a deferral is open, and are done in order, or not at all."""

from __future__ import annotations

import types
from collections import deque
from typing import Any

import torch

from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.deferral import Deferral, defer
from anyshape.trace.record.effect.held import Held


class Box:
    limit = 1


def state(things: Any) -> Any:
    box, d, items, line, cell, generator = things
    seed = generator.get_state().sum().item()
    return dict(vars(box)), dict(d), list(items), list(line), cell.cell_contents, Box.limit, seed


def change(things: Any) -> None:
    box, d, items, line, cell, generator = things
    effect.set_attribute(Held(box), "kept", 2)
    effect.set_attribute(Held(box), "new", [1])
    effect.delete_attribute(Held(box), "kept")
    effect.set_class_attribute(Held(Box), "limit", 5)
    effect.set_item(Held(d), "b", 2)
    effect.delete_item(Held(d), "a")
    effect.call_method(Held(items), "sort", (), {})
    effect.fill(Held(d), ("c", 3))
    effect.call_method(Held(line), "rotate", (1,), {})
    effect.set_cell(Held(cell), 9)
    effect.call_method(Held(generator), "manual_seed", (7,), {})


def made() -> Any:
    box = Box()
    box.kept = 1  # type: ignore[attr-defined]
    Box.limit = 1
    seeded = torch.Generator().manual_seed(1)
    return box, {"a": 1}, [3, 1, 2], deque([1, 2]), types.CellType(1), seeded


def test_everything_waits() -> None:
    at_once, things = made(), made()
    before = state(things)
    change(at_once)
    after = state(at_once)
    Box.limit = 1
    deferral = Deferral()
    with deferral:
        change(things)
        assert state(things) == before != after
    assert state(things) == before
    deferral.commit()
    assert state(things) == after
    Box.limit = 1


def test_what_is_discarded_is_never_done() -> None:
    things, deferral = made(), Deferral()
    before = state(things)
    with deferral:
        change(things)
    deferral.discard()
    deferral.commit()
    assert state(things) == before


def test_text_is_that_of_its_time(capsys: Any) -> None:
    deferral, words = Deferral(), torch.ones(1)
    with deferral:
        effect.print_out(["one", words], {"sep": "-"})
        effect.write_out("stdout", "three\n")
        words.add_(1)
    assert capsys.readouterr().out == ""
    deferral.commit()
    assert capsys.readouterr().out == "one-tensor([1.])\nthree\n"
    defer(lambda: effect.print_out(["now"], {}))
    assert capsys.readouterr().out == "now\n"
