"""Identifiers for the tensors of a program, so that its text shows their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from anyshape.export.state.naming import BUFFER, CONSTANT, NON_PERSISTENT_BUFFER, PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.export.state.state import State
    from anyshape.trace.capture import Captured

_PREFIX: Final = {PARAMETER: "p_", BUFFER: "b_", NON_PERSISTENT_BUFFER: "b_", CONSTANT: "c_"}
_LONGEST: Final = 120
_OTHERS: Final = re.compile("[^0-9A-Za-z]")  # characters that are replaced


def identifiers_of(state: State) -> dict[int, str]:
    """An identifier for each tensor, by id: its kind and its name, as `p_layers_0_weight`."""
    found: dict[int, str] = {}
    taken: set[str] = set()
    for name, tensor in state.items():
        clean = _OTHERS.sub("_", name[:_LONGEST])
        prefix = _PREFIX[state.entry(name).kind]
        unique, again = f"{prefix}{clean.strip('_')}", 1
        while unique in taken:
            unique, again = f"{prefix}{clean.strip('_')}_{again}", again + 1
        taken.add(unique)
        found[id(tensor)] = unique
    return found


def name_values(variants: Iterable[Captured], state: State) -> None:
    """Give the constants of all graphs the names of their tensors."""
    names = identifiers_of(state)
    for variant in variants:
        for part in variant.parts:
            for value, tensor in part.graph.constants:
                value.name = names[id(tensor)]
            if "program" in vars(part):
                part.program.rewrite()
