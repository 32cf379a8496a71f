"""A journal puts back what effects changed, and forward again."""

from __future__ import annotations

import types
from collections import deque
from typing import Any

import torch

from anyshape.trace.record import effect
from anyshape.trace.record.effect import Held
from anyshape.trace.record.journal import Journal, tell


class Box:
    limit = 1


def state(things: Any) -> Any:
    box, d, items, line, cell, generator = things
    filled = cell.cell_contents if cell != types.CellType() else None
    seed = generator.get_state().sum().item()
    return dict(vars(box)), dict(d), list(items), list(line), filled, Box.limit, seed


def test_there_and_back() -> None:
    box, d, items, line = Box(), {"a": 1}, [3, 1, 2], deque([1, 2])
    cell, generator = types.CellType(1), torch.Generator()
    box.kept = 1  # type: ignore[attr-defined]
    things = (box, d, items, line, cell, generator)
    before, journal = state(things), Journal()
    with journal:
        effect.set_attribute(Held(box), "kept", 2)
        effect.set_attribute(Held(box), "new", [1])
        effect.delete_attribute(Held(box), "kept")
        effect.set_class_attribute(Held(Box), "limit", 5)
        effect.set_item(Held(d), "b", 2)
        effect.delete_item(Held(d), "a")
        effect.call_method(Held(items), "sort", (), {})
        effect.call_method(Held(line), "rotate", (1,), {})
        effect.set_cell(Held(cell), 9)
        effect.call_method(Held(generator), "manual_seed", (7,), {})
    after = state(things)
    assert after != before
    journal.roll_back()
    assert state(things) == before
    journal.roll_forward()
    assert state(things) == after
    journal.roll_back()
    assert state(things) == before


def test_what_cannot_be_taken_back_waits(capsys: Any) -> None:
    journal = Journal()
    with journal:
        effect.print_out(["one", 2], {"sep": "-"})
        effect.write_out("stdout", "three\n")
    assert capsys.readouterr().out == ""
    journal.commit()
    assert capsys.readouterr().out == "one-2\nthree\n"
    with journal:
        effect.print_out(["lost"], {})
    journal.discard()
    journal.commit()
    assert capsys.readouterr().out == ""
    tell(lambda: effect.print_out(["now"], {}))
    assert capsys.readouterr().out == "now\n"
